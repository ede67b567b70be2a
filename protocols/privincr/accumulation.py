"""Data accumulation: what all rounds tell of an edge, or of its attributes (section 5.2.3).

Reports on one table add up (property 5.1), which is the best use of them. If tables are summed over
C other cells, the noise adds up C times, so n / C is the best weight. The paper's weight is
1 / (C n), in equations 6, 7 and 11. That is the best weight for variances of counts. Used on
frequencies, it gives the fewest users the most weight (spec E1). It also contradicts property 5.1:
by equation 5 the counts of a table's users add up. Each of the two readings is a class here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from ...curator import Marginal
from ...curator.projections import norm_sub
from ...curator.shrinkage import pooled_marginals
from ...privacy import Domain
from ..survey import Answer

__all__ = ["AccumulatedTable", "CountedTable", "accumulate", "aggregate", "pooled_margins"]


@dataclass(frozen=True)
class AccumulatedTable:
    """T^t of equation 13 as printed, with its weight mu, and the users behind it: equation 6."""

    table: Marginal
    mu: float
    users: int

    @classmethod
    def of(cls, domain: Domain, answer: Answer) -> Self:
        """Begin with the table of one round: C = 1."""
        attributes, users = answer.question.attributes, answer.question.users
        table = Marginal.of(domain, attributes, answer.frequencies())
        return cls(table, cls.round_weight(users), users)

    @staticmethod
    def round_weight(users: int) -> float:
        """Weigh the table of a round by its users: mu of equation 11."""
        return 1 / users

    def view_weight(self, cells: int) -> float:
        """Weigh a view whose cells are sums of `cells` cells of this table: C of equation 6."""
        return self.mu / cells

    def __add__(self, more: AccumulatedTable) -> Self:
        """Accumulate the table of the next round: equations 12 and 13.

        >>> import numpy as np
        >>> def table(share, users):
        ...     return AccumulatedTable(Marginal(("x",), np.array([share])), 1 / users, users)
        >>> both = table(0.2, 1000) + table(0.1, 3000)
        >>> round(float(both.table.values[0]), 9)  # 0.125 if weighed by users
        0.175
        """
        mu = self.mu + more.mu
        table = self.table * (self.mu / mu) + more.table * (more.mu / mu)
        return replace(self, table=table, mu=mu, users=self.users + more.users)


class CountedTable(AccumulatedTable):
    """A table whose rounds' counts add up: equation 5. Its weight is its number of users.

    >>> import numpy as np
    >>> def table(share, users):
    ...     return CountedTable(Marginal(("x",), np.array([share])), users, users)
    >>> round(float((table(0.2, 1000) + table(0.1, 3000)).table.values[0]), 9)
    0.125
    """

    @staticmethod
    def round_weight(users: int) -> float:
        """Weigh a table by its users, as sums of counts do."""
        return users

    def view_weight(self, cells: int) -> float:  # noqa: ARG002 - counts add up, of any number of cells
        """Add up the counts of all users who reported the attributes."""
        return self.mu


def aggregate(
    domain: Domain, tables: Iterable[AccumulatedTable], attributes: tuple[str, ...]
) -> Marginal:
    """Aggregate all tables that have these attributes, by the weights of their class.

    If no table has them, the result is uniform.
    """
    weighted = []
    for accumulated in tables:
        table = accumulated.table
        if table.covers(attributes):
            others = [name for name in table.attributes if name not in attributes]
            weight = accumulated.view_weight(prod(domain.shape(others)))
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
