"""matplotlib's figures as SVG whose text stays text and whose colours follow the reader's theme.

matplotlib knows no themes. It is given colours that stand for names (`MARKS`), and these become the
page's CSS variables. Every picture has a title and a description for those who cannot see it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "QUIET",
    "SERIES",
    "default_settings",
    "logarithmic_ticks",
    "plain_number",
    "new_figure",
    "svg_of",
]

INK: Final = "#010203"
QUIET: Final = "#010204"
PAPER: Final = "#010205"
GRID: Final = "#010206"
SERIES: Final = tuple(f"#0102{16 + number:02x}" for number in range(8))
MARKS: Final[Mapping[str, str]] = {
    INK: "--ink",
    QUIET: "--quiet",
    PAPER: "--paper",
    GRID: "--line",
    **{mark: f"--series-{number}" for number, mark in enumerate(SERIES, start=1)},
}
"""CSS variables by the colours that stand for them."""
INCH: Final = 72
"""Points in an inch; a point is a pixel of the page."""
MAX_TICKS: Final = 8
"""Number of values of a logarithmic axis that are all marked."""
MAX_RATIO: Final = 40
"""Ratio of the ends of a logarithmic axis from which powers of ten alone have a number."""


@contextlib.contextmanager
def default_settings() -> Iterator[None]:
    """Ignore the person's own settings of matplotlib, so that pictures look the same everywhere."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rc("svg", fonttype="none", hashsalt="sottovoce")
        mpl.rc("axes", prop_cycle=cycler(color=[INK]))
        mpl.rc("text", parse_math=False)  # a category may have dollars in its name
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make a figure of so many pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / INCH, height / INCH), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def plain_number(value: float) -> str:
    """Write a number without an exponent.

    >>> plain_number(0.05), plain_number(20_000.0)
    ('0.05', '20,000')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".") if value < 1 else f"{value:,.10g}"


def logarithmic_ticks(
    axis: Axis,
    values: Sequence[float],
    *,
    marked: bool,
    text_of: Callable[[float], str] = plain_number,
) -> None:
    """Mark a logarithmic axis in plain numbers, or in the words of `text_of`.

    Few `marked` values are all marked. Otherwise powers of ten are. So are 2 and 5 times them where
    the axis has few powers of ten; panels that share their limits are marked alike.
    """
    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        LogLocator,
        NullLocator,
    )

    def between_powers(value: float, _: object) -> str:
        low, high = sorted(axis.get_view_interval())
        return text_of(value) if high < MAX_RATIO * low else ""

    different = sorted({*values})
    axis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value)))
    if marked and len(different) <= MAX_TICKS:
        axis.set_major_locator(FixedLocator(different))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.set_minor_formatter(FuncFormatter(between_powers))


def svg_of(figure: Figure, *, title: str, text: str) -> str:
    """Write a figure as one SVG element.

    The same figure gives the same text, and its names are not those of other pictures on the page.
    """
    out = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", metadata=nothing)
    svg = out.getvalue()
    svg = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL
    )
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([0-9.]+)pt"', svg)[:2])
    prefix = sha256((title + text).encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    # matplotlib names its own fonts; the page's are wanted, in matplotlib's sizes.
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    svg = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", svg)
    for mark, name in MARKS.items():
        svg = svg.replace(mark, f"var({name})")
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        'font-family="system-ui, sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>"
    )
    return head + svg[svg.index(">") + 1 :].strip()
