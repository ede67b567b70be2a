"""Phases: where in the protocol a role is, and how long each phase took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import MisuseError, Private, Where

__all__ = ["Phases"]


class Phases:
    """The phases of one role; they nest, and each counts its steps."""

    def __init__(self, *, rank: int, protocol: str, clock: Callable[[], float]) -> None:
        self.current = ""
        """Path of the innermost open phase, such as `learn/sum`; empty outside all phases."""
        self.step = 0
        """Number of the current step within the phase."""
        self.seconds: dict[str, float] = {}
        """Duration of each phase, in the order in which phases ended first."""
        self._rank = rank
        self._protocol = protocol
        self._clock = clock
        self._last = ("", 0)
        self._steps: dict[str, int] = defaultdict(int)

    @property
    def where(self) -> Where:
        """Current place; outside all phases, the place that was left last."""
        phase, step = (self.current, self.step) if self.current else self._last
        return Where(self._rank, self._protocol, phase, step)

    @contextmanager
    def enter(self, name: str) -> Iterator[None]:
        """Open a phase within the current one.

        After an exception the place stays as it was, since that is where the error happened.
        """
        if not name or "/" in name:
            raise MisuseError(
                "expected a phase name without '/', found ", Private(repr(name)), where=self.where
            )
        outer, outer_step = self.current, self.step
        self.current = f"{outer}/{name}" if outer else name
        self.step = self._steps[self.current]
        started = self._clock()
        yield
        seconds = self._clock() - started
        self.seconds[self.current] = self.seconds.get(self.current, 0.0) + seconds
        self._last = (self.current, self.step)
        self.current, self.step = outer, outer_step

    def next_step(self) -> None:
        """Begin the next step of the current phase."""
        self._steps[self.current] += 1
        self.step = self._steps[self.current]
