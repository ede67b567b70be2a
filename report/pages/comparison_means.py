"""The tables of a comparison's page that have means over seeds, their spread, and ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..comparison import Comparison
from ..comparison_groups import (
    RunGroup,
    SeedFigures,
    error_figures,
    groups_of,
    ratio_text,
    seed_figures,
)
from ..formats import bytes_text
from .document import note, table

__all__ = ["cost_means", "error_means"]

ABOUT_MEANS = (
    "Means are over runs that differ by their seed alone, and the spread is their standard "
    "deviation. Ratios are of means, to the first setting of the table and to the best. A ratio to "
    "the baseline is a mean, too: of each run to the baseline of its own table. Less is better."
)


def error_means(comparison: Comparison) -> str:
    """Write a table for each error, or nothing of a single run."""
    if len(comparison.runs) < 2:
        return ""
    groups = groups_of(comparison)
    tables = [
        _table(f"{name}: means and ratios", groups, figures, lambda value: f"{value:.4f}")
        for name, figures in error_figures(comparison, groups).items()
    ]
    return note(ABOUT_MEANS) + "".join(tables) if any(tables) else ""


def cost_means(comparison: Comparison) -> str:
    """Write a table for payload, rounds and seconds each, or nothing of a single run."""
    if len(comparison.runs) < 2:
        return ""
    groups = groups_of(comparison)
    return "".join(
        [
            _table(
                "payload: means and ratios",
                groups,
                seed_figures(groups, lambda run: run.bytes),
                lambda value: bytes_text(round(value)),
            ),
            _table(
                "rounds: means and ratios",
                groups,
                seed_figures(groups, lambda run: run.rounds),
                lambda value: f"{value:,.4g}",
            ),
            _table(
                "seconds: means and ratios",
                groups,
                seed_figures(groups, lambda run: run.seconds),
                lambda value: f"{value:,.3g}",
            ),
        ]
    )


def _table(
    caption: str,
    groups: Sequence[RunGroup],
    figures: Mapping[str, SeedFigures],
    text: Callable[[float], str],
) -> str:
    """Write a row for each group; columns without any value or spread are left out."""
    runs = {group.name: len(group.runs) for group in groups}
    columns: dict[str, list[str]] = {
        "setting": [*figures],
        "runs": [f"{runs[name]:,}" for name in figures],
        "mean": [text(each.mean) for each in figures.values()],
    }
    if any(each.deviation for each in figures.values()):
        columns["spread"] = [_of_several(each, text, each.deviation) for each in figures.values()]
        columns["least"] = [_of_several(each, text, each.least) for each in figures.values()]
        columns["largest"] = [_of_several(each, text, each.largest) for each in figures.values()]
    if len(figures) > 1:
        columns["to the first"] = [ratio_text(each.to_first) for each in figures.values()]
        columns["to the best"] = [ratio_text(each.to_best) for each in figures.values()]
    columns["to the baseline"] = [ratio_text(each.to_baseline) for each in figures.values()]
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    return table([*shown], [*zip(*shown.values(), strict=True)], caption=caption)


def _of_several(figures: SeedFigures, text: Callable[[float], str], value: float | None) -> str:
    """Write how far runs differ; nothing of a single one."""
    return "" if value is None or figures.deviation is None else text(value)
