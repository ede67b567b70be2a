"""Parts that all pictures of models share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, TypeAlias

__all__ = ["LETTER", "Edges", "Position", "brief", "line", "shortened", "svg"]

LETTER: Final = 6.0
"""The width of a letter of 10 pixels, on average."""

Edges: TypeAlias = Sequence[Sequence[str]]
Position: TypeAlias = tuple[float, float]


def svg(width: float, height: float, *, title: str, text: str, body: str, size: int = 10) -> str:
    """Frame a picture; `text` describes it for those who cannot see it."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="{size}" fill="currentColor" '
        'stroke="none">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>\n{body}</svg>\n"
    )


def line(start: Position, end: Position, strength: float) -> str:
    """Draw a straight line, from invisible at strength 0 to black at 1."""
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{strength:.2f}"/>'


def brief(names: Sequence[str], limit: int = 8) -> str:
    """List names, and count those beyond a limit."""
    text = ", ".join(names[:limit])
    return f"{text} and {len(names) - limit} more" if len(names) > limit else text


def shortened(text: str, limit: int) -> str:
    """Cut a text to so many letters."""
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
