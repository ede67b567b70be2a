"""Association of two attributes: a chi-squared statistic of a noisy table, without its bias.

For a table P of two attributes with margins a and b

    X = sum over cells of (P_ij - a_i b_j)^2 / (a_i b_j)

is chi-squared over n, and X / 2 is about their mutual information in nats. The plug-in information
of a noisy table says little, because it saturates where the noise is large: 1.7 bits for 16 by 16
independent labels with epsilon 1 and 10,000 users. X is a quadratic form of the table, so its bias
and variance are known, and the bias is subtracted. The margins come from elsewhere, with less noise
(A = 1 - a 1^T removes them from the table). The weights 1 / a_i are bounded, so that rare labels do
not decide (spec 2.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from .marginal import Numbers
from .projections import norm_sub

__all__ = ["Association", "Multinomial", "association"]

MIN_SHARE: Final = 0.25
"""Lambda: the least share of a label in a weight, as a part of 1 / (number of labels).

It was chosen so that on Adult without noise X / 2 finds the same edges as the information.
"""
MAX_NONCENTRALITY: Final = 1e6
"""Above it the normal distribution is used."""


@dataclass(frozen=True, slots=True)
class Multinomial:
    """A randomizer whose report is one value. The cells of its table are correlated."""

    p: float
    q: float
    users: int


@dataclass(frozen=True)
class Association:
    """A measured X, with the bias from noise and the variance without association."""

    raw: float
    bias: float
    variance: float

    @property
    def x(self) -> float:
        """X without bias, which may be negative."""
        return self.raw - self.bias

    @property
    def bits(self) -> float:
        """About the mutual information."""
        return max(self.x, 0.0) / 2 / log(2)

    @cached_property
    def _unit(self) -> float:
        """Satterthwaite's scale: X over it is about chi-squared."""
        return self.variance / (2 * self.bias)

    def quantile(self, alpha: float, *, x: float) -> float:
        """Compute the quantile of the measured X if the true one is x: noncentral chi-squared."""
        if x / self._unit > MAX_NONCENTRALITY:
            deviation = sqrt(self.variance + 4 * x * self._unit)
            return x + self.bias + NormalDist().inv_cdf(alpha) * deviation
        from scipy.stats import ncx2

        return float(self._unit * ncx2.ppf(alpha, 2 * self.bias**2 / self.variance, x / self._unit))

    def below(self, x: float, *, alpha: float) -> bool:
        """Test whether the true X is below x. The error probability is at most about alpha."""
        return self.raw < self.quantile(alpha, x=x)

    def above(self, x: float, *, alpha: float) -> bool:
        """Test whether X without bias is at least x, and noise alone would give less.

        Noise alone gives as much with probability alpha, by a chi-squared distribution. With few
        degrees of freedom its tail is long. With a normal distribution and alpha = 1 / 20,000, one
        edge in a hundred would be confirmed by noise alone.
        """
        from scipy.stats import chi2

        freedom = 2 * self.bias**2 / self.variance
        return self.x >= x and self.raw >= float(self._unit * chi2.isf(alpha, freedom))


def association(
    table: Numbers,
    rows: Numbers,
    columns: Numbers,
    *,
    base: float,
    slope: float,
    multinomial: Multinomial | None = None,
) -> Association:
    """Measure the association in an unbiased table of frequencies.

    Args:
        table: The table as released, not projected.
        rows: Its row margin, a distribution.
        columns: Its column margin, a distribution.
        base: A cell of frequency f has variance base + slope f, and cells are independent.
        slope: See `base`.
        multinomial: The randomizer, if cells are correlated. `base` and `slope` are then not used.
    """
    left, right = _weights(rows), _weights(columns)
    # A = 1 - a 1^T on either side.
    z = table - np.outer(rows, table.sum(axis=0))
    z = z - np.outer(z.sum(axis=1), columns)
    raw = float(left @ z**2 @ right)
    m_left, m_right = _quadratic(rows, left), _quadratic(columns, right)
    shares = norm_sub(table)
    # For noise with covariance S the bias is tr(M S) and the variance 2 tr(M S M S), where
    # M = M_a (x) M_b.
    if multinomial is None:
        cells = base + slope * shares
    else:
        cells = multinomial.q + (multinomial.p - multinomial.q) * shares
    bias = float(np.diag(m_left) @ cells @ np.diag(m_right))
    variance = float(np.sum(cells * (m_left**2 @ cells @ m_right**2)))
    if multinomial is not None:  # S = (diag(r) - r r^T) / ((p - q)^2 n)
        product = m_left @ cells @ m_right
        inner = float(np.sum(cells * product))
        unit = (multinomial.p - multinomial.q) ** 2 * multinomial.users
        bias = (bias - inner) / unit
        variance = (variance - 2 * float(np.sum(cells * product**2)) + inner**2) / unit**2
    return Association(raw, bias, 2 * variance)


def _weights(margin: Numbers) -> Numbers:
    return np.asarray(1 / np.maximum(margin, MIN_SHARE / len(margin)))


def _quadratic(margin: Numbers, weights: Numbers) -> Numbers:
    """Compute A^T diag(w) A."""
    a = np.eye(len(margin)) - np.outer(margin, np.ones(len(margin)))
    return np.asarray(a.T @ (weights[:, None] * a))
