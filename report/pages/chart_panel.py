"""A chart as data: panels of lines, and their description in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Bar", "Line", "Panel", "Place", "Point", "description", "number_text", "points_of"]

Place: TypeAlias = float | str
"""A place along x: a number, or a name."""
Kind: TypeAlias = Literal["measured", "level", "baseline", "printed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart.

    A level is the same everywhere. A baseline is a level that others are compared with; it has no
    colour. Printed numbers are a paper's, and are hollow marks.
    """

    name: str
    points: Sequence[tuple[Place, float]]
    """The points, in order."""
    spread: Sequence[float] = ()
    """Half the width of each point's error bar, where it is known."""
    kind: Kind = "measured"
    of: str = ""
    """The line whose colour printed numbers have."""


class Bar(NamedTuple):
    """A bar of a chart."""

    name: str
    line: str
    place: Place
    value: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart of a picture.

    Lines over a single value of x, and a single line over names, are drawn as bars.
    """

    lines: Sequence[Line]
    title: str = ""
    x: str
    y: str = ""
    log_x: bool = False
    log_y: bool = False
    unit: str = ""
    """Unit of y that ticks are marked with: B for bytes, which become kB and MB, or nothing."""
    shares_limits: bool = False
    """Whether the figure has the same limits as in the other panels that share them."""

    @property
    def places(self) -> list[Place]:
        """The places of measured and printed points, in the order of the lines."""
        points = [
            place
            for line in self.lines
            if line.kind in ("measured", "printed")
            for place, _ in line.points
        ]
        return list(dict.fromkeys(points))

    @property
    def is_bars(self) -> bool:
        measured = sum(line.kind == "measured" for line in self.lines)
        return measured > 0 and (
            len(self.places) == 1
            or (measured == 1 and all(isinstance(place, str) for place in self.places))
        )

    @property
    def bars(self) -> list[Bar]:
        """The bars, named by lines, or by places where there is only one line."""
        named_by_place = len(self.places) > 1
        bars = []
        for line in self.lines:
            if line.kind != "measured":
                continue
            spread = line.spread or [0.0] * len(line.points)
            for (place, value), half in zip(line.points, spread, strict=True):
                name = str(place) if named_by_place else line.name
                if isfinite(value) and (value > 0 or not self.log_y):
                    bars.append(Bar(name, line.name, place, value, half))
        return bars

    @property
    def bars_title(self) -> str:
        """The title of bars, which says what x is in all of them."""
        places = self.places
        if len(places) != 1:
            return self.title
        place = places[0] if isinstance(places[0], str) else f"{places[0]:g}"
        fixed = f"{self.x}: {place}"
        return f"{self.title}, {fixed}" if self.title else fixed


class Point(NamedTuple):
    """A point as it is drawn."""

    x: float
    y: float
    spread: float


def points_of(line: Line, places: Mapping[str, float], *, log_y: bool) -> list[Point]:
    """Give the points of a line that can be drawn: finite ones, on a logarithmic axis above 0."""
    spread = line.spread if len(line.spread) == len(line.points) else [0.0] * len(line.points)
    points = []
    for (place, y), half in zip(line.points, spread, strict=True):
        x = places[place] if isinstance(place, str) else float(place)
        if isfinite(x) and isfinite(y) and (y > 0 or not log_y):
            points.append(Point(x, y, half))
    return points


def description(panel: Panel) -> str:
    """Describe a chart in words."""
    lines = []
    for line in panel.lines:
        text = number_text(line.points[0][1])
        if line.kind not in ("baseline", "level"):
            text = ", ".join(
                f"{number_text(y)} at {place if isinstance(place, str) else f'{place:g}'}"
                for place, y in line.points
            )
        lines.append(f"{line.name}: {text}")
    axes = f"{panel.y or panel.title} over {panel.x}".strip()
    return f"{axes}. {'; '.join(lines)}."


def number_text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
