"""The exact value behind a release, and how far it is from the value of a neighbouring dataset.

Every mechanism shows its exact value, so that tests can compare the change that one record makes
with the stated sensitivity. No value leaves in this way: only the conformance suite asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["ExactValue", "Inspectable", "Norm"]

Norm: TypeAlias = Literal["L1", "L2", "max", "spread", "records"]
"""How a sensitivity bounds the change of an exact value.

`L1`, `L2` and `max` are norms of the change of all numbers. `spread` is for choices, in which only
differences of scores matter: half of the largest change of a difference, summed over the parts.
`records` counts the records whose answers differ: an answer is a row of the first part. Where a
record has several, the second part has the record of each.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ExactValue:
    """Numbers that a release would show without noise."""

    parts: tuple[npt.NDArray[Any], ...] = field(repr=False)
    norm: Norm

    def __post_init__(self) -> None:
        """Take plain numbers as arrays, too."""
        arrays = tuple(np.array(np.asarray(part), np.float64) for part in self.parts)
        object.__setattr__(self, "parts", arrays)

    @classmethod
    def of(cls, *parts: npt.ArrayLike, norm: Norm) -> ExactValue:
        """Take numbers from records, without the mark that they are exact."""
        return cls(tuple(map(np.asarray, parts)), norm)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactValue):
            return NotImplemented
        pairs = zip(self.parts, other.parts, strict=False)
        same = len(self.parts) == len(other.parts) and all(np.array_equal(*pair) for pair in pairs)
        return same and self.norm == other.norm

    __hash__ = None  # type: ignore[assignment]  # it is compared only

    def change(self, other: ExactValue) -> float:
        """Compute how far another value is, in the norm in which the sensitivity bounds it.

        Raises:
            ValueError: the two are not numbers of the same shapes.

        >>> ExactValue.of([3, 4], norm="L1").change(ExactValue.of([5, 3], norm="L1"))
        3.0
        >>> bits = ExactValue.of([0, 1, 1, 0], norm="records")
        >>> bits.change(ExactValue.of([1, 1, 0, 0], norm="records"))
        2.0
        >>> of_two = ExactValue.of([0, 1, 1, 0], [7, 7, 8, 8], norm="records")
        >>> of_two.change(ExactValue.of([1, 0, 1, 0], [7, 7, 8, 8], norm="records"))
        1.0
        """
        shapes = [part.shape for part in self.parts]
        if (other.norm, [part.shape for part in other.parts]) != (self.norm, shapes):
            raise ValueError("expected exact values of the same shapes, found others")
        if self.norm == "records":
            answers, *numbers = self.parts
            records = numbers[0] if numbers else np.arange(len(answers))
            differ = answers != other.parts[0]
            if differ.ndim > 1:
                differ = differ.reshape(len(differ), -1).any(axis=1)
            return float(len(np.unique(records[differ])))
        changes = [new - old for old, new in zip(self.parts, other.parts, strict=True)]
        if self.norm == "spread":
            return float(sum(np.ptp(change) / 2 for change in changes if change.size))
        flat = np.concatenate([np.abs(change).reshape(-1) for change in changes])
        match self.norm:
            case "L1":
                return float(flat.sum())
            case "L2":
                return float(np.sqrt((flat**2).sum()))
            case "max":
                return float(flat.max(initial=0.0))


@runtime_checkable
class Inspectable(Protocol):
    """A mechanism that shows its exact value."""

    def exact_value(self) -> ExactValue:
        """Return what a release would show without noise. Called by the conformance suite alone."""
