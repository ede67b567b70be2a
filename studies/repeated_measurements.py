"""Measurements on a machine that others use, repeated over the time that all of them take.

Other programs slow a machine down for seconds at a time, and a processor is faster for some. A
measurement that is made once has the speed of its moment. So all are made in several passes, one
after another in each. The least cost of a pass is that of its least disturbed repetition. Of the
passes the second fastest counts: neither the slow ones nor a single fast one change it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ..messages import WorkKind, WorkMeter, metered

__all__ = ["PASSES", "RepeatedWork", "Sample", "robust", "spread", "spread_of_all"]

PASSES: Final = 5


class Sample(NamedTuple):
    """One repetition of some work."""

    seconds: float
    other: WorkMeter
    """The work of other kinds that was done with it."""
    units: float


class RepeatedWork:
    """Work of one kind, and what it took in each pass."""

    def __init__(
        self, kind: WorkKind, act: Callable[[], object], *, size: int, clock: Callable[[], float]
    ) -> None:
        self.kind = kind
        self.size = size
        self._act = act
        self._clock = clock
        self._passes: list[list[Sample]] = []
        self._before = WorkMeter()
        with metered(self._before):
            act()  # What is made once is made now.

    def repeat(self, *, seconds: float) -> None:
        """Make one pass: do the work at least once, and for about so many seconds."""
        samples: list[Sample] = []
        until = self._clock() + seconds
        while not samples or self._clock() < until:
            meter = WorkMeter()
            if self.kind is not WorkKind.LAW:
                meter.made = self._before.made
            began = self._clock()
            with metered(meter):
                self._act()
            took = self._clock() - began
            units = meter.units.pop((self.kind, self.size))
            samples.append(Sample(took, meter, units))
        self._passes.append(samples)

    def costs(self, pricing: Callable[[WorkMeter], float]) -> list[float]:
        """Give the least cost of a unit in each pass, less that of other work."""
        return [
            min(max(0.0, seconds - pricing(other)) / units for seconds, other, units in samples)
            for samples in self._passes
        ]


def robust(costs: Sequence[float]) -> float:
    """Give the second least of several costs.

    >>> robust([1.5, 1.01, 0.8, 1.6, 1.0])
    1.0
    """
    return sorted(costs)[min(1, len(costs) - 1)]


def spread(costs: Sequence[float]) -> float:
    """Give the share by which the greatest cost is above the one that counts.

    >>> spread([1.0, 1.5, 1.0])
    0.5
    """
    return max(costs) / robust(costs) - 1 if robust(costs) else 0.0


def spread_of_all(costs: Sequence[Sequence[float]]) -> float:
    """Give the spread that half of several kinds of work have at least."""
    return statistics.median(map(spread, costs))
