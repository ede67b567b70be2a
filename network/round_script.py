"""What each role does in every round of a conversation: it computes, sends, and waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..messages import CURATOR
from .replay import END_BYTES
from .rounds import Exchange, RoundFrame, RoundSeconds, frames_of
from .stack import Stack

__all__ = ["RoundScript", "Turn", "Turns"]


@dataclass(slots=True)
class Turn:
    """What one role does in one round."""

    computed: float = 0.0
    frames: list[tuple[RoundFrame, int]] = field(default_factory=list)
    """What it sends, each with the round in which the receiver waits for it."""
    senders: list[int] = field(default_factory=list)
    """Who sends what it waits for, in the order in which it is wanted."""
    is_last: bool = False
    """Whether it tells that it has ended when it has all that it waits for."""


Turns: TypeAlias = dict[int, Turn]
"""What each role does in one round, by rank."""


class RoundScript:
    """What all roles do, round by round."""

    def __init__(
        self,
        rounds: Sequence[Sequence[Exchange]],
        *,
        parties: int,
        stack: Stack,
        seconds: RoundSeconds | None,
        last: float,
        alike_from: int,
    ) -> None:
        """Describe a conversation.

        Args:
            rounds: what is exchanged in each round.
            parties: number of parties.
            stack: settings of MPI and TCP.
            seconds: what roles compute in each round; without it no time.
            last: seconds that the curator computes after its last message.
            alike_from: the round from which on all parties do the same, so all take part.
        """
        self._rounds = rounds
        self._parties = range(1, parties + 1)
        self._stack = stack
        self._seconds = seconds
        self._last = last
        self._computed: defaultdict[int, float] = defaultdict(float)
        """What roles have computed that took no part in the rounds so far."""
        self._last_rounds = self._find_last_rounds(alike_from)

    @property
    def is_behind(self) -> bool:
        """Whether some role has computed that took no part in the rounds so far."""
        return any(self._computed.values())

    def turns(self, number: int) -> Turns:
        """List what each role does in a round; rounds are asked for one after another.

        At last, in a round of its own, the curator tells all that it has ended, and waits for the
        ends of all.
        """
        if number == len(self._rounds):
            frames = [(RoundFrame(CURATOR, party, END_BYTES), number) for party in self._parties]
            turns = {CURATOR: Turn(self._last, frames, [*self._parties])}
        else:
            turns = self._turns_of_round(number)
        for party in self._parties:
            if self._last_rounds.get(party, 0) == number:
                turn = turns.setdefault(party, Turn())
                if turn.senders:
                    turn.is_last = True
                else:
                    end = RoundFrame(party, CURATOR, END_BYTES)
                    turn.frames.append((end, len(self._rounds)))
        return turns

    def _turns_of_round(self, number: int) -> Turns:
        turns: defaultdict[int, Turn] = defaultdict(Turn)
        for sender, receiver, frame in self._frames(number):
            turns[sender].frames.append((frame, number))
            turns[receiver].senders.append(sender)
        if self._seconds is not None:
            for rank in range(len(self._parties) + 1):
                self._computed[rank] += self._seconds.of(rank)[number]
                if rank in turns:
                    turns[rank].computed = self._computed.pop(rank)
        return dict(sorted(turns.items()))

    def _frames(self, number: int) -> list[tuple[int, int, RoundFrame]]:
        return [
            (frame.sender, frame.receiver, frame)
            for exchange in self._rounds[number]
            for frame in frames_of(exchange, parties=len(self._parties), stack=self._stack)
        ]

    def _find_last_rounds(self, alike_from: int) -> dict[int, int]:
        """Find the last round in which each party takes part."""
        if alike_from < len(self._rounds):
            return dict.fromkeys(self._parties, len(self._rounds) - 1)
        last: dict[int, int] = {}
        for number in reversed(range(len(self._rounds))):
            for sender, receiver, _ in self._frames(number):
                last.setdefault(sender, number)
                last.setdefault(receiver, number)
            if len(last) > len(self._parties):
                break
        return last
