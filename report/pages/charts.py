"""Line charts, drawn by matplotlib as SVG.

Shapes and strokes tell lines apart besides colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from .canvas import (
    INK,
    QUIET,
    SERIES,
    default_settings,
    logarithmic_ticks,
    new_figure,
    svg_of,
    themed,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Line", "Panel", "panels"]

SHAPES: Final = "os^DvPX*"
STROKES: Final = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)))
BASELINES: Final = (":", "-.")
LETTER: Final = 6.2
"""The width of a letter of 10.5 pixels, on average."""
MAX_UPRIGHT: Final = 36
"""Letters of a line beside a chart."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart of a picture."""

    lines: Sequence[Line]
    title: str = ""
    x: str
    y: str = ""
    log_x: bool = False
    log_y: bool = False


class Point(NamedTuple):
    """A point as it is drawn."""

    x: float
    y: float
    spread: float


def panels(charts: Sequence[Panel], *, title: str, width: float = 420, height: float = 260) -> str:
    """Draw charts beside and below one another.

    A line has the same colour and shape in all of them, and stands once in the legend.
    """
    coloured = [
        line.name for chart in charts for line in chart.lines if line.kind in ("measured", "level")
    ]
    order = {name: number for number, name in enumerate(dict.fromkeys(coloured))}
    names = {line.name for chart in charts for line in chart.lines}
    across = 1 if len(charts) == 1 else 2
    down = -(-len(charts) // across)
    columns = max(1, int(width * across / (LETTER * max(map(len, names), default=0) + 50)))
    letters = max(20, int((width * across - 60) / LETTER))
    rows = -(-len(names) // columns)
    if columns == 1:
        rows = sum(len(wrap(name, letters)) for name in names)
    with default_settings():
        figure = new_figure(width * across, height * down + 17 * rows)
        for number, chart in enumerate(charts, start=1):
            _draw_panel(themed(figure.add_subplot(down, across, number)), chart, order)
        _draw_legend(figure, columns=columns, letters=letters)
        return svg_of(figure, title=title, text=" ".join(map(_description, charts)))


def _draw_legend(figure: Figure, *, columns: int, letters: int) -> None:
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) > 1:
        figure.legend(
            handles.values(),
            [fill(name, letters) for name in handles],
            loc="outside upper left",
            ncols=columns,
            frameon=False,
            fontsize=10.5,
            labelcolor=INK,
            handlelength=2.6,
        )


def _draw_panel(axes: Axes, panel: Panel, order: Mapping[str, int]) -> None:
    """Draw a chart. Names along x have places 0, 1, and so on."""
    names = list(
        dict.fromkeys(
            place for line in panel.lines for place, _ in line.points if isinstance(place, str)
        )
    )
    places = {name: float(number) for number, name in enumerate(names)}
    numbers: list[float] = []
    heights: list[float] = []
    for line in panel.lines:
        points = [point for point in _points(line, places) if point.y > 0 or not panel.log_y]
        if points:
            _draw_line(axes, line, points, order.get(line.of or line.name, 0), joined=not names)
            heights += [point.y for point in points]
            if line.kind in ("measured", "printed"):
                numbers += [point.x for point in points]
    if names:
        axes.set_xticks([*places.values()], names, rotation=20, ha="right")
    elif panel.log_x and numbers and min(numbers) > 0:
        axes.set_xscale("log")
        logarithmic_ticks(axes.xaxis, numbers, marked=True)
    elif len({*numbers}) == 1:
        axes.set_xticks(numbers[:1])
    elif all(number.is_integer() for number in numbers):
        axes.locator_params(axis="x", integer=True)
    if panel.log_y and heights:
        axes.set_yscale("log")
        logarithmic_ticks(axes.yaxis, heights, marked=False)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(fill(panel.y, MAX_UPRIGHT))
    axes.set_title(panel.title, fontsize=11, color=INK)


def _points(line: Line, places: Mapping[str, float]) -> Iterable[Point]:
    """Give the finite points of a line."""
    spread = line.spread if len(line.spread) == len(line.points) else [0.0] * len(line.points)
    for (place, y), half in zip(line.points, spread, strict=True):
        x = places[place] if isinstance(place, str) else float(place)
        if isfinite(x) and isfinite(y):
            yield Point(x, y, half)


def _draw_line(
    axes: Axes, line: Line, points: Sequence[Point], number: int, *, joined: bool
) -> None:
    colour, shape = SERIES[number % len(SERIES)], SHAPES[number % len(SHAPES)]
    x, y, spread = zip(*points, strict=True)
    if line.kind == "baseline":
        drawn = sum(other.get_linestyle() in BASELINES for other in axes.lines)
        stroke = BASELINES[drawn % len(BASELINES)]
        axes.axhline(y[0], label=line.name, color=QUIET, linestyle=stroke, linewidth=1.6, zorder=2)
    elif line.kind == "level":
        axes.axhline(y[0], label=line.name, color=colour, linestyle="--", linewidth=1.2, zorder=2)
    elif line.kind == "printed":
        axes.plot(
            x,
            y,
            label=line.name,
            color=colour,
            linestyle="",
            marker=shape,
            ms=9,
            markerfacecolor="none",
            zorder=4,
        )
    else:
        axes.plot(
            x,
            y,
            label=line.name,
            color=colour,
            linestyle=STROKES[number // len(SERIES) % len(STROKES)] if joined else "",
            marker=shape,
            ms=5,
            linewidth=1.6,
            zorder=3,
        )
        if any(spread):
            axes.errorbar(
                x,
                y,
                yerr=spread,
                fmt="none",
                ecolor=colour,
                elinewidth=1,
                capsize=2.5,
                zorder=2,
            )


def _description(panel: Panel) -> str:
    """Describe a chart in words."""
    lines = []
    for line in panel.lines:
        text = _number(line.points[0][1])
        if line.kind not in ("baseline", "level"):
            text = ", ".join(
                f"{_number(y)} at {place if isinstance(place, str) else f'{place:g}'}"
                for place, y in line.points
            )
        lines.append(f"{line.name}: {text}")
    axes = f"{panel.y or panel.title} over {panel.x}".strip()
    return f"{axes}. {'; '.join(lines)}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
