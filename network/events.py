"""Events in the order of their times."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from .moments import Moment

__all__ = ["Event", "EventQueue"]

Event: TypeAlias = Callable[[Moment], None]
"""Something that happens at a moment."""


class EventQueue:
    """Events that are to happen; those of the same time in the order in which they were added."""

    def __init__(self) -> None:
        self._events: list[tuple[float, int, Event, Moment]] = []
        self._number = count()

    def add(self, moment: Moment, event: Event) -> None:
        """Let an event happen at a moment."""
        heapq.heappush(self._events, (moment.seconds, next(self._number), event, moment))

    def run(self) -> None:
        """Let all events happen, and those that they add."""
        while self._events:
            _, _, event, moment = heapq.heappop(self._events)
            event(moment)
