"""Events in the order of their times."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from .moments import Moment

__all__ = ["Event", "EventQueue"]

Event: TypeAlias = Callable[[Moment], None]
"""Something that happens at a moment."""


class EventQueue:
    """Events that are to happen; those of the same time in the order in which they were added.

    Many events are added for the time that it is. These wait in a queue of their own, which needs
    no order by time: whatever else is to happen at this time was added before.
    """

    def __init__(self) -> None:
        self._later: list[tuple[float, int, Event, Moment]] = []
        self._now: deque[tuple[Event, Moment]] = deque()
        self._seconds = -math.inf
        """The time that it is."""
        self._number = count()

    def add(self, moment: Moment, event: Event) -> None:
        """Let an event happen at a moment."""
        seconds = moment.seconds
        if seconds == self._seconds:
            self._now.append((event, moment))
        else:
            heapq.heappush(self._later, (seconds, next(self._number), event, moment))

    def run(self) -> None:
        """Let all events happen, and those that they add."""
        now, later, pop = self._now, self._later, heapq.heappop
        while True:
            if now and not (later and later[0][0] <= self._seconds):
                event, moment = now.popleft()
            elif later:
                seconds, _, event, moment = pop(later)
                self._seconds = max(self._seconds, seconds)
            else:
                return
            event(moment)
