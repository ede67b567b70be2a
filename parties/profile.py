"""Profiles: what a schema is proposed from, column by column, without keeping a table.

A profile counts the rows of each different text. Of many texts it keeps a part that their own
digests choose, so that the order of rows does not matter: of 2^20 different texts each eighth. Each
stands then for eight. Profiles hold raw data, so they stay with whoever has the table.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from .number_texts import number
from .raw import Declared, NumberColumn, RawColumn, RawTable
from .rules import MISSING_TEXTS

__all__ = ["MISSING_WORDS", "NUMBER_CODES", "ColumnProfile", "profile_table"]

MAX_KEPT: Final = 1 << 17
"""Different texts of a column that are kept: a table of 131,072 rows is counted exactly."""
MISSING_WORDS: Final = (
    *("n", "na", "n.a.", "n/a", "#n/a", "#na", "nan", "<na>", "null", "nil", "none", "-", "--"),
    *("---", ".", "..", "?", "??", "x", "u", "unk", "unknown", "unbekannt", "k.a.", "missing"),
    *("not available", "not known", "not recorded", "not done", "tbd", "", "no data"),
)
"""What people write for a number or a date that is not there, in small letters."""
NUMBER_CODES: Final = (
    -1.0,
    *(sign * float(digit * length) for sign in (1, -1) for digit in "98" for length in range(1, 9)),
)
"""What people write for a missing number: -1, or the digit 9 or 8 up to eight times."""
ALWAYS_KEPT: Final = frozenset({*NUMBER_CODES, 0.0})


@dataclass
class _Thinned:
    """Counts of texts, of which a part is kept when there are too many."""

    counts: Counter[str] = field(default_factory=Counter)
    bits: int = 0
    """The digest of a text that is kept has so many zeros at its end."""

    def add(self, counts: Counter[str]) -> None:
        for text, count in counts.items():
            if text in self.counts or self._is_kept(text):
                self.counts[text] += count
        while len(self.counts) > MAX_KEPT:
            self.bits += 1
            self.counts = Counter({t: n for t, n in self.counts.items() if self._is_kept(t)})

    def _is_kept(self, text: str) -> bool:
        if not self.bits or zlib.crc32(text.encode()) & ((1 << self.bits) - 1) == 0:
            return True
        return len(text) <= 10 and number(text) in ALWAYS_KEPT

    def weights(self) -> dict[str, int]:
        """Give the rows of each text that is kept, and of those for which it stands."""
        return {
            text: count * (1 if number(text) in ALWAYS_KEPT else 1 << self.bits)
            for text, count in self.counts.items()
        }


class ColumnProfile:
    """What is known of one column of a table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.nulls = 0
        self.types: set[Declared | None] = set()
        """What the types of the blocks with values say."""
        self.has_float_type = False
        """Whether the source says that the column has numbers that need not be whole."""
        self.listed: dict[str, None] = {}
        """Categories that the type of the column lists, in their order."""
        self.low, self.high = np.inf, -np.inf
        """The range of plain numbers, without those that are often codes."""
        self._numbers, self._texts = _Thinned(), _Thinned()
        self._rows_digest = 0

    @property
    def rows_digest(self) -> int:
        """A checksum of the values of all rows in their order, equal for equal columns."""
        return self._rows_digest

    @property
    def declared(self) -> Declared | None:
        """What the type of the column says, if all blocks say the same."""
        return next(iter(self.types)) if len(self.types) == 1 else None

    def add(self, column: RawColumn) -> None:
        """Add a block of the column."""
        self.has_float_type = isinstance(column, NumberColumn) and column.is_float
        values = column.as_texts()
        if values.declared is not None or (values.places >= 0).any():
            self.types.add(values.declared)
        if values.declared in {"categorical", "ordered"}:
            self.listed.update(dict.fromkeys(values.texts))
        places, rows, frequencies = np.unique(
            values.places, return_inverse=True, return_counts=True
        )
        sums = [zlib.crc32(values.texts[place].encode()) if place >= 0 else -1 for place in places]
        self._rows_digest = zlib.crc32(np.array(sums, np.int64)[rows].tobytes(), self._rows_digest)
        numbers: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        for place, count in zip(places.tolist(), frequencies.tolist(), strict=True):
            self.rows += count
            if place < 0:
                self.nulls += count
                continue
            text = values.texts[place]
            value = number(text)
            if not np.isfinite(value):
                texts[text] += count
                continue
            numbers[text] += count
            if value not in ALWAYS_KEPT:
                self.low, self.high = min(self.low, value), max(self.high, value)
        self._numbers.add(numbers)
        self._texts.add(texts)

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each text, with those for which it stands."""
        return {**self._numbers.weights(), **self._texts.weights()}

    @property
    def plain(self) -> dict[str, int]:
        """Rows of each text that is a number as Python writes it."""
        return self._numbers.weights()

    @property
    def is_exact(self) -> bool:
        """Whether every text was counted."""
        return not (self._numbers.bits or self._texts.bits)

    @property
    def different(self) -> int:
        """Number of different texts; an estimate where not all are kept."""
        return sum(len(part.counts) << part.bits for part in (self._numbers, self._texts))

    @property
    def different_text(self) -> str:
        return f"{'' if self.is_exact else 'about '}{self.different:,}"

    @property
    def is_mostly_unique(self) -> bool:
        """Whether more than half of the rows with a value have one that no other row has."""
        counts = [
            (count << part.bits, count)
            for part in (self._numbers, self._texts)
            for text, count in part.counts.items()
            if text not in MISSING_TEXTS
        ]
        unique = sum(weight for weight, count in counts if count == 1)
        return 2 * unique > sum(weight for weight, _ in counts)


def profile_table(blocks: Iterable[RawTable]) -> list[ColumnProfile]:
    """Profile the columns of a table that is read block by block."""
    profiles: dict[str, ColumnProfile] = {}
    for block in blocks:
        for name, column in block.columns.items():
            profiles.setdefault(name, ColumnProfile(name)).add(column)
    return list(profiles.values())
