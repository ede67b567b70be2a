"""Gaussian copulas: tables of pairs of ordered attributes that one number describes.

Each label covers an interval of a standard normal variable; its share is the interval's
probability. Two such variables with the correlation r give the table of a pair. By Mehler's formula
it is a sum over products of Hermite functions (Cramer 1946, section 21.12)

    P(i, j) = sum over k of r^k a_k(i) b_k(j)

where a_k(i) is the integral of the k-th normalised Hermite polynomial over label i. The correlation
has a prior that is learnt from all pairs (empirical Bayes). The estimate of a pair is the mean of
these tables over r. If only noise is known of a pair, its estimate is nearly independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import pi, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work, scaled_work
from ..marginal import Numbers
from .evidence import Evidence
from .groups import Level, PairBatch

__all__ = ["CORRELATIONS", "copula_tables", "fit_copulas", "hermite_integrals"]

TERMS: Final = 60
"""Terms of the sum. Beyond r = .95 tables get smoother than they should be."""
CORRELATIONS: Final = np.tanh(np.linspace(-2.6, 2.6, 31))
"""Candidates for r."""
INDEPENDENT: Final = (np.arange(len(CORRELATIONS)) == len(CORRELATIONS) // 2).astype(float)
"""The prior with all its mass at r = 0."""
LEARNING_ROUNDS: Final = 50
EVEN_SHARE: Final = 0.02
"""Share of the prior that is even over the candidates."""
INDEPENDENT_PAIRS: Final = 2.0
"""Number of independent pairs that the prior counts beside those that were measured."""
MIN_SHARE: Final = 0.02
"""Cells have at least this share of the product of the margins, times 1 - |r|."""
MAX_TABLES: Final = 1 << 21
"""Most cells of the tables of several candidates of r that are computed at once: 16 MB."""


def hermite_integrals(shares: Numbers) -> Numbers:
    """Integrate the normalised Hermite polynomials over labels with these shares.

    The result has a row for each label, and a column for each polynomial.
    """
    below = np.clip(np.cumsum(shares)[:-1], 1e-9, 1 - 1e-9)
    ends = np.array([-9.0, *map(NormalDist().inv_cdf, below), 9.0])
    density = np.exp(-(ends**2) / 2) / sqrt(2 * pi)
    polynomials = [np.ones_like(ends), ends]
    for k in range(1, TERMS - 1):
        polynomials.append((ends * polynomials[k] - sqrt(k) * polynomials[k - 1]) / sqrt(k + 1))
    integrals = [shares]
    for k in range(1, TERMS):
        values = density * polynomials[k - 1] / sqrt(k)
        integrals.append(values[:-1] - values[1:])
    return np.stack(integrals, axis=1)


def copula_tables(left: Numbers, right: Numbers, correlations: Numbers) -> Numbers:
    """Compute tables of pairs with these correlations, from the integrals of their attributes.

    The result has the axes pairs, correlations, rows, columns.
    """
    count_work(WorkKind.ARRAY, 12 * len(correlations))
    powers = np.stack([correlation ** np.arange(TERMS) for correlation in correlations])
    tables = (left[:, None] * powers[:, None]) @ np.swapaxes(right, -1, -2)[:, None]
    product = left[:, :, :1] * right[:, None, :, 0]
    smallest = (MIN_SHARE * (1 - np.abs(correlations)))[:, None, None] * product[:, None]
    tables = np.maximum(tables, smallest + 1e-12)
    return np.asarray(tables / tables.sum(axis=(-1, -2), keepdims=True))


class _Copulas:
    """The tables of some pairs for all candidates of r, by groups of candidates."""

    def __init__(self, left: Numbers, right: Numbers) -> None:
        self._sides = left, right
        cells = len(left) * left.shape[1] * right.shape[1]
        size = max(1, MAX_TABLES // cells)
        self._groups = [
            slice(start, min(start + size, len(CORRELATIONS)))
            for start in range(0, len(CORRELATIONS), size)
        ]
        self._kept: Numbers | None = None
        """All tables, where they are few."""

    def groups(self) -> Iterator[tuple[slice, Numbers]]:
        """Give the tables of each group of candidates: pairs, candidates, rows, columns."""
        for group in self._groups:
            if self._kept is None:
                tables = copula_tables(*self._sides, CORRELATIONS[group])
                self._kept = tables if len(self._groups) == 1 else None
            else:
                tables = self._kept
                count_work(WorkKind.ARRAY, 12 * len(CORRELATIONS))  # as if they were computed
            yield group, tables


def fit_copulas(
    evidence: Sequence[Evidence], singles: Mapping[str, Numbers]
) -> tuple[list[Numbers], list[Numbers]]:
    """Compute the mean table of each pair, and the distance of its coarsest table from it.

    The distance is its mean over the posterior of r. It is large where little is known of a pair.
    """
    integrals = {name: hermite_integrals(shares) for name, shares in singles.items()}
    sides = [
        tuple(np.stack([integrals[pair[side]] for pair in part.batch.pairs]) for side in (0, 1))
        for part in evidence
    ]
    copulas = [_Copulas(left, right) for left, right in sides]
    likelihoods = [_likelihoods(*each) for each in zip(evidence, copulas, strict=True)]
    prior = _learn_prior(
        np.concatenate(
            [rows[part.measured] for rows, part in zip(likelihoods, evidence, strict=True)]
        )
    )
    means, distances = [], []
    for part, tables, likelihood in zip(evidence, copulas, likelihoods, strict=True):
        weights = prior * likelihood
        weights /= weights.sum(axis=1, keepdims=True)
        weights[~part.measured] = INDEPENDENT
        mean, distance = _mean_tables(part, tables, weights)
        means.append(mean)
        distances.append(distance)
    return means, distances


def _likelihoods(evidence: Evidence, copulas: _Copulas) -> Numbers:
    """Compute the likelihood of each candidate of r for each pair, up to a factor."""
    batch = evidence.batch
    logs = np.zeros((len(batch.pairs), len(CORRELATIONS)))
    for group, tables in copulas.groups():
        for level, precision in enumerate(evidence.precisions):
            if precision.any():
                expected = _merged(batch, tables, level=level)
                squares = ((evidence.tables[level][:, None] - expected) ** 2).sum(axis=(2, 3))
                logs[:, group] -= precision[:, None] * squares / 2
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _learn_prior(likelihoods: Numbers) -> Numbers:
    """Learn how often each candidate of r is right, from all pairs that were measured."""
    prior = np.full(len(CORRELATIONS), 1 / len(CORRELATIONS))
    for _ in range(LEARNING_ROUNDS if len(likelihoods) else 0):
        posterior = prior * likelihoods
        posterior /= posterior.sum(axis=1, keepdims=True)
        counts = posterior.sum(axis=0) + INDEPENDENT_PAIRS * INDEPENDENT
        prior = (1 - EVEN_SHARE) * counts / counts.sum() + EVEN_SHARE / len(prior)
    return prior


def _mean_tables(
    evidence: Evidence, copulas: _Copulas, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Average tables over r, and the distances of the coarsest ones from their average."""
    batch = evidence.batch
    mean = np.zeros(batch.shape(batch.finest))
    coarse_tables = []
    for group, tables in copulas.groups():
        for place, each in enumerate(np.swapaxes(tables, 0, 1), start=group.start):
            mean += weights[:, place, None, None] * each
        coarse_tables.append(_merged(batch, tables, level=0))
    centre = batch.merge(mean, start=batch.finest, level=0)
    distances = np.abs(np.concatenate(coarse_tables, axis=1) - centre[:, None]).sum(axis=(2, 3)) / 2
    return mean, (weights * distances).sum(axis=1)


def _merged(batch: PairBatch, tables: Numbers, *, level: Level) -> Numbers:
    """Merge the tables of each candidate, which counts as if it were done for one after another."""
    with scaled_work(tables.shape[1]):
        return batch.merge(tables, start=batch.finest, level=level)
