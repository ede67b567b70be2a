"""Latent classes: a mixture of independent attributes that explains many tables of two attributes
at once.

P(x) = sum over classes r of w_r product over attributes i of B_i(x_i, r). Every pair's table is
then B_i diag(w) B_j^T: pairs share what they know, so a table that is all noise gets a likeness
from those that are not. Fitted by expectation and maximisation on the sum of all pairs'
log-likelihoods (a composite likelihood; Hofmann's PLSA on the matrix of all pairs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["LatentClasses", "latent_classes"]


@dataclass(frozen=True, slots=True)
class LatentClasses:
    """Weights of the classes, and each attribute's distribution in each: labels by classes."""

    weights: Numbers
    tables: dict[str, Numbers]

    def pair(self, one: str, other: str) -> Numbers:
        """The table of two attributes that the model says."""
        return np.asarray((self.tables[one] * self.weights) @ self.tables[other].T)


def latent_classes(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    *,
    generator: np.random.Generator,
    classes: int = 16,
    rounds: int = 300,
) -> LatentClasses:
    """Fit tables of pairs, distributions that agree on single attributes."""
    names = [name for name in domain.attributes if any(name in pair for pair in pairs)]
    sizes = domain.shape(names)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    at = {
        name: slice(start, end)
        for name, (start, end) in zip(names, pairwise(ends.tolist()), strict=True)
    }
    every = np.zeros((ends[-1], ends[-1]))
    own = np.zeros(ends[-1])
    for (one, other), table in pairs.items():
        every[at[one], at[other]] = table.values
        every[at[other], at[one]] = table.values.T
        own[at[one]], own[at[other]] = table.values.sum(axis=1), table.values.sum(axis=0)
    given = own[:, None] * generator.gamma(2.0, 0.5, (len(own), classes)) + 1e-9
    given /= np.repeat(np.add.reduceat(given, ends[:-1]), sizes, axis=0)
    weights = np.full(classes, 1 / classes)
    for _ in range(rounds):
        joint = given * weights
        explained = given * ((every / (joint @ given.T + 1e-15)) @ joint)
        sums = np.add.reduceat(explained, ends[:-1])
        weights = sums.sum(axis=0) / sums.sum()
        given = explained / np.maximum(np.repeat(sums, sizes, axis=0), 1e-300)
    return LatentClasses(weights, {name: given[at[name]] for name in names})
