"""Gaussian copulas: what a pair of ordered attributes looks like when one number describes it.

Labels stand in an order, and each covers a part of a standard normal variable that has its mass.
Two such variables with the correlation r give the table of a pair. By Mehler's formula it is a sum
over products of Hermite functions (Cramer 1946, section 21.12)

    P(i, j) = sum over k of r^k a_k(i) b_k(j)

where a_k(i) is the integral of the k-th normalised Hermite polynomial over label i. The correlation
has a prior that is learnt from all pairs (empirical Bayes). A pair gets the mean over r of these
tables, so one of which only noise is known is nearly independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, sqrt
from typing import Final

import numpy as np

from ..marginal import Numbers
from .evidence import Evidence

__all__ = ["CORRELATIONS", "copula_tables", "fit_copulas", "hermite_integrals"]

TERMS: Final = 60
"""Terms of the sum. Beyond r = .95 tables get smoother than they should be."""
CORRELATIONS: Final = np.tanh(np.linspace(-2.6, 2.6, 31))
"""Candidates for r."""
LEARNING_ROUNDS: Final = 50
EVEN_SHARE: Final = 0.02
"""Share of the prior that is even over the candidates."""
INDEPENDENT_PAIRS: Final = 2.0
"""The prior counts so many pairs more, which are independent."""
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


def copula_tables(left: Numbers, right: Numbers) -> Numbers:
    """Compute tables of pairs for all candidates of r: pairs, candidates, rows, columns."""
    powers = CORRELATIONS[:, None] ** np.arange(TERMS)
    tables = (left[:, None] * powers[None, :, None, :]) @ np.swapaxes(right, -1, -2)[:, None]
    product = left[:, None, :, :1] * right[:, None, :, 0][:, :, None, :]
    least = MIN_SHARE * (1 - np.abs(CORRELATIONS))[:, None, None] * product
    tables = np.maximum(tables, least + 1e-12)
    return np.asarray(tables / tables.sum(axis=(2, 3), keepdims=True))


def fit_copulas(
    evidence: Sequence[Evidence], singles: Mapping[str, Numbers]
) -> tuple[list[Numbers], list[Numbers]]:
    """Compute the mean table of each pair, and the distance of its coarsest table from it.

    The distance is the expected one over the posterior of r: how little is known of the pair.
    """
    integrals = {name: hermite_integrals(shares) for name, shares in singles.items()}
    sides = [
        tuple(np.stack([integrals[pair[side]] for pair in each.batch.pairs]) for side in (0, 1))
        for each in evidence
    ]
    likelihoods = [
        _likelihoods(each, copula_tables(*side)) for each, side in zip(evidence, sides, strict=True)
    ]
    informed = np.concatenate(
        [each[part.measured] for each, part in zip(likelihoods, evidence, strict=True)]
    )
    independent = (np.arange(len(CORRELATIONS)) == len(CORRELATIONS) // 2).astype(float)
    prior = np.full(len(CORRELATIONS), 1 / len(CORRELATIONS))
    for _ in range(LEARNING_ROUNDS if len(informed) else 0):
        posterior = prior * informed
        posterior /= posterior.sum(axis=1, keepdims=True)
        learnt = posterior.sum(axis=0) + INDEPENDENT_PAIRS * independent
        learnt /= learnt.sum()
        prior = (1 - EVEN_SHARE) * learnt + EVEN_SHARE / len(prior)
    means, distances = [], []
    for each, side, likelihood in zip(evidence, sides, likelihoods, strict=True):
        weights = prior * likelihood
        weights /= weights.sum(axis=1, keepdims=True)
        weights[~each.measured] = independent
        tables = copula_tables(*side)
        mean = np.einsum("pr,prij->pij", weights, tables)
        coarse = each.batch.merge(tables, start=each.batch.levels - 1, level=0)
        centre = each.batch.merge(mean, start=each.batch.levels - 1, level=0)
        distance = np.abs(coarse - centre[:, None]).sum(axis=(2, 3)) / 2
        means.append(mean)
        distances.append((weights * distance).sum(axis=1))
    return means, distances


def _likelihoods(evidence: Evidence, tables: Numbers) -> Numbers:
    """Compute the likelihood of each candidate of r for each pair, up to a factor."""
    finest = evidence.batch.levels - 1
    logs = np.zeros(tables.shape[:2])
    for level in range(finest + 1):
        precision = evidence.precisions[level]
        if not precision.any():
            continue
        expected = evidence.batch.merge(tables, start=finest, level=level)
        squares = ((evidence.tables[level][:, None] - expected) ** 2).sum(axis=(2, 3))
        logs -= precision[:, None] * squares / 2
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
