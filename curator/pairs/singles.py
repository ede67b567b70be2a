"""Distributions of single attributes, shrunk towards uniform ones by as much as noise demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..marginal import Numbers
from ..projections import norm_sub
from ..shrinkage import SPREADS

__all__ = ["NoisySingle", "SinglePosterior", "shrink_singles"]

LEARNING_ROUNDS: Final = 50
MIN_SHARE: Final = 1e-7
"""Added to the share of each label."""


@dataclass(frozen=True, slots=True)
class NoisySingle:
    """Noisy frequencies of an attribute, with one over the variance of each."""

    values: Numbers
    precision: float

    def pooled(self, other: NoisySingle) -> NoisySingle:
        """Weigh two of them by their precision."""
        total = self.precision + other.precision
        values = self.precision * self.values + other.precision * other.values
        return NoisySingle(values / total, total)


@dataclass(frozen=True, slots=True)
class SinglePosterior:
    """The posterior of an attribute's distribution."""

    shares: Numbers
    """Its mean, a distribution."""
    precision: float
    """One over the variance of the noise of a share."""
    spread: float
    """Variance of a share around the uniform one."""


def shrink_singles(noisy: Mapping[str, NoisySingle]) -> dict[str, SinglePosterior]:
    """Shrink each distribution towards the uniform one, by a prior learnt from all attributes.

    A share has the prior variance s c (1 - c) around c, one over the number of labels. How often
    each s is right is learnt from all attributes together, as `shrinkage` does for pairs.
    """
    spreads = np.array(SPREADS)
    logs = []
    for single in noisy.values():
        uniform = 1 / len(single.values)
        residual = single.values - single.values.mean()
        variance = spreads[:, None] * uniform * (1 - uniform) + 1 / single.precision
        logs.append(-((residual**2 / variance + (1 - uniform) * np.log(variance)).sum(axis=1)) / 2)
    likelihoods = np.stack([np.exp(row - row.max()) for row in logs])
    prior = np.full(len(spreads), 1 / len(spreads))
    for _ in range(LEARNING_ROUNDS):
        posterior = prior * likelihoods
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = posterior.mean(axis=0)
    posteriors = {}
    for (name, single), likelihood in zip(noisy.items(), likelihoods, strict=True):
        weights = prior * likelihood / (prior * likelihood).sum()
        posteriors[name] = _posterior(single, weights, spreads)
    return posteriors


def _posterior(single: NoisySingle, weights: Numbers, spreads: Numbers) -> SinglePosterior:
    """Average the posterior over spreads."""
    size = len(single.values)
    uniform = 1 / size
    signal = spreads * uniform * (1 - uniform)
    trust = float((weights * signal / (signal + 1 / single.precision)).sum())
    centred = single.values + (1 - single.values.sum()) / size
    shares = norm_sub(uniform + trust * (centred - uniform)) + MIN_SHARE
    spread = float((weights * np.sqrt(spreads)).sum()) ** 2 * uniform * (1 - uniform)
    return SinglePosterior(shares / shares.sum(), single.precision, spread)
