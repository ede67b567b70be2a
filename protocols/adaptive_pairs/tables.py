"""Tables as a round counts them: planned, counted by a party, and measured by the curator.

A planned table has some attributes, a grouping of the labels of each, and a weight. Table i is
multiplied by its weight w_i before summing, and divided by it afterwards. A batch has noise of one
variance, so the precision of table i is w_i^2 over that variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod, sqrt
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ...parties import Records
from ...privacy import Budget, Domain
from ..secure_sum import Family, SumBatch

__all__ = [
    "MAX_WEIGHT",
    "Grouping",
    "MeasuredTable",
    "PlannedTable",
    "batch_of",
    "count_tables",
    "integer_weights",
    "measured_tables",
    "single_amounts",
]

Grouping: TypeAlias = tuple[int, ...]
"""The group of each label; empty where each label is by itself."""
TableT = TypeVar("TableT")
"""A table, or its key."""

MAX_WEIGHT: Final = 100
"""The largest weight. With it shares of a budget are met to a few per cent."""


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table that a round counts."""

    attributes: Family
    """In the order of the domain."""
    weight: int
    groupings: tuple[Grouping, ...] = ()
    """A grouping for each attribute; empty where no attribute is grouped."""

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """List the numbers of groups of the attributes."""
        sizes = domain.shape(self.attributes)
        if not self.groupings:
            return sizes
        return tuple(
            max(grouping) + 1 if grouping else size
            for size, grouping in zip(sizes, self.groupings, strict=True)
        )

    def cells(self, domain: Domain) -> int:
        """Count the cells."""
        return prod(self.shape(domain))


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table of frequencies with noise of one variance in each cell."""

    table: PlannedTable
    frequencies: npt.NDArray[np.float64]
    """An axis for each attribute."""
    variance: float


def integer_weights(amounts: Mapping[TableT, float], *, power: int) -> dict[TableT, int]:
    """Give the weights with which tables get precision in these proportions.

    With Laplace noise (power 2) they are in lowest terms: a share of finer noise tells a coalition
    more. A Gaussian loss is proved of noise that is wide beside whole numbers.

    >>> integer_weights({"a": 4.0, "b": 1.0, "c": 1e-9}, power=1)
    {'a': 100, 'b': 50, 'c': 1}
    >>> integer_weights({"a": 4.0, "b": 1.0}, power=2)
    {'a': 2, 'b': 1}
    """
    largest = max(amounts.values())
    weights = {
        table: max(1, round(MAX_WEIGHT * sqrt(amount / largest)))
        for table, amount in amounts.items()
    }
    divisor = 1 if power == 1 else gcd(*weights.values())
    return {table: weight // divisor for table, weight in weights.items()}


def single_amounts(domain: Domain, *, power: int) -> dict[Family, float]:
    """Give the precisions of single attributes that make the sum of all cells' errors least.

    A weight then grows with the cube root of the number of cells in rho (power 1), and with the
    root in epsilon (power 2).
    """
    exponent = 2 / 3 if power == 1 else 1.0
    return {(name,): float(domain.cells((name,)) ** exponent) for name in domain.attributes}


def batch_of(domain: Domain, tables: Sequence[PlannedTable], budget: Budget) -> SumBatch:
    """Describe the batch of these tables: a replaced record changes two cells of each by 1."""
    weights = [table.weight for table in tables]
    return SumBatch.of(
        budget,
        cells=sum(table.cells(domain) for table in tables),
        sensitivity=2 * sum(weights),
        squares=2 * sum(weight**2 for weight in weights),
        weight=max(weights),
    )


def count_tables(
    records: Records, tables: Sequence[PlannedTable]
) -> Iterator[npt.NDArray[np.int64]]:
    """Count a party's tables, each multiplied by its weight."""
    names: dict[tuple[str, Grouping], str] = {}
    for table in tables:
        for name, grouping in zip(table.attributes, table.groupings, strict=False):
            if grouping and (name, grouping) not in names:
                names[name, grouping] = _new_name(f"{name} {len(names)}", records.domain)
    grouped = records.with_groups({new: old for old, new in names.items()})
    families = [
        tuple(
            names[name, grouping] if grouping else name
            for name, grouping in zip(
                table.attributes, table.groupings or ((),) * len(table.attributes), strict=True
            )
        )
        for table in tables
    ]
    for table, counts in zip(tables, grouped.marginals(families), strict=True):
        yield table.weight * counts


def _new_name(name: str, domain: Domain) -> str:
    """Lengthen a name until no attribute has it."""
    while name in domain.labels:
        name += "'"
    return name


def measured_tables(
    domain: Domain,
    tables: Sequence[PlannedTable],
    cells: npt.NDArray[np.int64],
    *,
    variance: float,
    rows: int,
) -> list[MeasuredTable]:
    """Divide a batch's sums, whose noise has this variance, into tables of frequencies."""
    ends = np.cumsum([table.cells(domain) for table in tables])[:-1]
    return [
        MeasuredTable(
            table,
            part.reshape(table.shape(domain)) / (table.weight * rows),
            variance / (table.weight * rows) ** 2,
        )
        for table, part in zip(tables, np.split(cells, ends), strict=True)
    ]
