"""Latent classes: a mixture of independent attributes that explains all tables of two attributes.

P(x) = sum over classes r of w_r product over attributes i of B_i(x_i, r). The table of every pair
is then B_i diag(w) B_j^T. Pairs share these parameters, so the model says something about a table
that is all noise. It is fitted by expectation and maximisation on the sum of the log-likelihoods of
all pairs (a composite likelihood; Hofmann's PLSA on the matrix of all pairs).
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
    """Weights of the classes, and the distribution of each attribute in each class."""

    weights: Numbers
    tables: dict[str, Numbers]
    """A matrix for each attribute: labels by classes."""

    def pair(self, first: str, second: str) -> Numbers:
        """Compute the table of two attributes."""
        return np.asarray((self.tables[first] * self.weights) @ self.tables[second].T)


def latent_classes(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    *,
    generator: np.random.Generator,
    classes: int = 16,
    rounds: int = 300,
) -> LatentClasses:
    """Fit tables of pairs. They must be distributions that agree on single attributes."""
    names = [name for name in domain.attributes if any(name in pair for pair in pairs)]
    sizes = domain.shape(names)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    slices = {
        name: slice(start, end)
        for name, (start, end) in zip(names, pairwise(ends.tolist()), strict=True)
    }
    joint = np.zeros((ends[-1], ends[-1]))
    """Tables of all pairs, one beside another."""
    singles = np.zeros(ends[-1])
    for (first, second), table in pairs.items():
        joint[slices[first], slices[second]] = table.values
        joint[slices[second], slices[first]] = table.values.T
        singles[slices[first]] = table.values.sum(axis=1)
        singles[slices[second]] = table.values.sum(axis=0)
    conditional = singles[:, None] * generator.gamma(2.0, 0.5, (len(singles), classes)) + 1e-9
    conditional /= np.repeat(np.add.reduceat(conditional, ends[:-1]), sizes, axis=0)
    weights = np.full(classes, 1 / classes)
    for _ in range(rounds):
        weighted = conditional * weights
        ratio = joint / (weighted @ conditional.T + 1e-15)
        explained = conditional * (ratio @ weighted)
        sums = np.add.reduceat(explained, ends[:-1])
        weights = sums.sum(axis=0) / sums.sum()
        conditional = explained / np.maximum(np.repeat(sums, sizes, axis=0), 1e-300)
    return LatentClasses(weights, {name: conditional[slices[name]] for name in names})
