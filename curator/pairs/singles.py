"""Distributions of single attributes, shrunk by as much as noise demands.

They are shrunk towards uniform ones, and those of many labels towards what neighbouring labels tell
as well (`neighbouring_labels`). Those of two labels are shrunk as `two_labels` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..marginal import Numbers
from ..projections import norm_sub
from ..shrinkage import SPREADS
from .neighbouring_labels import posterior_of_neighbours
from .two_labels import posterior_shares

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
    """Variance of a share around the one towards which it is shrunk."""


def shrink_singles(noisy: Mapping[str, NoisySingle]) -> dict[str, SinglePosterior]:
    """Shrink each distribution by a prior that is learnt from all attributes.

    Those of more than two labels are shrunk towards the uniform one. A share has the prior variance
    s c (1 - c) around c, one over the number of labels. How often each s is right is learnt from
    all attributes together, as `shrinkage` does for pairs. Where neighbouring labels tell more, by
    the likelihood of what was measured, shares are shrunk towards their neighbours' instead.
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
    for (name, single), log, likelihood in zip(noisy.items(), logs, likelihoods, strict=True):
        average = float(log.max() + np.log(prior @ likelihood)) + _log_likelihood_of_sum(single)
        posteriors[name] = _with_neighbours(single, posteriors[name], log_likelihood=average)
    return posteriors | _of_two_labels(noisy, posteriors)


def _log_likelihood_of_sum(single: NoisySingle) -> float:
    """Compute the log-likelihood of the noisy sum of all shares, without its constant."""
    noise = (single.values.sum() - 1) ** 2 / len(single.values)
    return float(np.log(single.precision) - noise * single.precision) / 2


def _with_neighbours(
    single: NoisySingle, uniform: SinglePosterior, *, log_likelihood: float
) -> SinglePosterior:
    """Average the posterior of the uniform prior and that of neighbours by their likelihoods."""
    near = posterior_of_neighbours(single.values, precision=single.precision)
    if near is None:
        return uniform
    weight = float(np.exp(-np.logaddexp(0, log_likelihood - near.log_likelihood)))
    shares = near.shares + (1 - near.shares.sum()) / len(near.shares)
    mixed = (1 - weight) * uniform.shares + weight * norm_sub(shares)
    spread = (1 - weight) * uniform.spread + weight * near.spread
    return SinglePosterior(_distribution(mixed), single.precision, spread)


def _of_two_labels(
    noisy: Mapping[str, NoisySingle], posteriors: Mapping[str, SinglePosterior]
) -> dict[str, SinglePosterior]:
    """Give the attributes of two labels shares by a prior that is learnt from them."""
    chosen = {name: single for name, single in noisy.items() if len(single.values) == 2}
    if not chosen:
        return {}
    # The labels' noise is independent, so that of half their difference has half of the variance.
    seconds = posterior_shares(
        np.array([(1 + single.values[1] - single.values[0]) / 2 for single in chosen.values()]),
        np.array([(2 * single.precision) ** -0.5 for single in chosen.values()]),
    )
    return {
        name: replace(posteriors[name], shares=_distribution(np.array([1 - second, second])))
        for name, second in zip(chosen, seconds.tolist(), strict=True)
    }


def _posterior(single: NoisySingle, weights: Numbers, spreads: Numbers) -> SinglePosterior:
    """Average the posterior over spreads."""
    size = len(single.values)
    uniform = 1 / size
    signal = spreads * uniform * (1 - uniform)
    trust = float((weights * signal / (signal + 1 / single.precision)).sum())
    centred = single.values + (1 - single.values.sum()) / size
    shares = _distribution(norm_sub(uniform + trust * (centred - uniform)))
    spread = float((weights * np.sqrt(spreads)).sum()) ** 2 * uniform * (1 - uniform)
    return SinglePosterior(shares, single.precision, spread)


def _distribution(shares: Numbers) -> Numbers:
    return np.asarray((shares + MIN_SHARE) / (shares + MIN_SHARE).sum())
