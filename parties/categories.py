"""Categories: the rule of an attribute with a public list of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.domain import MAX_LABELS
from .clock_texts import HOURS, hour_name, is_clock_format, read_clock, write_clock
from .date_texts import MONTHS, WEEKDAYS, names_of_days, read_day
from .number_texts import number
from .rules import ABSENT, INVALID, Rule

__all__ = ["Categories", "CategoryKind"]

CategoryKind: TypeAlias = Literal[
    "texts",
    "categorical",
    "ordered",
    "integers",
    "numbers",
    "booleans",
    "weekdays",
    "months",
    "hours",
]
"""What an attribute with categories holds, as it is published.

"categorical" and "ordered" are categories of a DataFrame; "weekdays" and "months" are those of
dates, and "hours" those of times of day.
"""
CALENDAR: Final = {"weekdays": WEEKDAYS, "months": MONTHS, "hours": HOURS}
READ_AS_NUMBERS: Final = ("integers", "numbers")
BOOLEANS: Final = ("False", "True")
SHOWN_CATEGORIES: Final = 8


class Categories(Rule, frozen=True, kw_only=True, tag=True):
    """An attribute with a public list of values."""

    categories: tuple[str, ...]
    other: str | None = None
    """Label of all values that are not listed; `None` refuses them."""
    kind: CategoryKind = "texts"
    spellings: Mapping[str, str] = {}
    """Other texts, and the category that each of them stands for."""
    formats: tuple[str, ...] = ()
    """Formats of the dates of weekdays and months, or of times; none is 2024-01-31, and 14:05."""

    def __post_init__(self) -> None:
        self._check_kind()
        if wrong := [text for text in self.spellings.values() if text not in self.listed]:
            raise ValueError(f"expected spellings of categories, found one of {wrong[0]!r}")
        if wrong := [text for text in self.spellings if text in self.categories]:
            raise ValueError(f"expected other texts in spellings, found the category {wrong[0]!r}")
        count = len(self.categories)
        least = 1 if self.other is None else 0
        if not least <= count <= MAX_LABELS:
            raise ValueError(
                f"expected {least} to {MAX_LABELS} different categories, found {count}"
            )
        if len(set(self.categories)) < count:
            twice = next(name for name in self.categories if self.categories.count(name) > 1)
            raise ValueError(f"expected different categories, found {twice!r} twice")
        if self.other in self.categories:
            raise ValueError(
                f"expected a label that is no category for other, found {self.other!r}"
            )
        self.check_missing(self.listed)

    def _check_kind(self) -> None:
        """Refuse categories that are not what `kind` says."""
        if self.kind in CALENDAR and self.categories != CALENDAR[self.kind]:
            raise ValueError(f"expected the names of all {self.kind}, found other categories")
        wrong = [
            form for form in self.formats if self.kind == "hours" and not is_clock_format(form)
        ]
        if wrong:
            raise ValueError(
                f"expected formats of times of day, such as %H:%M or %I:%M %p, found {wrong[0]!r}"
            )
        is_number = [np.isfinite(number(text)) for text in self.categories]
        is_whole = [text.removeprefix("-").isdecimal() for text in self.categories]
        good = {
            "integers": all(is_whole),
            "numbers": all(is_number),
            "booleans": {*self.categories} <= {*BOOLEANS},
        }
        if not good.get(self.kind, True):
            raise ValueError(f"expected categories that are {self.kind}, found others")

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
        if self.kind == "hours":
            return f"a time of day such as {write_clock(50_700, self.formats)} for {name}"
        first = ", ".join(self.categories[:SHOWN_CATEGORIES])
        more = ", ..." if len(self.categories) > SHOWN_CATEGORIES else ""
        return f"a category of {name} ({first}{more})"

    def codes_of(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the code of each text, which may be ABSENT or INVALID."""
        codes = {label: code for code, label in enumerate(self.listed)}
        codes |= {text: codes[label] for text, label in self.spellings.items()}
        if self.other is not None and self.other not in self.spellings:
            del codes[self.other]  # a value that is not listed has this code, too: `fallback`
        codes_of_texts = [codes.get(text, INVALID) for text in texts]
        if self.kind in CALENDAR or self.kind in READ_AS_NUMBERS:
            codes_of_texts = self._read_again(texts, codes_of_texts)
        return np.array(
            [
                ABSENT if code == INVALID and self.is_absent(text) else code
                for text, code in zip(texts, codes_of_texts, strict=True)
            ],
            np.int64,
        )

    def _read_again(self, texts: Sequence[str], codes: list[int]) -> list[int]:
        """Find the codes of dates, and of numbers that are written otherwise, such as 1.0 for 1."""
        if self.kind in READ_AS_NUMBERS:
            values = {number(label): code for code, label in enumerate(self.categories)}
            read = [values.get(number(text), INVALID) for text in texts]
        else:
            names = self._names_of(texts)
            places = {name: code for code, name in enumerate(self.categories)}
            read = [places.get(name, INVALID) for name in names]
        return [other if code == INVALID else code for code, other in zip(codes, read, strict=True)]

    def _names_of(self, texts: Sequence[str]) -> list[str]:
        """Name the hour, the weekday or the month of each text; another text has an empty name."""
        if self.kind == "hours":
            return [hour_name(read_clock(text, self.formats)) for text in texts]
        kind: Literal["weekdays", "months"] = "months" if self.kind == "months" else "weekdays"
        return names_of_days((read_day(text, self.formats) for text in texts), kind=kind)
