"""Factors: a few hidden numbers of a record that explain how its attributes depend on each other.

If each function of a label (`correlations`) has a loading l on a few factors, all correlations are
r(f, g) = l(f) . l(g) + a rest. Noise hides a correlation, but not all correlations of a function.
So factors say something about a pair whose table is all noise. Loadings have normal priors, and
rests as well. How wide these are is learnt, and so is how many factors there are (variational
Bayes, as in Bishop 1999, for a matrix with missing entries).

A pair's model must not know the pair's own noise, or shrinkage would trust it too much. So pairs
are divided into folds, and the correlations of each fold are predicted by factors that were fitted
to the other folds. How well these predictions agree with what was measured tells how far factors
can be trusted. Where there is nothing but noise they do not agree, and the model is the product of
the margins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from .correlations import Correlations
from .evidence import Evidence
from .groups import PairBatch

__all__ = ["count_fits", "factor_tables"]

FACTORS: Final = 12
"""Most factors; those that explain nothing vanish."""
ROUNDS: Final = 20
HELD_ROUNDS: Final = 10
"""Rounds before rests are learnt: the first loadings are too small, and rests would take it all."""
MIN_REST: Final = 1e-6
"""Least variance of rests."""
FIRST_REST: Final = 1e-3
"""The variance of rests until then."""
FIRST_PRECISION: Final = 100.0
"""The precision of all priors in the first round: with wide priors noise stays in the factors."""
PRIOR_SIZE: Final = 0.01
"""Sum of squares that the prior of a factor counts beside the loadings."""
FOLDS: Final = 5
"""Folds of pairs; of three attributes each pair is in a fold of its own."""
DOUBT: Final = 2.0
"""Added to the sum of squared predictions over their variances: a sum of 2 is trusted by half."""
MIN_SHARE: Final = 0.02
"""A cell keeps this share of the product of the margins."""
FITTING_ROUNDS: Final = 20
MIN_SUM: Final = 1e-300


def factor_tables(evidence: Sequence[Evidence], singles: Mapping[str, Numbers]) -> list[Numbers]:
    """Compute the tables of all pairs by their factors: for each batch pairs, rows, columns.

    Args:
        evidence: what was measured of each batch.
        singles: the distributions of attributes, which the tables get.
    """
    correlations = Correlations.of(evidence, singles)
    count_fits(len(singles), functions=len(correlations.values))
    expected = _trusted(correlations, _predicted(correlations))
    return [_tables(part.batch, singles, correlations, expected) for part in evidence]


def count_fits(attributes: int, *, functions: int) -> None:
    """Count the work of all fits.

    So many operations for each attribute, and for each two functions, were measured on tables of 10
    to 50 attributes.
    """
    rounds = FOLDS * ROUNDS
    count_work(WorkKind.ARRAY, 12 * rounds * attributes)
    count_work(WorkKind.CELL, 40 * rounds * functions**2)


def _predicted(correlations: Correlations) -> Numbers:
    """Predict all correlations, each by factors that were fitted without its pair."""
    attributes = np.concatenate(
        [
            np.full(place.stop - place.start, number)
            for number, place in enumerate(correlations.places.values())
        ]
    )
    # The pairs of an attribute are spread over all folds.
    folds = (attributes[:, None] + attributes) % FOLDS
    predicted = np.zeros_like(correlations.values)
    for fold in range(FOLDS):
        others = replace(correlations, is_known=correlations.is_known & (folds != fold))
        if others.is_known.any():
            means = _fitted(others).means
            predicted += np.where(folds == fold, means @ means.T, 0.0)
    return predicted


def _trusted(correlations: Correlations, predicted: Numbers) -> Numbers:
    """Scale predictions, for each step, by how well they agree with what was measured.

    The scale is the slope of a regression of measured on predicted correlations, cut to 0 to 1.
    """
    weights = correlations.is_known / (correlations.variances + correlations.signal)
    steps = correlations.later_steps.ravel()
    products = np.bincount(steps, (weights * predicted * correlations.values).ravel())
    squares = np.bincount(steps, (weights * predicted**2).ravel())
    trust = np.clip(products / (squares + DOUBT), 0, 1)
    return np.asarray(predicted * trust[correlations.later_steps])


def _fitted(correlations: Correlations) -> _Loadings:
    loadings = _Loadings.first(correlations)
    for number in range(ROUNDS):
        loadings = loadings.improved(correlations, learns_rests=number >= HELD_ROUNDS)
    return loadings


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
            np.full((steps, count), FIRST_PRECISION),
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
    expected: Numbers,
) -> Numbers:
    """Make the tables of a batch from correlations."""
    rows, columns = batch.margins(singles, batch.finest)
    product = rows[:, :, None] * columns[:, None, :]
    functions, places = correlations.functions, correlations.places
    shifts = np.stack(
        [
            functions[left].values
            @ np.clip(expected[places[left], places[right]], -1, 1)
            @ functions[right].values.T
            for left, right in batch.pairs
        ]
    )
    tables = np.maximum(product * (1 + shifts), MIN_SHARE * product + 1e-12)
    for _ in range(FITTING_ROUNDS):
        tables *= (rows / np.maximum(tables.sum(axis=2), MIN_SUM))[:, :, None]
        tables *= (columns / np.maximum(tables.sum(axis=1), MIN_SUM))[:, None, :]
    return np.asarray(tables)
