"""The ledger: every message is counted at the single gate where its bytes leave and arrive.

Each role lists what it has sent and received, in its own order. When the protocol ends the curator
puts the lists together. Every message that was sent must have been received with the same kind and
length, or the run fails. What the numbers mean, to the byte:

    payload     the fields of the message, as `fields` lays them out
    frame       header and payload, which are handed to the transport. TCP, IP, Ethernet and MPI add
                headers of their own (see the documentation of the ledger). Control frames of the
                layer itself are not messages of the protocol and are not in the ledger: ends of
                parts, deadlock probes, closing minutes
    ciphertext  payload bytes of fields marked CIPHERTEXT
    user bits   bits that simulated users send in the message, by fields marked USER_BITS. These are
                their reports, without a cohort's gaps and headers, which no user sends
    rounds      length of the longest chain of messages in which each was sent after its sender had
                received the one before: delay is at least rounds times latency
    step        how many verbs the sender has used in the phase
    seconds     time since the sender's (receiver's) own start. Over MPI all start together
                (`launch.rank_begin`). A role that sends computes until `sending_at`, and the
                transport has its message until `sent_at`. A role that receives computes until
                `awaited_at`, waits until `arrived_at`, and reads the message until `received_at`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, TypeAlias, TypedDict

from .errors import LedgerError, role_name

__all__ = ["Act", "Communication", "Entry", "Totals", "communication", "reconcile", "totals"]


class Act(NamedTuple):
    """One role's note of one message that it has sent or received."""

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
    began: float
    """When the role handed the message to the transport, or began to wait for it."""
    ready: float
    """When the transport had taken the message, or brought it."""
    seconds: float
    """When the role went on."""


class Entry(NamedTuple):
    """One message on which both ends agree: a row of ledger.csv."""

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
    sending_at: float
    sent_at: float
    awaited_at: float
    arrived_at: float
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
        return asdict(self)


class Communication(TypedDict):
    """The part of `report.json` that sums up the ledger."""

    messages: int
    payload_bytes: int
    frame_bytes: int
    ciphertext_bytes: int
    user_bits: int
    rounds: int
    by_phase: dict[str, dict[str, int]]
    by_edge: dict[str, dict[str, int]]
    by_kind: dict[str, dict[str, int]]


Crossing: TypeAlias = tuple[int, int, int]
"""One message's identity: sender, receiver, and sequence number on that edge."""


def reconcile(acts: Sequence[Sequence[Act]], *, lost: Collection[int] = frozenset()) -> list[Entry]:
    """Put the roles' lists together.

    Args:
        acts: for each rank, what it has sent and received, in its order.
        lost: ranks that were lost with their lists. Of their messages one end's note counts.

    Raises:
        LedgerError: a message was sent and not received, or received and not sent, or the two ends
            disagree on it.
    """
    sent: dict[Crossing, Act] = {}
    received: dict[Crossing, Act] = {}
    for rank, rank_acts in enumerate(acts):
        for act in rank_acts:
            (sent if act.sent else received)[_crossing(rank, act)] = act
    for crossing in sorted(sent.keys() ^ received.keys()):
        sender, receiver, _ = crossing
        if lost and (sender in lost or receiver in lost):
            if crossing in sent:
                received[crossing] = sent[crossing]
            else:
                sent[crossing] = received[crossing]
            continue
        act = sent.get(crossing) or received[crossing]
        verb = "received" if crossing in sent else "sent"
        raise LedgerError(
            f"{act.kind} from {role_name(sender)} to {role_name(receiver)} "
            f"in phase {act.phase} was never {verb}"
        )
    for (sender, receiver, _), departure, arrival in _both_ends(sent, received):
        if _contents(departure) != _contents(arrival):
            raise LedgerError(
                f"{role_name(sender)} sent {departure.kind} of {departure.frame} bytes "
                f"in phase {departure.phase}, {role_name(receiver)} received {arrival.kind} "
                f"of {arrival.frame} bytes in phase {arrival.phase}"
            )
    rounds = _rounds(_with_lost(acts, sent, lost=lost) if lost else acts)

    def order(ends: tuple[Crossing, Act, Act]) -> tuple[int, int, int, int]:
        sender, receiver, sequence = ends[0]
        return rounds[ends[0]], sender, sequence, receiver

    return [
        Entry(
            message=number,
            phase=departure.phase,
            step=departure.step,
            kind=departure.kind,
            sender=crossing[0],
            receiver=crossing[1],
            round=rounds[crossing],
            payload_bytes=departure.payload,
            frame_bytes=departure.frame,
            ciphertext_bytes=departure.ciphertext,
            user_bits=departure.user_bits,
            sending_at=round(departure.began, 6),  # as ledger.csv has it
            sent_at=round(departure.seconds, 6),
            awaited_at=round(arrival.began, 6),
            arrived_at=round(arrival.ready, 6),
            received_at=round(arrival.seconds, 6),
        )
        for number, (crossing, departure, arrival) in enumerate(
            sorted(_both_ends(sent, received), key=order), start=1
        )
    ]


def _crossing(rank: int, act: Act) -> Crossing:
    return (rank, act.peer, act.sequence) if act.sent else (act.peer, rank, act.sequence)


def _both_ends(
    sent: dict[Crossing, Act], received: dict[Crossing, Act]
) -> list[tuple[Crossing, Act, Act]]:
    return [(crossing, act, received[crossing]) for crossing, act in sent.items()]


def _contents(act: Act) -> tuple[str, str, int, int]:
    return act.kind, act.phase, act.payload, act.frame


def _with_lost(
    acts: Sequence[Sequence[Act]], sent: Mapping[Crossing, Act], *, lost: Collection[int]
) -> list[Sequence[Act]]:
    """Give the lists of all roles, with the messages of those that were lost as others have them.

    What these had received before is not known, so chains of dependent messages begin anew there.
    """
    complete = [*acts]
    for rank in lost:
        complete[rank] = [
            act._replace(sent=True, peer=receiver)
            for (sender, receiver, _), act in sent.items()
            if sender == rank
        ]
    return complete


def _rounds(acts: Sequence[Sequence[Act]]) -> dict[Crossing, int]:
    """Number each message by the longest chain of dependent messages that ends with it.

    It is one more than the longest chain that its sender had received before. The lists are walked
    together. A receipt waits until its message has a number, which always comes, because a message
    is sent before it is received.
    """
    rounds: dict[Crossing, int] = {}
    longest = [0] * len(acts)
    position = [0] * len(acts)
    ready = list(range(len(acts)))
    waiting: dict[Crossing, int] = {}
    while ready:
        rank = ready.pop()
        while position[rank] < len(acts[rank]):
            act = acts[rank][position[rank]]
            crossing = _crossing(rank, act)
            if act.sent:
                rounds[crossing] = longest[rank] + 1
                if crossing in waiting:
                    ready.append(waiting.pop(crossing))
            elif crossing not in rounds:
                waiting[crossing] = rank
                break
            else:
                longest[rank] = max(longest[rank], rounds[crossing])
            position[rank] += 1
    return rounds


def totals(entries: Iterable[Entry]) -> Totals:
    """Sum up the ledger."""
    total = Totals()
    for entry in entries:
        total += entry
    return total


def communication(entries: Sequence[Entry]) -> Communication:
    """Sum up the ledger in all, and by phase, edge and kind."""

    def by(key: Callable[[Entry], str]) -> dict[str, dict[str, int]]:
        groups: dict[str, Totals] = defaultdict(Totals)
        for entry in entries:
            groups[key(entry)] += entry
        return {name: group.as_dict() for name, group in groups.items()}

    total = totals(entries)
    return Communication(
        messages=total.messages,
        payload_bytes=total.payload_bytes,
        frame_bytes=total.frame_bytes,
        ciphertext_bytes=total.ciphertext_bytes,
        user_bits=total.user_bits,
        rounds=max((entry.round for entry in entries), default=0),
        by_phase=by(lambda entry: entry.phase),
        by_edge=by(lambda entry: f"{entry.sender}->{entry.receiver}"),
        by_kind=by(lambda entry: entry.kind),
    )
