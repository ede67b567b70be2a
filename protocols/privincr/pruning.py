"""Which edges of the dependency graph are kept: the paper's thresholds, and a chi-squared test.

Equations 15 and 18 are the paper's. Equation 18 lowers the threshold by a bound on the sampling
error of n records. The bound is so wide that on any realistic run it prunes nothing (spec E2), and
it ignores the users' noise (E2b). The chi-squared test accounts for both. While rounds are to come,
it removes an edge that is below the threshold with confidence. In the last round it keeps an edge
that is proven, because an edge that is not costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, log1p, log2, sqrt
from typing import Final, Protocol, TypeAlias

from ...curator import Marginal, correlation_threshold, mutual_information
from ...curator.association import Association, Multinomial, association
from ...curator.marginal import Numbers
from ...privacy import Domain
from ...privacy.local import DirectEncoding
from ..survey import Answer
from .parameters import Base

__all__ = [
    "Edge",
    "Threshold",
    "bound",
    "edge_association",
    "is_proven",
    "is_worth_asking",
    "plain_threshold",
    "plug_in_information",
    "relaxed_threshold",
]

Edge: TypeAlias = tuple[str, ...]

KAPPA: Final = 0.75
"""Share of the threshold that an edge must be below, while rounds are to come.

With it the test is wrong at most as often as it claims, over shapes and sizes of tables (spec 2.5).
"""


class Threshold(Protocol):
    """Computes, in bits, the information from which an edge is kept."""

    def __call__(
        self, domain: Domain, edge: Edge, *, users: int, phi: float, alpha: float
    ) -> float: ...


def bound(users: int, *, left: int, right: int, alpha: float) -> float:
    """Bound the error of n records' mutual information, in bits: Delta I of theorem 5.2.

    >>> round(bound(100_000, left=16, right=16, alpha=2 * 0.05), 6)
    1.056772
    >>> round(bound(1000, left=2, right=2, alpha=0.1), 6)
    0.934242
    """
    few, many = sorted((left, right))
    cells = few * many
    if users:
        eta = sqrt(
            2 / users * (cells * log(2) + log1p(-(2.0 ** (1 - cells))) - log(alpha))
        )  # ln((2^cells - 2) / alpha)
        if eta <= 2 - 2 / few:
            half = eta / 2
            entropy = -(half * log2(half) + (1 - half) * log2(1 - half))
            return half * log2((cells - 1) * (few - 1) * (many - 1)) + 3 * entropy
    return log2(few)


def plain_threshold(
    domain: Domain,
    edge: Edge,
    *,
    users: int,  # noqa: ARG001 - part of the type
    phi: float,
    alpha: float,  # noqa: ARG001 - part of the type
) -> float:
    """Compute the threshold of equation 15."""
    return correlation_threshold(domain, *edge, phi=phi)


def relaxed_threshold(domain: Domain, edge: Edge, *, users: int, phi: float, alpha: float) -> float:
    """Compute the relaxed threshold of equation 18, which has 2 alpha."""
    left, right = domain.shape(edge)
    relaxation = bound(users, left=left, right=right, alpha=2 * alpha)
    return correlation_threshold(domain, *edge, phi=phi) - relaxation


def plug_in_information(table: Numbers, edge: Edge) -> float:
    """Compute the mutual information of a table as it is, in bits."""
    return mutual_information(Marginal(edge, table), edge[:1], base=2)


def edge_association(
    domain: Domain, answer: Answer, margins: Mapping[str, Marginal]
) -> Association:
    """Measure how strongly an edge's attributes are associated."""
    question = answer.question
    randomizer, noisy = question.randomizer, answer.noisy(domain)
    rows, columns = (margins[name].values for name in question.attributes)
    multinomial = None
    if isinstance(randomizer, DirectEncoding):
        multinomial = Multinomial(float(randomizer.p), float(randomizer.q), question.users)
    return association(
        noisy.table.values,
        rows,
        columns,
        base=noisy.base,
        slope=noisy.slope,
        multinomial=multinomial,
    )


def is_worth_asking(
    measured: Association, domain: Domain, edge: Edge, *, phi: float, alpha: float, base: Base
) -> bool:
    """Keep an edge that may reach the threshold, while rounds are to come."""
    return not measured.below(KAPPA * _x(domain, edge, phi=phi, base=base), alpha=alpha)


def is_proven(
    measured: Association, domain: Domain, edge: Edge, *, phi: float, alpha: float, base: Base
) -> bool:
    """Keep an edge in the end: it reaches the threshold, and not by chance among all pairs."""
    pairs = len(domain.attributes) * (len(domain.attributes) - 1) // 2
    return measured.above(_x(domain, edge, phi=phi, base=base), alpha=alpha / pairs)


def _x(domain: Domain, edge: Edge, *, phi: float, base: Base) -> float:
    """Compute the X that stands for the threshold: X / 2 is about the information in nats."""
    tau = correlation_threshold(domain, *edge, phi=phi)
    return 2 * tau * (log(2) if base == "bits" else 1)
