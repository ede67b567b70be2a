"""Pictures of Bayesian networks: one of all records, or one of each party's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from textwrap import wrap
from typing import Final, NamedTuple, TypeAlias

from .shapes import LETTER, Edges, Position, brief, svg

__all__ = ["Parents", "network", "networks"]

MAX_NETWORKS: Final = 4
"""Number of parties whose networks are drawn."""
ROW: Final = 26
"""Distance of nodes below one another."""
MAX_BOW: Final = 110
TEXT_LETTER: Final = 7.0
"""The width of a letter of 11 pixels, at most on average."""

Parents: TypeAlias = Mapping[str, Sequence[str]]
"""The parents of every attribute."""


class Drawing(NamedTuple):
    """A network, not yet framed."""

    width: float
    height: float
    text: str
    body: str


def network(parents: Parents, frontier: Edges) -> str:
    """Draw a network from left to right, parents before children.

    Grey lines join the pairs of the search frontier, in which parents were last looked for.
    """
    drawing = _drawing(parents, frontier)
    return svg(
        drawing.width,
        drawing.height,
        title="The Bayesian network",
        text=drawing.text,
        body=drawing.body,
    )


def networks(parents: Sequence[Parents]) -> str:
    """Draw the first parties' networks below one another."""
    parts, texts, width, height = [], [], 0.0, 0.0
    for party, parents_of_party in enumerate(parents[:MAX_NETWORKS], start=1):
        drawing = _drawing(parents_of_party, ())
        parts.append(
            f'<text x="12" y="{height + 16:.0f}" font-size="12" font-weight="bold">'
            f"party {party}</text>"
        )
        parts.append(f'<g transform="translate(0 {height + 22:.0f})">{drawing.body}</g>')
        texts.append(f"party {party}: {drawing.text}")
        width, height = max(width, drawing.width), height + drawing.height + 34
    if (left := len(parents) - MAX_NETWORKS) > 0:
        parts.append(
            f'<text x="12" y="{height + 12:.0f}" font-size="12">'
            f"and {left} more {'party' if left == 1 else 'parties'}</text>"
        )
        height += 22
    return svg(
        width,
        height,
        title="The parties' Bayesian networks",
        text=". ".join(texts),
        body="\n".join(parts),
    )


def _drawing(parents: Parents, frontier: Edges) -> Drawing:
    edges = [(parent, name) for name in parents for parent in parents[name]]
    linked = {name for edge in edges for name in edge}
    level = _levels(parents)
    columns = _columns(parents, level, linked)
    row = {
        name: number - len(column) / 2 for column in columns for number, name in enumerate(column)
    }
    widths = [
        max((len(name) for name in column), default=0) * LETTER * 1.15 + 16 for column in columns
    ]
    pairs = {pair for family in frontier for pair in combinations(sorted(linked & {*family}), 2)}
    pairs -= {tuple(sorted(edge)) for edge in edges}
    # Lines within a column are bent to its left.
    left = 12 + 34 * any(level[one_end] == level[other_end] for one_end, other_end in pairs)
    starts = [left + sum(widths[:number]) + 70 * number for number in range(len(columns))]
    # Lines that pass over columns are bent upwards by the number of columns.
    bow = 22 * max((level[child] - level[parent] - 1 for parent, child in edges), default=0)
    top = 18 + min(bow, MAX_BOW) - ROW * min(row.values(), default=0)
    place = {
        name: (starts[level[name]], top + ROW * row[name]) for name in parents if name in linked
    }
    parts = [
        _bow(place[left], place[right], widths[level[left]], grey=True)
        for left, right in sorted(pairs)
    ]
    parts += [
        _bow(
            place[parent],
            place[child],
            widths[level[parent]],
            over=level[child] - level[parent] - 1,
        )
        for parent, child in edges
    ]
    parts += [_node(name, place[name], widths[level[name]]) for name in place]
    height = top + ROW * max(row.values(), default=0) + 24
    width = max(starts[-1] + widths[-1] + 12, 420.0)
    text = "; ".join(f"{name} from {', '.join(of)}" for name, of in parents.items() if of)
    if unlinked := [name for name in parents if name not in linked]:
        for line in wrap(f"without edges: {brief(unlinked)}", int((width - 24) / TEXT_LETTER)):
            parts.append(f'<text x="12" y="{height + 6:.0f}" font-size="11">{escape(line)}</text>')
            height += 15
        text += f"; without edges: {', '.join(unlinked)}"
        height += 5
    return Drawing(width, height, text, "\n".join(parts))


def _levels(parents: Parents) -> dict[str, int]:
    """Number the attributes by the longest chain of ancestors."""
    level: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in level:
            level[name] = 1 + max(map(depth, parents[name]), default=-1)
        return level[name]

    for name in parents:
        depth(name)
    return level


def _columns(parents: Parents, level: Mapping[str, int], linked: set[str]) -> list[list[str]]:
    """Put the attributes of a level below one another, in the order of their parents' middle.

    Of the simple orders it is the one in which fewest lines cross.
    """
    columns: list[list[str]] = [[] for _ in range(1 + max(level.values()))]
    for name in parents:
        if name in linked:
            columns[level[name]].append(name)
    row: dict[str, float] = {}
    for column in columns:
        column.sort(
            key=lambda name: (
                sum(row[parent] for parent in parents[name]) / max(len(parents[name]), 1)
            )
        )
        row |= {name: number - len(column) / 2 for number, name in enumerate(column)}
    return columns


def _node(name: str, place: Position, width: float) -> str:
    x, y = place
    return (
        f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{width:.1f}" height="20" rx="10" '
        'fill="Canvas" stroke="currentColor"/>\n'
        f'<text x="{x + 8:.1f}" y="{y + 3.5:.1f}" font-size="11">{escape(name)}</text>'
    )


def _bow(start: Position, end: Position, width: float, *, grey: bool = False, over: int = 0) -> str:
    """Draw a line from the right end of one node to the left end of another.

    It passes above the columns between them, `over` so many, or beside a column.
    """
    x, y, to_x, to_y = start[0] + width, start[1], *end
    lift = min(30 * over, 150)
    if grey and to_x <= x:
        x, to_x = start[0], end[0]
        bend = min(x, to_x) - 34
        path = f"M{x:.1f} {y:.1f} C{bend:.1f} {y:.1f} {bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    else:
        path = (
            f"M{x:.1f} {y:.1f} C{x + 34:.1f} {y - lift:.1f} {to_x - 34:.1f} {to_y - lift:.1f} "
            f"{to_x:.1f} {to_y:.1f}"
        )
    strength = 'stroke-opacity="0.18" stroke-dasharray="3 3"' if grey else 'stroke-opacity="0.75"'
    head = "" if grey else f'<path d="M{to_x:.1f} {to_y:.1f} l-7 -3.5 v7 z"/>'
    return f'<path d="{path}" fill="none" stroke="currentColor" {strength}/>{head}'
