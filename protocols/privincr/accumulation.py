"""Data accumulation: what all rounds tell of an edge, or of its attributes (section 5.2.3).

Reports on one table add up (property 5.1), which is the best use of them. If tables are summed over
C other cells, the noise adds up C times, so n / C is the best weight. The paper's weight is
1 / (C n), in equations 6, 7 and 11. That is the best weight for variances of counts. Here it is
used on frequencies, so the fewest users get the most weight (spec E1).
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

__all__ = ["AccumulatedTable", "accumulate", "aggregate", "pooled_margins"]


@dataclass(frozen=True, slots=True)
class AccumulatedTable:
    """T^t of equation 13 as printed, with its weight mu, and the users behind it."""

    table: Marginal
    mu: float
    users: int

    @classmethod
    def of(cls, domain: Domain, answer: Answer) -> AccumulatedTable:
        """Begin with the table of one round: C = 1."""
        attributes, users = answer.question.attributes, answer.question.users
        return cls(Marginal.of(domain, attributes, answer.frequencies()), 1 / users, users)

    def __add__(self, more: AccumulatedTable) -> AccumulatedTable:
        """Accumulate the table of the next round: equations 12 and 13.

        >>> import numpy as np
        >>> def table(share, users):
        ...     return AccumulatedTable(Marginal(("x",), np.array([share])), 1 / users, users)
        >>> both = table(0.2, 1000) + table(0.1, 3000)
        >>> round(float(both.table.values[0]), 9)  # 0.125 if weighed by users
        0.175
        """
        mu = self.mu + more.mu
        return AccumulatedTable(
            self.table * (self.mu / mu) + more.table * (more.mu / mu), mu, self.users + more.users
        )


def aggregate(
    domain: Domain, tables: Iterable[AccumulatedTable], attributes: tuple[str, ...]
) -> Marginal:
    """Aggregate all tables that have these attributes, as printed: equation 6.

    If no table has them, the result is uniform.
    """
    weighted = []
    for accumulated in tables:
        table = accumulated.table
        if table.covers(attributes):
            others = [name for name in table.attributes if name not in attributes]
            weight = accumulated.mu / prod(domain.shape(others))
            weighted.append((weight, table.project(attributes)))
    if not weighted:
        return Marginal.uniform(domain, attributes)
    total = sum(weight for weight, _ in weighted)
    first, *rest = (view * (weight / total) for weight, view in weighted)
    return sum(rest, start=first)


def accumulate(
    before: Mapping[tuple[str, ...], Answer], answers: Iterable[Answer]
) -> dict[tuple[str, ...], Answer]:
    """Add the answers of a round to those before: F of Algorithm 1, line 10."""
    accumulated = dict(before)
    for answer in answers:
        attributes = answer.question.attributes
        earlier = accumulated.get(attributes)
        accumulated[attributes] = answer if earlier is None else earlier + answer
    return accumulated


def pooled_margins(domain: Domain, answers: Iterable[Answer]) -> dict[str, Marginal]:
    """Estimate the distribution of each attribute from all tables that have it."""
    pooled = pooled_marginals([answer.noisy(domain) for answer in answers], ways=1)
    return {name: noisy.table.map(norm_sub) for (name,), noisy in pooled.items()}
