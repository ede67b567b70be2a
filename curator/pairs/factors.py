"""Factors: a few hidden numbers of a record that explain how its attributes depend on each other.

If each function of a label (`correlations`) has a loading l on a few factors, all correlations are
r(f, g) = l(f) . l(g) + a rest. Noise hides a correlation, but not all correlations of a function.
So factors say something about a pair whose table is all noise. Loadings have normal priors, and
rests as well. How wide these are is learnt (variational Bayes for factors of a matrix with missing
entries: Lim and Teh 2007; how many factors there are follows from it: Bishop 1999).

A pair's model must not know the pair's own noise, or shrinkage would trust it too much. So the
loadings of both sides are those that they would have without this pair, to first order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..marginal import Numbers
from .correlations import Correlations
from .evidence import Evidence
from .groups import PairBatch

__all__ = ["factor_tables"]

FACTORS: Final = 12
"""Most factors; those that explain nothing vanish."""
ROUNDS: Final = 20
HELD_ROUNDS: Final = 10
"""Rounds before rests are learnt: the first loadings are too small, and rests would take it all."""
MIN_REST: Final = 1e-6
FIRST_REST: Final = 1e-3
"""The variance of rests until then."""
PRIOR_SIZE: Final = 0.01
"""Sum of squares that the prior of a factor counts beside the loadings."""
MIN_SHARE: Final = 0.02
"""A cell keeps this share of the product of the margins."""
FITTING_ROUNDS: Final = 20


def factor_tables(evidence: Sequence[Evidence], singles: Mapping[str, Numbers]) -> list[Numbers]:
    """Compute the tables of all pairs by their factors: for each batch pairs, rows, columns.

    Args:
        evidence: what was measured of each batch.
        singles: the distributions of attributes, which the tables get.
    """
    correlations = Correlations.of(evidence, singles)
    loadings = _Loadings.first(correlations)
    for number in range(ROUNDS):
        loadings = loadings.improved(correlations, learns_rests=number >= HELD_ROUNDS)
    without = loadings.without_each(correlations)
    return [_tables(part.batch, singles, correlations, without) for part in evidence]


@dataclass(frozen=True)
class _Loadings:
    """The posterior of all loadings."""

    means: Numbers
    """Functions, factors."""
    covariances: Numbers
    """Functions, factors, factors."""
    precisions: Numbers
    """Precisions of the priors: steps, factors."""
    rests: Numbers
    """The variance of correlations that no factor explains, by step."""

    @classmethod
    def first(cls, correlations: Correlations) -> _Loadings:
        """Take the largest eigenvectors of the correlations, shrunk by their noise."""
        signal = correlations.signal
        shrunk = (
            correlations.values * signal / (signal + correlations.variances) * correlations.is_known
        )
        values, vectors = np.linalg.eigh(shrunk)
        values, vectors = values[::-1][:FACTORS], vectors[:, ::-1][:, :FACTORS]
        count, steps = len(values), int(correlations.steps.max()) + 1
        return cls(
            vectors * np.sqrt(np.maximum(values, 1e-3)),
            np.tile(1e-3 * np.eye(count), (len(shrunk), 1, 1)),
            np.ones((steps, count)),
            np.full(steps, FIRST_REST),
        )

    @property
    def squares(self) -> Numbers:
        """The expected products of a function's loadings: functions, factors by factors."""
        products = self.means[:, :, None] * self.means[:, None, :] + self.covariances
        return np.asarray(products.reshape(len(products), -1))

    def weights(self, correlations: Correlations) -> Numbers:
        """Weigh each correlation by its noise and rest."""
        return np.asarray(
            correlations.is_known / (correlations.variances + self.rests[correlations.later_steps])
        )

    def improved(self, correlations: Correlations, *, learns_rests: bool) -> _Loadings:
        """Compute all posteriors once more, one attribute after another, and learn the priors."""
        means, covariances = self.means.copy(), self.covariances.copy()
        weights, squares, count = self.weights(correlations), self.squares, self.means.shape[1]
        diagonal = np.arange(count)
        for place in correlations.places.values():
            inverse = (weights[place] @ squares).reshape(-1, count, count)
            inverse[:, diagonal, diagonal] += self.precisions[correlations.steps[place]]
            covariances[place] = np.linalg.inv(inverse)
            sums = (weights[place] * correlations.values[place]) @ means
            means[place] = (covariances[place] @ sums[:, :, None])[:, :, 0]
            products = means[place][:, :, None] * means[place][:, None, :] + covariances[place]
            squares[place] = products.reshape(-1, count**2)
        return _Loadings(
            means,
            covariances,
            _precisions(correlations, means, covariances),
            _rests(correlations, means, squares, weights) if learns_rests else self.rests,
        )

    def without_each(self, correlations: Correlations) -> dict[str, Numbers]:
        """Compute for each attribute the loadings that all functions have without it."""
        weights, squares, count = self.weights(correlations), self.squares, self.means.shape[1]
        weighted = weights * correlations.values
        inverse = (weights @ squares).reshape(-1, count, count)
        inverse[:, np.arange(count), np.arange(count)] += self.precisions[correlations.steps]
        sums = weighted @ self.means
        loadings = {}
        for name, place in correlations.places.items():
            of_others = inverse - (weights[:, place] @ squares[place]).reshape(-1, count, count)
            rest = sums - weighted[:, place] @ self.means[place]
            solved = np.linalg.solve(of_others, rest[:, :, None])
            loadings[name] = np.asarray(solved[:, :, 0], np.float64)
        return loadings


def _precisions(correlations: Correlations, means: Numbers, covariances: Numbers) -> Numbers:
    """Learn the precision of each factor's loadings, for the functions of each step."""
    squares = means**2 + np.diagonal(covariances, axis1=1, axis2=2)
    members = correlations.steps == np.arange(int(correlations.steps.max()) + 1)[:, None]
    return np.asarray((members.sum(axis=1)[:, None] + 1) / (members @ squares + PRIOR_SIZE))


def _rests(
    correlations: Correlations, means: Numbers, squares: Numbers, weights: Numbers
) -> Numbers:
    """Learn the variance of rests, for the correlations of each step."""
    expected = means @ means.T
    uncertain = squares @ squares.T - expected**2
    rests = (correlations.values - expected) ** 2 + uncertain - correlations.variances
    steps, importance = correlations.later_steps.ravel(), (weights**2).ravel()
    total = np.bincount(steps, importance * rests.ravel())
    return np.maximum(total / np.maximum(np.bincount(steps, importance), 1e-300), MIN_REST)


def _tables(
    batch: PairBatch,
    singles: Mapping[str, Numbers],
    correlations: Correlations,
    without: Mapping[str, Numbers],
) -> Numbers:
    """Make the tables of a batch from the loadings that each side has without the other."""
    rows, columns = batch.margins(singles, batch.finest)
    product = rows[:, :, None] * columns[:, None, :]
    functions, places = correlations.functions, correlations.places
    shifts = np.stack(
        [
            functions[left].values
            @ np.clip(without[right][places[left]] @ without[left][places[right]].T, -1, 1)
            @ functions[right].values.T
            for left, right in batch.pairs
        ]
    )
    tables = np.maximum(product * (1 + shifts), MIN_SHARE * product + 1e-12)
    for _ in range(FITTING_ROUNDS):
        tables *= (rows / tables.sum(axis=2))[:, :, None]
        tables *= (columns / tables.sum(axis=1))[:, None, :]
    return np.asarray(tables)
