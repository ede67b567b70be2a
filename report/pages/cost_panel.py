"""The panels on messages: the sequence diagram, and bytes, rounds and seconds.

Bytes are listed by phase, edge and kind, and beside what was predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final, TypeAlias

import msgspec

from ...messages import CURATOR, Entry
from ..communication import Communication, Formulas, PhaseCost, PredictedCost, Sums, Traffic
from ..formats import bytes_text, quantity
from ..report import Report
from .conversation import group_messages, sequence_diagram
from .document import Html, by_width, figure, fold, paragraph, table
from .timeline import timeline

__all__ = ["conversation_panel", "cost_panel", "edge_name"]

FORMULAS: Final = """The paper counts one round, and two ciphertexts of each party, for every
cell. The printed formula is the paper's; the corrected one is for the cells that this run really
counted, with its size of ciphertexts. The run sends less, because many cells share a ciphertext and
a batch takes one round."""
MAX_EDGES: Final = 30
"""Number of edges that are listed, and not summed up by direction."""
MAX_LISTED: Final = 2_000
"""Number of edges that are listed in a fold."""
MAX_POINTS: Final = 1_500
"""Number of points of the time line."""
MAX_SPANS: Final = 24
"""Number of phases below the time line."""
MAX_ROWS: Final = 40
"""Number of rows of the diagram that are not folded."""
UNITS: Final = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}

Columns: TypeAlias = Mapping[str, Callable[[Sums], int]]
"""The sums that a table shows: the name of the column, and the field."""


def conversation_panel(report: Report, entries: Sequence[Entry]) -> list[str]:
    """Draw the messages between the roles."""
    if not entries:
        return []
    groups = group_messages(entries)
    rows = [
        (
            group.phase,
            group.direction,
            group.kind,
            group.messages,
            group.payload_bytes,
            _range(group.rounds),
            len(group.edges),
        )
        for group in groups
    ]
    head = ("phase", "direction", "kind", "messages", "payload bytes", "rounds", "edges")
    caption = (
        "Time goes from top to bottom. Messages of the same kind and direction share a row in each "
        "phase: their number, their bytes of payload, and their number of rounds."
    )
    drawn = (
        sequence_diagram(
            groups, parties=report.parties, seconds=_seconds(report.phases), narrow=narrow
        )
        for narrow in (False, True)
    )
    diagram = by_width(*drawn, caption=caption, label="Sequence diagram of the messages")
    if len(groups) > MAX_ROWS:
        diagram = fold(f"The diagram ({len(groups):,} rows)", diagram)
    return [diagram, fold("The same as a table", table(head, rows))]


def _seconds(phases: Sequence[PhaseCost]) -> dict[str, float]:
    return {phase.name: phase.seconds for phase in phases}


def _range(rounds: set[int]) -> str:
    first, last = min(rounds), max(rounds)
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def cost_panel(report: Report, entries: Sequence[Entry]) -> list[str]:
    """Write bytes and time."""
    sent = report.communication
    columns = _columns(sent)
    by_kind = [(kind, *_figures(sums, columns)) for kind, sums in sent.by_kind.items()]
    by_edge = [(edge_name(edge), *_figures(sums, columns)) for edge, sums in sent.by_edge.items()]
    return [
        paragraph(_summary(sent)),
        _by_phase(report, entries, columns),
        _timeline(entries),
        _predicted(sent),
        _edges(by_edge, list(columns)),
        table(("kind", *columns), by_kind, caption="By kind of message", bar=2),
        _formulas(sent.formulas),
    ]


def _columns(sent: Communication) -> Columns:
    """Choose the sums that tables show; not all runs have ciphertexts or users."""
    columns: dict[str, Callable[[Sums], int]] = {
        "messages": lambda sums: sums.messages,
        "payload bytes": lambda sums: sums.payload_bytes,
        "with frames": lambda sums: sums.frame_bytes,
    }
    if sent.ciphertext_bytes:
        columns["ciphertext bytes"] = lambda sums: sums.ciphertext_bytes
    if sent.user_bits:
        columns["user bits"] = lambda sums: sums.user_bits
    return columns


def _figures(sums: Sums | None, columns: Columns) -> list[int]:
    return [0 if sums is None else field(sums) for field in columns.values()]


def _summary(sent: Communication) -> str:
    text = (
        f"{quantity(sent.messages, 'message')} with {sent.payload_bytes:,} bytes of payload, "
        f"{sent.frame_bytes:,} with frames, in {quantity(sent.rounds, 'round')}. Rounds are the "
        "longest chain of dependent messages: the delay is at least rounds times latency."
    )
    if sent.users is not None and sent.per_user_bits is not None:
        text += f" {_one_user(sent.users, sent.per_user_bits)}"
    return text


def _one_user(users: Traffic, bits: float) -> str:
    spread = f" ({users.least:,} to {users.most:,})" if users.least < users.most else ""
    how = (
        "This run made and counted every report."
        if users.simulate == "reports"
        else "This run drew the sums of the reports instead."
    )
    return (
        f"In a deployment each user would send one report of {bits:,.4g} bits{spread}; all "
        f"{users.reports:,} reports have {-(-users.bits // 8):,} bytes. {how}"
    )


def _by_phase(report: Report, entries: Sequence[Entry], columns: Columns) -> str:
    """List the costs of phases. Phases overlap, since no role waits for another's phase to end."""
    rounds: dict[str, set[int]] = {}
    for entry in entries:
        rounds.setdefault(entry.phase, set()).add(entry.round)
    seconds, phases = _seconds(report.phases), report.communication.by_phase
    rows = [
        (
            name,
            _range(rounds[name]) if name in rounds else None,
            seconds.get(name),
            *_figures(phases.get(name), columns),
        )
        for name in dict.fromkeys([*seconds, *phases])
    ]
    return table(("phase", "rounds", "seconds", *columns), rows, caption="By phase", bar=4)


def _timeline(entries: Sequence[Entry]) -> str:
    """Draw the payload sent over time, and the spans of the phases."""
    if len(entries) < 2:
        return ""
    points, total = [(0.0, 0.0)], 0
    for entry in sorted(entries, key=_clock):
        total += entry.payload_bytes
        points.append((_clock(entry), float(total)))
    if len(points) > MAX_POINTS:
        points = [*points[:: len(points) // MAX_POINTS], points[-1]]
    unit = bytes_text(total).split()[1]
    spans = _spans(entries)
    drawn = timeline(
        [(when, value / UNITS[unit]) for when, value in points],
        spans=spans if len(spans) <= MAX_SPANS else [],
        title="Time line",
        x="seconds",
        y=f"payload sent, {unit}",
    )
    caption = (
        "Payload sent so far, by the curator's clock; messages between parties by the sender's "
        "clock, which starts with that role. Below, each phase from its first message to its last. "
        "Phases overlap: no role waits for the end of another role's phase."
    )
    return figure(drawn, caption=caption, label="Time line: payload sent over seconds")


def _clock(entry: Entry) -> float:
    """Time a message by the curator's clock where it has one; each role's clock starts with it."""
    return entry.received_at if entry.receiver == CURATOR else entry.sent_at


def _spans(entries: Sequence[Entry]) -> list[tuple[str, float, float]]:
    times: dict[str, list[float]] = {}
    for entry in entries:
        times.setdefault(entry.phase, []).append(_clock(entry))
    return [(phase, min(when), max(when)) for phase, when in times.items()]


def _predicted(sent: Communication) -> str:
    """List the predicted costs beside the measured ones."""
    if sent.predicted is None:
        return paragraph("This protocol does not predict its cost.", kind="quiet")
    head = (
        "phase",
        "kind",
        "messages predicted",
        "measured",
        "payload bytes predicted",
        "measured",
        "known",
        "",
    )
    html = table(
        head,
        [_prediction(line) for line in sent.predicted],
        caption="Predicted cost, known before the run or from the model, and measured cost",
    )
    rest = sent.payload_bytes - sum(line.measured_payload_bytes for line in sent.predicted)
    if rest <= 0:
        return html
    text = f"{rest:,} more bytes depend on choices during the run and could not be predicted."
    return html + paragraph(text, kind="quiet")


def _prediction(line: PredictedCost) -> tuple[Any, ...]:
    return (
        line.phase,
        line.kind,
        line.messages,
        line.measured_messages,
        line.payload_bytes,
        line.measured_payload_bytes,
        f"{line.basis}, at most" if line.at_most else line.basis,
        "as predicted" if line.right else Html('<span class="worse">differs</span>'),
    )


def edge_name(key: str) -> str:
    """Name the ends of an edge.

    >>> edge_name("0->2")
    'curator → party 2'
    """
    sender, receiver = (_role(int(rank)) for rank in key.split("->"))
    return f"{sender} \N{RIGHTWARDS ARROW} {receiver}"


def _role(rank: int) -> str:
    return "curator" if rank == CURATOR else f"party {rank}"


def _edges(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> str:
    """List the edges; of many, their spread by direction, and all of them folded."""
    whole = table(("edge", *names), rows, caption="By edge", bar=2)
    if len(rows) <= MAX_EDGES:
        return whole
    directions: dict[str, list[int]] = {}
    for edge, _, payload, *_ in rows:
        sender, receiver = (end.split()[0] for end in edge.split(" \N{RIGHTWARDS ARROW} "))
        directions.setdefault(f"{sender} \N{RIGHTWARDS ARROW} {receiver}", []).append(payload)
    spread = [
        (direction, len(sizes), min(sizes), median(sizes), max(sizes), sum(sizes))
        for direction, sizes in directions.items()
    ]
    head = ("direction", "edges", "minimum payload bytes", "median", "maximum", "sum")
    summed = table(head, spread, caption="By edge: payload bytes of one edge, by direction")
    return summed + (fold(f"All {len(rows):,} edges", whole) if len(rows) <= MAX_LISTED else "")


def _formulas(formulas: Sequence[Formulas]) -> str:
    if not formulas:
        return ""
    rows = [msgspec.structs.astuple(line) for line in formulas]
    html = table(Formulas.__struct_fields__, rows, caption="The paper's formulas")
    return html + paragraph(FORMULAS, kind="quiet")
