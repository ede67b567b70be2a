"""Shares of attributes of two labels, by a prior that is learnt from all of them.

An attribute of two labels has one number, the share p of its second label. In a table of items p is
small for nearly all of them, and in others it is anything. A normal prior around one half says
neither: with much noise rare items come out as 0, or as common. Here the prior is a density on 0 to
1 that is constant within bins. How much of it each bin has is learnt by the noisy shares of all
attributes (nonparametric empirical Bayes: Kiefer and Wolfowitz 1956), beside one attribute that has
equal parts in all bins. The bins are those of equal mass under Jeffreys' prior, which is this then:
they are narrow near 0 and 1.

Within a bin the posterior is a normal density that is cut at the ends of the bin, so its mass and
mean are known in closed form. Where noise is small against the bins, the mean is the noisy share.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, pi, sqrt
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers

__all__ = ["BINS", "NoisyShares", "posterior_shares"]

BINS: Final = 128
ENDS: Final = np.sin(np.linspace(0, pi / 2, BINS + 1)) ** 2
"""The ends of the bins."""
LEARNING_ROUNDS: Final = 50
JEFFREYS_ATTRIBUTES: Final = 1.0
"""So many attributes have equal parts in all bins, beside those that were measured."""
MAX_OUTSIDE: Final = 8.0
"""A noisy share is at most so many deviations below 0 or above 1; beyond that nothing changes."""
MAX_DEVIATION: Final = 100.0
"""More noise hides as much as so much; a larger number would be lost in rounding."""
_ERFC: Final = np.frompyfunc(erfc, 1, 1)


@dataclass(frozen=True)
class NoisyShares:
    """Noisy shares with their normal noise, in relation to the bins: shares, bins."""

    values: Numbers
    deviations: Numbers
    masses: Numbers
    """The mass in each bin of the normal density around a noisy share."""

    @classmethod
    def of(cls, values: Numbers, deviations: Numbers) -> NoisyShares:
        """Compute the masses."""
        deviations = np.minimum(deviations, MAX_DEVIATION)
        outside = MAX_OUTSIDE * deviations
        values = np.clip(values, -outside, 1 + outside)
        scaled = (ENDS - values[:, None]) / deviations[:, None]
        # Right of the noisy share tails are subtracted, so that no small mass is lost in rounding.
        lower, upper = _below(scaled), _below(-scaled)
        masses = np.where(
            scaled[:, :-1] > 0, upper[:, :-1] - upper[:, 1:], lower[:, 1:] - lower[:, :-1]
        )
        return cls(values, deviations, masses)

    def prior(self) -> Numbers:
        """Learn the part of each bin from all shares."""
        count_work(WorkKind.CELL, 4 * LEARNING_ROUNDS * self.masses.size)
        likelihoods = self.masses / np.diff(ENDS)
        likelihoods /= likelihoods.max(axis=1, keepdims=True)
        prior = np.full(BINS, 1 / BINS)
        for _ in range(LEARNING_ROUNDS):
            posterior = prior * likelihoods
            posterior /= posterior.sum(axis=1, keepdims=True)
            counts = posterior.sum(axis=0) + JEFFREYS_ATTRIBUTES / BINS
            prior = counts / counts.sum()
        return np.asarray(prior)

    def means(self, prior: Numbers) -> Numbers:
        """Compute the mean of the posterior of each share, if the bins have these parts."""
        scaled = (ENDS - self.values[:, None]) / self.deviations[:, None]
        densities = np.exp(-(scaled**2) / 2) / sqrt(2 * pi)
        shifts = self.deviations[:, None] * (densities[:, :-1] - densities[:, 1:])
        moments = self.values[:, None] * self.masses + shifts
        weights = prior / np.diff(ENDS)
        return np.clip((moments @ weights) / (self.masses @ weights), 0, 1)


def _below(values: Numbers) -> Numbers:
    """Compute the mass of the standard normal density below each value.

    The import of scipy.special would take longer than all of this module does.
    """
    return np.asarray(_ERFC(values * -sqrt(0.5)), float) / 2


def posterior_shares(values: Numbers, deviations: Numbers) -> Numbers:
    """Compute the mean of the posterior of each share.

    Args:
        values: noisy shares.
        deviations: the standard deviations of their noise.
    """
    noisy = NoisyShares.of(values, deviations)
    return noisy.means(noisy.prior())
