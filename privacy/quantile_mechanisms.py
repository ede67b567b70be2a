"""Quantiles that wait to be released.

`privacy.quantiles` prepares them, and says how they are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exact_value import ExactValue
from .gaussian_range import gaussian_of_range
from .loss import Loss
from .neighbours import Neighbours
from .number_grid import Grid
from .rank_choice import RankChoice, RankValue

__all__ = ["MAX_DENOMINATOR", "Quantile", "Quantiles", "distance_change"]

Points = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

MAX_DENOMINATOR: Final = 10**6
"""A quantile is taken as the nearest fraction with a denominator of at most this."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles that wait to be released, in rising order."""

    points: Points = field(repr=False)
    grid: Grid
    fractions: tuple[Fraction, ...]
    neighbours: Neighbours
    each: float
    """Epsilon of one choice."""
    choices: int
    """Number of choices that one record takes part in."""
    splits: bool
    """Whether choices split the records."""

    name = "quantiles"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        """Loss of all choices: each has a bounded range."""
        return Loss(
            self.choices * self.each,
            self.choices * self.each**2 / 8,
            gaussian=self.choices * gaussian_of_range(self.each),
        )

    @property
    def sensitivity(self) -> float:
        """Bound on the change of a distance, in records."""
        return float(max(distance_change(q, self.neighbours) for q in self.fractions))

    @property
    def scale(self) -> float:
        """Difference of ranks that changes the probability by a factor of e."""
        return 2 * self.sensitivity / self.each

    def draw(self, randomness: RandomStream) -> Reals:
        """Choose the quantiles. Called by `Accountant.release` alone."""
        if self.splits:
            chosen = dict(self._split(lambda _, choice: choice.draw(randomness)))
            answers = [chosen[index] for index in range(len(self.fractions))]
        else:
            answers = [self._choice(q).draw(randomness) for q in self.fractions]
        return np.array([self.grid.real(point) for point in sorted(answers)])

    def exact_value(self) -> ExactValue:
        return RankValue((self.points.astype(np.float64),), "max", self.fractions)

    def log_likelihood(self, answer: Reals) -> float:
        """Compute ln P[answer], up to a constant."""
        points = [self.grid.point(real) for real in np.asarray(answer).tolist()]
        if self.splits:
            logs: list[float] = []

            def taped(index: int, choice: RankChoice) -> int:
                logs.append(choice.log_probability(points[index]))
                return points[index]

            list(self._split(taped))
            return sum(logs)
        table = [
            [self._choice(q).log_probability(point) for point in points] for q in self.fractions
        ]
        return _log_permanent(np.array(table))

    def _choice(self, q: Fraction) -> RankChoice:
        rate = Fraction(self.each) / (2 * distance_change(q, self.neighbours))
        return RankChoice(self.points, 0, self.grid.steps, q, rate)

    def _split(self, choose: Callable[[int, RankChoice], int]) -> Iterator[tuple[int, int]]:
        """Choose the middle quantile, then those on either side among the records there."""

        def within(
            indices: range, points: Points, ends: tuple[int, int], outer: tuple[Fraction, Fraction]
        ) -> Iterator[tuple[int, int]]:
            if not indices:
                return
            middle = indices[len(indices) // 2]
            q = self.fractions[middle]
            width = outer[1] - outer[0]
            inner = ((q - outer[0]) / width if width else Fraction(1, 2)).limit_denominator(
                MAX_DENOMINATOR
            )
            rate = Fraction(self.each) / (2 * distance_change(inner, self.neighbours))
            point = choose(middle, RankChoice(points, ends[0], ends[1], inner, rate))
            yield middle, point
            border = int(np.searchsorted(points, point, side="right"))
            below, above = range(indices.start, middle), range(middle + 1, indices.stop)
            yield from within(below, points[:border], (ends[0], point), (outer[0], q))
            yield from within(above, points[border:], (point, ends[1]), (q, outer[1]))

        every = range(len(self.fractions))
        yield from within(every, self.points, (0, self.grid.steps), (Fraction(0), Fraction(1)))


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile that waits to be released."""

    among: Quantiles
    """The list of this quantile alone."""

    name = "quantile"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return self.among.loss

    @property
    def sensitivity(self) -> float:
        """Bound on the change of a distance, in records."""
        return self.among.sensitivity

    @property
    def scale(self) -> float:
        """Difference of ranks that changes the probability by a factor of e."""
        return self.among.scale

    def draw(self, randomness: RandomStream) -> float:
        """Choose the quantile. Called by `Accountant.release` alone."""
        return float(self.among.draw(randomness)[0])

    def exact_value(self) -> ExactValue:
        return self.among.exact_value()

    def log_likelihood(self, answer: float) -> float:
        """Compute ln P[answer]."""
        return self.among.log_likelihood(np.array([answer]))


def distance_change(q: Fraction, neighbours: Neighbours) -> Fraction:
    """Bound the change of a distance between neighbouring datasets, in records."""
    return Fraction(1) if neighbours == "replace-one" else max(q, 1 - q)


def _log_permanent(table: Reals) -> float:
    """Compute the logarithm of a permanent: answers in rising order hide whose they are."""
    size = len(table)
    logs = np.full(1 << size, -np.inf)
    logs[0] = 0.0
    for taken in range(1 << size):
        row = taken.bit_count()
        for column in range(size):
            if not taken >> column & 1:
                other = taken | 1 << column
                logs[other] = np.logaddexp(logs[other], logs[taken] + table[row, column])
    return float(logs[-1])
