"""Cores that all roles share, where a network says how many there are.

Roles that compute at the same time get equal parts of the cores, and none more than one core. So
the system of a machine shares them, on average. How long a role then computes depends on the others
alone: each of n roles on c cores does min(1, c / n) seconds of its work in a second.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import NamedTuple

from .events import Event, EventQueue
from .moments import Moment, Reason, after

__all__ = ["Processors"]


class _Work(NamedTuple):
    """The computation of a role that has begun."""

    due: float
    """Seconds that each role has computed, as `Processors` counts them, at this one's end."""
    number: int
    """Number of computations that began before, for the order of those that end together."""
    began: Moment
    seconds: float
    """Seconds that it takes on a core of its own."""
    rank: int
    then: Event


class Processors:
    """Some cores, and the roles that compute on them."""

    def __init__(self, cores: int, events: EventQueue) -> None:
        self._cores = cores
        self._events = events
        self._works: list[_Work] = []
        """What has begun and not ended, that which ends first in front."""
        self._computed = 0.0
        """Seconds that a role would have computed if it had computed all the time."""
        self._at = 0.0
        """The time until which these seconds are counted."""
        self._number = count()
        self._turn = 0
        """Number of changes so far: an end that was foreseen before the last one is wrong."""

    def compute(self, moment: Moment, seconds: float, *, rank: int, then: Event) -> None:
        """Let a role compute from a moment on; `then` is what happens when it has ended."""

        def begin(moment: Moment) -> None:
            self._go_on(moment.seconds)
            number = next(self._number)
            work = _Work(self._computed + seconds, number, moment, seconds, rank, then)
            heapq.heappush(self._works, work)
            self._foresee()

        self._events.add(moment, begin)

    def _speed(self) -> float:
        return min(1.0, self._cores / len(self._works))

    def _go_on(self, now: float) -> None:
        """Count what all roles have computed up to now."""
        if self._works:
            self._computed += (now - self._at) * self._speed()
        self._at = now

    def _foresee(self) -> None:
        """Let the first role end in time, if none begins or ends before it."""
        self._turn += 1
        if not self._works:
            return
        turn, work = self._turn, self._works[0]
        left = max(0.0, work.due - self._computed) / self._speed()
        alone = after(work.began, work.seconds, Reason.COMPUTATION, (work.rank, work.rank))
        shared = max(0.0, self._at + left - alone.seconds)
        end = after(alone, shared, Reason.SHARED_CORES, (work.rank, work.rank))

        def finish(moment: Moment) -> None:
            if turn != self._turn:
                return
            heapq.heappop(self._works)
            self._computed, self._at = work.due, moment.seconds
            self._foresee()
            work.then(moment)

        self._events.add(end, finish)
