"""Rules: how the raw values of one attribute become codes.

An attribute has categories, or it is numeric and has bins. `Missing` says what becomes of an absent
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..privacy.domain import MAX_LABELS

__all__ = [
    "ABSENT",
    "INVALID",
    "MISSING_TEXTS",
    "Bins",
    "Categories",
    "Missing",
    "NumberKind",
    "day_number",
    "has_whole_numbers",
    "number",
]

Missing: TypeAlias = Literal["refuse", "category", "drop"]
"""Refuse an absent value, give it a category of its own, or drop its row."""

NumberKind: TypeAlias = Literal["numbers", "integers", "dates"]
"""What an attribute with bins holds; a date counts as its days since 1970-01-01."""

MISSING_TEXTS: Final = ("?", "", "NA", "N/A", "NaN", "nan", "<NA>", "null", "None")
"""Texts that stand for an absent value."""
ABSENT, INVALID = -1, -2
"""Codes of an absent value, and of a value outside the schema."""
EPOCH: Final = date(1970, 1, 1).toordinal()
MAX_WHOLE: Final = 2.0**53
"""The greatest edge of whole numbers: floating-point numbers tell all whole ones apart up to it."""
SHOWN_CATEGORIES: Final = 8
SHOWN_EDGES: Final = 20


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    missing: Missing = "refuse"
    missing_as: tuple[str, ...] = MISSING_TEXTS

    @property
    def fallback(self) -> int | None:
        """Code of every value that has no other code; `None` where such a value is refused."""
        return None

    def is_absent(self, text: str) -> bool:
        return self.missing != "refuse" and text in self.missing_as

    def with_missing(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Add the label of absent values, which is itself read as absent."""
        return (*labels, self.missing_as[0]) if self.missing == "category" else labels

    def check_missing(self, labels: tuple[str, ...]) -> None:
        if not self.missing_as:
            raise ValueError("expected at least one text in missing_as, found none")
        if len(self.with_missing(labels)) > MAX_LABELS:
            raise ValueError(
                f"expected at most {MAX_LABELS} labels, "
                f"found {len(labels)} and one for missing values"
            )
        if self.missing == "category" and self.missing_as[0] in labels:
            raise ValueError(
                "expected another category for missing values "
                f"than {self.missing_as[0]!r}, which is one"
            )


class Categories(_Rule, frozen=True, kw_only=True, tag=True):
    """An attribute with a public list of values."""

    categories: tuple[str, ...]
    other: str | None = None
    """Label of all values that are not listed; `None` refuses them."""

    def __post_init__(self) -> None:
        count = len(self.categories)
        least = 1 if self.other is None else 0
        if not least <= count <= MAX_LABELS or len(set(self.categories)) < count:
            raise ValueError(
                f"expected {least} to {MAX_LABELS} different categories, found {count}"
            )
        if self.other in self.categories:
            raise ValueError(
                f"expected a label that is no category for other, found {self.other!r}"
            )
        self.check_missing(self.listed)

    @property
    def listed(self) -> tuple[str, ...]:
        """Labels without that of absent values."""
        return self.categories if self.other is None else (*self.categories, self.other)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.with_missing(self.listed)

    @property
    def fallback(self) -> int | None:
        return None if self.other is None else len(self.categories)

    def description(self, name: str) -> str:
        """Describe the valid values of the attribute in an error message."""
        first = ", ".join(self.categories[:SHOWN_CATEGORIES])
        more = ", ..." if len(self.categories) > SHOWN_CATEGORIES else ""
        return f"a category of {name} ({first}{more})"

    def codes_of(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the code of each text, which may be ABSENT or INVALID."""
        codes = {label: code for code, label in enumerate(self.categories)}
        return np.array(
            [codes.get(text, ABSENT if self.is_absent(text) else INVALID) for text in texts],
            np.int64,
        )


class Bins(_Rule, frozen=True, kw_only=True, tag=True):
    """The bins of a numeric attribute.

    They are open on the left and closed on the right; the first is closed on both sides.
    """

    edges: tuple[float, ...]
    kind: NumberKind = "numbers"
    clip: bool = False
    """Whether a number outside belongs to the nearest bin, and whatever is none to the middle one.

    Otherwise both are refused.
    """

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
        self.check_missing(self.bin_labels)

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
        texts = [*map(_iso, self.edges)] if self.kind == "dates" else _format_edges(self.edges)
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
            return f"a date from {_iso(self.edges[0])} to {_iso(self.edges[-1])} for {name}"
        return f"a number from {self.edges[0]:g} to {self.edges[-1]:g} for {name}"

    def bins_of(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Find the bin of each number, which may be INVALID; NaN is."""
        # side="left": a value on an edge belongs to the bin that ends there.
        bins = np.maximum(np.searchsorted(self.edges, numbers, side="left") - 1, 0)
        if self.clip:
            return np.where(np.isnan(numbers), INVALID, np.minimum(bins, len(self.edges) - 2))
        is_inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
        return np.where(is_inside, bins, INVALID).astype(np.int64)

    def codes_of(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the bin of each text, which may be ABSENT or INVALID.

        A text is a number or a date, or the label of a bin as in a published table.
        """
        codes = {label: code for code, label in enumerate(self.bin_labels)}
        read = day_number if self.kind == "dates" else number
        bins = self.bins_of(np.array([read(text) for text in texts], np.float64))
        labels = [codes.get(text, ABSENT if self.is_absent(text) else INVALID) for text in texts]
        return np.where(bins == INVALID, np.array(labels, np.int64), bins)


def number(text: str) -> float:
    """Read a number as Python does. Any other text gives NaN."""
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def day_number(text: str) -> float:
    """Read a date, such as 2024-02-29, as days since 1970-01-01. Any other text gives NaN.

    A time after the date is left out.
    """
    if text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in ("", " ", "T"):
        return np.nan
    try:
        return float(date.fromisoformat(text[:10]).toordinal() - EPOCH)
    except ValueError:
        return np.nan


def has_whole_numbers(edges: Sequence[float]) -> bool:
    """Tell whether every bin has a whole number, and none that is rounded.

    >>> has_whole_numbers([0, 0.5, 1]), has_whole_numbers([0, 0.5, 0.9])
    (True, False)
    """
    ends = np.floor(edges)
    if max(-edges[0], edges[-1]) > MAX_WHOLE:
        return False
    return bool(np.ceil(edges[0]) <= ends[1] and (ends[2:] > ends[1:-1]).all())


def _iso(day: float) -> str:
    return date.fromordinal(int(day) + EPOCH).isoformat()


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
