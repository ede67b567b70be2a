"""The lines of a figure: means over seeds, named by the settings in which runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev
from typing import Any, Final

from ..pages.chart_panel import Place
from .figure_table import FigureTable, Row, place_of, value_of
from .quantities import NO_COMPUTATION, Quantity

__all__ = ["Point", "line_key", "line_settings", "lines_over", "setting_text"]

SHARED: Final = (
    "parties",
    "epsilon",
    "rows_asked",
    "rows",
    "data",
    "network",
    "neighbours",
    "delta",
)
"""Settings that part the lines of all protocols where any two runs differ in them."""
BY_VALUE: Final = ("neighbours", "network", "transport", "data", "mode", "protocol", "line")
"""Settings whose values are named alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The runs at one place of a line."""

    place: Place
    values: tuple[float, ...]
    """The values, one for each seed."""

    @property
    def mean(self) -> float:
        return mean(self.values) if len({*self.values}) > 1 else self.values[0]

    @property
    def deviation(self) -> float:
        """The standard deviation over seeds."""
        return stdev(self.values) if len({*self.values}) > 1 else 0.0

    @property
    def two_errors(self) -> float:
        """Two standard errors of the mean."""
        return 2 * self.deviation / sqrt(len(self.values))


def lines_over(
    members: Sequence[Row],
    rows: Sequence[Row],
    table: FigureTable,
    *,
    x: Quantity,
    y: Quantity,
    column: str,
) -> dict[str, list[Point]]:
    """Average over seeds: a line for each combination of settings, named by what differs."""
    names = line_settings(rows, table, without={*x.columns, column})
    values: dict[str, dict[Place, list[float]]] = {}
    titles = _line_titles(rows, names)
    for row in members:
        value, place = value_of(row, y), place_of(row, x)
        if value is not None and place is not None:
            line = values.setdefault(titles[line_key(row, names)], {})
            line.setdefault(place, []).append(value)
    return {
        title: [Point(place=place, values=tuple(line[place])) for place in sorted(line, key=_order)]
        for title, line in values.items()
    }


def line_settings(rows: Sequence[Row], table: FigureTable, *, without: set[str]) -> list[str]:
    """List the settings in which these rows differ."""
    return [
        name
        for name in table.settings
        if name not in without and len({str(row.get(name)) for row in rows}) > 1
    ]


def line_key(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.get(name)) for name in names)


def _order(place: Place) -> tuple[bool, float]:
    """Sort numbers; names stay in their order."""
    return isinstance(place, str), 0.0 if isinstance(place, str) else place


def _line_titles(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Name lines by line or protocol, then by what differs within it, or among all."""
    head = next((name for name in ("line", "protocol") if any(row.get(name) for row in rows)), "")
    within: dict[str, list[Row]] = {}
    for row in rows:
        within.setdefault(str(row.get(head)), []).append(row)
    titles: dict[tuple[str, ...], str] = {}
    for title, members in within.items():
        differing = [
            name
            for name in names
            if name not in (head, "protocol")
            and (name in SHARED or len({str(row.get(name)) for row in members}) > 1)
        ]
        for row in members:
            parts = [setting_text(name, row.get(name)) for name in differing]
            if len(within) > 1 or not any(parts):
                parts.insert(0, title)
            titles[line_key(row, names)] = ", ".join(part for part in parts if part)
    return titles


def setting_text(name: str, value: Any) -> str:
    """Name the value of a setting."""
    if value is None or (name == "computation" and value != NO_COMPUTATION):
        return ""
    if name == "computation":
        return "without computation"
    if name in BY_VALUE:
        return str(value)
    text = (
        f"{value:g}"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else str(value)
    )
    if name == "parties":
        return f"{text} parties"
    if name in ("epsilon", "delta"):
        return f"{name} {text}"
    return f"{text} rows" if name in ("rows", "rows_asked") else f"{name.replace('_', ' ')}={text}"
