"""Charts, drawn by matplotlib, as SVG for a page or by itself: text stays text, colours follow the reader's theme.

matplotlib knows no themes. It is given colours that stand for names (`MARKS`), and these become the page's CSS variables. Each
chart has a title and a description, for those who cannot see it, and shapes and strokes beside its colours.
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
from typing import TYPE_CHECKING, Final

from .document import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Line", "curves", "standing_alone", "steps"]

INK: Final = "#010203"
QUIET: Final = "#010204"
PAPER: Final = "#010205"
GRID: Final = "#010206"
SERIES: Final = tuple(f"#0102{16 + at:02x}" for at in range(8))
MARKS: Final[Mapping[str, str]] = {
    INK: "--ink", QUIET: "--quiet", PAPER: "--paper", GRID: "--line",
    **{mark: f"--series-{at}" for at, mark in enumerate(SERIES, start=1)},
}  # fmt: skip
SHAPES: Final = "os^DvPX*"
STROKES: Final = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)))
INCH: Final = 72
"""Points, of which one is a pixel of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart: points, in order, and where it is known half the width of each one's spread."""

    name: str
    points: Sequence[tuple[float, float]]
    spread: Sequence[float] = ()
    quiet: bool = False
    """A floor or something else that others are held against: drawn without colour."""


def curves(
    lines: Sequence[Line],
    *,
    title: str,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    width: float = 420,
    height: float = 320,
) -> str:
    """Draw lines over numbers, such as error over epsilon."""
    with _chart(width, height) as (drawn, axes):
        coloured = 0
        for line in lines:
            points = [(one, two) for one, two in line.points if isfinite(one) and isfinite(two) and (two > 0 or not log_y)]
            if not points:
                continue
            _draw(axes, line, points, at=coloured)
            coloured += not line.quiet
        if log_x:
            _logarithmic_x(axes, [one for line in lines for one, _ in line.points])
        if log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        _legend(axes, len(lines), across=2)
        told = "; ".join(
            f"{line.name}: " + ", ".join(f"{_number(two)} at {one:g}" for one, two in line.points) for line in lines
        )
        return _svg(drawn, title=title, text=f"{y} over {x}. {told}")


def _draw(axes: Axes, line: Line, points: Sequence[tuple[float, float]], *, at: int) -> None:
    colour = QUIET if line.quiet else SERIES[at % len(SERIES)]
    stroke = ":" if line.quiet else STROKES[at // len(SERIES) % len(STROKES)]
    shape = "" if line.quiet and len(points) > 1 else SHAPES[at % len(SHAPES)]
    across, up = zip(*points, strict=True)
    order = 2 if line.quiet else 3
    axes.plot(across, up, label=line.name, color=colour, linestyle=stroke, marker=shape, ms=5, linewidth=1.6, zorder=order)
    if line.spread and len(line.spread) == len(points):
        axes.errorbar(across, up, yerr=line.spread, fmt="none", ecolor=colour, elinewidth=1, capsize=2.5, zorder=2)


def steps(
    points: Sequence[tuple[float, float]], *, spans: Sequence[tuple[str, float, float]], title: str, x: str, y: str
) -> str:
    """Draw what grows over time, above the spans that the time is made of."""
    with _chart(640, 240) as (drawn, axes):
        across, up = zip(*points, strict=True)
        axes.step(across, up, where="post", color=SERIES[0], linewidth=1.6)
        axes.fill_between(across, up, step="post", color=SERIES[0], alpha=0.12, linewidth=0)
        top = max(up) or 1
        end = max([across[-1], *(last for _, _, last in spans)]) or 1
        axes.set_xlim(0, end)
        axes.set_ylim(0, top * 1.3)
        for at, (name, first, last) in enumerate(spans):
            axes.axvspan(first, last, color=GRID, alpha=0.55 if at % 2 else 0.2, linewidth=0, zorder=0)
            if (last - first) / end > 0.012 * len(name):
                axes.text((first + last) / 2, top * 1.2, name, ha="center", va="center", color=INK, fontsize=10.5)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        told = "; ".join(f"{name} from {first:.3g} to {last:.3g}" for name, first, last in spans)
        return _svg(drawn, title=title, text=f"{y}: {up[-1]:,.0f} in the end. {told}")


def standing_alone(svg: str) -> str:
    """Give a chart that leaves its page the colours that the page gave it."""
    colours = STYLE[STYLE.index(":root") : STYLE.index("* {")]
    return svg.replace(">", f"><style>{colours}svg {{ background: var(--paper); }}</style>", 1)


@contextlib.contextmanager
def _chart(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """Open a chart; of the reader's own settings of matplotlib nothing is used, so that it looks the same everywhere."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.figure import Figure as Drawn

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rc("svg", fonttype="none", hashsalt="sottovoce")
        mpl.rc("axes", prop_cycle=cycler(color=[INK]))
        mpl.rc("text", parse_math=False)  # a category may have dollars in its name
        drawn = Drawn(figsize=(width / INCH, height / INCH), layout="constrained")
        axes = drawn.add_subplot()
        drawn.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        axes.grid(visible=True, color=GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=10.5, which="both")
        axes.xaxis.label.set(color=INK, fontsize=11)
        axes.yaxis.label.set(color=INK, fontsize=11)
        for name, spine in axes.spines.items():
            spine.set_color(GRID)
            spine.set_visible(name in ("left", "bottom"))
        yield drawn, axes


def _logarithmic_x(axes: Axes, values: Sequence[float]) -> None:
    """Mark the values that there are, where they are few: nobody asks for 10 to the 0."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_xscale("log")
    if len(there := sorted({*values})) <= 8:
        axes.xaxis.set_major_locator(FixedLocator(there))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend(axes: Axes, entries: int, *, across: int) -> None:
    if entries > 1:
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=across, frameon=False, fontsize=10.5, labelcolor=INK,
            handlelength=2.6,
        )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _svg(drawn: Figure, *, title: str, text: str) -> str:
    """Write a figure as one SVG element: the same text for the same figure, names that no other picture on the page has."""
    out = io.StringIO()
    drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    width, height = (float(own) for own in re.findall(r'(?:width|height)="([0-9.]+)pt"', svg)[:2])
    own = sha256((title + text).encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{own}-\1"', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", svg)
    # matplotlib names its own fonts; the page's are wanted, in matplotlib's sizes.
    svg = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", re.sub(r"font-family: [^;\"]*;? ?", "", svg))
    for mark, name in MARKS.items():
        svg = svg.replace(mark, f"var({name})")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>"
    )
    return head + svg[svg.index(">") + 1 :].strip()
