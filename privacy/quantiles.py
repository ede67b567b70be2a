"""Quantiles of real numbers: the exponential mechanism over a public grid (Smith 2011).

Numbers are clipped to a public range and rounded to a public grid. A grid point y is as good as its
rank is near q n. If a records are below y, and b records are below or at y, its distance is

    d(y) = max(a - q n, q n - b, 0)

One record changes the distance of any y by D at most: by 1 if it is replaced, and by max(q, 1 - q)
if it is added or removed. So y is chosen with probability proportional to exp(-epsilon d / 2D).
Between two neighbouring records all grid points have the same distance, so the number of weights
depends on the number of records and not on the grid. Weights are integers of 176 bits, rounded up,
and one uniform integer decides: the law differs from the exact one by less than
grid points * 2^-170 in total variation.

There are two ways to choose several quantiles:

    one by one      each has its own part of the budget
    by splitting    the middle one first, then the others among the records on either side (Kaplan,
                    Schnapp and Stemmer 2022). Choices of one level are about disjoint records. An
                    added or removed record touches one choice in each level. A replaced record
                    touches the first choice once, and at most two choices in each later level.

So a record takes part in m choices one by one. By splitting it takes part in L of them, or in
2 L - 1 if it is replaced, where L is the number of binary digits of m. The way with fewer is taken.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from types import MappingProxyType
from typing import ClassVar, Final

import gmpy2
import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .accountant import Neighbours
from .arguments import exact_fraction, pure_epsilon, real_numbers
from .budget import Budget
from .exact_value import ExactValue
from .loss import Loss

__all__ = ["Quantile", "Quantiles", "median", "quantile", "quantiles"]

Points = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

WEIGHT_BITS: Final = 176
GRID_STEPS: Final = 4096
"""Steps of the default grid."""
MAX_GRID_STEPS: Final = 1 << 50
MAX_DENOMINATOR: Final = 10**6
"""A quantile is taken as the nearest fraction with a denominator of at most this."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A public grid of numbers."""

    low: float
    resolution: Fraction
    steps: int
    """Number of the last point; the first one is 0."""

    def points(self, values: npt.ArrayLike, *, mechanism: str) -> Points:
        """Clip and round numbers to the grid, in rising order."""
        reals = real_numbers(values, mechanism=mechanism)
        if reals.ndim != 1:
            raise ValueError(
                f"expected a number for each record in {mechanism}, found an array of "
                f"{reals.ndim} dimensions: take one column at a time"
            )
        with np.errstate(over="ignore"):
            steps = (reals - self.low) / float(self.resolution)
        return np.sort(np.rint(np.clip(steps, 0, self.steps)).astype(np.int64))

    def real(self, point: int) -> float:
        return self.low + point * float(self.resolution)

    def point(self, real: float) -> int:
        """Find the grid point of an answer."""
        return round((real - self.low) / float(self.resolution))


@dataclass(frozen=True, slots=True)
class RankChoice:
    """The choice of a grid point by its rank among sorted points."""

    points: Points = field(repr=False)
    first: int
    last: int
    q: Fraction
    rate: Fraction
    """Epsilon / 2D: the loss for each record of distance."""

    def _pieces(self) -> tuple[Points, list[int], list[int]]:
        """List runs of grid points at equal distances: their starts, lengths and weights."""
        starts = _piece_starts(self.points, self.first, self.last)
        lengths = np.diff(np.append(starts, self.last + 1))
        distances = _distances(self.points, starts, self.q)
        weights = _weights(distances, self.rate / self.q.denominator)
        return starts, lengths.tolist(), weights

    def draw(self, randomness: RandomStream) -> int:
        starts, lengths, weights = self._pieces()
        borders = list(
            accumulate(length * weight for length, weight in zip(lengths, weights, strict=True))
        )
        drawn = randomness.below(borders[-1])
        piece = bisect_right(borders, drawn)
        before = borders[piece] - lengths[piece] * weights[piece]
        return int(starts[piece]) + (drawn - before) // weights[piece]

    def log_probability(self, point: int) -> float:
        """Compute ln P[point]."""
        starts, lengths, weights = self._pieces()
        piece = int(np.searchsorted(starts, point, side="right")) - 1
        total = sum(length * weight for length, weight in zip(lengths, weights, strict=True))
        return float(gmpy2.log(gmpy2.mpz(weights[piece])) - gmpy2.log(gmpy2.mpz(total)))


@dataclass(frozen=True, slots=True, eq=False)
class RankValue(ExactValue):
    """Sorted points behind a choice by rank; a change is that of a distance, in records."""

    fractions: tuple[Fraction, ...] = ()

    def change(self, other: ExactValue) -> float:
        """Compute by how much the distance of any grid point changes at most."""
        points = [part.astype(np.int64) for part in (self.parts[0], other.parts[0])]
        joined = np.unique(np.concatenate([*points, np.zeros(1, np.int64)]))
        places = np.unique(np.concatenate([joined - 1, joined, joined + 1]))
        changes = [
            np.abs(_distances(points[0], places, q) - _distances(points[1], places, q)).max()
            / q.denominator
            for q in self.fractions
        ]
        return float(max(changes))

    __hash__ = None


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
        return Loss(self.choices * self.each, self.choices * self.each**2 / 8)

    @property
    def sensitivity(self) -> float:
        """Bound on the change of a distance, in records."""
        return float(max(_change(q, self.neighbours) for q in self.fractions))

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
        rate = Fraction(self.each) / (2 * _change(q, self.neighbours))
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
            rate = Fraction(self.each) / (2 * _change(inner, self.neighbours))
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


def quantiles(
    values: npt.ArrayLike,
    q: Sequence[float | Fraction],
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantiles:
    """Prepare several quantiles of numbers for release. Say `epsilon` or `budget`.

    Args:
        values: A number for each record.
        q: The quantiles, from 0 to 1, in rising order.
        bounds: The lowest and the highest number. They are public.
        neighbours: The relation between neighbouring datasets: `replace-one` or
            `add-or-remove-one`, as the protocol declares it.
        resolution: The distance between two points of the grid. By default 1/4096 of the range.
        epsilon: The privacy loss of all quantiles together.
        budget: A part of the budget. In rho it allows more than in epsilon, as choices have a
            bounded range.

    >>> from sottovoce.crypto import RandomStream
    >>> ages = list(range(1, 1001)) * 10
    >>> mechanism = quantiles(
    ...     ages, [0.3, 0.5, 0.8], bounds=(0, 1024), neighbours="add-or-remove-one", epsilon=8.0
    ... )
    >>> [round(age, -2) for age in mechanism.draw(RandomStream(b"q" * 32)).tolist()]
    [300.0, 500.0, 800.0]
    """
    return _prepared(
        "quantiles",
        values,
        q,
        bounds=bounds,
        neighbours=neighbours,
        resolution=resolution,
        epsilon=epsilon,
        budget=budget,
    )


def quantile(
    values: npt.ArrayLike,
    q: float | Fraction,
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantile:
    """Prepare one quantile of numbers for release. The arguments are those of `quantiles`."""
    return Quantile(
        _prepared(
            "quantile",
            values,
            [q],
            bounds=bounds,
            neighbours=neighbours,
            resolution=resolution,
            epsilon=epsilon,
            budget=budget,
        )
    )


def median(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantile:
    """Prepare the median of numbers for release. The arguments are those of `quantiles`.

    >>> from sottovoce.crypto import RandomStream
    >>> mechanism = median([20, 30, 40] * 99, bounds=(0, 128), neighbours="replace-one", epsilon=1)
    >>> mechanism.draw(RandomStream(b"m" * 32))
    30.0
    """
    half = Fraction(1, 2)
    return Quantile(
        _prepared(
            "median",
            values,
            [half],
            bounds=bounds,
            neighbours=neighbours,
            resolution=resolution,
            epsilon=epsilon,
            budget=budget,
        )
    )


def _prepared(
    mechanism: str,
    values: npt.ArrayLike,
    q: Sequence[float | Fraction],
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None,
    epsilon: float | None,
    budget: Budget | None,
) -> Quantiles:
    """Check the arguments, and divide the budget among the choices."""
    fractions = _fractions(q, mechanism=mechanism)
    touched = _touched(neighbours, mechanism=mechanism)
    # The first choice is about all records, so a replaced record touches it once.
    by_splitting = 1 + touched * (len(fractions).bit_length() - 1)
    splits = by_splitting < len(fractions)
    choices = by_splitting if splits else len(fractions)
    if budget is not None and epsilon is None:
        each = pure_epsilon(None, budget.share(1 / choices), mechanism=mechanism, by_choice=True)
    else:
        each = pure_epsilon(epsilon, budget, mechanism=mechanism) / choices
    grid = _grid(bounds, resolution)
    points = grid.points(values, mechanism=mechanism)
    return Quantiles(points, grid, fractions, neighbours, each, choices, splits)


def _fractions(q: Sequence[float | Fraction], *, mechanism: str) -> tuple[Fraction, ...]:
    """Check quantiles, and take them as fractions."""
    try:
        fractions = tuple(Fraction(part).limit_denominator(MAX_DENOMINATOR) for part in q)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"expected quantiles from 0 to 1 in {mechanism}, found something else"
        ) from None
    if not fractions or not all(0 <= part <= 1 for part in fractions):
        listed = ", ".join(f"{float(part):g}" for part in fractions) or "none"
        raise ValueError(f"expected quantiles from 0 to 1 in {mechanism}, found {listed}")
    if list(fractions) != sorted(set(fractions)):
        raise ValueError(f"expected quantiles in rising order in {mechanism}, found another order")
    return fractions


def _touched(neighbours: Neighbours, *, mechanism: str) -> int:
    """Tell about how many disjoint parts of the records neighbouring datasets may differ."""
    if neighbours == "add-or-remove-one":
        return 1
    if neighbours == "replace-one":
        return 2
    raise ValueError(
        f"expected neighbours replace-one or add-or-remove-one in {mechanism}, found {neighbours}"
    )


def _change(q: Fraction, neighbours: Neighbours) -> Fraction:
    """Bound the change of a distance between neighbouring datasets, in records."""
    return Fraction(1) if neighbours == "replace-one" else max(q, 1 - q)


def _grid(bounds: tuple[float, float], resolution: float | Fraction | None) -> Grid:
    """Lay a grid over the range."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError("expected bounds=(low, high), found something else") from None
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"expected finite bounds with low < high, found {low:g} and {high:g}")
    width = Fraction(high) - Fraction(low)
    step = (
        width / GRID_STEPS
        if resolution is None
        else exact_fraction(resolution, name="a resolution")
    )
    steps = math.floor(width / step)
    if not 1 <= steps <= MAX_GRID_STEPS:
        raise ValueError(
            f"expected a resolution of at most {high - low:g} and at least 2**-50 of it, "
            f"found {float(step):g}"
        )
    return Grid(low, step, steps)


def _piece_starts(points: Points, first: int, last: int) -> Points:
    """List the first grid point of each piece: each record's point, and each gap."""
    starts = np.concatenate([[first], points, points + 1])
    return np.unique(starts[(starts >= first) & (starts <= last)]).astype(np.int64)


def _distances(points: Points, places: Points, q: Fraction) -> Points:
    """Compute d(y), times the denominator of q, for sorted points."""
    target = q.numerator * len(points)
    below = np.searchsorted(points, places, side="left") * q.denominator
    up_to = np.searchsorted(points, places, side="right") * q.denominator
    return np.maximum(np.maximum(below - target, target - up_to), 0).astype(np.int64)


def _weights(distances: Points, rate: Fraction) -> list[int]:
    """Compute exp(-rate d) in units of 2^-176, rounded up."""
    behind = distances - distances.min()
    different, places = np.unique(behind, return_inverse=True)
    with gmpy2.context(gmpy2.get_context(), precision=WEIGHT_BITS + 80):
        per_step = gmpy2.mpfr(rate.numerator) / rate.denominator
        unit = gmpy2.mpfr(1 << WEIGHT_BITS)
        weights = [int(gmpy2.exp(-per_step * step) * unit) + 1 for step in different.tolist()]
    return [weights[place] for place in places.tolist()]


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
