"""The sequence diagram: who said what to whom, phase by phase, drawn from the ledger.

Roles are columns, time goes down, and what was said over and over in a phase (a kind of message,
from one side to another) is one row with its number, bytes and rounds. Of more than `MOST` parties
there is one column for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import Final

from ...messages import CURATOR, Entry

__all__ = ["Said", "bytes_shown", "sequence", "summed_up"]

MOST: Final = 5
"""Parties that have a column each."""
LEFT: Final = 150
"""Where phases are named."""
COLUMN: Final = 150
ROW: Final = 40
HEAD: Final = 46
LONGEST: Final = 17
"""Letters of a phase's name that fit."""
GAP: Final = 14
"""Between arrows of one row."""


@dataclass(slots=True)
class Said:
    """What was said in one phase by messages of one kind, in one direction."""

    phase: str
    kind: str
    direction: str
    messages: int = 0
    payload_bytes: int = 0
    rounds: set[int] = field(default_factory=set)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)


def summed_up(entries: Iterable[Entry]) -> list[Said]:
    """Put alike messages of a phase together, in the order of their first."""
    found: dict[tuple[str, str, str], Said] = {}
    for entry in sorted(entries, key=lambda own: (own.round, own.message)):
        one, other = (
            "curator" if rank == CURATOR else "party" for rank in (entry.sender, entry.receiver)
        )
        key = (entry.phase, entry.kind, f"{one} to {other}")
        own = found.setdefault(key, Said(*key))
        own.messages += 1
        own.payload_bytes += entry.payload_bytes
        own.rounds.add(entry.round)
        edge = (entry.sender, entry.receiver)
        own.edges[edge] = own.edges.get(edge, 0) + 1
    phases = list(dict.fromkeys(own.phase for own in found.values()))
    return sorted(found.values(), key=lambda own: phases.index(own.phase))


def sequence(said: Sequence[Said], *, parties: int, seconds: dict[str, float]) -> str:
    """Draw the diagram; `seconds`: of each phase, as far as it is known."""
    collapsed = parties > MOST
    names = [
        "curator",
        *(
            [f"parties 1 to {parties:,}"]
            if collapsed
            else [f"party {own}" for own in range(1, parties + 1)]
        ),
    ]
    column = COLUMN + 90 if collapsed else COLUMN
    places = [LEFT + COLUMN // 2 + column * at for at in range(len(names))]
    width = LEFT + column * len(names)
    rows, y = [], HEAD + 12
    for at, (phase, own) in enumerate(groupby(said, key=lambda own: own.phase)):
        first, inner = y, []
        for line in own:
            drawn, tall = _row(line, y, places, collapsed=collapsed)
            inner.append(drawn)
            y += tall
        fill = ' fill="currentColor" fill-opacity="0.05"' if at % 2 == 0 else ' fill="none"'
        rows.append(f'<rect x="0" y="{first}" width="{width}" height="{y - first}"{fill}/>')
        short = phase if len(phase) <= LONGEST else f"{phase[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
        rows.append(f'<text x="8" y="{first + 20}" font-weight="600">{escape(short)}</text>')
        if phase in seconds:
            rows.append(
                f'<text x="8" y="{first + 36}" font-size="11" fill-opacity="0.75">{_seconds(seconds[phase])}</text>'
            )
        rows += inner
    heads = []
    for name, x in zip(names, places, strict=True):
        heads.append(
            f'<line x1="{x}" y1="{HEAD}" x2="{x}" y2="{y}" stroke="currentColor" stroke-opacity="0.35"/>'
        )
        wide = max(92, 7 * len(name) + 16)
        heads.append(
            f'<rect x="{x - wide / 2}" y="10" width="{wide}" height="30" rx="6" fill="none" stroke="currentColor"/>'
        )
        heads.append(
            f'<text x="{x}" y="30" text-anchor="middle" font-weight="600">{escape(name)}</text>'
        )
    told = "; ".join(_spoken(own) for own in said)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {y + 8}" width="{width}" height="{y + 8}" '
        f'font-family="system-ui, sans-serif" font-size="12.5" fill="currentColor">'
        f"<title>The conversation, phase by phase</title><desc>{escape(told)}</desc>\n{''.join(heads)}\n"
        + "\n".join(rows)
        + "</svg>"
    )


def _row(said: Said, y: int, places: Sequence[int], *, collapsed: bool) -> tuple[str, int]:
    """Draw a row: its label, and below it the arrows; alike ends share a line."""
    label = f"{said.kind}" + (
        f" \N{MULTIPLICATION SIGN} {said.messages:,}" if said.messages > 1 else ""
    )
    rounds = f", {len(said.rounds):,} rounds" if len(said.rounds) > 1 else ""
    about = f"{bytes_shown(said.payload_bytes)}{rounds}"
    edges = (
        {(min(one, 1), min(other, 1)) for one, other in said.edges} if collapsed else {*said.edges}
    )
    lines = _lines(edges)
    ends = [places[rank] for line in lines for rank in (line[0], *line[1])]
    middle = (min(ends) + max(ends)) / 2
    if collapsed and (1, 1) in edges:
        middle += 30
    text = (
        f'<text x="{middle:.0f}" y="{y + 16}" text-anchor="middle" paint-order="stroke" style="stroke: var(--paper); '
        f'stroke-width: 4px">{escape(label)} <tspan fill-opacity="0.75" font-size="11">{escape(about)}</tspan></text>'
    )
    levels = _levels(lines)
    parts = [
        _arrows(line, y + 26 + GAP * at, places) for at, line in zip(levels, lines, strict=True)
    ]
    return text + "".join(parts), ROW + GAP * max(levels)


Lines = tuple[int, tuple[int, ...], bool]
"""One end, the others, and whether the one is the sender."""


def _lines(edges: set[tuple[int, int]]) -> list[Lines]:
    """Put edges that share their sender, or all their receiver, on one line; a chain of neighbours
    as well.
    """
    receivers, senders = {other for _, other in edges}, {one for one, _ in edges}
    if len(receivers) == 1 and len(senders) > 1:
        return [(next(iter(receivers)), tuple(sorted(senders)), False)]
    return [
        (one, tuple(sorted(other for own, other in edges if own == one)), True)
        for one in sorted(senders)
    ]


def _levels(lines: Sequence[Lines]) -> list[int]:
    """Put lines that do not overlap on one level: the links of a chain make one line."""
    ends: list[int] = []
    levels = []
    for one, others, _ in lines:
        first, last = min(one, *others), max(one, *others)
        free = next((at for at, end in enumerate(ends) if end <= first), len(ends))
        ends[free : free + 1] = [last]
        levels.append(free)
    return levels


def _arrows(line: Lines, y: int, places: Sequence[int]) -> str:
    one, others, sends = line
    x, parts = places[one], []
    if one in others:  # among parties that share a column
        loop = f'<path d="M{x} {y - 4} h34 v10 h-28" fill="none" stroke="currentColor" stroke-width="1.4"/>'
        return loop + _head(x, y + 6, left=True)
    parts += [
        f'<line x1="{x}" y1="{y}" x2="{places[far]}" y2="{y}" stroke="currentColor" stroke-width="1.4"/>'
        for far in sorted({min(others), max(others)})
    ]
    if sends:
        parts.append(f'<circle cx="{x}" cy="{y}" r="2.6"/>')
        parts += [_head(places[own], y, left=places[own] < x) for own in others]
    else:
        parts += [f'<circle cx="{places[own]}" cy="{y}" r="2.6"/>' for own in others]
        parts += [_head(x, y, left=left) for left in {places[own] > x for own in others}]
    return "".join(parts)


def _head(x: float, y: float, *, left: bool) -> str:
    back = 8 if left else -8
    return f'<path d="M{x} {y} l{back} -4 v8 z"/>'


def _spoken(said: Said) -> str:
    number = f"{said.messages:,} messages" if said.messages > 1 else "a message"
    return (
        f"{said.phase}: {said.direction}, {number} {said.kind}, {bytes_shown(said.payload_bytes)}"
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def bytes_shown(number: float) -> str:
    """Write bytes for people, three digits of them; exact figures stand in the tables.

    >>> bytes_shown(999), bytes_shown(12345), bytes_shown(3_600_000)
    ('999 B', '12.3 kB', '3.6 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        del units[0]
    unit = units[0]
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.3g} {unit}"
