"""Pictures of dependency graphs, round by round, and of junction trees."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import cos, pi, sin
from typing import Any, Final

from .shapes import LETTER, Edges, line, shortened, svg

__all__ = ["graphs", "junction_tree"]

PANEL: Final = 320
RADIUS: Final = 84
TALL: Final = 250
"""The height of a panel."""
ROW: Final = 34
ACROSS: Final = 3
"""Panels beside one another."""


def graphs(names: Sequence[str], panels: Sequence[tuple[str, Edges]]) -> str:
    """Draw graphs on a circle, beside and below one another."""
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    pairs = len(names) * (len(names) - 1) // 2
    drawn, told = [], []
    for at, (title, edges) in enumerate(panels):
        caption = f"{title}: {len(edges)} of {pairs} pairs".removeprefix(": ")
        told.append(
            f"{caption}: {', '.join(' - '.join(edge) for edge in edges) if len(edges) <= pairs // 2 else 'most'}"
        )
        x, y = (at % across) * PANEL, (at // across) * TALL
        drawn.append(f'<g transform="translate({x} {y})">{_graph(names, edges, caption)}</g>\n')
    text = "; ".join(told)
    return svg(
        across * PANEL, down * TALL, title="The dependency graph", text=text, body="".join(drawn)
    )


def _graph(names: Sequence[str], edges: Edges, caption: str) -> str:
    middle = PANEL / 2
    angles = {name: 2 * pi * at / len(names) - pi / 2 for at, name in enumerate(names)}
    place = {
        name: (middle + RADIUS * cos(own), TALL / 2 + 10 + RADIUS * sin(own))
        for name, own in angles.items()
    }
    parts = [
        f'<text x="{middle:.0f}" y="16" text-anchor="middle" font-size="12">{escape(caption)}</text>'
    ]
    strength = max(0.25, min(1.0, 14 / max(len(edges), 1)))
    parts += [line(place[one], place[other], strength) for one, other in edges]
    for name, (x, y) in place.items():
        side = cos(angles[name])
        anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
        beside = (
            x + 8 * side,
            y + (11 if sin(angles[name]) > 0.9 else -7 if sin(angles[name]) < -0.9 else 4),
        )
        most = (PANEL / 2 - RADIUS * abs(side) - 10) / LETTER
        short = name if anchor == "middle" else shortened(name, max(4, int(most)))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        parts.append(
            f'<text x="{beside[0]:.1f}" y="{beside[1]:.1f}" text-anchor="{anchor}">{escape(short)}</text>'
        )
    return "".join(parts)


def junction_tree(cliques: Sequence[Sequence[str]], edges: Sequence[Sequence[Any]]) -> str:
    """Draw a forest from left to right: cliques as boxes, what two of them share on the line
    between.
    """
    near: dict[int, list[int]] = {at: [] for at in range(len(cliques))}
    shared: dict[tuple[int, int], str] = {}
    for one, other, between in edges:
        near[one].append(other)
        near[other].append(one)
        shared[one, other] = shared[other, one] = ", ".join(between)
    level, row, lines = _layout(near)
    words = [", ".join(own) for own in cliques]
    deepest = max(level.values(), default=0)
    starts = [8.0]
    for own in range(deepest + 1):
        width = max(len(words[at]) for at in level if level[at] == own) * LETTER + 18
        gap = (
            max((len(shared[one, other]) for one, other in lines if level[one] == own), default=0)
            * LETTER
            + 24
        )
        starts.append(starts[-1] + width + gap)
    parts = []
    for one, other in lines:
        x1, y1 = starts[level[one]] + len(words[one]) * LETTER + 14, ROW * (row[one] + 0.5) + 8
        x2, y2 = starts[level[other]], ROW * (row[other] + 0.5) + 8
        parts.append(line((x1, y1), (x2, y2), 0.5))
        label = escape(shared[one, other])
        parts.append(
            f'<text x="{x2 - 6:.1f}" y="{y2 - 5:.1f}" text-anchor="end" font-style="italic">{label}</text>'
        )
    for at, own in level.items():
        x, y, width = starts[own], ROW * row[at] + 12, len(words[at]) * LETTER + 14
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="24" rx="12" fill="none" stroke="currentColor"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}" text-anchor="middle">{escape(words[at])}</text>'
        )
    text, height = (
        f"{len(cliques)} cliques: " + "; ".join(words),
        ROW * (max(row.values(), default=0) + 1) + 16,
    )
    return svg(starts[-1] + 8, height, title="The junction tree", text=text, body="\n".join(parts))


def _layout(
    near: dict[int, list[int]],
) -> tuple[dict[int, int], dict[int, float], list[tuple[int, int]]]:
    """Give every clique a level and a row, a tree after another, the one with most neighbours at
    its root; and the lines.
    """
    level: dict[int, int] = {}
    row: dict[int, float] = {}
    lines: list[tuple[int, int]] = []
    rows = 0

    def visit(at: int, own: int) -> None:
        nonlocal rows
        level[at] = own
        below = []
        for to in near[at]:
            if to not in level:
                lines.append((at, to))
                below.append(to)
                visit(to, own + 1)
        if below:
            row[at] = (row[below[0]] + row[below[-1]]) / 2
        else:
            row[at] = rows
            rows += 1

    for at in sorted(near, key=lambda own: -len(near[own])):
        if at not in level:
            visit(at, 0)
    return level, row, lines
