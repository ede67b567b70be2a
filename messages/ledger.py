"""The ledger: every message, counted at the single gate where its bytes leave and where they
arrive.

Each role keeps the list of what it sent and received, in its own order. When the conversation ends
the curator puts the lists together: every message sent must have been received with the same kind
and length, or the run fails. What the numbers mean, to the byte:

    payload     the message's fields as `fields` lays them out
    frame       header and payload: what is handed to the transport. TCP, IP, Ethernet and MPI add their own headers below
                (docs: what the ledger counts); the layer's own control frames (ends of edges,
                deadlock probes, the closing minutes) are not messages of the protocol and are not
                in the ledger
    ciphertext  the payload bytes of fields marked CIPHERTEXT
    user bits   what simulated users say in the message, by fields marked USER_BITS: their reports without the gaps and
                headers of a cohort's message, which no user sends
    rounds      the length of the longest chain of messages in which each was sent after the one before had been received
                by its sender: what latency multiplies
    step        the sender's n-th verb within the phase
    seconds     since the sender's (receiver's) own start of the conversation; clocks of two hosts are not compared
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .errors import LedgerError, role_name

__all__ = ["Act", "Entry", "Totals", "communication", "reconcile", "totals"]


class Act(NamedTuple):
    """One role's note of one message that it sent or received, in the order of that role's own
    acts.
    """

    sent: bool
    peer: int
    sequence: int
    phase: str
    step: int
    kind: str
    payload: int
    frame: int
    ciphertext: int
    user_bits: int
    seconds: float


class Entry(NamedTuple):
    """One message, as both ends agree on it: a row of ledger.csv."""

    message: int
    phase: str
    step: int
    kind: str
    sender: int
    receiver: int
    round: int
    payload_bytes: int
    frame_bytes: int
    ciphertext_bytes: int
    user_bits: int
    sent_at: float
    received_at: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over some messages."""

    messages: int = 0
    payload_bytes: int = 0
    frame_bytes: int = 0
    ciphertext_bytes: int = 0
    user_bits: int = 0

    def __add__(self, entry: Entry) -> Totals:
        return Totals(
            self.messages + 1,
            self.payload_bytes + entry.payload_bytes,
            self.frame_bytes + entry.frame_bytes,
            self.ciphertext_bytes + entry.ciphertext_bytes,
            self.user_bits + entry.user_bits,
        )

    def as_dict(self) -> dict[str, int]:
        return {
            "messages": self.messages,
            "payload_bytes": self.payload_bytes,
            "frame_bytes": self.frame_bytes,
            "ciphertext_bytes": self.ciphertext_bytes,
            "user_bits": self.user_bits,
        }


Edge: TypeAlias = tuple[int, int, int]


def reconcile(acts: Sequence[Sequence[Act]]) -> list[Entry]:
    """Put the roles' lists together: `acts[rank]` is what that rank sent and received, in its
    order.

    Raises: LedgerError: a message was sent and not received, or received and not sent, or the two
        ends disagree on it.
    """
    sent: dict[Edge, Act] = {}
    received: dict[Edge, Act] = {}
    for rank, own in enumerate(acts):
        for act in own:
            edge = (rank, act.peer, act.sequence) if act.sent else (act.peer, rank, act.sequence)
            (sent if act.sent else received)[edge] = act
    for edge in sorted(sent.keys() ^ received.keys()):
        act = sent.get(edge) or received[edge]
        verb = "received" if edge in sent else "sent"
        raise LedgerError(
            f"{act.kind} from {role_name(edge[0])} to {role_name(edge[1])} in phase {act.phase} was never {verb}"
        )
    for edge, out in sent.items():
        into = received[edge]
        if (out.kind, out.phase, out.payload, out.frame) != (
            into.kind,
            into.phase,
            into.payload,
            into.frame,
        ):
            raise LedgerError(
                f"{role_name(edge[0])} sent {out.kind} of {out.frame} bytes in phase {out.phase}, "
                f"{role_name(edge[1])} received {into.kind} of {into.frame} bytes in phase {into.phase}"
            )
    rounds = _rounds(acts)
    order = sorted(sent, key=lambda edge: (rounds[edge], edge[0], edge[2], edge[1]))
    return [
        Entry(
            number,
            sent[edge].phase,
            sent[edge].step,
            sent[edge].kind,
            edge[0],
            edge[1],
            rounds[edge],
            sent[edge].payload,
            sent[edge].frame,
            sent[edge].ciphertext,
            sent[edge].user_bits,
            sent[edge].seconds,
            received[edge].seconds,
        )
        for number, edge in enumerate(order, start=1)
    ]


def _rounds(acts: Sequence[Sequence[Act]]) -> dict[Edge, int]:
    """Number each message by the longest chain that ends with it: one more than any its sender had
    received before.

    The lists are walked together; a receipt waits until its message has a number, which always
    comes, because a message is sent before it is received.
    """
    rounds: dict[Edge, int] = {}
    depth = [0] * len(acts)
    at = [0] * len(acts)
    ready = list(range(len(acts)))
    waiting: dict[Edge, int] = {}
    while ready:
        rank = ready.pop()
        while at[rank] < len(acts[rank]):
            act = acts[rank][at[rank]]
            if act.sent:
                edge = (rank, act.peer, act.sequence)
                rounds[edge] = depth[rank] + 1
                if edge in waiting:
                    ready.append(waiting.pop(edge))
            else:
                edge = (act.peer, rank, act.sequence)
                if edge not in rounds:
                    waiting[edge] = rank
                    break
                depth[rank] = max(depth[rank], rounds[edge])
            at[rank] += 1
    return rounds


def totals(entries: Iterable[Entry]) -> Totals:
    summed = Totals()
    for entry in entries:
        summed += entry
    return summed


def communication(entries: Sequence[Entry]) -> dict[str, Any]:
    """Sum the ledger up as report.json has it."""
    by: dict[str, dict[str, Totals]] = {
        name: defaultdict(Totals) for name in ("by_phase", "by_edge", "by_kind")
    }
    for entry in entries:
        by["by_phase"][entry.phase] += entry
        by["by_edge"][f"{entry.sender}->{entry.receiver}"] += entry
        by["by_kind"][entry.kind] += entry
    return {
        **totals(entries).as_dict(),
        "rounds": max((entry.round for entry in entries), default=0),
        **{
            name: {key: value.as_dict() for key, value in groups.items()}
            for name, groups in by.items()
        },
    }
