"""Marginals: tables of numbers over some attributes, with a few operations.

A marginal may hold counts, frequencies, noisy estimates with negative cells, or a conditional
distribution. It does not know which. An operation between two marginals matches their attributes by
name, and its result has the attributes of both:

    joint.project(["sex"])                     the sum over all other attributes
    table + (mean - table.project(s)) / cells
    joint / joint.project(parents)             a conditional distribution

If the denominator is 0 the quotient is 0, as in propagation on junction trees (Lauritzen and
Spiegelhalter 1988).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import WorkKind, count_work
from ..privacy.domain import Domain

__all__ = ["Codes", "Marginal", "Numbers"]

Numbers: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.integer[Any]]
"""Codes of one attribute, an element a row of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Numbers over some attributes, with an axis of `values` for each, in order.

    >>> table = Marginal(("sex", "rich"), np.array([[10.0, 5.0], [5.0, 10.0]]))
    >>> table.project(["rich"]).values.tolist()
    [15.0, 15.0]
    """

    attributes: tuple[str, ...]
    values: Numbers

    def __post_init__(self) -> None:
        count_work(WorkKind.TABLE, 1)
        count_work(WorkKind.CELL, self.values.size)
        if self.values.ndim != len(self.attributes) or len(set(self.attributes)) < len(
            self.attributes
        ):
            shape = "x".join(map(str, self.values.shape))
            raise ValueError(
                f"expected an axis for each of {', '.join(self.attributes)}, "
                f"found an array of {shape or 'one'}"
            )

    @classmethod
    def of(cls, domain: Domain, attributes: Sequence[str], cells: npt.ArrayLike) -> Marginal:
        """Make a marginal of cells in row-major order."""
        return cls(
            tuple(attributes), np.asarray(cells, dtype=np.float64).reshape(domain.shape(attributes))
        )

    @classmethod
    def uniform(cls, domain: Domain, attributes: Sequence[str]) -> Marginal:
        shape = domain.shape(attributes)
        return cls(tuple(attributes), np.full(shape, 1 / prod(shape)))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.values.size

    @property
    def total(self) -> float:
        return float(self.values.sum())

    def covers(self, attributes: Sequence[str]) -> bool:
        return set(attributes) <= set(self.attributes)

    def project(self, attributes: Sequence[str]) -> Marginal:
        """Sum over all other attributes; the axes follow the order of `attributes`."""
        if not self.covers(attributes):
            raise ValueError(
                f"expected attributes among {', '.join(self.attributes)}, "
                f"found {', '.join(attributes)}"
            )
        remaining = [name for name in self.attributes if name in attributes]
        axes = [axis for axis, name in enumerate(self.attributes) if name not in attributes]
        sums = self.values.sum(axis=tuple(axes))
        order = [remaining.index(name) for name in attributes]
        return Marginal(tuple(attributes), np.transpose(sums, order))

    def expand(self, domain: Domain, attributes: Sequence[str]) -> Marginal:
        """Repeat the numbers along new attributes."""
        values = np.broadcast_to(self._aligned(attributes), domain.shape(attributes))
        return Marginal(tuple(attributes), values)

    def map(self, function: Callable[[Numbers], Numbers]) -> Marginal:
        """Apply a function, such as a projection, to the array of all numbers."""
        return Marginal(self.attributes, function(self.values))

    def normalise(self) -> Marginal:
        """Divide the numbers by their sum. None may be negative, and not all may be 0."""
        if self.values.min() < 0 or not self.total > 0:
            raise ValueError(
                "expected numbers of which none is negative and not all are 0, "
                f"found a sum of {self.total:g}"
            )
        return self / self.total

    def distance(self, other: Marginal) -> float:
        """Compute the total variation distance: half the sum of absolute differences."""
        return float(np.abs((self - other).values).sum()) / 2

    def __add__(self, other: Marginal | float) -> Marginal:
        return self._combined(other, np.add)

    def __sub__(self, other: Marginal | float) -> Marginal:
        return self._combined(other, np.subtract)

    def __mul__(self, other: Marginal | float) -> Marginal:
        return self._combined(other, np.multiply)

    def __truediv__(self, other: Marginal | float) -> Marginal:
        return self._combined(other, _quotient)

    def _combined(
        self, other: Marginal | float, operation: Callable[[Numbers, Numbers], Numbers]
    ) -> Marginal:
        if not isinstance(other, Marginal):
            return Marginal(self.attributes, operation(self.values, np.asarray(other, np.float64)))
        new = tuple(name for name in other.attributes if name not in self.attributes)
        attributes = (*self.attributes, *new)
        values = operation(self._aligned(attributes), other._aligned(attributes))  # noqa: SLF001 - of the same class
        return Marginal(attributes, values)

    def _aligned(self, attributes: Sequence[str]) -> Numbers:
        """Order the axes as `attributes`; an attribute that this marginal lacks has length 1."""
        if missing := set(self.attributes) - set(attributes):
            raise ValueError(
                f"expected attributes that include {', '.join(sorted(missing))}, "
                f"found {', '.join(attributes)}"
            )
        order = [self.attributes.index(name) for name in attributes if name in self.attributes]
        sizes = dict(zip(self.attributes, self.values.shape, strict=True))
        return self.values.transpose(order).reshape([sizes.get(name, 1) for name in attributes])


def _quotient(numerator: Numbers, denominator: Numbers) -> Numbers:
    over, under = np.broadcast_arrays(numerator, denominator)
    return np.asarray(np.divide(over, under, out=np.zeros(over.shape), where=under != 0))
