"""Counting: the exact marginals of coded records.

Tables of attributes with more than two values are counted by adding each row to a small array. Rows
are processed in slices that stay in the cache. Tables that begin with the same attributes share the
arithmetic of these attributes.

Binary attributes are counted 64 rows at a time, with a bit for each row in words. The conjunction
of some attributes' words has a bit for each row in which all of them are 1. Every cell of a table
follows from such counts by inclusion and exclusion (the inverse of the superset sum). For example
n(a and not b) = n(a) - n(ab).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError, Private, WorkKind, count_work
from ..privacy.domain import Domain
from ..privacy.impossible import make_possible
from .raw import Change, Value

__all__ = ["CodedTable"]

Counts: TypeAlias = npt.NDArray[np.int64]
ColumnCodes: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
Words: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = tuple[int, ...]
"""A table to count: the places of its attributes in the domain."""

SLICE: Final = 1 << 15
"""Rows whose combined codes stay in the L1 cache."""
BATCH: Final = 1 << 22
"""Cells that are counted before they are returned."""
MAX_CELLS: Final = 1 << 31
"""Cells of one table."""
MAX_BITS: Final = 8
"""Attributes of a table that is counted by words; each doubles the inclusion and exclusion."""
WORDS: Final = 128
"""Words of each attribute that are counted at a time: 8,192 bits, which 16 bits can count."""
SETS: Final = 256
"""Conjunctions at a time, whose words stay in the L2 cache."""


class CodedTable:
    """Codes of a domain, an array for each attribute, with fast counting of marginals."""

    def __init__(
        self, codes: Sequence[ColumnCodes], domain: Domain, *, rows: int | None = None
    ) -> None:
        """`rows` is needed only if the domain has no attributes."""
        if len(codes) != len(domain.labels) or len({len(column) for column in codes}) > 1:
            raise MisuseError(
                f"expected {len(domain.labels)} columns of one length, found ",
                Private([len(column) for column in codes]),
            )
        self.codes = list(codes)
        self.domain = domain
        self._rows = rows if rows is not None else len(codes[0]) if codes else 0
        self._words: Words | None = None
        """A row of bits for each attribute, made when it is first needed."""

    def __len__(self) -> int:
        return self._rows

    def take(self, rows: npt.NDArray[np.int64]) -> CodedTable:
        """Keep only these rows."""
        return CodedTable([column[rows] for column in self.codes], self.domain, rows=len(rows))

    def changed(self, change: Change) -> CodedTable:
        """Change every column's codes to others of the domain, and make all rows possible."""
        codes = [
            change(column.astype(np.int64), len(labels)).astype(column.dtype)
            for column, labels in zip(self.codes, self.domain.labels.values(), strict=True)
        ]
        return CodedTable(codes, self.domain, rows=self._rows).possible()

    def lacking(self) -> dict[str, list[Value]]:
        """List the codes of the domain that occur in no row, of each attribute that has some."""
        by_name = {
            name: np.flatnonzero(np.bincount(column, minlength=len(labels)) == 0)[::-1].tolist()
            for column, (name, labels) in zip(self.codes, self.domain.labels.items(), strict=True)
        }
        return {name: codes for name, codes in by_name.items() if codes}

    def put(self, rows: npt.NDArray[np.int64], values: Mapping[str, Sequence[Value]]) -> CodedTable:
        """Put codes of some attributes into these rows in turn, and make all rows possible."""
        codes = [column.copy() for column in self.codes]
        for name, column in zip(self.domain.attributes, codes, strict=True):
            if name in values:
                column[rows] = np.resize(np.array(values[name]), len(rows)).astype(column.dtype)
        return CodedTable(codes, self.domain, rows=self._rows).possible()

    def with_column_of(self, other: CodedTable, attribute: str) -> CodedTable:
        """Take one column from another table of this domain, and leave all others as they are.

        A row that would be impossible with the other's value keeps its own.
        """
        place = self.domain.attributes.index(attribute)
        codes = [*self.codes]
        codes[place] = other.codes[place]
        possible = CodedTable(codes, self.domain, rows=self._rows).possible()
        changed = np.zeros(self._rows, np.bool_)
        for column, mapped in zip(codes, possible.codes, strict=True):
            changed |= column != mapped
        codes[place] = np.where(changed, self.codes[place], codes[place])
        return CodedTable(codes, self.domain, rows=self._rows)

    def possible(self) -> CodedTable:
        """Map rows that the domain rules out (`Domain.never`) to possible ones, each by itself.

        So neighbouring tables stay neighbouring.
        """
        if not self.domain.never:
            return self
        sizes = {name: len(labels) for name, labels in self.domain.labels.items()}
        columns = dict(zip(sizes, self.codes, strict=True))
        mapped = make_possible(self.domain.never, columns, sizes)
        codes: list[ColumnCodes] = [
            column.astype(before.dtype)
            for column, before in zip(mapped.values(), self.codes, strict=True)
        ]
        return CodedTable(codes, self.domain, rows=self._rows)

    def marginals(self, marginals: Sequence[Sequence[str]]) -> Iterator[Counts]:
        """Count these marginals in this order, each in row-major order of its attributes."""
        places = {name: place for place, name in enumerate(self.domain.attributes)}
        try:
            # A list comprehension is faster than a generator for many small tables.
            tables = [tuple([places[name] for name in attributes]) for attributes in marginals]
        except KeyError as error:
            self.domain.shape(error.args)  # raises the error that lists the attributes
            raise
        sizes = self.domain.shape(self.domain.attributes)
        cells = [prod([sizes[place] for place in table]) for table in tables]
        for attributes, table, count in zip(marginals, tables, cells, strict=True):
            if not table or len({*table}) < len(table) or count > MAX_CELLS:
                raise MisuseError(
                    "expected different attributes to count by, found ",
                    Private(", ".join(attributes) or "none"),
                )
        return self._batches(tables, cells, sizes)

    def _batches(
        self, tables: list[Places], cells: list[int], sizes: tuple[int, ...]
    ) -> Iterator[Counts]:
        start, filled = 0, 0
        for number, count in enumerate(cells):
            filled += count
            if filled >= BATCH or number + 1 == len(cells):
                yield from self._count(tables[start : number + 1], sizes)
                start, filled = number + 1, 0

    def _count(self, tables: list[Places], sizes: tuple[int, ...]) -> list[Counts]:
        binary = {place for place, size in enumerate(sizes) if size == 2}
        # Keys of sets of attributes are integers of 64 bits.
        max_bits = min(MAX_BITS, int(62 / np.log2(len(sizes) + 1)))
        by_words = [
            number
            for number, table in enumerate(tables)
            if len(table) <= max_bits and binary.issuperset(table)
        ]
        by_rows = sorted({*range(len(tables))}.difference(by_words), key=tables.__getitem__)
        tallies = self._count_rows([tables[number] for number in by_rows], sizes)
        counts: dict[int, Counts] = dict(zip(by_rows, tallies, strict=True))
        for ways in {len(tables[number]) for number in by_words}:
            numbers = [number for number in by_words if len(tables[number]) == ways]
            same_size = np.array([tables[number] for number in numbers])
            counts.update(zip(numbers, self._count_words(same_size), strict=True))
        return [counts[number] for number in range(len(tables))]

    def _count_rows(self, tables: list[Places], sizes: tuple[int, ...]) -> list[Counts]:
        """Count sorted tables by adding up rows."""
        counts = [np.zeros(prod(sizes[place] for place in table), np.int64) for table in tables]
        count_work(WorkKind.COUNTED, self._rows * len(tables))
        width = max(SLICE, *(len(cells) for cells in counts)) if counts else SLICE
        for start in range(0, self._rows, width):
            prefix: list[tuple[int, npt.NDArray[np.integer[Any]]]] = []
            """Attributes so far, each with the combined code of all up to it."""
            for number, table in enumerate(tables):
                shared = 0
                while shared < min(len(prefix), len(table)) and prefix[shared][0] == table[shared]:
                    shared += 1
                del prefix[shared:]
                for place in table[shared:]:
                    codes = self.codes[place][start : start + width]
                    if not prefix:
                        prefix.append((place, codes))
                        continue
                    combined, cells = prefix[-1][1], prod(sizes[p] for p, _ in prefix)
                    kind = np.dtype(np.uint16 if cells * sizes[place] < 1 << 16 else np.int64)
                    scaled = np.multiply(combined, sizes[place], dtype=kind, casting="unsafe")
                    prefix.append((place, scaled + codes))
                counts[number] += np.bincount(prefix[-1][1], minlength=len(counts[number]))
        return counts

    def count_ones(self, sets: npt.NDArray[np.int64]) -> Counts:
        """Count the rows in which all bits of a set are 1. Places rise along each row of `sets`."""
        sizes = self.domain.shape(self.domain.attributes)
        if not {sizes[place] for place in np.unique(sets).tolist()} <= {2}:
            raise MisuseError("expected sets of attributes with two labels, found others")
        return self._count_conjunctions(sets)

    def _count_words(self, tables: npt.NDArray[np.int64]) -> list[Counts]:
        """Count tables of binary attributes. Each row of `tables` has the places of one."""
        ways = tables.shape[1]
        counts = np.empty((len(tables), *(2,) * ways), np.int64)
        """First superset sums: cell (1, 0, 1) is the rows in which the first and third are 1,
        whatever the second. They become the tables in place.
        """
        for cell in np.ndindex(*(2,) * ways):
            ones = np.sort(tables[:, np.flatnonzero(cell)], axis=1)
            counts[(slice(None), *cell)] = self._count_conjunctions(ones)
        for axis in range(1, ways + 1):
            all_rows, ones_only = (np.take(counts, side, axis=axis) for side in (0, 1))
            counts[(slice(None),) * axis + (0,)] = all_rows - ones_only
        return list(counts.reshape(len(tables), -1))

    def _count_conjunctions(self, sets: npt.NDArray[np.int64]) -> Counts:
        """Count the rows in which all attributes of a set are 1.

        Each row of `sets` has the places of one set, in rising order.
        """
        if sets.shape[1] == 0:
            return np.full(len(sets), self._rows)
        if self._words is None:
            self._words = _pack(self.codes, self.domain, self._rows)
        keys = sets @ len(self.codes) ** np.arange(sets.shape[1] - 1, -1, -1)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        different = sets[first]
        # Sets that differ only in the last attribute are neighbours, and share one conjunction of
        # the others.
        is_new = np.ones(len(different), np.bool_)
        is_new[1:] = (np.diff(different[:, :-1], axis=0) != 0).any(axis=1)
        shared = different[is_new, :-1]
        shared_of = np.cumsum(is_new) - 1
        counts = np.zeros(len(different), np.int64)
        # A word has 64 records, and takes about as long as a record.
        count_work(WorkKind.COUNTED, len(different) * self._rows / 64)
        # This buffer is used again, because fresh memory pages cost more.
        bit_counts = np.empty((SETS, WORDS), np.uint8)
        for block in range(0, self._words.shape[1], WORDS):
            words = np.ascontiguousarray(self._words[:, block : block + WORDS])
            for start in range(0, len(different), SETS):
                part = slice(start, min(start + SETS, len(different)))
                conjunctions = words.take(different[part, -1], axis=0)
                if different.shape[1] > 1:
                    begin, end = int(shared_of[start]), int(shared_of[part.stop - 1]) + 1
                    of_others = _conjunctions(words, shared[begin:end])
                    conjunctions &= of_others.take(shared_of[part] - begin, axis=0)
                bit_count = bit_counts[: len(conjunctions), : words.shape[1]]
                np.bitwise_count(conjunctions, out=bit_count)
                counts[part] += np.add.reduce(bit_count, axis=1, dtype=np.uint16)
        return counts[inverse]


def _conjunctions(words: Words, sets: npt.NDArray[np.int64]) -> Words:
    """Find the conjunction of the words of each set."""
    conjunctions = words.take(sets[:, 0], axis=0)
    for column in sets[:, 1:].T:
        conjunctions &= words.take(column, axis=0)
    return conjunctions


def _pack(codes: Sequence[ColumnCodes], domain: Domain, rows: int) -> Words:
    """Pack the codes of binary attributes as bits, 64 rows a word; others have a row of zeros."""
    words = np.zeros((len(codes), -(-rows // 64)), np.uint64)
    for row, column, labels in zip(words, codes, domain.labels.values(), strict=True):
        if len(labels) == 2:
            row.view(np.uint8)[: -(-rows // 8)] = np.packbits(column.astype(np.bool_))
    return words
