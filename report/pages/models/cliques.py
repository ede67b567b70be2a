"""Pictures of dependency graphs, round by round, and of junction trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import cos, pi, sin
from typing import Any, Final

from .shapes import LETTER, Edges, line, shortened, svg

__all__ = ["graphs", "junction_tree"]

PANEL: Final = 320
"""The width of a panel."""
HEIGHT: Final = 250
"""The height of a panel."""
RADIUS: Final = 84
ROW: Final = 34
MAX_ACROSS: Final = 3
"""Number of panels beside one another."""
MAX_EDGES: Final = 3000
"""Most edges that a panel draws and lists; of more, only the number is given."""


def graphs(names: Sequence[str], panels: Sequence[tuple[str, Edges]]) -> str:
    """Draw graphs with nodes on a circle; a panel is a title and edges."""
    across = min(MAX_ACROSS, len(panels))
    down = -(-len(panels) // across)
    pairs = len(names) * (len(names) - 1) // 2
    drawn, texts = [], []
    for number, (title, edges) in enumerate(panels):
        caption = f"{title}: {len(edges)} of {pairs} pairs".removeprefix(": ")
        listed = "most"
        if len(edges) > MAX_EDGES:
            listed = "too many to list"
        elif len(edges) <= pairs // 2:
            listed = ", ".join(" - ".join(edge) for edge in edges)
        texts.append(f"{caption}: {listed}")
        x, y = (number % across) * PANEL, (number // across) * HEIGHT
        drawn.append(f'<g transform="translate({x} {y})">{_graph(names, edges, caption)}</g>\n')
    return svg(
        across * PANEL,
        down * HEIGHT,
        title="The dependency graph",
        text="; ".join(texts),
        body="".join(drawn),
    )


def _graph(names: Sequence[str], edges: Edges, caption: str) -> str:
    middle = PANEL / 2
    angles = {name: 2 * pi * number / len(names) - pi / 2 for number, name in enumerate(names)}
    place = {
        name: (middle + RADIUS * cos(angle), HEIGHT / 2 + 10 + RADIUS * sin(angle))
        for name, angle in angles.items()
    }
    strength = max(0.25, min(1.0, 14 / max(len(edges), 1)))
    middle_top = f'x="{middle:.0f}" y="16" text-anchor="middle"'
    parts = [f'<text {middle_top} font-size="12">{escape(caption)}</text>']
    if len(edges) > MAX_EDGES:
        parts.append(
            f'<text {middle_top.replace("16", "30")} font-size="10">too many to draw</text>'
        )
    else:
        parts += [line(place[start], place[end], strength) for start, end in edges]
    for name, (x, y) in place.items():
        side, height = cos(angles[name]), sin(angles[name])
        anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
        lower = 11 if height > 0.9 else -7 if height < -0.9 else 4
        letters = int((PANEL / 2 - RADIUS * abs(side) - 10) / LETTER)
        short = name if anchor == "middle" else shortened(name, max(4, letters))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
            f'<text x="{x + 8 * side:.1f}" y="{y + lower:.1f}" text-anchor="{anchor}">'
            f"{escape(short)}</text>"
        )
    return "".join(parts)


@dataclass(slots=True)
class Layout:
    """The places of the cliques of a forest: a level from left to right, and a row."""

    near: Mapping[int, Sequence[int]]
    """The neighbours of every clique."""
    level: dict[int, int] = field(default_factory=dict)
    row: dict[int, float] = field(default_factory=dict)
    lines: list[tuple[int, int]] = field(default_factory=list)
    """The edges, from the root to the leaves."""
    rows: int = 0

    def place_all(self) -> None:
        """Place one tree after another; its root is the clique with most neighbours."""
        for clique in sorted(self.near, key=lambda clique: -len(self.near[clique])):
            if clique not in self.level:
                self._place(clique)

    def _place(self, root: int) -> None:
        """Place a tree, and every clique in the middle of those below it."""
        self.level[root] = 0
        pending, below = [root], dict[int, list[int]]()
        while pending:
            clique = pending[-1]
            if clique not in below:  # on the way down
                below[clique] = []
            new = next((other for other in self.near[clique] if other not in self.level), None)
            if new is not None:
                self.level[new] = self.level[clique] + 1
                self.lines.append((clique, new))
                below[clique].append(new)
                pending.append(new)
                continue
            pending.pop()  # on the way up
            if below[clique]:
                first, last = below[clique][0], below[clique][-1]
                self.row[clique] = (self.row[first] + self.row[last]) / 2
            else:
                self.row[clique] = self.rows
                self.rows += 1


def junction_tree(cliques: Sequence[Sequence[str]], edges: Sequence[Sequence[Any]]) -> str:
    """Draw a forest from left to right: cliques as boxes, separators on the lines between.

    An edge is the numbers of two cliques, and the attributes that they share.
    """
    near: dict[int, list[int]] = {number: [] for number in range(len(cliques))}
    shared: dict[tuple[int, int], str] = {}
    for left, right, separator in edges:
        near[left].append(right)
        near[right].append(left)
        shared[left, right] = shared[right, left] = ", ".join(separator)
    layout = Layout(near)
    layout.place_all()
    names = [", ".join(clique) for clique in cliques]
    starts = _starts(layout, names, shared)
    parts = []
    for left, right in layout.lines:
        x1 = starts[layout.level[left]] + len(names[left]) * LETTER + 14
        x2 = starts[layout.level[right]]
        y1, y2 = (ROW * (layout.row[end] + 0.5) + 8 for end in (left, right))
        parts.append(line((x1, y1), (x2, y2), 0.5))
        parts.append(
            f'<text x="{x2 - 6:.1f}" y="{y2 - 5:.1f}" text-anchor="end" font-style="italic">'
            f"{escape(shared[left, right])}</text>"
        )
    for clique, level in layout.level.items():
        x, y = starts[level], ROW * layout.row[clique] + 12
        width = len(names[clique]) * LETTER + 14
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="24" rx="12" fill="none" '
            'stroke="currentColor"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}" text-anchor="middle">'
            f"{escape(names[clique])}</text>"
        )
    return svg(
        starts[-1] + 8,
        ROW * (max(layout.row.values(), default=0) + 1) + 16,
        title="The junction tree",
        text=f"{len(cliques)} cliques: " + "; ".join(names),
        body="\n".join(parts),
    )


def _starts(
    layout: Layout, names: Sequence[str], shared: Mapping[tuple[int, int], str]
) -> list[float]:
    """Give the left end of every level, so that cliques and separators fit.

    The last is the right end of the picture.
    """
    starts = [8.0]
    for level in range(max(layout.level.values(), default=0) + 1):
        letters = max(
            len(names[clique]) for clique in layout.level if layout.level[clique] == level
        )
        separators = [
            len(shared[left, right]) for left, right in layout.lines if layout.level[left] == level
        ]
        width, gap = letters * LETTER + 18, max(separators, default=0) * LETTER + 24
        starts.append(starts[-1] + width + gap)
    return starts
