"""What all pictures are made of."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

__all__ = ["LETTER", "Edges", "brief", "line", "shortened", "svg"]

LETTER: Final = 6.0
"""The width of a letter of 10 pixels, on average."""

Edges = Sequence[Sequence[str]]


def svg(width: float, height: float, *, title: str, text: str, body: str, size: int = 10) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="{size}" fill="currentColor" stroke="none">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>\n{body}</svg>\n"
    )


def line(one: tuple[float, float], other: tuple[float, float], strength: float) -> str:
    ends = f'x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{strength:.2f}"/>'


def brief(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
