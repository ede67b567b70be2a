"""Pictures of Bayesian networks: of all parties' rows, or one of each party's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from typing import Final, NamedTuple

from .shapes import LETTER, Edges, brief, svg

__all__ = ["Parents", "network", "networks"]

MOST: Final = 4
"""Parties whose networks are drawn."""

Parents = Mapping[str, Sequence[str]]


class _Drawing(NamedTuple):
    width: float
    height: float
    text: str
    body: str


def network(parents: Parents, frontier: Edges) -> str:
    """Draw a network from left to right, parents before children; in grey the pairs in which
    parents were last looked for.
    """
    width, height, text, body = _network(parents, frontier)
    return svg(width, height, title="The Bayesian network", text=text, body=body)


def networks(parents: Sequence[Parents]) -> str:
    """Draw the first parties' networks below one another."""
    parts, told, width, height = [], [], 0.0, 0.0
    for party, own in enumerate(parents[:MOST], start=1):
        drawn = _network(own, ())
        parts.append(
            f'<text x="12" y="{height + 16:.0f}" font-size="12" font-weight="bold">party {party}</text>'
        )
        parts.append(f'<g transform="translate(0 {height + 22:.0f})">{drawn.body}</g>')
        told.append(f"party {party}: {drawn.text}")
        width, height = max(width, drawn.width), height + drawn.height + 34
    if left := len(parents) - MOST if len(parents) > MOST else 0:
        parts.append(
            f'<text x="12" y="{height + 12:.0f}" font-size="12">and {left} more {"party" if left == 1 else "parties"}</text>'
        )
        height += 22
    return svg(
        width,
        height,
        title="The parties' Bayesian networks",
        text=". ".join(told),
        body="\n".join(parts),
    )


def _network(parents: Parents, frontier: Edges) -> _Drawing:
    names = list(parents)
    level: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in level:
            level[name] = 1 + max((depth(own) for own in parents[name]), default=-1)
        return level[name]

    chosen = [(one, name) for name in names for one in parents[name]]
    tied = {name for edge in chosen for name in edge}
    columns: list[list[str]] = [[] for _ in range(1 + max(map(depth, names)))]
    for name in names:
        if name in tied:
            columns[level[name]].append(name)
    row: dict[str, float] = {}
    for column in columns:
        # Below one another in the order of the parents' middle: what crosses least of what is
        # simple.
        column.sort(
            key=lambda name: sum(row[own] for own in parents[name]) / max(len(parents[name]), 1)
        )
        row |= {name: at - len(column) / 2 for at, name in enumerate(column)}
    widths = [
        max((len(name) for name in column), default=0) * LETTER * 1.15 + 16 for column in columns
    ]
    starts = [12 + sum(widths[:at]) + 70 * at for at in range(len(columns))]
    # Lines that pass over columns bow upwards, by as much as they pass.
    bow = 22 * max((level[other] - level[one] - 1 for one, other in chosen), default=0)
    top = 18 + min(bow, 110) - 26 * min(row.values(), default=0)
    place = {name: (starts[level[name]], top + 26 * row[name]) for name in names if name in tied}
    faint = {pair for family in frontier for pair in combinations(sorted(tied & {*family}), 2)} - {
        tuple(sorted(edge)) for edge in chosen
    }
    parts = [
        _bow(place[one], place[other], widths[level[one]], grey=True)
        for one, other in sorted(faint)
    ]
    parts += [
        _bow(place[one], place[other], widths[level[one]], over=level[other] - level[one] - 1)
        for one, other in chosen
    ]
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{widths[level[name]]:.1f}" height="20" rx="10" '
            f'fill="Canvas" stroke="currentColor"/>'
        )
        parts.append(
            f'<text x="{x + 8:.1f}" y="{y + 3.5:.1f}" font-size="11">{escape(name)}</text>'
        )
    height = top + 26 * max(row.values(), default=0) + 24
    alone = [name for name in names if name not in tied]
    if alone:
        parts.append(
            f'<text x="12" y="{height + 6:.0f}" font-size="11">by themselves: {escape(brief(alone))}</text>'
        )
        height += 20
    text = "; ".join(f"{name} from {', '.join(own)}" for name, own in parents.items() if own)
    text += f"; by themselves: {', '.join(alone)}" if alone else ""
    width = max(starts[-1] + widths[-1] + 12, 420.0)
    return _Drawing(width, height, text, "\n".join(parts))


def _bow(
    one: tuple[float, float],
    other: tuple[float, float],
    width: float,
    *,
    grey: bool = False,
    over: int = 0,
) -> str:
    """Draw a line from the right end of one box to the left end of another, above what it passes
    `over`, or beside a column.
    """
    x, y, to_x, to_y = one[0] + width, one[1], *other
    lift = min(30 * over, 150)
    if grey and to_x <= x:
        x, to_x = one[0], other[0]
        path = f"M{x:.1f} {y:.1f} C{min(x, to_x) - 34:.1f} {y:.1f} {min(x, to_x) - 34:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    else:
        path = f"M{x:.1f} {y:.1f} C{x + 34:.1f} {y - lift:.1f} {to_x - 34:.1f} {to_y - lift:.1f} {to_x:.1f} {to_y:.1f}"
    strength = 'stroke-opacity="0.18" stroke-dasharray="3 3"' if grey else 'stroke-opacity="0.75"'
    head = "" if grey else f'<path d="M{to_x:.1f} {to_y:.1f} l-7 -3.5 v7 z"/>'
    return f'<path d="{path}" fill="none" stroke="currentColor" {strength}/>{head}'
