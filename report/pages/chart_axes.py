"""One chart, drawn on matplotlib's axes: lines with error bars, or bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf, log10
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from ..formats import bytes_text
from .canvas import logarithmic_ticks, plain_number
from .chart_look import BASELINES, SHAPES, STROKES, Look
from .chart_panel import Line, Panel, Point, number_text, points_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MAX_BAR_NAME", "draw_panel", "styled"]

MAX_ERROR_BARS: Final = 8
"""Points of a line whose spread is shown as bars; that of more points is a band."""
TOLERANCE: Final = 0.015
"""Part of the chart's height within which points coincide."""
MARGIN: Final = 0.05
"""Part of the chart's height that stays free above the highest line."""
MAX_DEPTH: Final = 3
"""Lines below one another that still become wider."""
NEAR: Final = 0.03
"""Part of the longest bar within which a paper's number stands on the end of a bar."""
MAX_BAR_NAME: Final = 24
"""Letters of a line of a bar's name."""


def styled(axes: Axes, look: Look) -> Axes:
    """Give axes the colours and sizes of a look."""
    axes.patch.set_alpha(0)
    axes.grid(visible=True, color=look.grid, linewidth=look.line_width * 0.45)
    axes.set_axisbelow(True)
    axes.tick_params(colors=look.quiet, labelcolor=look.ink, labelsize=look.tick_size, which="both")
    axes.xaxis.label.set(color=look.ink, fontsize=look.label_size)
    axes.yaxis.label.set(color=look.ink, fontsize=look.label_size)
    for name, spine in axes.spines.items():
        spine.set_color(look.grid)
        spine.set_visible(name in ("left", "bottom"))
    return axes


def draw_panel(axes: Axes, panel: Panel, order: Mapping[str, int], look: Look) -> None:
    """Draw a chart; `order` numbers the lines for colours and shapes."""
    if panel.is_bars:
        _draw_bars(axes, panel, order, look)
    else:
        _draw_lines(axes, panel, order, look)


def _draw_lines(axes: Axes, panel: Panel, order: Mapping[str, int], look: Look) -> None:
    """Draw lines. Names along x have places 0, 1, and so on."""
    names = [place for place in panel.places if isinstance(place, str)]
    places = {name: float(number) for number, name in enumerate(names)}
    drawn = [
        (line, points)
        for line in panel.lines
        if (points := points_of(line, places, log_y=panel.log_y))
    ]
    heights = [point.y for _, points in drawn for point in points]
    numbers = [
        point.x
        for line, points in drawn
        for point in points
        if line.kind in ("measured", "printed")
    ]
    depths = _depths([points for _, points in drawn], heights, log_y=panel.log_y)
    for index, (line, points) in enumerate(drawn):
        number = order.get(line.of or line.name, 0)
        is_measured = line.kind == "measured"
        placed = _beside(points, index, len(drawn)) if names and is_measured else points
        depth = depths[index] if is_measured and not names else 0
        _draw_line(axes, line, placed, number, depth=depth, joined=not names, look=look)
    if names:
        axes.set_xticks([*places.values()], names, rotation=20, ha="right")
        axes.set_xlim(-0.5, len(names) - 0.5)
    elif panel.log_x and numbers and min(numbers) > 0:
        axes.set_xscale("log")
        logarithmic_ticks(axes.xaxis, numbers, marked=True)
    elif all(number.is_integer() for number in numbers):
        axes.locator_params(axis="x", integer=True)
    _scale(axes, panel, heights, axis="y")
    axes.set_xlabel(panel.x)
    axes.set_ylabel(fill(panel.y, look.upright))
    axes.set_title(panel.title, fontsize=look.label_size, color=look.ink)


def _scale(axes: Axes, panel: Panel, heights: Sequence[float], *, axis: str) -> None:
    """Let the axis of figures begin at 0, or be logarithmic, and mark it in its unit."""
    from matplotlib.ticker import FuncFormatter

    ruler = axes.yaxis if axis == "y" else axes.xaxis
    if panel.log_y and heights:
        (axes.set_yscale if axis == "y" else axes.set_xscale)("log")
        text_of = bytes_text if panel.unit == "B" else plain_number
        logarithmic_ticks(ruler, heights, marked=False, text_of=text_of)
    elif axis == "y":
        axes.set_ylim(0, axes.get_ylim()[1] * (1 + MARGIN))
    else:
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5)
    if panel.unit == "B" and not panel.log_y:
        ruler.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(value)))


def _beside(points: Sequence[Point], index: int, lines: int) -> list[Point]:
    """Move the points over names aside, so that those of several lines stand beside each other."""
    step = min(0.12, 0.7 / lines)
    return [point._replace(x=point.x + (index - (lines - 1) / 2) * step) for point in points]


def _depths(
    lines: Sequence[Sequence[Point]], heights: Sequence[float], *, log_y: bool
) -> list[int]:
    """Count for each line the later ones that coincide with it.

    A line is drawn wider the more lines lie upon it, and thus shows beside them.
    """
    levels = [log10(height) if log_y else height for height in heights]
    span = (max(levels) - (min(levels) if log_y else min(0.0, *levels))) if levels else 0.0
    within = TOLERANCE * (span or 1.0)
    by_place = [
        {point.x: log10(point.y) if log_y else point.y for point in points} for points in lines
    ]
    return [
        min(
            MAX_DEPTH, sum(_coincide(line, other, within=within) for other in by_place[index + 1 :])
        )
        for index, line in enumerate(by_place)
    ]


def _coincide(line: Mapping[float, float], other: Mapping[float, float], *, within: float) -> bool:
    """Tell whether two lines agree at two neighbouring places, or at the only one they share."""
    near = [abs(line[place] - other[place]) <= within for place in sorted(line.keys() & other)]
    return any(a and b for a, b in pairwise(near)) if len(near) > 1 else any(near)


def _draw_line(
    axes: Axes,
    line: Line,
    points: Sequence[Point],
    number: int,
    *,
    depth: int,
    joined: bool,
    look: Look,
) -> None:
    colour, shape = look.colours[number % len(look.colours)], SHAPES[number % len(SHAPES)]
    x, y, spread = zip(*points, strict=True)
    if line.kind in ("baseline", "level"):
        _draw_level(axes, line, y[0], colour, look, vertical=False)
    elif line.kind == "printed":
        axes.plot(x, y, label=line.name, **_hollow(colour, shape, look))
    else:
        axes.plot(
            x,
            y,
            label=line.name,
            color=colour,
            linestyle=STROKES[number % len(STROKES)] if joined else "",
            marker=shape,
            ms=look.marker_size * (1 + 0.5 * depth),
            linewidth=look.line_width * (1 + 1.3 * depth),
            markerfacecolor="none" if depth else colour,
            markeredgewidth=look.line_width * 0.8,
            alpha=0.6 if depth else 1,
            zorder=3 - 0.1 * depth,
        )
        if any(spread) and joined and len(points) > MAX_ERROR_BARS:
            below = [max(height - half, height * 0.01) for _, height, half in points]
            above = [height + half for _, height, half in points]
            axes.fill_between(x, below, above, color=colour, alpha=0.2, linewidth=0, zorder=2)
        elif any(spread):
            axes.errorbar(x, y, yerr=spread, **_error_bars(colour, look, depth=depth))


def _draw_level(
    axes: Axes, line: Line, value: float, colour: str, look: Look, *, vertical: bool
) -> None:
    drawn = sum(other.get_linestyle() in BASELINES for other in axes.lines)
    rule = axes.axvline if vertical else axes.axhline
    if line.kind == "baseline":
        stroke: Any = BASELINES[drawn % len(BASELINES)]
        rule(
            value,
            label=line.name,
            color=look.quiet,
            linestyle=stroke,
            linewidth=look.line_width,
            zorder=2,
        )
    else:
        rule(
            value,
            label=line.name,
            color=colour,
            linestyle="--",
            linewidth=look.line_width * 0.75,
            zorder=2,
        )


def _hollow(colour: str, shape: str, look: Look) -> dict[str, Any]:
    """Give the style of a paper's numbers."""
    return {
        "color": colour,
        "linestyle": "",
        "marker": shape,
        "ms": look.marker_size * 1.8,
        "markerfacecolor": "none",
        "zorder": 4,
    }


def _error_bars(colour: str, look: Look, *, depth: int = 0) -> dict[str, Any]:
    """Give the style of error bars."""
    return {
        "fmt": "none",
        "ecolor": colour,
        "elinewidth": look.line_width * 0.65,
        "capsize": look.marker_size * (0.5 + 0.25 * depth),
        "zorder": 2,
    }


def _draw_bars(axes: Axes, panel: Panel, order: Mapping[str, int], look: Look) -> None:
    """Draw a bar for each line, or for each name of the only line; on a logarithmic axis points."""
    bars = panel.bars
    printed = {
        (line.of, place): value
        for line in panel.lines
        if line.kind == "printed"
        for place, value in line.points
    }
    longest = max((bar.value + bar.spread for bar in bars), default=0.0)
    rows = {(bar.line, bar.place): row for row, bar in enumerate(bars)}
    for row, bar in enumerate(bars):
        number = order.get(bar.line, 0)
        colour = look.colours[number % len(look.colours)]
        if panel.log_y:
            shape = SHAPES[number % len(SHAPES)]
            size = look.marker_size * 1.3
            axes.plot([bar.value], [row], color=colour, marker=shape, ms=size, zorder=3)
        else:
            axes.barh(row, bar.value, height=0.6, color=colour, alpha=0.8, zorder=2)
        if bar.spread:
            style = _error_bars(look.ink, look)
            axes.errorbar([bar.value], [row], xerr=[bar.spread], **style)
        text = bytes_text(bar.value) if panel.unit == "B" else number_text(bar.value)
        end, mark = bar.value + bar.spread, printed.get((bar.line, bar.place), -inf)
        covered = abs(mark - end) <= NEAR * longest
        axes.annotate(
            text,
            (max(end, mark) if covered else end, row),
            xytext=(look.tick_size * 0.6 + (look.marker_size if covered else 0), 0),
            textcoords="offset points",
            va="center",
            fontsize=look.tick_size,
            color=look.ink,
        )
    values = [bar.value for bar in bars]
    for line in panel.lines:
        number = order.get(line.of or line.name, 0)
        colour = look.colours[number % len(look.colours)]
        if line.kind in ("baseline", "level"):
            _draw_level(axes, line, line.points[0][1], colour, look, vertical=True)
            values.append(line.points[0][1])
        elif line.kind == "printed":
            marks = [(y, rows[line.of, x]) for x, y in line.points if (line.of, x) in rows]
            if marks:
                shape = SHAPES[number % len(SHAPES)]
                axes.plot(
                    *zip(*marks, strict=True), label=line.name, **_hollow(colour, shape, look)
                )
    axes.set_yticks(range(len(bars)), [fill(bar.name, MAX_BAR_NAME) for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    _scale(axes, panel, [value for value in values if value > 0 or not panel.log_y], axis="x")
    _widen(axes, panel, [bar.value + bar.spread for bar in bars] + values)
    axes.set_xlabel(panel.y or panel.title)
    axes.set_title(panel.bars_title, fontsize=look.label_size, color=look.ink)


def _widen(axes: Axes, panel: Panel, ends: Sequence[float]) -> None:
    """Leave room for the numbers at the ends of bars."""
    positive = [end for end in ends if end > 0]
    if not positive:
        return
    if panel.log_y:
        decades = max(log10(max(positive) / min(positive)), 1.0)
        axes.set_xlim(min(positive) * 10 ** (-0.1 * decades), max(positive) * 10 ** (0.4 * decades))
    else:
        axes.set_xlim(0, max(positive) * 1.3)
