"""Rounds: a conversation of which only the sizes and the directions of messages are known.

A round has exchanges: so many messages from parties to the curator, back, or between parties. All
parties do the same, unless an exchange says who sends to whom. In every round each role sends its
messages, and then waits for those of the same round that are for it. So a conversation of thousands
of parties takes few figures to describe.

Messages between parties go to the next parties of a circle. The small ones that a party sends in
one round travel together, up to the size that TCP sends on a new connection at once, with the bytes
of all their headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ..messages import CURATOR
from .replay import PartStep
from .stack import Stack
from .window import FIRST_WINDOW

__all__ = [
    "Exchange",
    "RoundFrame",
    "RoundSeconds",
    "Route",
    "frames_of",
    "parts_of_rounds",
    "sizes_together",
]


class Route(StrEnum):
    """From whom to whom messages go."""

    UP = "parties to the curator"
    DOWN = "the curator to parties"
    ACROSS = "between parties"

    @classmethod
    def of(cls, sender: int, receiver: int) -> Route:
        """Tell the route from a sender to a receiver.

        >>> Route.of(3, 0).value
        'parties to the curator'
        """
        if sender == CURATOR:
            return cls.DOWN
        return cls.UP if receiver == CURATOR else cls.ACROSS


class Exchange(NamedTuple):
    """Messages of one kind in one round."""

    route: Route
    messages: int
    """Number of messages of all parties."""
    size: int
    """Bytes of each frame."""
    senders: tuple[int, ...] = ()
    """Who sends, where parties do not all do the same: each of these to each of the receivers."""
    receivers: tuple[int, ...] = ()

    @classmethod
    def between(cls, senders: tuple[int, ...], receivers: tuple[int, ...], size: int) -> Exchange:
        """Let each of some roles send a frame to each of some others.

        >>> Exchange.between((1, 2), (3, 4, 5), 100).messages
        6
        """
        route = Route.of(senders[0], receivers[0])
        return cls(route, len(senders) * len(receivers), size, senders, receivers)


class RoundFrame(NamedTuple):
    """A frame of a round."""

    sender: int
    receiver: int
    size: int
    more: bool = False
    """Whether the next one is of the same broadcast."""


class RoundSeconds(NamedTuple):
    """What roles compute before the messages that they send in each round, and after the last."""

    curator: Sequence[float]
    party: Sequence[float]
    others: Mapping[int, Sequence[float]] = {}
    """Those of parties that do not do as all others do, by rank."""

    def of(self, rank: int) -> Sequence[float]:
        """Give those of a role."""
        return self.curator if rank == CURATOR else self.others.get(rank, self.party)


def parts_of_rounds(
    rounds: Sequence[Sequence[Exchange]],
    *,
    parties: int,
    stack: Stack,
    seconds: RoundSeconds | None = None,
) -> list[list[PartStep]]:
    """Write each role's part, from what is exchanged in each round.

    Without `seconds` roles take no time to compute. What they compute after the last round is not
    part of any message.

    >>> up = Exchange(Route.UP, 2, 100)
    >>> curator, *others = parts_of_rounds([[up]], parties=2, stack=Stack())
    >>> [(step.sent, step.peer, step.size) for step in curator]
    [(False, 1, 100), (False, 2, 100)]
    """
    parts: list[list[PartStep]] = [[] for _ in range(parties + 1)]
    waiting = [0.0] * len(parts)
    """What each role has computed since its last message."""
    for number, exchanges in enumerate(rounds):
        frames = [
            frame
            for exchange in exchanges
            for frame in frames_of(exchange, parties=parties, stack=stack)
        ]
        before = [len(part) for part in parts]
        for sender, receiver, size, more in frames:
            parts[sender].append(PartStep(0.0, sent=True, peer=receiver, size=size, more=more))
        for sender, receiver, size, _ in frames:
            parts[receiver].append(PartStep(0.0, sent=False, peer=sender, size=size))
        for rank, (part, start) in enumerate(zip(parts, before, strict=True)):
            waiting[rank] += 0.0 if seconds is None else seconds.of(rank)[number]
            if start < len(part):
                part[start] = part[start]._replace(computed=waiting[rank])
                waiting[rank] = 0.0
    return parts


def frames_of(exchange: Exchange, *, parties: int, stack: Stack) -> list[RoundFrame]:
    """List the frames that stand for an exchange.

    >>> hop = Exchange.between((0,), (2, 3), 100)
    >>> [(frame.receiver, frame.more) for frame in frames_of(hop, parties=9, stack=Stack())]
    [(2, True), (3, False)]
    """
    if exchange.senders:
        return [
            RoundFrame(
                sender,
                receiver,
                exchange.size,
                more=sender == CURATOR and receiver != exchange.receivers[-1],
            )
            for sender in exchange.senders
            for receiver in exchange.receivers
        ]
    if exchange.route is Route.DOWN:
        return _broadcasts(exchange.messages, exchange.size, parties=parties)
    frames: list[RoundFrame] = []
    for party in range(1, parties + 1):
        # The first parties have one message more if not all have the same number.
        number = (exchange.messages + parties - party) // parties
        if exchange.route is Route.ACROSS:
            sizes = sizes_together(number, exchange.size, stack=stack)
            frames += [
                RoundFrame(party, _after(party, distance, parties=parties), size)
                for distance, size in enumerate(sizes)
            ]
        else:
            frames += [RoundFrame(party, CURATOR, exchange.size)] * number
    return frames


def _broadcasts(messages: int, size: int, *, parties: int) -> list[RoundFrame]:
    """List so many frames of the curator, each broadcast to all parties or to the first ones."""
    return [
        RoundFrame(
            CURATOR,
            number % parties + 1,
            size,
            more=(number + 1) % parties > 0 and number + 1 < messages,
        )
        for number in range(messages)
    ]


def _after(party: int, distance: int, *, parties: int) -> int:
    """Give another party of the circle: at distance 0 the next one."""
    return (party + distance % (parties - 1)) % parties + 1


def sizes_together(number: int, size: int, *, stack: Stack) -> list[int]:
    """Give the sizes of the frames in which so many messages of a size travel.

    >>> sizes_together(3, 1_000_000, stack=Stack()), len(sizes_together(60, 1000, stack=Stack()))
    ([1000000, 1000000, 1000000], 5)
    """
    fitting = FIRST_WINDOW // stack.wire_bytes(size)
    if fitting <= 1:
        return [size] * number
    headers = stack.wire_bytes(size) - size
    full, rest = divmod(number, fitting)
    counts = [fitting] * full + [rest] * bool(rest)
    return [count * size + (count - 1) * headers for count in counts]
