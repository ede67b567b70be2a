"""A figure as SVG and PDF for a paper: vectors, with their fonts, at the size of print."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from ...messages import UsageError
from ..pages.canvas import default_settings
from ..pages.chart_look import PAPER
from ..pages.chart_panel import Panel, description
from ..pages.charts import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureWidth", "paper_files", "read_width"]

FigureWidth: TypeAlias = Literal["one", "two"]
POINTS: Final[dict[FigureWidth, float]] = {"one": 241.0, "two": 504.0}
"""Width of one column and of two, in points: 3.35 and 7 inches."""
HEIGHT: Final = 160.0
"""Points of a panel, without the legend."""
FONT: Final = "DejaVu Sans"
"""The font that matplotlib brings with it."""


def read_width(text: str | None) -> FigureWidth | None:
    """Read the number of columns of a paper that a figure takes.

    Raises:
        UsageError: it is another word.
    """
    widths: dict[str, FigureWidth] = {name: name for name in get_args(FigureWidth)}
    if text is not None and text not in widths:
        raise UsageError(f"expected --figure-width {' or '.join(widths)}, found {text!r}")
    return None if text is None else widths[text]


def paper_files(
    panels: Sequence[Panel], *, name: str, title: str, width: FigureWidth | None = None
) -> dict[str, bytes]:
    """Draw panels as SVG and as PDF.

    Args:
        panels: The panels.
        name: Name of the files, without ending.
        title: Title of the documents; it is not drawn.
        width: Columns of the paper; without it two for several panels, and otherwise one.
    """
    points = POINTS[width or ("one" if len(panels) == 1 else "two")]
    across = 1 if points == POINTS["one"] else _across(len(panels))
    height = HEIGHT if points == POINTS["one"] or across > 1 else 1.25 * HEIGHT
    text = " ".join(map(description, panels))
    with _paper_settings():
        figure = draw(panels, PAPER, width=points, height=height, across=across)
        return {
            f"{name}.svg": _svg(figure, title=title, text=text),
            f"{name}.pdf": _pdf(figure, title=title),
        }


def _across(panels: int) -> int:
    """Give the number of panels beside each other in two columns of a paper."""
    return panels if panels <= 3 else 2 if panels == 4 else 3


@contextmanager
def _paper_settings() -> Iterator[None]:
    """Write text as text, with TrueType fonts within the file."""
    import matplotlib as mpl

    with default_settings(), warnings.catch_warnings():
        mpl.rc("pdf", fonttype=42)
        mpl.rc("font", family=[FONT])
        # A name may have letters that the font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def _pdf(figure: Figure, *, title: str) -> bytes:
    """Write PDF that is the same each time."""
    out = io.BytesIO()
    metadata = {"Title": title, "Creator": "sottovoce", "Producer": None, "CreationDate": None}
    figure.savefig(out, format="pdf", metadata=metadata)
    return out.getvalue()


def _svg(figure: Figure, *, title: str, text: str) -> bytes:
    """Write SVG whose text is text, with the letters of its font."""
    out = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", metadata=nothing)
    svg = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)
    letters = "".join(re.findall(r"<text[^>]*>([^<]*)", svg))
    head = f"<title>{escape(title)}</title><desc>{escape(text)}</desc>{_font_face(letters)}"
    place = svg.index(">", svg.index("<svg")) + 1
    return (svg[:place] + head + svg[place:]).encode()


def _font_face(letters: str) -> str:
    """Give the font with these letters alone, within a style sheet."""
    from fontTools import subset
    from matplotlib.font_manager import findfont

    options = subset.Options()
    options.layout_features = []
    options.drop_tables += ["FFTM"]
    out = io.BytesIO()
    with subset.load_font(findfont(FONT), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(text=letters + " &<>")
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(out)
    data = base64.b64encode(out.getvalue()).decode()
    return (
        f"<style>@font-face {{ font-family: '{FONT}'; "
        f"src: url(data:font/woff;base64,{data}) format('woff'); }}</style>"
    )
