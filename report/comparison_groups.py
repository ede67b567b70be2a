"""Runs of a comparison that differ by their seed alone, and what they have in the mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Final, TypeAlias

from .comparison import ComparedRun, Comparison
from .formats import bytes_text, epsilon_text

__all__ = [
    "PARTS",
    "Height",
    "RunGroup",
    "SeedFigures",
    "error_figures",
    "groups_of",
    "mean_rows",
    "means_table",
    "ratio_text",
    "seed_figures",
    "setting_name",
]

Height: TypeAlias = Callable[[ComparedRun], float | None]

PARTS: Final[Mapping[str, Callable[[ComparedRun], str]]] = {
    "neighbours": lambda run: run.neighbours,
    "epsilon": lambda run: f"epsilon {epsilon_text(run.epsilon)}",
    "delta": lambda run: f"delta {run.delta:g}",
    "parties": lambda run: f"parties {run.parties}",
    "data": lambda run: f"data {run.data}",
    "rows": lambda run: f"rows {run.rows}",
}
"""What parts runs of one protocol and setting."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that differ by their seed alone, or a single run."""

    name: str
    runs: Sequence[ComparedRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFigures:
    """One figure of the runs of a group: how large it is, how far it varies, and ratios of means.

    A ratio is `None` where it would be one over nothing.
    """

    mean: float
    deviation: float | None
    """Standard deviation over the runs; `None` of a single run."""
    least: float
    largest: float
    to_first: float | None
    """Over the mean of the first group that has the figure."""
    to_best: float | None
    """Over the least mean of all groups."""
    to_baseline: float | None
    """Mean of the runs' ratios, each to the baseline of its own table."""


def groups_of(comparison: Comparison) -> list[RunGroup]:
    """Group runs by all that they can differ in but the seed, in their order."""
    runs = comparison.runs
    different = [part for part, text in PARTS.items() if len({text(run) for run in runs}) > 1]
    groups: dict[str, list[ComparedRun]] = {}
    for run in runs:
        groups.setdefault(setting_name(run, different), []).append(run)
    return [RunGroup(name, members) for name, members in groups.items()]


def setting_name(run: ComparedRun, different: Sequence[str]) -> str:
    """Name a run by its protocol, its settings, and the `different` parts."""
    parts = [PARTS[part](run) for part in different if part not in run.settings]
    return ", ".join([run.protocol, *([run.setting] if run.settings else []), *parts])


def seed_figures(
    groups: Sequence[RunGroup],
    height: Height,
    *,
    baseline: Height | None = None,
    of_one_table: bool = True,
) -> dict[str, SeedFigures]:
    """Sum up a figure, of which less is better, by the names of the groups that have it.

    Unless all runs are `of_one_table`, groups are not compared with one another.
    """
    values = {
        group.name: heights
        for group in groups
        if (heights := [value for run in group.runs if (value := height(run)) is not None])
    }
    means = {name: mean(heights) for name, heights in values.items()}
    if not means:
        return {}
    first, best = next(iter(means.values())), min(means.values())
    ratios = {} if baseline is None else _ratios(groups, height, baseline)
    return {
        name: SeedFigures(
            mean=means[name],
            deviation=stdev(heights) if len(heights) > 1 else None,
            least=min(heights),
            largest=max(heights),
            to_first=_ratio(means[name], first) if of_one_table else None,
            to_best=_ratio(means[name], best) if of_one_table else None,
            to_baseline=ratios.get(name),
        )
        for name, heights in values.items()
    }


def _ratios(groups: Sequence[RunGroup], height: Height, baseline: Height) -> dict[str, float]:
    """Give by group the mean ratio of a run's figure to its own baseline."""
    ratios = {
        group.name: [
            ratio
            for run in group.runs
            if (value := height(run)) is not None
            if (ratio := _ratio(value, baseline(run))) is not None
        ]
        for group in groups
    }
    return {name: mean(each) for name, each in ratios.items() if each}


def error_figures(
    comparison: Comparison, groups: Sequence[RunGroup]
) -> dict[str, dict[str, SeedFigures]]:
    """Sum up every error, by its name."""
    names = dict.fromkeys(name for run in comparison.runs for name in run.errors)
    return {
        name: seed_figures(
            groups,
            _error_named(name),
            baseline=_baseline_named(name),
            of_one_table=comparison.levels is not None,
        )
        for name in names
    }


def means_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Write the means over seeds as a table for a terminal; no rows where no setting has two runs.

    The spread is the standard deviation.
    """
    groups = groups_of(comparison)
    if all(len(group.runs) == 1 for group in groups):
        return [], []
    columns: dict[str, dict[str, str]] = {
        "runs": {group.name: f"{len(group.runs):,}" for group in groups}
    }
    for name, figures in error_figures(comparison, groups).items():
        columns[name] = {group: spread_text(each, digits=".4f") for group, each in figures.items()}
        columns[f"{name} to baseline"] = {
            group: ratio_text(each.to_baseline) for group, each in figures.items()
        }
        columns[f"{name} to best"] = {
            group: ratio_text(each.to_best) for group, each in figures.items()
        }
    sizes = seed_figures(groups, lambda run: run.bytes)
    columns["bytes"] = {group: bytes_text(round(each.mean)) for group, each in sizes.items()}
    seconds = seed_figures(groups, lambda run: run.seconds)
    columns["seconds"] = {group: spread_text(each, digits=".3g") for group, each in seconds.items()}
    shown = {head: cells for head, cells in columns.items() if any(cells.values())}
    rows = [
        [group.name, *(cells.get(group.name, "") for cells in shown.values())] for group in groups
    ]
    return ["mean of", *shown], rows


def mean_rows(comparison: Comparison) -> list[dict[str, object]]:
    """Give the means over seeds with spread and ratios, a row for each setting, for JSON.

    Names of rows begin with "mean of". What a figure lacks has no entry.
    """
    groups = groups_of(comparison)
    figures = {
        **error_figures(comparison, groups),
        "bytes": seed_figures(groups, lambda run: run.bytes),
        "rounds": seed_figures(groups, lambda run: run.rounds),
        "seconds": seed_figures(groups, lambda run: run.seconds),
    }
    return [
        {
            "run": f"mean of {group.name}",
            "runs": len(group.runs),
            "means": {
                name: {
                    part: value
                    for part, value in asdict(by_group[group.name]).items()
                    if value is not None
                }
                for name, by_group in figures.items()
                if group.name in by_group
            },
        }
        for group in groups
    ]


def spread_text(figures: SeedFigures, *, digits: str) -> str:
    """Write a mean with its standard deviation."""
    text = format(figures.mean, digits)
    if figures.deviation is None:
        return text
    return f"{text} \N{PLUS-MINUS SIGN} {format(figures.deviation, digits)}"


def ratio_text(ratio: float | None) -> str:
    """Write a ratio, or nothing.

    >>> [ratio_text(ratio) for ratio in (None, 1, 0.3712, 0.0123, 1234.5)]
    ['', '1.00', '0.37', '0.0123', '1,234']
    """
    if ratio is None:
        return ""
    return (
        f"{ratio:.2f}" if 0.1 <= ratio < 100 else f"{ratio:,.3g}" if ratio < 1 else f"{ratio:,.0f}"
    )


def _error_named(name: str) -> Height:
    return lambda run: run.errors.get(name)


def _baseline_named(name: str) -> Height:
    return lambda run: run.baselines.get(name)


def _ratio(value: float, other: float | None) -> float | None:
    return value / other if other else None
