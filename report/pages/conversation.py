"""The sequence diagram of a run: the messages between roles, phase by phase, from the ledger.

Roles are columns, and time goes down. The messages of one kind from one side to another in a phase
are one row with their number, bytes and rounds. More than `MAX_PARTIES` parties share one column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from ...messages import CURATOR, Entry
from ..formats import bytes_text

__all__ = ["MessageGroup", "group_messages", "sequence_diagram"]

MAX_PARTIES: Final = 5
"""Number of parties that have a column each."""
LEFT: Final = 150
"""Width of the column of phases."""
COLUMN: Final = 150
NARROW: Final = 320
"""Width of a diagram for a phone."""
ROW: Final = 40
HEAD: Final = 46
MAX_LETTERS: Final = 17
"""Letters of a phase's name that fit."""
GAP: Final = 14
"""Distance between the arrows of one row."""


@dataclass(slots=True)
class MessageGroup:
    """The messages of one kind that were sent in one direction in one phase."""

    phase: str
    kind: str
    direction: str
    messages: int = 0
    payload_bytes: int = 0
    rounds: set[int] = field(default_factory=set)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count a message."""
        self.messages += 1
        self.payload_bytes += entry.payload_bytes
        self.rounds.add(entry.round)
        edge = (entry.sender, entry.receiver)
        self.edges[edge] = self.edges.get(edge, 0) + 1


class Arrows(NamedTuple):
    """Arrows on one line: from one role to others, or to one role from others."""

    hub: int
    others: tuple[int, ...]
    sends: bool
    """Whether the hub is the sender."""


def group_messages(entries: Iterable[Entry]) -> list[MessageGroup]:
    """Group equal messages of a phase, in the order of the first of each group."""
    groups: dict[tuple[str, str, str], MessageGroup] = {}
    for entry in sorted(entries, key=lambda entry: (entry.round, entry.message)):
        key = (entry.phase, entry.kind, f"{_side(entry.sender)} to {_side(entry.receiver)}")
        groups.setdefault(key, MessageGroup(*key)).add(entry)
    phases = list(dict.fromkeys(group.phase for group in groups.values()))
    return sorted(groups.values(), key=lambda group: phases.index(group.phase))


def _side(rank: int) -> str:
    return "curator" if rank == CURATOR else "party"


class _Layout(NamedTuple):
    """Where roles stand, and where phases are named."""

    names: Sequence[str]
    places: Sequence[int]
    width: int
    collapsed: bool
    """Whether all parties share one column."""
    above: int
    """Height of the name of a phase above its rows; 0 where it is left of them."""


def _layout(parties: int, *, narrow: bool) -> _Layout:
    collapsed = narrow or parties > MAX_PARTIES
    names = ["curator"]
    if collapsed and parties > 1:
        names.append(f"parties 1 to {parties:,}")
    else:
        names += [f"party {party}" for party in range(1, parties + 1)]
    if narrow:
        return _Layout(names, [50, NARROW - 90], NARROW, collapsed, 22)
    column = COLUMN + 90 if collapsed else COLUMN
    places = [LEFT + COLUMN // 2 + column * index for index in range(len(names))]
    return _Layout(names, places, LEFT + column * len(names), collapsed, 0)


def sequence_diagram(
    groups: Sequence[MessageGroup],
    *,
    parties: int,
    seconds: Mapping[str, float],
    narrow: bool = False,
) -> str:
    """Draw the diagram.

    Args:
        groups: The messages, phase by phase.
        parties: The number of parties.
        seconds: The time that phases took, as far as it is known.
        narrow: Whether it is for a phone: parties share a column, and phases are named above.
    """
    layout = _layout(parties, narrow=narrow)
    rows, y = [], HEAD + 12
    for number, (phase, members) in enumerate(groupby(groups, key=lambda group: group.phase)):
        top, inner = y, []
        y += layout.above
        for group in members:
            drawn, height = _row(group, y, layout)
            inner.append(drawn)
            y += height
        fill = ' fill="currentColor" fill-opacity="0.05"' if number % 2 == 0 else ' fill="none"'
        rows.append(f'<rect x="0" y="{top}" width="{layout.width}" height="{y - top}"{fill}/>')
        rows += _phase(phase, top, seconds.get(phase), beside=layout.above > 0)
        rows += inner
    columns = zip(layout.names, layout.places, strict=True)
    heads = "".join(_column(name, x, y) for name, x in columns)
    description = "; ".join(_described(group) for group in groups)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {layout.width} {y + 8}" width="{layout.width}" height="{y + 8}" '
        'font-family="system-ui, sans-serif" font-size="12.5" fill="currentColor">'
        f"<title>The messages, phase by phase</title><desc>{escape(description)}</desc>\n"
        f"{heads}\n" + "\n".join(rows) + "</svg>"
    )


def _phase(phase: str, top: int, seconds: float | None, *, beside: bool) -> list[str]:
    """Write the name of a phase, and its time below or beside it."""
    short = phase
    if len(phase) > MAX_LETTERS:
        short = f"{phase[: MAX_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    lines = [f'<text x="8" y="{top + 20}" font-weight="600">{escape(short)}</text>']
    if seconds is not None:
        time = f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"
        place = (
            f'x="{NARROW - 8}" y="{top + 20}" text-anchor="end"'
            if beside
            else (f'x="8" y="{top + 36}"')
        )
        lines.append(f'<text {place} font-size="11" fill-opacity="0.75">{time}</text>')
    return lines


def _column(name: str, x: int, bottom: int) -> str:
    """Draw the head and the life line of a role."""
    width = max(92, 7 * len(name) + 16)
    return (
        f'<line x1="{x}" y1="{HEAD}" x2="{x}" y2="{bottom}" stroke="currentColor" '
        'stroke-opacity="0.35"/>'
        f'<rect x="{x - width / 2}" y="10" width="{width}" height="30" rx="6" fill="none" '
        'stroke="currentColor"/>'
        f'<text x="{x}" y="30" text-anchor="middle" font-weight="600">{escape(name)}</text>'
    )


def _row(group: MessageGroup, y: int, layout: _Layout) -> tuple[str, int]:
    """Draw a row, its label above its arrows; return its height, too."""
    label = group.kind
    if group.messages > 1:
        label += f" \N{MULTIPLICATION SIGN} {group.messages:,}"
    size = bytes_text(group.payload_bytes)
    if len(group.rounds) > 1:
        size += f", {len(group.rounds):,} rounds"
    edges, places = {*group.edges}, layout.places
    if layout.collapsed:
        edges = {(min(sender, 1), min(receiver, 1)) for sender, receiver in edges}
    lines = _lines(edges)
    ends = [places[rank] for line in lines for rank in (line.hub, *line.others)]
    middle = (min(ends) + max(ends)) / 2
    if layout.above:
        middle = sum(layout.places) / 2
    elif layout.collapsed and (1, 1) in edges:
        middle += 30
    text = (
        f'<text x="{middle:.0f}" y="{y + 16}" text-anchor="middle" paint-order="stroke" '
        'style="stroke: var(--paper); stroke-width: 4px">'
        f'{escape(label)} <tspan fill-opacity="0.75" font-size="11">{escape(size)}</tspan></text>'
    )
    levels = _levels(lines)
    arrows = [
        _arrows(line, y + 26 + GAP * level, places)
        for level, line in zip(levels, lines, strict=True)
    ]
    return text + "".join(arrows), ROW + GAP * max(levels)


def _lines(edges: set[tuple[int, int]]) -> list[Arrows]:
    """Put edges with the same sender, or all with the same receiver, on one line."""
    receivers, senders = {receiver for _, receiver in edges}, {sender for sender, _ in edges}
    if len(receivers) == 1 and len(senders) > 1:
        return [Arrows(next(iter(receivers)), tuple(sorted(senders)), sends=False)]
    return [
        Arrows(
            sender,
            tuple(sorted(receiver for other, receiver in edges if other == sender)),
            sends=True,
        )
        for sender in sorted(senders)
    ]


def _levels(lines: Sequence[Arrows]) -> list[int]:
    """Put lines that do not overlap on one level: the links of a chain make one line."""
    ends: list[int] = []
    levels = []
    for line in lines:
        left, right = min(line.hub, *line.others), max(line.hub, *line.others)
        free = next((level for level, end in enumerate(ends) if end <= left), len(ends))
        ends[free : free + 1] = [right]
        levels.append(free)
    return levels


def _arrows(line: Arrows, y: int, places: Sequence[int]) -> str:
    x = places[line.hub]
    if line.hub in line.others:  # among parties that share a column
        loop = (
            f'<path d="M{x} {y - 4} h34 v10 h-28" fill="none" stroke="currentColor" '
            'stroke-width="1.4"/>'
        )
        return loop + _head(x, y + 6, left=True)
    parts = [
        f'<line x1="{x}" y1="{y}" x2="{places[end]}" y2="{y}" stroke="currentColor" '
        'stroke-width="1.4"/>'
        for end in sorted({min(line.others), max(line.others)})
    ]
    if line.sends:
        parts.append(_dot(x, y))
        parts += [_head(places[rank], y, left=places[rank] < x) for rank in line.others]
    else:
        parts += [_dot(places[rank], y) for rank in line.others]
        parts += [_head(x, y, left=left) for left in {places[rank] > x for rank in line.others}]
    return "".join(parts)


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x}" cy="{y}" r="2.6"/>'


def _head(x: float, y: float, *, left: bool) -> str:
    back = 8 if left else -8
    return f'<path d="M{x} {y} l{back} -4 v8 z"/>'


def _described(group: MessageGroup) -> str:
    """Describe a row in words, for those who cannot see it."""
    number = f"{group.messages:,} messages" if group.messages > 1 else "a message"
    size = bytes_text(group.payload_bytes)
    return f"{group.phase}: {group.direction}, {number} {group.kind}, {size}"
