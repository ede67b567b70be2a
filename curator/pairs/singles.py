"""Distributions of single attributes, shrunk towards even ones as far as their noise allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi, sqrt
from typing import Final

import numpy as np

from ..marginal import Numbers
from ..projections import norm_sub
from ..shrinkage import SPREADS

__all__ = ["HALF", "NoisySingle", "SingleBelief", "believe_singles"]

HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x|, for a standard normal x."""
LEARNING_ROUNDS: Final = 50
MIN_SHARE: Final = 1e-7


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
class SingleBelief:
    """What is believed of an attribute, and how its error falls with precision."""

    shares: Numbers
    precision: float
    spread: float
    """Variance of a share around the even one."""

    def squared_error(self, more: Numbers) -> Numbers:
        """Predict the squared distance, in total variation, with so much more precision."""
        precision = self.precision + more
        size = len(self.shares)
        return np.asarray((HALF * size) ** 2 * self.spread / (1 + self.spread * precision))


def believe_singles(noisy: Mapping[str, NoisySingle]) -> dict[str, SingleBelief]:
    """Shrink each distribution towards the even one, by a prior learnt from all attributes.

    A share p has the prior variance s c (1 - c) around c, one over the number of labels. How often
    each s is right is learnt from all attributes together, as `shrinkage` does for pairs.
    """
    spreads = np.array(SPREADS)
    logs = []
    for single in noisy.values():
        even = 1 / len(single.values)
        residual = single.values - single.values.mean()
        variance = spreads[:, None] * even * (1 - even) + 1 / single.precision
        logs.append(-((residual**2 / variance + (1 - even) * np.log(variance)).sum(axis=1)) / 2)
    likelihoods = np.stack([np.exp(each - each.max()) for each in logs])
    prior = np.full(len(spreads), 1 / len(spreads))
    for _ in range(LEARNING_ROUNDS):
        posterior = prior * likelihoods
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = posterior.mean(axis=0)
    beliefs = {}
    for (name, single), likelihood in zip(noisy.items(), likelihoods, strict=True):
        weight = prior * likelihood / (prior * likelihood).sum()
        beliefs[name] = _belief(single, weight, spreads)
    return beliefs


def _belief(single: NoisySingle, weight: Numbers, spreads: Numbers) -> SingleBelief:
    size = len(single.values)
    even = 1 / size
    signal = spreads * even * (1 - even)
    trust = float((weight * signal / (signal + 1 / single.precision)).sum())
    centred = single.values + (1 - single.values.sum()) / size
    shares = norm_sub(even + trust * (centred - even)) + MIN_SHARE
    spread = float((weight * np.sqrt(spreads)).sum()) ** 2 * even * (1 - even)
    return SingleBelief(shares / shares.sum(), single.precision, spread)
