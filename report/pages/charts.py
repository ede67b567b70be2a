"""Charts, drawn by matplotlib, as SVG for a page or by itself: text stays text, colours follow the
reader's theme.

matplotlib knows no themes. It is given colours that stand for names (`MARKS`), and these become the
page's CSS variables. Each chart has a title and a description, for those who cannot see it, and
shapes and strokes beside its colours.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from math import isfinite
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from .document import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["Line", "Panel", "panels", "standing_alone"]

INK: Final = "#010203"
QUIET: Final = "#010204"
PAPER: Final = "#010205"
GRID: Final = "#010206"
SERIES: Final = tuple(f"#0102{16 + at:02x}" for at in range(8))
MARKS: Final[Mapping[str, str]] = {
    INK: "--ink",
    QUIET: "--quiet",
    PAPER: "--paper",
    GRID: "--line",
    **{mark: f"--series-{at}" for at, mark in enumerate(SERIES, start=1)},
}
SHAPES: Final = "os^DvPX*"
STROKES: Final = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)))
FLOORS: Final = (":", "-.")
INCH: Final = 72
"""Points, of which one is a pixel of the page."""
LETTER: Final = 6.2
"""The width of a letter of 10.5 pixels, on average."""
UPRIGHT: Final = 36
"""Letters that have room beside a chart."""
MOST_MARKED: Final = 8
"""Values of a logarithmic axis that are all marked."""

Place: TypeAlias = float | str
"""Where along x: a number, or the name of a thing."""
Kind: TypeAlias = Literal["measured", "level", "floor", "printed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart: points, in order, and where it is known half the width of each one's
    spread.

    A level is the same everywhere; a floor is what others are held against, and has no colour;
    printed are a paper's own numbers, hollow, in the colour of the line that they are `of`.
    """

    name: str
    points: Sequence[tuple[Place, float]]
    spread: Sequence[float] = ()
    kind: Kind = "measured"
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart of a picture."""

    lines: Sequence[Line]
    title: str = ""
    x: str
    y: str = ""
    log_x: bool = False
    log_y: bool = False


def panels(drawn: Sequence[Panel], *, title: str, width: float = 420, height: float = 260) -> str:
    """Draw charts beside and below one another; a name has one colour and one shape in all, and
    stands once in the legend.
    """
    names = [
        own.name for panel in drawn for own in panel.lines if own.kind in ("measured", "level")
    ]
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    across = 1 if len(drawn) == 1 else 2
    down = -(-len(drawn) // across)
    entries = {own.name for panel in drawn for own in panel.lines}
    columns = max(1, int(width * across / (LETTER * max(map(len, entries), default=0) + 50)))
    letters = max(20, int((width * across - 60) / LETTER))
    tall = (
        sum(len(wrap(own, letters)) for own in entries)
        if columns == 1
        else -(-len(entries) // columns)
    )
    with _plain():
        figure = _figure(width * across, height * down + 17 * tall)
        for number, panel in enumerate(drawn, start=1):
            _panel(_dressed(figure.add_subplot(down, across, number)), panel, order)
        handles: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if len(handles) > 1:
            figure.legend(
                handles.values(),
                [fill(own, letters) for own in handles],
                loc="outside upper left",
                ncols=columns,
                frameon=False,
                fontsize=10.5,
                labelcolor=INK,
                handlelength=2.6,
            )
        return _svg(figure, title=title, text=" ".join(map(_told, drawn)))


def _panel(axes: Axes, panel: Panel, order: Mapping[str, int]) -> None:
    names = list(
        dict.fromkeys(
            place for own in panel.lines for place, _ in own.points if isinstance(place, str)
        )
    )
    places = {name: float(at) for at, name in enumerate(names)}
    numbers: list[float] = []
    heights: list[float] = []
    for line in panel.lines:
        shown = [(places[x] if isinstance(x, str) else float(x), y) for x, y in line.points]
        spread = line.spread if len(line.spread) == len(shown) else [0.0] * len(shown)
        kept = [
            (x, y, own)
            for (x, y), own in zip(shown, spread, strict=True)
            if isfinite(x) and isfinite(y)
        ]
        if points := [own for own in kept if own[1] > 0 or not panel.log_y]:
            _line(axes, line, points, order, joined=not names)
            heights += [y for _, y, _ in points]
            numbers += [x for x, _, _ in points if line.kind in ("measured", "printed")]
    if names:
        axes.set_xticks([*places.values()], names, rotation=20, ha="right")
    elif panel.log_x and numbers and min(numbers) > 0:
        axes.set_xscale("log")
        _logarithmic(axes.xaxis, numbers, marked=True)
    elif len({*numbers}) == 1:
        axes.set_xticks(numbers[:1])
    elif all(own.is_integer() for own in numbers):
        axes.locator_params(axis="x", integer=True)
    if panel.log_y and heights:
        axes.set_yscale("log")
        _logarithmic(axes.yaxis, heights, marked=False)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(fill(panel.y, UPRIGHT))
    axes.set_title(panel.title, fontsize=11, color=INK)


def _line(
    axes: Axes,
    line: Line,
    points: Sequence[tuple[float, float, float]],
    order: Mapping[str, int],
    *,
    joined: bool,
) -> None:
    at = order.get(line.of or line.name, 0)
    colour, shape = SERIES[at % len(SERIES)], SHAPES[at % len(SHAPES)]
    across, up, spread = zip(*points, strict=True)
    if line.kind == "floor":
        drawn = sum(own.get_linestyle() in FLOORS for own in axes.lines)
        axes.axhline(
            up[0],
            label=line.name,
            color=QUIET,
            linestyle=FLOORS[drawn % len(FLOORS)],
            linewidth=1.6,
            zorder=2,
        )
    elif line.kind == "level":
        axes.axhline(up[0], label=line.name, color=colour, linestyle="--", linewidth=1.2, zorder=2)
    elif line.kind == "printed":
        axes.plot(
            across,
            up,
            label=line.name,
            color=colour,
            linestyle="",
            marker=shape,
            ms=9,
            markerfacecolor="none",
            zorder=4,
        )
    else:
        stroke = STROKES[at // len(SERIES) % len(STROKES)] if joined else ""
        axes.plot(
            across,
            up,
            label=line.name,
            color=colour,
            linestyle=stroke,
            marker=shape,
            ms=5,
            linewidth=1.6,
            zorder=3,
        )
        if any(spread):
            axes.errorbar(
                across,
                up,
                yerr=spread,
                fmt="none",
                ecolor=colour,
                elinewidth=1,
                capsize=2.5,
                zorder=2,
            )


def _told(panel: Panel) -> str:
    """Say in words what is drawn."""
    lines = []
    for line in panel.lines:
        points = [
            f"{_number(y)} at {x if isinstance(x, str) else f'{x:g}'}" for x, y in line.points
        ]
        lines.append(
            f"{line.name}: {_number(line.points[0][1]) if line.kind in ('floor', 'level') else ', '.join(points)}"
        )
    what = f"{panel.y or panel.title} over {panel.x}".strip()
    return f"{what}. {'; '.join(lines)}."


def standing_alone(svg: str) -> str:
    """Give a chart that leaves its page the colours that the page gave it."""
    colours = STYLE[STYLE.index(":root") : STYLE.index("* {")]
    return svg.replace(">", f"><style>{colours}svg {{ background: var(--paper); }}</style>", 1)


@contextlib.contextmanager
def _plain() -> Iterator[None]:
    """Use nothing of the reader's own settings of matplotlib, so that a chart looks the same
    everywhere.
    """
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rc("svg", fonttype="none", hashsalt="sottovoce")
        mpl.rc("axes", prop_cycle=cycler(color=[INK]))
        mpl.rc("text", parse_math=False)  # a category may have dollars in its name
        yield


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure as Drawn

    drawn = Drawn(figsize=(width / INCH, height / INCH), layout="constrained")
    drawn.patch.set_alpha(0)
    return drawn


def _dressed(axes: Axes) -> Axes:
    axes.patch.set_alpha(0)
    axes.grid(visible=True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=10.5, which="both")
    axes.xaxis.label.set(color=INK, fontsize=11)
    axes.yaxis.label.set(color=INK, fontsize=11)
    for name, spine in axes.spines.items():
        spine.set_color(GRID)
        spine.set_visible(name in ("left", "bottom"))
    return axes


def _logarithmic(axis: Axis, values: Sequence[float], *, marked: bool) -> None:
    """Mark the values that there are, where they are few: nobody asks for 10 to the 0; else powers,
    and 2 and 5 times them.
    """
    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        LogLocator,
        NullFormatter,
        NullLocator,
    )

    plain = FuncFormatter(
        lambda value, _: f"{value:.6f}".rstrip("0").rstrip(".") if value < 1 else f"{value:,.10g}"
    )
    there = sorted({*values})
    axis.set_major_formatter(plain)
    if marked and len(there) <= MOST_MARKED:
        axis.set_major_locator(FixedLocator(there))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.set_minor_formatter(plain if there[-1] < 30 * there[0] else NullFormatter())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _svg(drawn: Figure, *, title: str, text: str) -> str:
    """Write a figure as one SVG element: the same text for the same figure, names that no other
    picture on the page has.
    """
    out = io.StringIO()
    drawn.savefig(
        out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    svg = out.getvalue()
    svg = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL
    )
    width, height = (float(own) for own in re.findall(r'(?:width|height)="([0-9.]+)pt"', svg)[:2])
    own = sha256((title + text).encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{own}-\1"', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", svg)
    # matplotlib names its own fonts; the page's are wanted, in matplotlib's sizes.
    svg = re.sub(
        r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    )
    for mark, name in MARKS.items():
        svg = svg.replace(mark, f"var({name})")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>"
    )
    return head + svg[svg.index(">") + 1 :].strip()
