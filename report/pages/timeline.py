"""The time line of a run: a step chart over the spans of its phases, as plain SVG.

Every run has one, so it needs no drawing library: loading one takes longer than a small run.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import Final

__all__ = ["timeline"]

WIDTH: Final = 640
HEIGHT: Final = 150
LEFT: Final = 64
RIGHT: Final = 10
TOP: Final = 10
SPAN_HEIGHT: Final = 19
LETTER: Final = 6.2
"""Width of a letter of 11 pixels, on average."""
MAX_LETTERS: Final = 24
TICKS: Final = 5

Span = tuple[str, float, float]


def timeline(
    points: Sequence[tuple[float, float]],
    *,
    spans: Sequence[Span],
    title: str,
    x: str,
    y: str,
) -> str:
    """Draw a quantity that grows in steps over time, and below it the named spans of time."""
    names = [_shortened(name) for name, _, _ in spans]
    left = max([LEFT, *(LETTER * len(name) + 10 for name in names)])
    end = max([points[-1][0], *(last for _, _, last in spans)]) or 1.0
    top = max(value for _, value in points) or 1.0
    bottom, room = TOP + HEIGHT, WIDTH - left - RIGHT

    def across(when: float) -> float:
        return left + room * when / end

    def up(value: float) -> float:
        return bottom - HEIGHT * value / top

    parts = []
    for tick in ticks(top):
        parts += [
            _line(left, up(tick), WIDTH - RIGHT, up(tick)),
            _text(left - 6, up(tick) + 4, tick),
        ]
    parts.append(_steps([(across(when), up(value)) for when, value in points], bottom=bottom))
    for number, ((_, first, last), name) in enumerate(zip(spans, names, strict=True)):
        middle = bottom + 14 + SPAN_HEIGHT * number
        width = max(across(last) - across(first), 1.5)
        parts.append(
            f'<rect x="{across(first):.1f}" y="{middle:.1f}" width="{width:.1f}" height="11" '
            f'fill="var(--series-6)"/><text x="{left - 6:.1f}" y="{middle + 9:.1f}" '
            f'text-anchor="end">{escape(name)}</text>'
        )
    base = bottom + (12 + SPAN_HEIGHT * len(spans) if spans else 0)
    for tick in ticks(end):
        parts += [
            _line(across(tick), TOP, across(tick), base),
            _text(across(tick), base + 14, tick, anchor="middle"),
        ]
    below = f'x="{left + room / 2:.1f}" y="{base + 30:.1f}"'
    beside = f'transform="translate(11 {TOP + HEIGHT / 2:.0f}) rotate(-90)"'
    parts.append(f'<text {below} text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text {beside} text-anchor="middle">{escape(y)}</text>')
    phases = "; ".join(f"{name} from {first:.3g} to {last:.3g}" for name, first, last in spans)
    description = f"{y}: {points[-1][1]:,.4g} in the end. {phases}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {base + 36:.0f}" '
        f'width="{WIDTH}" height="{base + 36:.0f}" font-family="system-ui, sans-serif" '
        f'font-size="11" fill="var(--ink)"><title>{escape(title)}</title>'
        f"<desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def ticks(limit: float) -> list[float]:
    """Choose round numbers from 0 to a limit: 1, 2 or 5 times a power of ten apart.

    >>> ticks(0.7), ticks(42.0)
    ([0.0, 0.2, 0.4, 0.6], [0.0, 10.0, 20.0, 30.0, 40.0])
    """
    power = 10.0 ** floor(log10(limit / TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if limit / (power * factor) <= TICKS)
    return [float(f"{step * number:.12g}") for number in range(int(limit / step + 1e-9) + 1)]


def _steps(points: Sequence[tuple[float, float]], *, bottom: float) -> str:
    """Draw the line, which stays level until the next point, and fill the area below it."""
    path, level = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"], points[0][1]
    for place, height in points[1:]:
        path.append(f"H{place:.1f}")
        if height != level:
            path.append(f"V{height:.1f}")
            level = height
    line = "".join(path)
    area = f"{line}V{bottom:.1f}H{points[0][0]:.1f}Z"
    return (
        f'<path d="{area}" fill="var(--series-1)" opacity=".12"/>'
        f'<path d="{line}" fill="none" stroke="var(--series-1)" stroke-width="1.6"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        'stroke="var(--line)" stroke-width=".7"/>'
    )


def _text(x: float, y: float, tick: float, *, anchor: str = "end") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{tick:,.6g}</text>'


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_LETTERS else f"{name[: MAX_LETTERS - 2]}..."
