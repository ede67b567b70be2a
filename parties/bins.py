"""Bins: the rule of a numeric attribute, of numbers or dates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.domain import MAX_LABELS
from .date_texts import Period, day_text, period_edges, period_text, read_day
from .number_steps import edges_in_steps
from .number_texts import PLAIN, NumberForm
from .rules import ABSENT, INVALID, Missing, Rule

__all__ = ["Bins", "NumberKind", "has_whole_numbers"]

NumberKind: TypeAlias = Literal["numbers", "integers", "dates"]
"""What an attribute with bins holds; a date counts as its days since 1970-01-01."""

MAX_WHOLE: Final = 2.0**53
"""The greatest edge of whole numbers: floating-point numbers tell all whole ones apart up to it."""
SHOWN_EDGES: Final = 20


class Bins(Rule, frozen=True, kw_only=True, tag=True):
    """The bins of a numeric attribute.

    They are open on the left and closed on the right; the first is closed on both sides.
    """

    edges: tuple[float, ...]
    kind: NumberKind = "numbers"
    clip: bool = False
    """Whether a number outside belongs to the nearest bin, and whatever is none to the middle one.

    Otherwise both are refused.
    """
    form: NumberForm = PLAIN
    """How numbers are written."""
    formats: tuple[str, ...] = ()
    """Formats of dates; none is 2024-01-31."""
    by: Period | None = None
    """The periods of which bins of dates are."""
    step: float | None = None
    """Published numbers are multiples of it."""
    unreadable: Literal["refuse", "missing"] = "refuse"
    """Whether a text that is no number, or no date, is refused or counts as missing."""

    def __post_init__(self) -> None:
        count = len(self.edges)
        is_rising = all(low < high for low, high in pairwise(self.edges))
        if not 2 <= count <= MAX_LABELS or not is_rising or not np.isfinite(self.edges).all():
            edges = list(self.edges) if count < SHOWN_EDGES else f"{count} of them"
            raise ValueError(
                f"expected 2 to {MAX_LABELS} finite bin edges that rise, found {edges}"
            )
        if self.kind != "numbers" and not has_whole_numbers(self.edges):
            unit = "day" if self.kind == "dates" else "whole number"
            raise ValueError(
                f"expected a {unit} in every bin of {self.kind}, and no edge beyond 2**53, "
                "found another bin: use fewer bins, or numbers"
            )
        if self.step is not None:
            self._check_step(self.step)
        if self.unreadable == "missing" and self.missing == "refuse":
            raise ValueError('expected missing beside unreadable: "category" or "drop"')
        self.check_missing(self.bin_labels)

    def _check_step(self, step: float) -> None:
        if self.kind == "dates":
            raise ValueError("expected a step beside numbers, found it beside dates: say by")
        if not 0 < step < np.inf or (self.kind == "integers" and not step.is_integer()):
            what = "a whole number" if self.kind == "integers" else "a number"
            raise ValueError(f"expected {what} above 0 for step, found {step:g}")
        if not has_whole_numbers(edges_in_steps(self.edges, step)):
            raise ValueError(
                f"expected a multiple of the step {step:g} in every bin, found another bin: use "
                "fewer bins, or a smaller step"
            )

    @classmethod
    def of_periods(cls, low: float, high: float, *, by: Period) -> Bins:
        """Make bins of dates: the whole periods from one day to another."""
        return cls(edges=period_edges(low, high, by), kind="dates", by=by)

    @classmethod
    def equal(cls, low: float, high: float, *, bins: int, missing: Missing = "refuse") -> Bins:
        """Make bins of equal width."""
        inner = (low + (high - low) * i / bins for i in range(bins))
        return cls(edges=(*inner, high), missing=missing)

    @property
    def fallback(self) -> int | None:
        return (len(self.edges) - 1) // 2 if self.clip else None

    @property
    def bin_labels(self) -> tuple[str, ...]:
        """Labels of the bins, without that of absent values."""
        if self.by is not None:
            return tuple(period_text(edge, self.by) for edge in self.edges[1:])
        texts = [*map(day_text, self.edges)] if self.kind == "dates" else _format_edges(self.edges)
        return tuple(
            f"{'[' if index == 0 else '('}{low}, {high}]"
            for index, (low, high) in enumerate(pairwise(texts))
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return self.with_missing(self.bin_labels)

    def description(self, name: str) -> str:
        """Describe the valid values of the attribute in an error message."""
        if self.kind == "dates":
            first, last = day_text(np.ceil(self.edges[0])), day_text(self.edges[-1])
            return f"a date from {first} to {last} for {name}"
        return f"a number from {self.edges[0]:g} to {self.edges[-1]:g} for {name}"

    def bins_of(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Find the bin of each number, which may be INVALID; NaN is."""
        # side="left": a value on an edge belongs to the bin that ends there.
        bins = np.maximum(np.searchsorted(self.edges, numbers, side="left") - 1, 0)
        if self.clip:
            return np.where(np.isnan(numbers), INVALID, np.minimum(bins, len(self.edges) - 2))
        is_inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
        return np.where(is_inside, bins, INVALID).astype(np.int64)

    def read(self, text: str) -> float:
        """Read a number, or a date as a number of days. Any other text gives NaN."""
        return read_day(text, self.formats) if self.kind == "dates" else self.form.read(text)

    def codes_of_numbers(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Find the bin of each number, which may be ABSENT or INVALID; NaN is INVALID.

        A number outside the bins may stand for an absent value, also where others are clipped.
        """
        bins = self.bins_of(numbers)
        if self.missing == "refuse":
            return bins
        absent = [value for text in self.missing_as if np.isfinite(value := self.read(text))]
        is_outside = ~((numbers >= self.edges[0]) & (numbers <= self.edges[-1]))
        is_absent = np.isin(numbers, absent)
        if self.unreadable == "missing":
            is_absent |= np.isinf(numbers)
        return np.where(is_outside & is_absent, ABSENT, bins)

    def codes_of(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the bin of each text, which may be ABSENT or INVALID.

        A text is a number or a date, or the label of a bin as in a published table.
        """
        codes = {label: code for code, label in enumerate(self.bin_labels)}
        numbers = np.array([self.read(text) for text in texts], np.float64)
        bins = self.codes_of_numbers(numbers)
        others = [codes.get(text, ABSENT if self.is_absent(text) else INVALID) for text in texts]
        codes_of_texts = np.where(bins == INVALID, np.array(others, np.int64), bins)
        if self.unreadable == "missing":
            codes_of_texts = np.where(
                (codes_of_texts == INVALID) & ~np.isfinite(numbers), ABSENT, codes_of_texts
            )
        return codes_of_texts


def has_whole_numbers(edges: Sequence[float]) -> bool:
    """Tell whether every bin has a whole number, and none that is rounded.

    >>> has_whole_numbers([0, 0.5, 1]), has_whole_numbers([0, 0.5, 0.9])
    (True, False)
    """
    ends = np.floor(edges)
    if max(-edges[0], edges[-1]) > MAX_WHOLE:
        return False
    return bool(np.ceil(edges[0]) <= ends[1] and (ends[2:] > ends[1:-1]).all())


def _format_edges(edges: tuple[float, ...]) -> list[str]:
    """Format edges with the fewest digits that keep them apart.

    Each may be off by a thousandth of the narrowest bin.
    """
    tolerance = min(high - low for low, high in pairwise(edges)) / 1000
    for digits in range(6, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(edges) and all(
            abs(float(text) - edge) <= tolerance for text, edge in zip(texts, edges, strict=True)
        ):
            break
    return texts
