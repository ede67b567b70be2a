"""Which edges of the dependency graph are kept: the paper's thresholds, and a test that knows what
noise does.

Equations 15 and 18 are the paper's. Equation 18 lowers the threshold by a bound on what n records
without noise may be off, and the bound is so wide that on any realistic run it prunes nothing (spec
E2), nor does it know of the noise that users add (E2b). The chi-squared test does, and is the
default: while there are rounds to come an edge goes when it is below the threshold with confidence,
and in the last it stays when it is proven, as an edge that is not costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, log1p, log2, sqrt
from typing import Final, Literal

from ...curator import Marginal, correlation_threshold, mutual_information
from ...curator.association import Association, Multinomial, association
from ...curator.marginal import Numbers
from ...privacy import Domain
from ...privacy.local import DirectEncoding
from ..survey import Answer

__all__ = ["Edge", "Test", "associated", "bound", "proven", "relaxed", "worth_asking"]

Edge = tuple[str, ...]
Test = Literal["chi-squared", "relaxed", "plain"]
Base = Literal["bits", "nats"]

KAPPA: Final = 0.75
"""Share of the threshold that an edge has to be below, while rounds are to come: then the test is
wrong as often as it says, or less, over shapes and sizes of tables (spec 2.5)."""


def bound(users: int, *, left: int, right: int, alpha: float) -> float:
    """Compute Delta I of theorem 5.2, in bits: how far n records' mutual information may be from
    the true one.

    >>> round(bound(100_000, left=16, right=16, alpha=2 * 0.05), 6), round(bound(1000, left=2, right=2, alpha=0.1), 6)
    (1.056772, 0.934242)
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


def relaxed(domain: Domain, edge: Edge, *, users: int, phi: float, alpha: float) -> float:
    """Compute the relaxed threshold of equation 18, which has 2 alpha, in bits."""
    left, right = domain.shape(edge)
    return correlation_threshold(domain, *edge, phi=phi) - bound(
        users, left=left, right=right, alpha=2 * alpha
    )


def associated(domain: Domain, answer: Answer, margins: Mapping[str, Marginal]) -> Association:
    """Measure an edge by all that was said of it."""
    asked, users, edge = (
        answer.question.randomizer,
        answer.question.users,
        answer.question.attributes,
    )
    own = answer.noisy(domain)
    rows, columns = (margins[name].values for name in edge)
    one = (
        Multinomial(float(asked.p), float(asked.q), users)
        if isinstance(asked, DirectEncoding)
        else None
    )
    return association(
        own.table.values, rows, columns, base=own.base, slope=own.slope, multinomial=one
    )


def worth_asking(
    found: Association, domain: Domain, edge: Edge, *, phi: float, alpha: float, base: Base
) -> bool:
    """Keep an edge that may reach the threshold, while rounds are to come."""
    return not found.below(KAPPA * _x(domain, edge, phi=phi, base=base), alpha=alpha)


def proven(
    found: Association, domain: Domain, edge: Edge, *, phi: float, alpha: float, base: Base
) -> bool:
    """Keep an edge in the end: at the threshold, and not by chance, of all pairs together."""
    pairs = len(domain.attributes) * (len(domain.attributes) - 1) // 2
    return found.above(_x(domain, edge, phi=phi, base=base), alpha=alpha / pairs)


def information(table: Numbers, edge: Edge) -> float:
    """Compute the plug-in mutual information of a distribution, in bits."""
    return mutual_information(Marginal(edge, table), edge[:1], base=2)


def _x(domain: Domain, edge: Edge, *, phi: float, base: Base) -> float:
    """Say which X stands for the threshold: X / 2 is about the information in nats."""
    tau = correlation_threshold(domain, *edge, phi=phi)
    return 2 * tau * (log(2) if base == "bits" else 1)
