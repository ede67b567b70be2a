"""Marginals: tables of numbers over some attributes, closed under a few operations.

A marginal may hold counts, frequencies, noisy estimates with negative cells, or a conditional
distribution; it does not know which. Operations between two of them line their attributes up by
name, and the result has the attributes of both:

    joint.project(["sex"])              sum all others out
    table + (mean - table.project(s)) / cells
    joint / joint.project(parents)      a conditional distribution; where the denominator is 0 the quotient is 0, as in the
                                        propagation on junction trees (Lauritzen and Spiegelhalter
                                        1988)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain

__all__ = ["Marginal", "Numbers"]

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Numbers over some attributes: an axis of `values` for each, in order.

    >>> table = Marginal(("sex", "rich"), np.array([[10.0, 5.0], [5.0, 10.0]]))
    >>> table.project(["rich"]).values.tolist()
    [15.0, 15.0]
    """

    attributes: tuple[str, ...]
    values: Numbers

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.attributes) or len(set(self.attributes)) < len(
            self.attributes
        ):
            shape = "x".join(map(str, self.values.shape))
            raise ValueError(
                f"expected an axis for each of {', '.join(self.attributes)}, found an array of {shape or 'one'}"
            )

    @classmethod
    def of(cls, domain: Domain, attributes: Sequence[str], cells: npt.ArrayLike) -> Marginal:
        """Shape cells that come in row-major order."""
        return cls(
            tuple(attributes), np.asarray(cells, dtype=np.float64).reshape(domain.shape(attributes))
        )

    @classmethod
    def uniform(cls, domain: Domain, attributes: Sequence[str]) -> Marginal:
        shape = domain.shape(attributes)
        return cls(tuple(attributes), np.full(shape, 1 / prod(shape)))

    @property
    def cells(self) -> int:
        return self.values.size

    @property
    def total(self) -> float:
        return float(self.values.sum())

    def covers(self, attributes: Sequence[str]) -> bool:
        return set(attributes) <= set(self.attributes)

    def project(self, attributes: Sequence[str]) -> Marginal:
        """Sum out all other attributes; what is left stands in the order given."""
        if not self.covers(attributes):
            raise ValueError(
                f"expected attributes among {', '.join(self.attributes)}, found {', '.join(attributes)}"
            )
        kept = [name for name in self.attributes if name in attributes]
        summed = self.values.sum(
            axis=tuple(at for at, name in enumerate(self.attributes) if name not in attributes)
        )
        return Marginal(
            tuple(attributes), np.transpose(summed, [kept.index(name) for name in attributes])
        )

    def expand(self, domain: Domain, attributes: Sequence[str]) -> Marginal:
        """Repeat the numbers along attributes that are new."""
        return Marginal(
            tuple(attributes), np.broadcast_to(self._along(attributes), domain.shape(attributes))
        )

    def map(self, function: Callable[[Numbers], Numbers]) -> Marginal:
        """Apply a function to all numbers at once, such as a projection."""
        return Marginal(self.attributes, function(self.values))

    def normalise(self) -> Marginal:
        """Make the numbers sum to 1; they must not be negative, nor all 0."""
        if self.values.min() < 0 or not self.total > 0:
            raise ValueError(
                f"expected numbers that are not negative, nor all 0, found a sum of {self.total:g}"
            )
        return self / self.total

    def distance(self, other: Marginal) -> float:
        """Compute the total variation distance: half the sum of absolute differences."""
        return float(np.abs((self - other).values).sum()) / 2

    def __add__(self, other: Marginal | float) -> Marginal:
        return self._with(other, np.add)

    def __sub__(self, other: Marginal | float) -> Marginal:
        return self._with(other, np.subtract)

    def __mul__(self, other: Marginal | float) -> Marginal:
        return self._with(other, np.multiply)

    def __truediv__(self, other: Marginal | float) -> Marginal:
        return self._with(other, _quotient)

    def _with(
        self, other: Marginal | float, operation: Callable[[Numbers, Numbers], Numbers]
    ) -> Marginal:
        if not isinstance(other, Marginal):
            return Marginal(self.attributes, operation(self.values, np.float64(other)))  # type: ignore[arg-type]
        both = self.attributes + tuple(
            name for name in other.attributes if name not in self.attributes
        )
        return Marginal(both, operation(self._along(both), other._along(both)))  # noqa: SLF001 - of the same class

    def _along(self, attributes: Sequence[str]) -> Numbers:
        """Lay the axes along `attributes`, of length 1 where an attribute is not ours."""
        if missing := set(self.attributes) - set(attributes):
            raise ValueError(
                f"expected attributes that include {', '.join(sorted(missing))}, found {', '.join(attributes)}"
            )
        order = [self.attributes.index(name) for name in attributes if name in self.attributes]
        sizes = dict(zip(self.attributes, self.values.shape, strict=True))
        return self.values.transpose(order).reshape([sizes.get(name, 1) for name in attributes])


def _quotient(numerator: Numbers, denominator: Numbers) -> Numbers:
    over, under = np.broadcast_arrays(numerator, denominator)
    return np.asarray(np.divide(over, under, out=np.zeros(over.shape), where=under != 0))
