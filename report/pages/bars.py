"""Horizontal bars as SVG, with names on the left and figures at their ends.

They are a few rectangles, so they need no library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from unicodedata import east_asian_width

__all__ = ["Bars", "bars"]

THICKNESS: Final = 11
GAP: Final = 8
LETTER: Final = 6.8
"""The width of a letter of 11 pixels, on average."""
MAX_LETTERS: Final = 26
"""Letters of a name that are shown where the caller does not say how many."""
FIGURE: Final = 42
"""The width of the figure at the end of a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A series of bars, one for each name."""

    name: str
    heights: Sequence[float]


def share_text(height: float) -> str:
    """Write a share as short as it can be.

    >>> share_text(0.25), share_text(1.5)
    ('.250', '1.5')
    """
    return f"{height:.3f}".removeprefix("0") if height < 1 else f"{height:.3g}"


def bars(
    names: Sequence[str],
    series: Sequence[Bars],
    *,
    title: str,
    width: float = 320,
    letters: int = MAX_LETTERS,
    write: Callable[[float], str] = share_text,
) -> str:
    """Draw series of bars below one another; the longest bar reaches the edge.

    Args:
        names: A name for each place; what is longer than `letters` is cut.
        series: The bars.
        title: What the picture shows.
        width: Its width, if the names of the series take no more.
        letters: How many letters of a name are shown.
        write: Writes the figure at the end of a bar.
    """
    labels = [_shortened(name, letters) for name in names]
    left = max(map(_width, labels), default=0) * LETTER + 8
    longest = max((height for bar in series for height in bar.heights), default=0) or 1
    scale = (width - left - FIGURE) / longest
    top = 22.0 if len(series) > 1 else 4.0
    legend, x = _legend(series) if len(series) > 1 else ([], 0.0)
    parts, y = legend, top
    for index, label in enumerate(labels):
        middle = y + THICKNESS * len(series) / 2
        parts.append(
            f'<text x="{left - 6:.1f}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{escape(label)}</text>"
        )
        for number, bar in enumerate(series, start=1):
            parts.append(_bar(bar.heights[index], number, left, y, scale=scale, write=write))
            y += THICKNESS
        y += GAP
    parts.append(
        f'<line x1="{left:.1f}" y1="{top:.0f}" x2="{left:.1f}" y2="{y - GAP:.1f}" '
        'stroke="var(--quiet)"/>'
    )
    description = "; ".join(
        f"{name}: " + ", ".join(f"{bar.name} {bar.heights[index]:.4g}" for bar in series)
        for index, name in enumerate(names)
    )
    size = f'viewBox="0 0 {max(width, x):.0f} {y:.0f}" width="{max(width, x):.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} '
        'font-family="system-ui, sans-serif" font-size="11" fill="var(--ink)">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>\n"
        f"{''.join(parts)}</svg>"
    )


def _legend(series: Sequence[Bars]) -> tuple[list[str], float]:
    """Draw the names of the series; return the width, too."""
    parts, x = [], 0.0
    for number, bar in enumerate(series, start=1):
        parts.append(
            f'<rect x="{x:.1f}" y="4" width="12" height="9" fill="var(--series-{number})"/>'
            f'<text x="{x + 16:.1f}" y="12.5">{escape(bar.name)}</text>'
        )
        x += 30 + LETTER * len(bar.name)
    return parts, x


def _bar(
    height: float, number: int, x: float, y: float, *, scale: float, write: Callable[[float], str]
) -> str:
    length = max(scale * height, 0.0)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{THICKNESS - 1}" '
        f'fill="var(--series-{number})"/>'
        f'<text x="{x + length + 4:.1f}" y="{y + 8.5:.1f}" font-size="10">{write(height)}</text>'
    )


def _width(text: str) -> float:
    """Measure a text in letters of average width."""
    return sum(
        1.8 if east_asian_width(letter) in "WF" else 1.35 if letter in "WM<>=@%" else 1.0
        for letter in text
    )


def _shortened(name: str, letters: int) -> str:
    kept = name[: letters + 1]  # each is at least as wide as one on average
    while _width(kept) > letters:
        kept = kept[:-1]
    return kept if kept == name else kept[:-1] + "\N{HORIZONTAL ELLIPSIS}"
