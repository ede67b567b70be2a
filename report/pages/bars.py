"""Bars, lying, with their names on the left and their figures at their ends: a few rectangles,
which need no library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from unicodedata import east_asian_width

__all__ = ["Bars", "bars"]

THICK: Final = 11
GAP: Final = 8
LETTER: Final = 6.8
"""The width of a letter of 11 pixels, on average."""
LONGEST: Final = 26
FIGURE: Final = 42
"""Room for the figure at the end of a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A row of bars, one for each name."""

    name: str
    heights: Sequence[float]


def bars(names: Sequence[str], rows: Sequence[Bars], *, title: str, width: float = 320) -> str:
    """Draw rows of bars side by side; the longest reaches to the edge."""
    short = [_shortened(name) for name in names]
    left = max(map(_width, short), default=0) * LETTER + 8
    most = max((own for row in rows for own in row.heights), default=0) or 1
    room = width - left - FIGURE
    parts, x = [], 0.0
    for at, row in enumerate(rows if len(rows) > 1 else ()):
        parts.append(
            f'<rect x="{x:.1f}" y="4" width="12" height="9" fill="var(--series-{at + 1})"/>'
        )
        parts.append(f'<text x="{x + 16:.1f}" y="12.5">{escape(row.name)}</text>')
        x += 30 + LETTER * len(row.name)
    y = 22.0 if len(rows) > 1 else 4.0
    for at, name in enumerate(short):
        middle = y + THICK * len(rows) / 2
        parts.append(
            f'<text x="{left - 6:.1f}" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>'
        )
        for number, row in enumerate(rows):
            long = max(room * row.heights[at] / most, 0.0)
            figure = (
                f"{row.heights[at]:.3f}".removeprefix("0")
                if row.heights[at] < 1
                else f"{row.heights[at]:.3g}"
            )
            parts.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{long:.1f}" height="{THICK - 1}" fill="var(--series-{number + 1})"/>'
                f'<text x="{left + long + 4:.1f}" y="{y + 8.5:.1f}" font-size="10">{figure}</text>'
            )
            y += THICK
        y += GAP
    top = 22 if len(rows) > 1 else 4
    parts.append(
        f'<line x1="{left:.1f}" y1="{top}" x2="{left:.1f}" y2="{y - GAP:.1f}" stroke="var(--quiet)"/>'
    )
    told = [
        f"{name}: " + ", ".join(f"{row.name} {row.heights[at]:.4g}" for row in rows)
        for at, name in enumerate(names)
    ]
    size = f'viewBox="0 0 {max(width, x):.0f} {y:.0f}" width="{max(width, x):.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} font-family="system-ui, sans-serif" font-size="11" '
        f'fill="var(--ink)"><title>{escape(title)}</title><desc>{escape("; ".join(told))}</desc>\n{"".join(parts)}</svg>'
    )


def _width(text: str) -> float:
    """Count letters, as far as they are as wide as most."""
    return sum(
        1.8 if east_asian_width(own) in "WF" else 1.35 if own in "WM<>=@%" else 1.0 for own in text
    )


def _shortened(name: str) -> str:
    kept = name
    while _width(kept) > LONGEST:
        kept = kept[:-1]
    return kept if kept == name else kept[:-1] + "\N{HORIZONTAL ELLIPSIS}"
