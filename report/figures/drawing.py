"""From rows of results to the panels of a figure, and the CSV of what is drawn."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from ..formats import quantity as quantity_text
from ..pages.chart_panel import Line, Panel, Place
from .figure_table import FigureTable, Row, place_of, value_of
from .lines import Point, line_key, line_settings, lines_over, setting_text
from .quantities import NO_COMPUTATION, Quantity, named_quantity
from .request import FigureRequest

__all__ = ["Drawing", "draw_request", "panels_csv"]

MAX_LINES: Final = 12
"""Lines of a panel."""
MAX_LINES_TOGETHER: Final = 6
"""Lines of a figure that need no panels."""
MAX_PANELS: Final = 6
DECADES_OF_X: Final = 8
"""Ratio of the largest to the least value of x from which the axis is logarithmic."""
DECADES_OF_Y: Final = 30
LEVEL: Final = 0.1
"""Part of a baseline by which it may vary along x and still be one level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure as panels, with the CSV behind it."""

    name: str
    title: str
    panels: Sequence[Panel]
    csv: bytes
    remarks: Sequence[str]
    """What the figure leaves out."""


def draw_request(table: FigureTable, request: FigureRequest) -> Drawing | None:
    """Make the panels of a figure, or nothing if no row has it."""
    y = named_quantity(request.y, table.columns)
    x = named_quantity(request.x, table.columns)
    if y is None or x is None:
        return None
    rows = [
        row for row in table.rows if value_of(row, y) is not None and place_of(row, x) is not None
    ]
    if not rows:
        return None
    if not {x.name, y.name} & {"epsilon"} and not y.baseline:
        table = _without(table, "neighbours")
    table = _with_computation(_without_idle_network(table, rows, x=x, y=y), rows, y=y)
    column = request.panels or _panel_column(rows, table, x)
    groups = _groups(rows, column)
    lines = {
        title: lines_over(members, rows, table, x=x, y=y, column=column)
        for title, members in groups.items()
    }
    panels = _panels(lines, groups, x=x, y=y)
    left_out = sum(value_of(row, y) is not None for row in table.rows) - len(rows)
    remarks = [f"{quantity_text(left_out, 'run')} without a finite {x.title} not drawn"] * (
        left_out > 0
    )
    if (most := max(map(len, lines.values()))) > MAX_LINES:
        remarks.append(f"the first {MAX_LINES} of {most} lines drawn; the CSV has all")
    return Drawing(
        name=_file_name([request.y, "over", request.x, *(["by", column] if column else [])]),
        title=f"{y.title} over {x.title}",
        panels=panels,
        csv=_csv(lines, x=x, y=y, column=column),
        remarks=remarks,
    )


def _file_name(words: Sequence[str]) -> str:
    """Name the files of a figure; an author's names may hold spaces and slashes.

    >>> _file_name(["outcome.mean age", "over", "rows_asked"])
    'outcome-mean-age-over-rows-asked'
    """
    return "-".join(re.sub(r"[\W_]+", "-", word).strip("-") for word in words)


def _without_idle_network(
    table: FigureTable, rows: Sequence[Row], *, x: Quantity, y: Quantity
) -> FigureTable:
    """Leave the network out of the settings where the figure is the same on all networks."""
    names = [name for name in table.settings if name not in ("network", *x.columns)]
    values: dict[tuple[str, ...], set[float | None]] = {}
    for row in rows:
        key = (*line_key(row, names), str(place_of(row, x)), str(row.get("seed")))
        values.setdefault(key, set()).add(value_of(row, y))
    if "network" in x.columns or any(len(different) > 1 for different in values.values()):
        return table
    return _without(table, "network")


def _without(table: FigureTable, setting: str) -> FigureTable:
    names = [name for name in table.setting_names if name != setting]
    return FigureTable(rows=table.rows, setting_names=names)


def _with_computation(table: FigureTable, rows: Sequence[Row], *, y: Quantity) -> FigureTable:
    """Part forecasts with computation from those without, where seconds are drawn."""
    left_out = {row.get("computation") == NO_COMPUTATION for row in rows}
    if y.name != "seconds" or len(left_out) == 1:
        return table
    return FigureTable(rows=table.rows, setting_names=[*table.setting_names, "computation"])


def _panel_column(rows: Sequence[Row], table: FigureTable, x: Quantity) -> str:
    """Choose a setting for panels of many lines: the network, or that of fewest values."""
    names = line_settings(rows, table, without={*x.columns})
    if len({line_key(row, names) for row in rows}) <= MAX_LINES_TOGETHER:
        return ""
    counts = {name: len({str(row.get(name)) for row in rows}) for name in names}
    fitting = [
        name for name, count in counts.items() if 2 <= count <= MAX_PANELS and name != "computation"
    ]
    if len(counts) < 2 or not fitting:
        return ""
    if "network" in fitting:
        return "network"
    return min(fitting, key=lambda name: (name in ("protocol", "line"), counts[name]))


def _groups(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    """Divide rows into panels, by title; numbers in order."""
    if not column:
        return {"": [*rows]}
    values = {row.get(column) for row in rows}
    numbers = sorted(value for value in values if isinstance(value, int | float))
    names = [
        value for value in dict.fromkeys(row.get(column) for row in rows) if value not in numbers
    ]
    return {
        setting_text(column, value): [row for row in rows if row.get(column) == value]
        for value in (*numbers, *names)
    }


def _panels(
    lines: Mapping[str, Mapping[str, Sequence[Point]]],
    groups: Mapping[str, Sequence[Row]],
    *,
    x: Quantity,
    y: Quantity,
) -> list[Panel]:
    """Put lines into panels, with axes that suit all of them."""
    shown = {title: dict([*panel.items()][:MAX_LINES]) for title, panel in lines.items()}
    points = [point for panel in shown.values() for line in panel.values() for point in line]
    places = [point.place for point in points]
    heights = [point.mean for point in points]
    numbers = [place for place in places if not isinstance(place, str)]
    log_x = len({*numbers}) > 2 and _spans(numbers, DECADES_OF_X)
    log_y = _spans(heights, DECADES_OF_Y)
    panels = []
    for title, panel in shown.items():
        drawn = [
            Line(
                name=name,
                points=[(point.place, point.mean) for point in line],
                spread=[point.two_errors for point in line],
            )
            for name, line in panel.items()
        ]
        panels.append(
            Panel(
                lines=[*drawn, *_levels(groups[title], x=x, y=y)],
                title=title,
                x=x.title,
                y=y.title,
                log_x=log_x,
                log_y=log_y,
                unit=y.unit,
                shares_limits=len(shown) > 1,
            )
        )
    return panels


def _spans(values: Sequence[float], ratio: float) -> bool:
    return bool(values) and min(values) > 0 and max(values) >= ratio * min(values)


def _levels(rows: Sequence[Row], *, x: Quantity, y: Quantity) -> list[Line]:
    """Draw the baseline if it is about the same everywhere."""
    by_place: dict[Place, list[float]] = {}
    for row in rows:
        value, place = row.get(y.baseline), place_of(row, x)
        if isinstance(value, int | float) and place is not None:
            by_place.setdefault(place, []).append(value)
    means = [mean(values) for values in by_place.values()]
    if not means or max(means) - min(means) > LEVEL * max(means):
        return []
    return [Line(name=y.baseline_title, points=[(0, mean(means))], kind="baseline")]


def _csv(
    lines: Mapping[str, Mapping[str, Sequence[Point]]], *, x: Quantity, y: Quantity, column: str
) -> bytes:
    """Write what is drawn, a line for each point, with its spread over seeds."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    head = [column] if column else []
    spread = ["two_standard_errors", "standard_deviation", "least", "largest", "runs"]
    writer.writerow([*head, "line", x.name, y.name, *spread])
    for title, panel in lines.items():
        for name, line in panel.items():
            for point in line:
                values = point.values
                figures = (point.mean, point.two_errors, point.deviation, min(values), max(values))
                writer.writerow(
                    [
                        *([title] if column else []),
                        name,
                        _csv_text(point.place),
                        *map(_csv_text, figures),
                        len(values),
                    ]
                )
    return out.getvalue().encode()


def _csv_text(value: Place) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


def panels_csv(panels: Sequence[Panel]) -> bytes:
    """Write the points of panels, a line for each."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["panel", "line", "kind", "x", "y", "two_standard_errors"])
    for panel in panels:
        for line in panel.lines:
            spread = line.spread or [0.0] * len(line.points)
            for (place, value), half in zip(line.points, spread, strict=True):
                everywhere = line.kind in ("level", "baseline")
                x = "" if everywhere else _csv_text(place)
                error = "" if line.kind == "printed" else _csv_text(half)
                writer.writerow([panel.title, line.name, line.kind, x, _csv_text(value), error])
    return out.getvalue().encode()
