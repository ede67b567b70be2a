"""The page that compares runs.

It draws errors over epsilon beside baselines, draws costs over parties, and lists all figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import isfinite, isinf, sqrt
from statistics import mean, stdev
from typing import Final, TypeAlias

from ..comparison import DIFFERENT, ComparedRun, Comparison
from ..comparison_groups import PARTS, Height, setting_name
from ..comparison_table import claim_warnings, legend, merged_table
from ..formats import quantity
from ..not_accounted import MARK, MEANING, unaccounted_texts
from . import charts
from .chart_panel import Line, Panel
from .comparison_means import cost_means, error_means
from .document import banner, document, figure, fold, note, paragraph, section, table

__all__ = ["comparison_page"]

MEASURED: Final = (
    "Errors and baselines were measured on the real tables without noise: they are not private, "
    "and not to be published."
)
MAX_LISTED: Final = 40
MAX_LINES: Final = 12
MAX_COLUMNS: Final = 13
COSTS_OF_TABLE: Final = ("bytes", "rounds", "seconds")
MAX_NAMED: Final = 4

Axis: TypeAlias = Callable[[ComparedRun], float]

AXES: Final[Mapping[str, Axis]] = {
    "epsilon": lambda run: run.epsilon,
    "parties": lambda run: run.parties,
}
COSTS: Final[Mapping[str, Height]] = {
    "payload bytes": lambda run: run.bytes,
    "rounds": lambda run: run.rounds,
    "seconds": lambda run: run.seconds,
}


def comparison_page(
    comparison: Comparison, *, title: str = "Runs side by side", together: Sequence[str] = ()
) -> str:
    """Write the page; `together` says what all runs cost each dataset."""
    runs = comparison.runs
    names = list(dict.fromkeys(name for run in runs for name in run.errors))
    # With the same number of parties everywhere, nothing is seen over parties.
    by = "parties" if len({run.parties for run in runs}) > 1 else "epsilon"
    other = "epsilon" if by == "parties" else "parties"
    errors = [_error_chart(runs, name, comparison.levels or {}) for name in names]
    costs = [
        _chart(runs, name, cost, by=by, parts=(other, "data", "rows"))
        for name, cost in COSTS.items()
    ]
    heads, cells = merged_table(comparison)
    whole = f'<div class="full">{_tables(heads, cells)}</div>'
    body = [
        f"<header><h1>{escape(title)}</h1>",
        paragraph(_lead(runs), kind="lead"),
        *map(paragraph, together),
        *_warnings(comparison),
        "</header>",
        section(
            "Utility",
            note(MEASURED) if names else "",
            _side_by_side(errors),
            error_means(comparison),
            name="utility",
        ),
        section("Cost", _side_by_side(costs), cost_means(comparison), name="cost"),
        section(
            "All figures",
            paragraph("Columns of epsilon: as claimed, then as accounted by adversary."),
            whole if len(cells) <= MAX_LISTED else fold(f"{len(runs):,} runs", whole),
            table(("column", "meaning"), legend(comparison)),
            name="figures",
        ),
    ]
    return document(f"sottovoce: {title}", "\n".join(body))


def _tables(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Write one table, or two where there are too many columns for a page."""
    if len(heads) <= MAX_COLUMNS:
        return table(heads, cells)
    quality = [
        place
        for place, head in enumerate(heads)
        if head in COSTS_OF_TABLE or "-way" in head or head.startswith("wrong")
    ]
    others = [place for place in range(1, len(heads)) if place not in quality]
    html = ""
    for caption, places in (("Settings and privacy", others), ("Quality and cost", quality)):
        rows = [[row[0], *(row[place] for place in places)] for row in cells]
        shown = [row for row in rows if any(row[1:])]
        html += table([heads[0], *(heads[place] for place in places)], shown, caption=caption)
    return html


def _side_by_side(pictures: Sequence[str]) -> str:
    return f'<div class="several wider">{"".join(pictures)}</div>' if any(pictures) else ""


def _lead(runs: Sequence[ComparedRun]) -> str:
    protocols = list(dict.fromkeys(run.protocol for run in runs))
    shown = ", ".join(protocols[:6]) + (" and others" if len(protocols) > 6 else "")
    epsilons = _range([run.epsilon for run in runs])
    parties = _range([run.parties for run in runs])
    return (
        f"{quantity(len(runs), 'run')} of {shown}: claimed epsilon {epsilons}, "
        f"{parties} part{'y' if parties == '1' else 'ies'}."
    )


def _range(values: Sequence[float]) -> str:
    """Write the least and the largest value; infinity beside the finite ones.

    >>> _range([2, 1, float("inf")]), _range([3, 3])
    ('1 to 2 and infinity', '3')
    """
    texts = []
    if finite := sorted(value for value in values if isfinite(value)):
        first, last = finite[0], finite[-1]
        texts.append(f"{first:g}" if first == last else f"{first:g} to {last:g}")
    if any(map(isinf, values)):
        texts.append("infinity")
    return " and ".join(texts)


def _warnings(comparison: Comparison) -> list[str]:
    """Write what a reader must know first: losses that are not accounted or above the claim."""
    texts = [
        f"{run.name}: {text.removeprefix(f'{MARK}: ')}."
        for run in comparison.runs
        for text in unaccounted_texts(run.not_accounted)
    ]
    if len(texts) > MAX_NAMED:
        texts[MAX_NAMED:] = [f"{quantity(len(texts) - MAX_NAMED, 'more kind')} of messages."]
    warnings = [banner(MARK, [*texts, MEANING] if texts else [])]
    above = claim_warnings(comparison)
    warnings += [note(text, warn=True) for text in above[:MAX_NAMED]]
    if more := above[MAX_NAMED:]:
        folded = "".join(note(text, warn=True) for text in more)
        warnings.append(fold(f"{quantity(len(more), 'more warning')} of this kind", folded))
    if comparison.levels is None:
        warnings.append(note(DIFFERENT.strip("()").capitalize() + ".", warn=True))
    return warnings


def _error_chart(
    runs: Sequence[ComparedRun], name: str, levels: Mapping[str, Mapping[str, float]]
) -> str:
    """Draw an error over epsilon, with its levels."""
    return _chart(
        runs,
        f"average {name} distance" if "-way" in name else f"share predicted {name}",
        lambda run: run.errors.get(name),
        by="epsilon",
        parts=("neighbours", "parties", "data", "rows"),
        levels={level: errors[name] for level, errors in levels.items() if name in errors},
    )


def _chart(
    runs: Sequence[ComparedRun],
    name: str,
    height: Height,
    *,
    by: str,
    parts: Sequence[str],
    levels: Mapping[str, float] | None = None,
) -> str:
    """Draw a figure over epsilon or parties.

    There is a line for each protocol and setting, and for each value of the `parts` that differ.
    """
    axis = AXES[by]
    different = [part for part in parts if len({PARTS[part](run) for run in runs}) > 1]
    lines = _lines(runs, different, axis=axis, height=height)
    if not lines:
        return ""
    quiet = [
        Line(name=level, points=[(0, value)], kind="baseline")
        for level, value in (levels or {}).items()
    ]
    place = "claimed epsilon" if by == "epsilon" else by
    panel = Panel(lines=[*lines[:MAX_LINES], *quiet], x=place, y=name, log_x=by == "epsilon")
    drawn = charts.panels([panel], title=f"{name} over {place}")
    caption = f"{name[0].upper()}{name[1:]} over {place}."
    if len(lines) > MAX_LINES:
        caption += f" The first {MAX_LINES} of {len(lines)} lines."
    if endless := [run.name for run in runs if height(run) is not None and isinf(axis(run))]:
        caption += f" Not drawn, as {place} is infinite: {', '.join(endless[:MAX_NAMED])}."
    return figure(drawn, caption=caption, fits=True)


def _lines(
    runs: Sequence[ComparedRun], different: Sequence[str], *, axis: Axis, height: Height
) -> list[Line]:
    """Draw the means of runs that differ by their seed alone, with two standard errors."""
    figures: dict[str, dict[float, list[float]]] = {}
    for run in runs:
        value, place = height(run), axis(run)
        if value is not None and isfinite(place):
            line = figures.setdefault(setting_name(run, different), {})
            line.setdefault(place, []).append(value)
    lines = []
    for name, places in figures.items():
        points = sorted(places.items())
        spread = [_two_errors(values) for _, values in points]
        means = [(place, mean(values)) for place, values in points]
        lines.append(Line(name=name, points=means, spread=spread if any(spread) else ()))
    return lines


def _two_errors(values: Sequence[float]) -> float:
    """Compute two standard errors of the mean."""
    return 2 * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
