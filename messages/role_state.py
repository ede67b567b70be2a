"""What a role knows of itself and of the others: its place, what it has sent, and who is lost.

Whoever watches a role reads this, and so do the parts of a run that come after the last phase. The
verbs by which roles talk are in `role`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from .edges import Edges
from .errors import Where
from .ledger import Act
from .phases import Phases
from .position import Position, Verb
from .wire import MAX_FRAME_BYTES, Wire

__all__ = ["DEFAULT_TIMEOUT", "RoleState"]

DEFAULT_TIMEOUT: Final = 3600.0


class RoleState:
    """What one participant knows."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type],
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = MAX_FRAME_BYTES,
        transcript: bool = False,
    ) -> None:
        """Connect a role to its wire.

        Args:
            wire: the role's end of the transport.
            protocol: the protocol's name.
            kinds: the message classes that the protocol declares.
            timeout: seconds that any wait for a message may last.
            limit: the longest frame that is sent or accepted, in bytes.
            transcript: whether to digest all bytes that are sent.
        """
        self.rank = wire.rank
        self.size = wire.size
        self.min_parties: int | None = None
        """Fewest parties with which the run goes on after a loss; `None` where a loss ends it."""
        self._phases = Phases(rank=wire.rank, protocol=protocol, clock=wire.clock)
        self._edges = Edges(
            wire,
            protocol=protocol,
            kinds=kinds,
            phases=self._phases,
            timeout=timeout,
            limit=limit,
            transcript=transcript,
        )
        self._verb: Verb | None = None
        self._progress = (0.0, 0.0)

    @property
    def others(self) -> list[int]:
        """Ranks of all other roles, the curator first."""
        return [rank for rank in range(self.size) if rank != self.rank]

    @property
    def parties(self) -> range:
        """Ranks of all parties."""
        return range(1, self.size)

    @property
    def lost(self) -> dict[int, str]:
        """Roles that are lost, in order, and this role's phase when it learnt of the loss.

        It is empty where a loss ends the run. Whoever reads it may act upon all of them.
        """
        return {
            rank: phase
            for rank, phase in self._edges.frames.lost.items()
            if self._acts_on_loss_of(rank)
        }

    def _acts_on_loss_of(self, rank: int) -> bool:
        """Tell whether another role is lost, and note that this one acts upon it if it is."""
        return self._edges.frames.acts_on_loss_of(rank)

    def call_when_acting(self, function: Callable[[int], None]) -> None:
        """Let a function be called with each role upon whose loss this one acts."""
        self._edges.frames.call_when_acting = function

    def knows_lost(self, rank: int, *, within: float) -> bool:
        """Tell whether another role is lost, by what the transport says; wait so many seconds."""
        return self._edges.frames.await_loss(rank, seconds=within)

    def take_in_arrived(self) -> None:
        """Take in all that has arrived, such as the news of a loss, without waiting."""
        self._edges.frames.take_in_arrived()

    @property
    def has_ended(self) -> bool:
        """Whether this role has ended its part, and handed over what others need of it."""
        return self._edges.frames.has_ended

    @property
    def where(self) -> Where:
        """Current place in the protocol."""
        return self._phases.where

    @property
    def current_phase(self) -> str:
        """Path of the innermost open phase; empty outside all phases."""
        return self._phases.current

    @property
    def phase_seconds(self) -> dict[str, float]:
        """Duration of each phase that has ended."""
        return self._phases.seconds

    @property
    def position(self) -> Position:
        """Current position. May be read from another thread."""
        where, frames, verb = self.where, self._edges.frames, self._verb
        computing = "computes" if self._phases.current else ""
        return Position(
            where.phase,
            where.step,
            computing if verb is None else str(verb),
            frames.sent_bytes,
            frames.received_bytes,
            *self._progress,
        )

    @property
    def transcript(self) -> dict[str, str]:
        """Digest of all bytes sent to each role that was sent any, if digests were asked for."""
        return self._edges.transcript

    def instructions(self, peer: int) -> bytes:
        """Digest all that the curator has sent to a party; `peer` is the role at the other end.

        A party asks for the curator, and the curator for a party: both get the same digest, unless
        something changed on the way. Messages declared `@personal` are left out.
        """
        return self._edges.instructions(peer)

    @property
    def acts(self) -> list[Act]:
        """Messages that this role has sent and received, in its order."""
        return list(self._edges.acts)

    @property
    def sealed(self) -> frozenset[int]:
        """Ranks with which all messages are sealed."""
        return frozenset(self._edges.seals)
