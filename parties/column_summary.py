"""What inference keeps of a column, block by block, and the rule that follows from it.

Identifiers are refused, as each would be published as a category: texts most of which occur once,
and whole numbers that number the rows.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from ..messages import Private, UsageError
from ..privacy.domain import MAX_LABELS
from .bins import Bins, has_whole_numbers
from .categories import Categories, CategoryKind
from .category_kinds import kind_of_texts
from .date_texts import choose_formats, day_number, read_day
from .number_columns import MIN_READABLE
from .number_steps import edges_in_steps, step_of_texts
from .number_texts import choose_form, has_leading_zeros, number
from .raw import Declared, RawColumn
from .rules import MISSING_TEXTS, Missing

__all__ = ["NO_VALUE", "ColumnSummary", "too_many_texts"]

MAX_NUMERIC_CATEGORIES: Final = 64
"""A column with more different numbers than this is numeric."""
MAX_FEW_VALUES: Final = 16
"""A column with at most so many different values has no identifiers.

In a small table many values of any attribute occur once.
"""
SAMPLE: Final = 200
"""Texts that are read once more before a column is refused."""
NO_VALUE: Final = "(none)"
"""The category of a column without a single value, because an attribute needs one."""


class ColumnSummary:
    """The different texts of one column as long as they may be categories, and its range."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()
        """Number of rows of each text."""
        self.rows = 0
        """Number of rows with a value."""
        self.low, self.high = math.inf, -math.inf
        self.has_only_numbers = True
        self.has_only_integers = True
        self.step: float | None = 1.0
        """The power of ten of which all numbers are multiples, if there is one."""
        self.has_codes = False
        """Whether a text begins with a zero that no number begins with."""
        self.has_infinity = False
        self.has_only_dates = True
        self.first_day, self.last_day = math.inf, -math.inf
        self.has_missing = False
        self.types: set[Declared | None] = set()
        """What the types of the blocks with values say."""
        self.listed: dict[str, None] = {}
        """Categories that the type of a column lists, in their order."""
        self._distinct: list[npt.NDArray[np.float64]] | None = []
        """The numbers of all blocks; `None` when two rows are known to have the same."""

    @property
    def declared(self) -> Declared | None:
        """What the type of the column says, if all blocks say the same."""
        return next(iter(self.types)) if len(self.types) == 1 else None

    def add(self, column: RawColumn) -> None:
        """Add a block of the column."""
        values = column.as_texts()
        if values.declared is not None or (values.places >= 0).any():
            self.types.add(values.declared)
        if values.declared in {"categorical", "ordered"}:
            self.listed.update(dict.fromkeys(values.texts))
        places, frequencies = np.unique(values.places, return_counts=True)
        counts: Counter[str] = Counter()
        for place, count in zip(places.tolist(), frequencies.tolist(), strict=True):
            counts[values.texts[place] if place >= 0 else MISSING_TEXTS[0]] += count
        self.has_missing |= not counts.keys().isdisjoint(MISSING_TEXTS)
        for text in MISSING_TEXTS:
            counts.pop(text, None)
        self.rows += counts.total()
        new = counts.keys() - self.counts.keys()
        numbers = np.array([number(text) for text in new])
        self.has_only_integers &= all(_is_whole(text) for text in new)
        if self.step is not None and new:
            step = step_of_texts(new)
            self.step = None if step is None else min(self.step, step)
        if self.has_only_dates and new:
            days = np.array([day_number(text) for text in new])
            self.has_only_dates = not np.isnan(days).any()
            self.first_day = min(self.first_day, float(days.min()))
            self.last_day = max(self.last_day, float(days.max()))
        finite = numbers[np.isfinite(numbers)]
        self.has_codes |= has_leading_zeros(new)
        self.has_infinity |= bool(np.isinf(numbers).any())
        self.has_only_numbers &= len(finite) == len(new) and not self.has_codes
        if len(finite):
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))
        if self._distinct is not None:
            is_repeated = len(new) < len(counts) or counts.total() > len(counts)
            self._distinct = None if is_repeated else [*self._distinct, finite]
        self.counts.update({text: counts[text] for text in counts.keys() - new})
        if len(self.counts) <= MAX_LABELS:
            self.counts.update({text: counts[text] for text in new})
        has_bins = self.has_only_numbers or self.has_only_dates
        if not has_bins and len(self.counts) > MAX_LABELS:
            raise too_many_texts(self.name)

    def rule(self) -> Categories | Bins:
        """Choose a rule. Numbers have a single bin until the summaries are merged.

        Raises:
            UsageError: The column holds identifiers, or too many different texts.
        """
        missing: Missing = "category" if self.has_missing else "refuse"
        if self.declared in {"categorical", "ordered"} and self.listed:
            texts = tuple(text for text in self.listed if text not in MISSING_TEXTS)
            if len(texts) + self.has_missing > MAX_LABELS:
                raise too_many_texts(self.name)
            kind: CategoryKind = "ordered" if self.declared == "ordered" else "categorical"
            return Categories(categories=texts or (NO_VALUE,), kind=kind, missing=missing)
        is_wide = len(self.counts) > MAX_NUMERIC_CATEGORIES or self._is_mostly_unique
        if self._numbers_rows:
            raise self._identifiers("whole numbers that number the rows")
        self._refuse_infinity()
        is_texts = self.declared == "texts"
        if self.has_only_numbers and is_wide and is_texts:
            raise self._numbers_as_texts()
        if self.has_only_numbers and is_wide and self.low < self.high:
            edges = (self.low, self.high)
            is_whole = self.has_only_integers and has_whole_numbers(edges)
            if is_whole:
                return Bins(edges=edges, kind="integers", missing=missing)
            return Bins(edges=edges, step=self._step_within(edges), missing=missing)
        if self.has_only_dates and is_wide and self.first_day < self.last_day:
            return Bins(edges=(self.first_day, self.last_day), kind="dates", missing=missing)
        if self._is_mostly_unique:
            raise self._identifiers("most of which occur once")
        self._refuse_numbers_with_texts()
        if len(self.counts) + self.has_missing > MAX_LABELS:
            raise too_many_texts(self.name)
        texts = tuple(sorted(self.counts)) or (NO_VALUE,)
        kind = "texts" if is_texts else kind_of_texts(texts)
        return Categories(categories=texts, kind=kind, missing=missing)

    def _step_within(self, edges: tuple[float, ...]) -> float | None:
        """Give the step, unless numbers are too large to count in it."""
        is_fine = self.step is not None and has_whole_numbers(edges_in_steps(edges, self.step))
        return self.step if is_fine else None

    @property
    def _is_mostly_unique(self) -> bool:
        """Whether more than half of the rows have a value that no other row has."""
        unique = sum(count == 1 for count in self.counts.values())
        return len(self.counts) > MAX_FEW_VALUES and 2 * unique > self.rows

    @property
    def _numbers_rows(self) -> bool:
        """Whether the values are different whole numbers with few gaps between them."""
        if not self.has_only_numbers or self.rows <= MAX_NUMERIC_CATEGORIES or not self._distinct:
            return False
        numbers = np.concatenate(self._distinct)
        is_dense = self.high - self.low < 2 * self.rows and len(np.unique(numbers)) == self.rows
        return bool(is_dense and (numbers == np.floor(numbers)).all())

    def _refuse_numbers_with_texts(self) -> None:
        """Refuse a column of many numbers in which one value of ten at most is a text.

        Each number would become a category, and the texts mostly stand for missing values.
        """
        texts = {text: n for text, n in self.counts.items() if not math.isfinite(number(text))}
        numbers = len(self.counts) - len(texts)
        if numbers <= MAX_NUMERIC_CATEGORIES or 10 * sum(texts.values()) > self.rows or not texts:
            return
        example = max(texts, key=lambda text: texts[text])
        raise UsageError(
            f"expected numbers or categories in {self.name!r}, found ",
            Private(f"{numbers:,} different numbers and {example!r} in {texts[example]:,} rows"),
            ": if it stands for a missing value, write it into missing_as of a schema, as "
            f"`sottovoce schema` does, or leave the column out, --drop {shlex.quote(self.name)}",
        )

    def _refuse_infinity(self) -> None:
        """Refuse numbers among which one is infinite: no bins reach so far."""
        numbers = sum(math.isfinite(number(text)) for text in self.counts)
        if self.has_infinity and numbers > MAX_NUMERIC_CATEGORIES:
            raise UsageError(
                f"expected finite numbers in {self.name!r}, found an infinite one: replace it in "
                "the table, or write it into missing_as of a schema"
            )

    def _numbers_as_texts(self) -> UsageError:
        return UsageError(
            f"expected numbers or categories in {self.name!r}, found ",
            Private(f"{self._different} different numbers in {self.rows:,} rows"),
            " in a column of texts: convert it, with astype(float) if they are measurements or "
            "astype('category') if they are names, or give a schema, as `sottovoce schema` does",
        )

    def _identifiers(self, what: str) -> UsageError:
        return UsageError(
            f"expected categories or measurements in {self.name!r}, found ",
            Private(f"{self._different} different values in {self.rows:,} rows"),
            f", {what}: {_way_out(self.name)}",
            Private(_in_another_notation(list(islice(self.counts, SAMPLE)))),
        )

    @property
    def _different(self) -> str:
        if self._distinct is not None and self.has_only_numbers:
            return f"{self.rows:,}"
        return f"{'more than ' if len(self.counts) > MAX_LABELS else ''}{len(self.counts):,}"


def too_many_texts(name: str) -> UsageError:
    return UsageError(
        "expected a table of categories and numbers, "
        f"found more than {MAX_LABELS} different texts in {name!r}: {_way_out(name)}"
    )


def _in_another_notation(texts: Sequence[str]) -> str:
    """Say if most texts are numbers or dates in a notation that only a schema can describe."""
    form, _ = choose_form(texts)
    numbers = sum(
        math.isfinite(form.read(text)) and not math.isfinite(number(text)) for text in texts
    )
    formats, _ = choose_formats(Counter(texts))
    dates = sum(not math.isnan(read_day(text, formats)) for text in texts) if formats else 0
    if max(numbers, dates) < MIN_READABLE * len(texts):
        return ""
    what = "numbers" if numbers >= dates else "dates"
    return f"; most are {what} in another notation: `sottovoce schema` proposes bins for them"


def _is_whole(text: str) -> bool:
    """Tell whether a text is a whole number, with a sign and blanks around it or not."""
    return text.strip().removeprefix("-").removeprefix("+").isdecimal()


def _way_out(name: str) -> str:
    return f"leave it out, --drop {shlex.quote(name)}, or give --schema"
