"""The choice of a grid point by its rank: its law, in whole numbers, and its exact value.

`privacy.quantiles` has the formula.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Final

import gmpy2
import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exact_value import ExactValue

__all__ = ["RankChoice", "RankValue"]

Points = npt.NDArray[np.int64]

WEIGHT_BITS: Final = 176


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
