"""What was said and what it cost: the sequence diagram; bytes by phase, edge and kind, predicted
and measured; rounds; time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from ...messages import CURATOR, Entry
from . import charts
from .conversation import bytes_shown, sequence, summed_up
from .document import counted, figure, folded, table, words

__all__ = ["conversation_panel", "cost_panel", "edge_shown"]

FORMULAS: Final = """A round and two ciphertexts a party for every cell: as printed, and for the cells that were
really counted, with this run's ciphertexts. Beside it what the run sent: many cells share a ciphertext, and a batch
goes in one round."""
MOST_EDGES: Final = 30
MOST_LISTED: Final = 2_000
MOST_POINTS: Final = 1_500
MOST_SPANS: Final = 24
MOST_ROWS: Final = 40
"""Rows of the diagram that are shown unfolded."""


def conversation_panel(report: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    """Draw who said what to whom."""
    if not entries:
        return []
    seconds = {own["name"]: own["seconds"] for own in report["phases"]}
    said = summed_up(entries)
    drawn = sequence(said, parties=report["parties"], seconds=seconds)
    rows = [
        (
            own.phase,
            own.direction,
            own.kind,
            own.messages,
            own.payload_bytes,
            _rounds(own.rounds),
            len(own.edges),
        )
        for own in said
    ]
    head = ("phase", "direction", "kind", "messages", "payload bytes", "rounds", "edges")
    caption = (
        "From top to bottom. What one side said to another several times in a phase is one line: how often, how many bytes of "
        "payload in all, and in how many rounds."
    )
    diagram = figure(drawn, caption=caption, label="Sequence diagram of the conversation")
    if len(said) > MOST_ROWS:
        diagram = folded(f"The diagram ({len(said):,} lines)", diagram)
    return [diagram, folded("The same as a table", table(head, rows))]


def _rounds(rounds: set[int]) -> str:
    first, last = min(rounds), max(rounds)
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def cost_panel(report: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    """Write the bytes, and the time."""
    exchanged = report["communication"]
    some = tuple(name for name in ("ciphertext_bytes", "user_bits") if exchanged[name])
    columns = ("messages", "payload_bytes", "frame_bytes", *some)
    names = ("messages", "payload bytes", "with frames", *(name.replace("_", " ") for name in some))

    def lines(by: str) -> list[tuple[Any, ...]]:
        return [(key, *(row[name] for name in columns)) for key, row in exchanged[by].items()]

    rounds = _rounds_by_phase(entries)
    seconds = {own["name"]: own["seconds"] for own in report["phases"]}
    phases = exchanged["by_phase"]
    by_phase = [
        (
            name,
            rounds.get(name),
            seconds.get(name),
            *((phases[name][own] if name in phases else 0) for own in columns),
        )
        for name in dict.fromkeys([*seconds, *phases])
    ]
    return [
        words(_in_words(exchanged)),
        table(("phase", "rounds", "seconds", *names), by_phase, caption="By phase", bar=4),
        _timeline(entries),
        _predicted(exchanged),
        _edges([(edge_shown(key), *row) for key, *row in lines("by_edge")], names),
        table(("kind", *names), lines("by_kind"), caption="By kind of message", bar=2),
        _formulas(exchanged),
    ]


def _in_words(exchanged: Mapping[str, Any]) -> str:
    text = (
        f"{counted(exchanged['messages'], 'message')} with {exchanged['payload_bytes']:,} bytes of payload, "
        f"{exchanged['frame_bytes']:,} with their frames, in {counted(exchanged['rounds'], 'round')}: so often somebody had to "
        f"wait for what somebody else said."
    )
    if users := exchanged.get("users"):
        spread = (
            f" ({users['least']:,} to {users['most']:,})" if users["least"] < users["most"] else ""
        )
        how = (
            "These reports were really made and counted."
            if users["simulate"] == "reports"
            else "Their sums were drawn instead."
        )
        text += (
            f" In a deployment each user would send one report of {exchanged['per_user_bits']:,.4g} bits{spread} herself: "
            f"{users['reports']:,} reports, {-(-users['bits'] // 8):,} bytes. {how}"
        )
    return text


def _rounds_by_phase(entries: Sequence[Entry]) -> dict[str, str]:
    """Say which rounds a phase has a part in; phases overlap, since nobody waits for a phase of
    somebody else to end.
    """
    found: dict[str, set[int]] = {}
    for entry in entries:
        found.setdefault(entry.phase, set()).add(entry.round)
    return {phase: _rounds(rounds) for phase, rounds in found.items()}


def _timeline(entries: Sequence[Entry]) -> str:
    if len(entries) < 2:
        return ""
    points, total = [(0.0, 0.0)], 0
    for entry in sorted(entries, key=_when):
        total += entry.payload_bytes
        points.append((_when(entry), float(total)))
    if len(points) > MOST_POINTS:
        points = [*points[:: len(points) // MOST_POINTS], points[-1]]
    unit, size = _unit(total)
    spans = _spans(entries)
    drawn = charts.steps(
        [(when, value / size) for when, value in points],
        spans=spans if len(spans) <= MOST_SPANS else [],
        title="Time line",
        x="seconds",
        y=f"payload sent, {unit}",
    )
    caption = (
        "Payload so far, by the curator's clock; what parties said to one another by the sender's, which started when it did. "
        "Below, each phase from its first message to its last. Phases overlap: nobody waits for the end of somebody else's."
    )
    return figure(drawn, caption=caption, label="Time line: payload sent over seconds")


def _when(entry: Entry) -> float:
    """Say when a message went, by one clock where that can be: each role's starts with its own
    part.
    """
    return entry.received_at if entry.receiver == CURATOR else entry.sent_at


def _spans(entries: Sequence[Entry]) -> list[tuple[str, float, float]]:
    found: dict[str, list[float]] = {}
    for own in entries:
        found.setdefault(own.phase, []).append(_when(own))
    return [(phase, min(times), max(times)) for phase, times in found.items()]


def _unit(total: float) -> tuple[str, float]:
    shown = bytes_shown(total).split()[1]
    return shown, {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[shown]


def _predicted(exchanged: Mapping[str, Any]) -> str:
    lines = exchanged["predicted"]
    if lines is None:
        return words("This protocol does not predict its cost.", kind="quiet")
    rows = []
    for own in lines:
        same = all(own[key] == own[f"measured_{key}"] for key in ("messages", "payload_bytes"))
        verdict: Any = "as predicted" if same else ('<span class="worse">differs</span>',)
        figures = [
            own[name]
            for name in ("messages", "measured_messages", "payload_bytes", "measured_payload_bytes")
        ]
        rows.append((own["phase"], own["kind"], *figures, own.get("known", ""), verdict))
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
    rest = exchanged["payload_bytes"] - sum(own["payload_bytes"] for own in lines)
    more = (
        words(
            f"{rest:,} bytes more depend on what was chosen, and could not be predicted.",
            kind="quiet",
        )
        if rest > 0
        else ""
    )
    return (
        table(head, rows, caption="Predicted, before the run or from what was learnt, and measured")
        + more
    )


def edge_shown(key: str) -> str:
    """Name the ends of an edge.

    >>> edge_shown("0->2")
    'curator → party 2'
    """
    one, other = (_role(int(rank)) for rank in key.split("->"))
    return f"{one} \N{RIGHTWARDS ARROW} {other}"


def _role(rank: int) -> str:
    return "curator" if rank == CURATOR else f"party {rank}"


def _edges(lines: Sequence[tuple[Any, ...]], names: Sequence[str]) -> str:
    """List the edges; of many, their spread by direction, and all of them folded."""
    whole = table(("edge", *names), lines, caption="By edge", bar=2)
    if len(lines) <= MOST_EDGES:
        return whole
    directions: dict[str, list[int]] = {}
    for key, _, payload, *_ in lines:
        one, other = (end.split()[0] for end in key.split(" \N{RIGHTWARDS ARROW} "))
        directions.setdefault(f"{one} \N{RIGHTWARDS ARROW} {other}", []).append(payload)
    rows = [
        (key, len(own), min(own), median(own), max(own), sum(own))
        for key, own in directions.items()
    ]
    head = ("direction", "edges", "least payload bytes", "median", "most", "all")
    summed = table(head, rows, caption="By edge: payload bytes of one edge, by direction")
    return summed + (
        folded(f"All {len(lines):,} edges", whole) if len(lines) <= MOST_LISTED else ""
    )


def _formulas(exchanged: Mapping[str, Any]) -> str:
    if not exchanged.get("formulas"):
        return ""
    head = tuple(exchanged["formulas"][0])
    return table(
        head, [[*line.values()] for line in exchanged["formulas"]], caption="The paper's formulas"
    ) + words(FORMULAS, kind="quiet")
