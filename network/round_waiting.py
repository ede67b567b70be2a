"""What one role waits for in a conversation of rounds: when it notices the frames that arrive.

A role that waits, or is held, wakes some time after a frame has arrived, and takes all that have
arrived by then. While it computes it notices nothing. When it begins to wait, it takes
what is there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .model import Network
from .moments import START, Moment, Reason, after
from .round_sending import NotByRoundsError

__all__ = ["Arrival", "Order", "WaitingRole"]


Order: TypeAlias = tuple[float, ...]
"""What decides which of several things is first that happen at the same time."""


class Arrival(NamedTuple):
    """A frame that has arrived."""

    moment: Moment
    sender: int
    round: int
    """The round in which the receiver waits for it."""
    order: Order

    @property
    def seconds(self) -> float:
        """When it has arrived."""
        return self.moment.seconds


class _Wake(NamedTuple):
    """When a role looks for frames, because one has arrived."""

    moment: Moment
    arrived: float
    order: Order


class _RoundTimes(NamedTuple):
    """What a role has waited for in one round, in the order of time."""

    arrivals: list[float]
    moments: list[float]
    """When the role took each."""


class WaitingRole:
    """One role, as it goes from round to round."""

    def __init__(self, rank: int, network: Network) -> None:
        self.clock: Moment = START
        self.order: Order = (0.0, 0.0, 0.0, 0.0, rank)
        """Which of several roles is first that go on at the same time."""
        self._rank = rank
        self._speed = network.speed
        self._polling = network.stack.polling_seconds
        self._computing: list[tuple[float, float]] = []
        """From when to when the role has computed."""
        self._inbox: list[Arrival] = []
        """Frames of later rounds."""
        self._fresh: list[Arrival] = []
        """Frames that arrive later than the role's clock, so it may compute then."""
        self._wakes: list[_Wake] = []
        self._rounds: list[_RoundTimes] = []

    def compute(self, seconds: float) -> None:
        """Compute for some seconds of this machine."""
        before = self.clock.seconds
        place = self._rank, self._rank
        self.clock = after(self.clock, seconds / self._speed, Reason.COMPUTATION, place)
        if self.clock.seconds > before:
            self._computing.append((before, self.clock.seconds))

    def take(
        self,
        arrivals: Sequence[Arrival],
        *,
        number: int,
        senders: Sequence[int],
        waits: defaultdict[tuple[int, int], float],
    ) -> None:
        """Wait for the frames of a round, and take them.

        Args:
            arrivals: the frames that were sent in this round, in the order in which they arrive;
                some may be of a later one.
            number: the round.
            senders: who has sent its frames, in the order in which they are wanted.
            waits: gets the seconds for which this role waits for each other one.

        Raises:
            NotByRoundsError: a frame wakes this role while it waits for one of an earlier round.
        """
        self._check_earlier_rounds(arrivals)
        self._inbox += arrivals
        wakes = self._notice(arrivals)
        wanted = [arrival for arrival in self._inbox if arrival.round == number]
        wanted.sort(key=lambda arrival: arrival.seconds)
        began, times, place = self.clock.seconds, _RoundTimes([], []), 0
        by_sender: defaultdict[int, deque[float]] = defaultdict(deque)
        for arrival in wanted:
            if arrival.seconds == self.clock.seconds and self._polling > 0:
                raise NotByRoundsError  # Which comes first decides whether the role sleeps.
            if arrival.seconds > self.clock.seconds:
                while wakes[place].moment.seconds < arrival.seconds:
                    place += 1
                self.clock, _, self.order = wakes[place]
            if arrival.seconds > began:
                times.arrivals.append(arrival.seconds)
                times.moments.append(self.clock.seconds)
            by_sender[arrival.sender].append(self.clock.seconds)
        self._rounds.append(times)
        now = began
        for sender in senders:
            before, now = now, max(now, by_sender[sender].popleft())
            waits[self._rank, sender] += now - before
        self._go_on(number, wakes)

    def _notice(self, arrivals: Sequence[Arrival]) -> list[_Wake]:
        """List when the role looks for frames, up to the end of this round."""
        self._fresh += arrivals
        place = self._rank, self._rank
        wakes = self._wakes + [
            _Wake(after(moment, self._polling, Reason.POLLING, place), moment.seconds, order)
            for moment, _, _, order in self._fresh
            if not any(begin < moment.seconds < end for begin, end in self._computing)
        ]
        wakes.sort(key=lambda wake: wake.moment.seconds)
        return wakes

    def _go_on(self, number: int, wakes: Sequence[_Wake]) -> None:
        """Keep what matters in later rounds."""
        now = self.clock.seconds
        self._inbox = [arrival for arrival in self._inbox if arrival.round != number]
        self._fresh = [arrival for arrival in self._fresh if arrival.seconds > now]
        self._wakes = [wake for wake in wakes if wake.arrived <= now < wake.moment.seconds]

    def _check_earlier_rounds(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            wakes = arrival.seconds + self._polling
            for arrived, taken in reversed(self._rounds):
                if not taken or taken[-1] <= arrival.seconds:
                    break
                place = bisect_right(taken, wakes)
                if place < len(taken) and arrived[place] <= wakes:
                    raise NotByRoundsError
