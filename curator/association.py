"""Whether two attributes belong together: a chi-squared statistic of a noisy table, without the
bias of its noise.

For a table P of two attributes with margins a and b

    X = sum over cells of (P_ij - a_i b_j)^2 / (a_i b_j)

is chi-squared over n, and X / 2 is about their mutual information in nats. Of a noisy table the plug-in information says
little: where noise is large it saturates (16 by 16 labels, independent, epsilon 1, 10,000 users: 1.7 bits). X is a quadratic
form of the table, so its bias and its variance are known, and the bias is subtracted. Margins come from elsewhere, with less
noise (A = 1 - a 1^T takes them out of the table), and weights 1 / a_i are bounded, so that rare labels do not decide (spec
2.5).
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

RARE: Final = 0.25
"""A label counts as at least so much of its share among equal ones: lambda. Chosen so that on Adult
without noise X / 2 finds just the edges that information finds."""
FAR: Final = 1e6
"""A noncentrality beyond which the normal law is used."""


@dataclass(frozen=True, slots=True)
class Multinomial:
    """Of a randomizer whose report is one value: cells of its table vary together."""

    p: float
    q: float
    users: int


@dataclass(frozen=True)
class Association:
    """X as measured, what noise adds to it on average, and its variance where there is no
    association.
    """

    raw: float
    bias: float
    variance: float

    @property
    def x(self) -> float:
        """X, without bias; may be negative."""
        return self.raw - self.bias

    @property
    def bits(self) -> float:
        """About the mutual information."""
        return max(self.x, 0.0) / 2 / log(2)

    @cached_property
    def _unit(self) -> float:
        """What X is chi-squared of, if all weights were alike: Satterthwaite's scale."""
        return self.variance / (2 * self.bias)

    def quantile(self, alpha: float, *, x: float) -> float:
        """Compute below which X is measured with probability alpha, if the true one is x:
        noncentral chi-squared.
        """
        from scipy.stats import ncx2

        if x / self._unit > FAR:
            return (
                x
                + self.bias
                + NormalDist().inv_cdf(alpha) * sqrt(self.variance + 4 * x * self._unit)
            )
        return float(self._unit * ncx2.ppf(alpha, 2 * self.bias**2 / self.variance, x / self._unit))

    def below(self, x: float, *, alpha: float) -> bool:
        """Say whether the true one is below x: wrong with probability alpha at most, about."""
        return self.raw < self.quantile(alpha, x=x)

    def above(self, x: float, *, alpha: float) -> bool:
        """Say whether it is x or more as measured, and more than noise alone makes with probability
        alpha: chi-squared.

        Of few degrees of freedom its tail is long; by a normal law an edge in a hundred would be
        proven by mere noise where alpha is one in 20,000.
        """
        from scipy.stats import chi2

        return self.x >= x and self.raw >= float(
            self._unit * chi2.isf(alpha, 2 * self.bias**2 / self.variance)
        )


def association(
    table: Numbers,
    rows: Numbers,
    columns: Numbers,
    *,
    base: float,
    slope: float,
    one: Multinomial | None = None,
) -> Association:
    """Measure it: of a table of frequencies without bias, as it came, with these margins, which are
    distributions.

    A cell of frequency f varies by base + slope f, cells independently; or together, as `one` says.
    """
    left, right = _weights(rows), _weights(columns)
    # A = 1 - a 1^T on either side.
    z = table - np.outer(rows, table.sum(axis=0))
    z = z - np.outer(z.sum(axis=1), columns)
    raw = float(left @ z**2 @ right)
    m_left, m_right = _quadratic(rows, left), _quadratic(columns, right)
    likely = norm_sub(table)
    # Of noise with covariance S: bias tr(M S), variance 2 tr(M S M S), with M = M_a (x) M_b.
    cells = base + slope * likely if one is None else one.q + (one.p - one.q) * likely
    bias = float(np.diag(m_left) @ cells @ np.diag(m_right))
    variance = float(np.sum(cells * (m_left**2 @ cells @ m_right**2)))
    if one is not None:  # S = (diag(r) - r r^T) / ((p - q)^2 n)
        through = m_left @ cells @ m_right
        inner = float(np.sum(cells * through))
        unit = (one.p - one.q) ** 2 * one.users
        bias = (bias - inner) / unit
        variance = (variance - 2 * float(np.sum(cells * through**2)) + inner**2) / unit**2
    return Association(raw, bias, 2 * variance)


def _weights(margin: Numbers) -> Numbers:
    return np.asarray(1 / np.maximum(margin, RARE / len(margin)))


def _quadratic(margin: Numbers, weights: Numbers) -> Numbers:
    """Compute A^T diag(w) A."""
    a = np.eye(len(margin)) - np.outer(margin, np.ones(len(margin)))
    return np.asarray(a.T @ (weights[:, None] * a))
