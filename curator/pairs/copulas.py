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

from collections.abc import Mapping, Sequence
from math import pi, sqrt
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from .evidence import Evidence

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


def hermite_integrals(shares: Numbers) -> Numbers:
    """Integrate the normalised Hermite polynomials over labels with these shares.

    The result has a row for each label, and a column for each polynomial.
    """
    from scipy.special import ndtri

    inner = ndtri(np.clip(np.cumsum(shares)[:-1], 1e-9, 1 - 1e-9))
    ends = np.concatenate([[-9.0], inner, [9.0]])
    density = np.exp(-(ends**2) / 2) / sqrt(2 * pi)
    polynomials = [np.ones_like(ends), ends]
    for k in range(1, TERMS - 1):
        polynomials.append((ends * polynomials[k] - sqrt(k) * polynomials[k - 1]) / sqrt(k + 1))
    integrals = [shares]
    for k in range(1, TERMS):
        values = density * polynomials[k - 1] / sqrt(k)
        integrals.append(values[:-1] - values[1:])
    return np.stack(integrals, axis=1)


def copula_tables(left: Numbers, right: Numbers, correlation: float) -> Numbers:
    """Compute tables of pairs with this correlation, from their integrals: pairs, rows, columns."""
    count_work(WorkKind.ARRAY, 12)
    powers = correlation ** np.arange(TERMS)
    tables = (left * powers) @ np.swapaxes(right, -1, -2)
    product = left[:, :, :1] * right[:, None, :, 0]
    smallest = MIN_SHARE * (1 - abs(correlation)) * product
    tables = np.maximum(tables, smallest + 1e-12)
    return np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True))


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
    likelihoods = [
        _likelihoods(part, left, right) for part, (left, right) in zip(evidence, sides, strict=True)
    ]
    prior = _learn_prior(
        np.concatenate(
            [rows[part.measured] for rows, part in zip(likelihoods, evidence, strict=True)]
        )
    )
    means, distances = [], []
    for part, (left, right), likelihood in zip(evidence, sides, likelihoods, strict=True):
        weights = prior * likelihood
        weights /= weights.sum(axis=1, keepdims=True)
        weights[~part.measured] = INDEPENDENT
        mean, distance = _mean_tables(part, left, right, weights)
        means.append(mean)
        distances.append(distance)
    return means, distances


def _likelihoods(evidence: Evidence, left: Numbers, right: Numbers) -> Numbers:
    """Compute the likelihood of each candidate of r for each pair, up to a factor."""
    batch = evidence.batch
    logs = np.zeros((len(left), len(CORRELATIONS)))
    for place, correlation in enumerate(CORRELATIONS.tolist()):
        tables = copula_tables(left, right, correlation)
        for level, precision in enumerate(evidence.precisions):
            if precision.any():
                expected = batch.merge(tables, start=batch.finest, level=level)
                squares = ((evidence.tables[level] - expected) ** 2).sum(axis=(1, 2))
                logs[:, place] -= precision * squares / 2
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
    evidence: Evidence, left: Numbers, right: Numbers, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Average tables over r, and the distances of the coarsest ones from their average."""
    batch = evidence.batch
    mean = np.zeros(batch.shape(batch.finest))
    coarse_tables = []
    for place, correlation in enumerate(CORRELATIONS.tolist()):
        tables = copula_tables(left, right, correlation)
        mean += weights[:, place, None, None] * tables
        coarse_tables.append(batch.merge(tables, start=batch.finest, level=0))
    centre = batch.merge(mean, start=batch.finest, level=0)
    distances = np.abs(np.stack(coarse_tables, axis=1) - centre[:, None]).sum(axis=(2, 3)) / 2
    return mean, (weights * distances).sum(axis=1)
