"""What one role waits for in a conversation of rounds: when it notices the frames that arrive.

A role that waits, or is held, wakes some time after a frame has arrived, and takes all that have
arrived by then. While it computes it notices nothing. When it begins to wait, it takes
what is there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

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
    seconds: float
    """When it has arrived."""


_SECONDS: Final = attrgetter("seconds")


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
        self.begins: list[float] = []
        """When the role began to compute, each time."""
        self.ends: list[float] = []
        """When it ended."""
        self._inbox: list[Arrival] = []
        """Frames of later rounds."""
        self._fresh: list[Arrival] = []
        """Frames that arrive later than the role's clock, so it may compute then."""
        self.wakes: list[_Wake] = []
        """When the role looks for frames after its clock, for those that it has taken."""
        self.rounds: list[_RoundTimes] = []

    @property
    def has_mail(self) -> bool:
        """Whether frames have arrived that the role has not taken, or will arrive."""
        return bool(self._inbox or self._fresh)

    def compute(self, seconds: float) -> None:
        """Compute for some seconds of this machine."""
        before = self.clock.seconds
        place = self._rank, self._rank
        self.clock = after(self.clock, seconds / self._speed, Reason.COMPUTATION, place)
        if self.clock.seconds > before:
            self.begins.append(before)
            self.ends.append(self.clock.seconds)

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
        wakes = self._notice(arrivals)
        wanted = [arrival for arrival in self._inbox if arrival.round == number]
        wanted += [arrival for arrival in arrivals if arrival.round == number]
        wanted.sort(key=_SECONDS)
        self._inbox = [
            arrival
            for each in (self._inbox, arrivals)
            for arrival in each
            if arrival.round != number
        ]
        began, times, place = self.clock.seconds, _RoundTimes([], []), 0
        by_sender: defaultdict[int, deque[float]] = defaultdict(deque)
        clock = began
        for _, sender, _, _, seconds in wanted:
            if seconds == clock and self._polling > 0:
                raise NotByRoundsError  # Which comes first decides whether the role sleeps.
            if seconds > clock:
                while wakes[place].moment.seconds < seconds:
                    place += 1
                self.clock, _, self.order = wakes[place]
                clock = self.clock.seconds
            if seconds > began:
                times.arrivals.append(seconds)
                times.moments.append(clock)
            by_sender[sender].append(clock)
        self.rounds.append(times)
        now = began
        for sender in senders:
            before, now = now, max(now, by_sender[sender].popleft())
            waits[self._rank, sender] += now - before
        self._go_on(wakes)

    def _notice(self, arrivals: Sequence[Arrival]) -> list[_Wake]:
        """List when the role looks for frames, up to the end of this round."""
        self._fresh += arrivals
        place = self._rank, self._rank
        wakes = self.wakes + [
            _Wake(after(moment, self._polling, Reason.POLLING, place), seconds, order)
            for moment, _, _, order, seconds in self._fresh
            if not self._computes(seconds)
        ]
        wakes.sort(key=lambda wake: wake.moment.seconds)
        return wakes

    def _computes(self, seconds: float) -> bool:
        """Tell whether the role computes at some time: later than it began, and before it ends."""
        place = bisect_left(self.begins, seconds) - 1
        return place >= 0 and seconds < self.ends[place]

    def _go_on(self, wakes: Sequence[_Wake]) -> None:
        """Keep what matters in later rounds."""
        now = self.clock.seconds
        self._fresh = [arrival for arrival in self._fresh if arrival.seconds > now]
        self.wakes = [wake for wake in wakes if wake.arrived <= now < wake.moment.seconds]

    def _check_earlier_rounds(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            wakes = arrival.seconds + self._polling
            for arrived, taken in reversed(self.rounds):
                if not taken or taken[-1] <= arrival.seconds:
                    break
                place = bisect_right(taken, wakes)
                if place < len(taken) and arrived[place] <= wakes:
                    raise NotByRoundsError
