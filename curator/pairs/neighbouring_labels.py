"""Noisy distributions of labels in an order: what a label's neighbours tell about it.

The numbers of people of ages 41 and 42 are nearly equal, and those of two occupations are not. An
attribute's labels are taken as they stand in the domain, and it is learnt from the noisy shares
whether neighbours tell anything. Each share is predicted from those around it, without itself, by
a line that is fitted with Gaussian weights of some width (local linear regression). The prior of
share i is then

    share_i ~ (m_i, c m_i + k_i),   m_i the prediction, k_i its own variance

c says how far labels are from their neighbours' line. Counted people alone make c one over the
number of people, as counts vary by their root. A few labels, such as ages that people round to, may
be anywhere; they keep the share that was measured. Which ones they are is learnt as well, and they
count less in the predictions for their neighbours.

Widths and c are weighed by the likelihoods of all predictions. So shares of labels in no order are
hardly changed: there the likely c is large, or the uniform prior of `singles` is likelier than all
of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..marginal import Numbers

__all__ = ["MIN_LABELS", "NeighbourPosterior", "posterior_of_neighbours"]

MIN_LABELS: Final = 20
"""Fewer labels are too few to tell whether neighbours are alike."""
WIDTHS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Standard deviations of weights, in labels. The widest have at least MIN_WIDTHS of them."""
MIN_WIDTHS: Final = 4
REACH: Final = 4
"""Weights end after so many widths."""
SPREADS: Final = np.geomspace(1e-7, 1.0, 29)
"""Values of c."""
FEW: Final = 0.05
"""The share of labels that are expected to be far from their neighbours' line."""
LOG_ROOT: Final = float(np.log(2 * np.pi) / 2)
"""What the logarithms of normal densities leave out."""
PASSES: Final = 2
"""The second pass knows which labels are far from their line."""
LEAST: Final = 1e-12
EMPTY: Final = 1e-9
"""Weight of a neighbour that counts nothing, so that no line is without points."""


@dataclass(frozen=True, slots=True)
class NeighbourPosterior:
    """The posterior of an attribute's shares, given those of neighbouring labels."""

    shares: Numbers
    """Its mean. It need not add up to 1."""
    near: Numbers
    """The chance of each label not to be far from its neighbours' line."""
    spread: float
    """Prior variance of a share around the prediction, on average."""
    log_likelihood: float
    """Logarithm of the average likelihood, without its constant."""


def posterior_of_neighbours(values: Numbers, *, precision: float) -> NeighbourPosterior | None:
    """Compute the posterior of noisy shares; `None` where there are too few labels.

    Args:
        values: the noisy shares, in the order of the labels.
        precision: one over the variance of each share's noise.
    """
    size = len(values)
    if size < MIN_LABELS:
        return None
    widths = [width for width in WIDTHS if MIN_WIDTHS * width <= size]
    counted = np.ones(size)
    for _ in range(PASSES):
        of_widths = [_posterior(values, counted, width, variance=1 / precision) for width in widths]
        weights, average = _weights(np.array([each.log_likelihood for each in of_widths]))
        counted = weights @ np.stack([each.near for each in of_widths])
    shares = weights @ np.stack([each.shares for each in of_widths])
    spread = float(weights @ np.array([each.spread for each in of_widths]))
    return NeighbourPosterior(shares, counted, spread, average)


def _posterior(
    values: Numbers, counted: Numbers, width: float, *, variance: float
) -> NeighbourPosterior:
    """Average the posteriors over c, for one width.

    Args:
        values: the noisy shares.
        counted: how much each of them counts in the predictions for its neighbours.
        width: the standard deviation of weights.
        variance: that of the noise of a share.
    """
    predicted, gain = _local_lines(values, counted, width)
    residual = values - predicted
    spread = SPREADS[:, None] * np.maximum(predicted, LEAST)
    prior = spread + gain * (variance + spread)
    total = prior + variance
    near = np.log(1 - FEW) - residual**2 / total / 2 - np.log(total) / 2
    anywhere = np.log(FEW) - np.log(2 * max(float(np.abs(residual).max()), LEAST)) + LOG_ROOT
    log = np.logaddexp(near, anywhere)
    far = np.exp(anywhere - log)
    shares = values - (1 - far) * variance / total * residual
    weights, average = _weights(log.sum(axis=1))
    of_shares = weights @ np.where(far > 0.5, np.maximum(residual**2, prior), prior)
    return NeighbourPosterior(weights @ shares, 1 - weights @ far, float(of_shares.mean()), average)


def _weights(logs: Numbers) -> tuple[Numbers, float]:
    """Turn log-likelihoods into weights, and give the logarithm of the average likelihood."""
    likelihoods = np.exp(logs - logs.max())
    return likelihoods / likelihoods.sum(), float(logs.max() + np.log(likelihoods.mean()))


def _local_lines(values: Numbers, counted: Numbers, width: float) -> tuple[Numbers, Numbers]:
    """Predict each value from its neighbours' by a line, and say what noise the prediction has.

    Returns:
        The predictions, and the sum of the squared weights of the values in each.
    """
    reach = min(int(REACH * width), len(values) - 1)
    steps = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-((steps / width) ** 2) / 2)
    weights[reach] = 0  # no value predicts itself
    counted = counted + EMPTY

    def around(numbers: Numbers, power: int, *, squared: bool = False) -> Numbers:
        """Add up numbers around each label, times weights, times distances to some power."""
        kernel = (weights**2 if squared else weights) * steps**power
        return np.convolve(numbers, kernel[::-1])[reach : reach + len(numbers)]

    sums = [around(counted, power) for power in range(3)]
    mean = around(counted * values, 0) / sums[0]
    noise_of_mean = around(counted**2, 0, squared=True) / sums[0] ** 2
    determinant = sums[0] * sums[2] - sums[1] ** 2
    safe = np.where(determinant > EMPTY, determinant, 1.0)
    line = (sums[2] * around(counted * values, 0) - sums[1] * around(counted * values, 1)) / safe
    squares = [around(counted**2, power, squared=True) for power in range(3)]
    noise_of_line = (
        sums[2] ** 2 * squares[0] - 2 * sums[1] * sums[2] * squares[1] + sums[1] ** 2 * squares[2]
    ) / safe**2
    # At the ends a line reaches beyond its points, and may have more noise than it is worth.
    is_line = (determinant > EMPTY) & (noise_of_line <= 1)
    return np.where(is_line, line, mean), np.where(is_line, noise_of_line, noise_of_mean)
