"""The picture of a reproduction, and the lines that it shares with the page's tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from ..evaluation.results import PrintedValues
from ..evaluation.series import SeedMean, Series, constant, series
from ..report.pages import chart_panel
from .cell import Row
from .items import Item, Panel

__all__ = [
    "line_level",
    "line_means",
    "line_names",
    "picture_panels",
    "picture_title",
    "printed_values",
    "x_title",
]


def picture_panels(item: Item, rows: Sequence[Row]) -> list[chart_panel.Panel]:
    """Make the panels: means with two standard errors.

    Hollow marks are the paper's numbers, and dotted levels are baselines.
    """
    panels = [_chart(item, panel, rows) for panel in item.picture.panel]
    with_results = [
        panel for panel in panels if any(line.kind in ("measured", "level") for line in panel.lines)
    ]
    return with_results or panels[:1]


def picture_title(item: Item) -> str:
    return f"{item.paper}, {item.where}: {item.title}"


def _chart(item: Item, panel: Panel, rows: Sequence[Row]) -> chart_panel.Panel:
    lines = []
    for name in line_names(rows):
        if means := line_means(item, panel, rows, line=name):
            points = [(place, mean.mean) for place, mean in means.items()]
            spread = [2 * mean.error for mean in means.values()]
            lines.append(chart_panel.Line(name=name, points=points, spread=spread))
        elif level := line_level(item, panel, rows, line=name):
            lines.append(chart_panel.Line(name=name, points=[(0, level.mean)], kind="level"))
    drawn = {place for line in lines for place, _ in line.points}
    for printed in printed_values(item, panel):
        points = [
            (place, value)
            for place, value in zip(printed.x, printed.values, strict=True)
            if not isinstance(place, str) or place in drawn
        ]
        name = f"{printed.line}: the paper's"
        lines.append(chart_panel.Line(name=name, points=points, kind="printed", of=printed.line))
    if values := _baselines(panel, rows):
        mean = sum(values) / len(values)
        lines.append(
            chart_panel.Line(name="exact single attributes", points=[(0, mean)], kind="baseline")
        )
    return chart_panel.Panel(
        lines=lines,
        title=panel.title,
        x=x_title(item, panel),
        log_x=item.picture.log_x,
        log_y=item.picture.log_y,
    )


def line_names(rows: Sequence[Row]) -> list[str]:
    """List the lines, in the order of the item's file."""
    return list(dict.fromkeys(str(row["line"]) for row in rows if row.get("line")))


def line_means(item: Item, panel: Panel, rows: Sequence[Row], *, line: str) -> Series:
    return series(rows, line=line, x=panel.x or item.picture.x, y=panel.y, where=panel.where)


def line_level(item: Item, panel: Panel, rows: Sequence[Row], *, line: str) -> SeedMean | None:
    return constant(rows, line=line, x=panel.x or item.picture.x, y=panel.y, where=panel.where)


def _baselines(panel: Panel, rows: Sequence[Row]) -> list[float]:
    """List the values of the panel's baseline, without NaN."""
    values = [float(row[panel.baseline]) for row in rows if panel.baseline in row]
    return [value for value in values if not isnan(value)]


def x_title(item: Item, panel: Panel) -> str:
    column = panel.x if panel.x != item.picture.x else ""
    return column or item.picture.x_title or item.picture.x


def printed_values(item: Item, panel: Panel) -> list[PrintedValues]:
    """List the paper's numbers that a panel shows."""
    return [
        printed
        for printed in item.printed
        if printed.y == panel.y
        and all(panel.where.get(name) == value for name, value in printed.where.items())
    ]
