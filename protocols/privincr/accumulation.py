"""Data accumulation: what all rounds have said of an edge, or of any of its attributes (section
5.2.3, equations 5 to 13).

Reports of one table simply add up (property 5.1), which is the best that can be done with them. Of
tables that are summed over C other cells the noise adds up C times, so n / C weighs them best. The
paper weighs by 1 / (C n), in equations 6, 7 and 11: the best weight of counts' variances, used on
frequencies, where it gives the fewest users the most weight (spec E1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ...curator import Marginal
from ...curator.projections import norm_sub
from ...curator.shrinkage import pooled_marginals
from ...privacy import Domain
from ..survey import Answer

__all__ = ["Accumulated", "accumulate", "margins", "printed", "printed_view"]


@dataclass(frozen=True, slots=True)
class Accumulated:
    """T^t of equation 13, as printed, with its weight mu; and the users behind it."""

    table: Marginal
    mu: float
    users: int

    def __add__(self, more: Accumulated) -> Accumulated:
        """Accumulate the next round's: equations 12 and 13.

        >>> import numpy as np
        >>> said = lambda value, users: Accumulated(Marginal(("x",), np.array([value])), 1 / users, users)
        >>> round(float((said(0.2, 1000) + said(0.1, 3000)).table.values[0]), 9)  # 0.125 if weighed by users
        0.175
        """
        mu = self.mu + more.mu
        return Accumulated(
            self.table * (self.mu / mu) + more.table * (more.mu / mu), mu, self.users + more.users
        )


def printed(domain: Domain, answer: Answer) -> Accumulated:
    """Begin with one round's table: C = 1."""
    users = answer.question.users
    return Accumulated(
        Marginal.of(domain, answer.question.attributes, answer.frequencies()), 1 / users, users
    )


def printed_view(
    domain: Domain, tables: Iterable[Accumulated], attributes: tuple[str, ...]
) -> Marginal:
    """Aggregate all tables that have these attributes: equation 6. Where there is none, all cells
    are alike.
    """
    weighted = []
    for own in tables:
        if own.table.covers(attributes):
            others = prod(
                domain.shape([name for name in own.table.attributes if name not in attributes])
            )
            weighted.append((own.mu / others, own.table.project(attributes)))
    if not weighted:
        return Marginal.uniform(domain, attributes)
    whole = sum(weight for weight, _ in weighted)
    first, *rest = (table * (weight / whole) for weight, table in weighted)
    return sum(rest, start=first)


def accumulate(
    before: Mapping[tuple[str, ...], Answer], answers: Iterable[Answer]
) -> dict[tuple[str, ...], Answer]:
    """Add what users said in a round to what was said before: F of Algorithm 1, line 10."""
    found = dict(before)
    for own in answers:
        attributes = own.question.attributes
        found[attributes] = found[attributes] + own if attributes in found else own
    return found


def margins(domain: Domain, answers: Iterable[Answer]) -> dict[str, Marginal]:
    """Say what all tables together say of each attribute: distributions."""
    ones = pooled_marginals([own.noisy(domain) for own in answers], ways=1)
    return {name: own.table.map(norm_sub) for (name,), own in ones.items()}
