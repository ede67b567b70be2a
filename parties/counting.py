"""Counting: the marginals of coded records, exactly.

Tables of attributes with more than two values are counted by one addition a row into a small array;
rows go in slices that stay in the cache, and tables that begin with the same attributes share the
arithmetic of their common part.

Binary attributes are counted 64 rows at a time. Their bits lie in words; the rows in which all of
some attributes are 1 are the ones of the words' conjunction, and every cell of a table follows from
such counts by inclusion and exclusion (the inverse of the superset sum): with n(ab) and n(a), n(a
and not b) = n(a) - n(ab).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError
from ..privacy.domain import Domain

__all__ = ["Counter"]

Counts = npt.NDArray[np.int64]
Codes = Sequence[npt.NDArray[np.unsignedinteger[Any]]]
Words = npt.NDArray[np.uint64]

SLICE: Final = 1 << 15
"""Rows whose fused codes stay in the first cache."""
BATCH: Final = 1 << 22
"""Cells that are counted before they are handed out."""
MOST_CELLS: Final = 1 << 31
MOST_BITS: Final = 8
"""Attributes of a table that is counted by words; inclusion and exclusion doubles the work with
each.
"""
WORDS: Final = 1000
"""Words of each attribute that are counted at a time: their 64,000 bits are counted in 16."""


class Counter:
    """Codes of a domain, an array an attribute, ready to be counted."""

    def __init__(self, codes: Codes, domain: Domain, *, rows: int | None = None) -> None:
        if len(codes) != len(domain.labels) or len({len(column) for column in codes}) > 1:
            raise MisuseError(
                f"expected {len(domain.labels)} columns of one length, found {[len(column) for column in codes]}"
            )
        self.codes = list(codes)
        self.domain = domain
        self.rows = rows if rows is not None else len(codes[0]) if codes else 0
        self._words: Words | None = None
        """A line of bits for each attribute, made when first needed."""

    def marginals(self, wanted: Sequence[Sequence[str]]) -> Iterator[Counts]:
        """Count these marginals, in this order, each in row-major order of its attributes as they
        stand.
        """
        places = {name: at for at, name in enumerate(self.domain.attributes)}
        try:
            columns = [tuple([places[name] for name in attributes]) for attributes in wanted]
        except KeyError as error:
            self.domain.shape(error.args)  # raises what names the attributes that there are
            raise
        sizes = self.domain.shape(self.domain.attributes)
        cells = [prod([sizes[at] for at in own]) for own in columns]
        for attributes, own, size in zip(wanted, columns, cells, strict=True):
            if not own or len({*own}) < len(own) or size > MOST_CELLS:
                raise MisuseError(
                    f"expected different attributes to count by, found {', '.join(attributes) or 'none'}"
                )
        return self._batches(columns, cells, sizes)

    def _batches(
        self, columns: list[tuple[int, ...]], cells: list[int], sizes: tuple[int, ...]
    ) -> Iterator[Counts]:
        start, filled = 0, 0
        for end, size in enumerate(cells):
            filled += size
            if filled >= BATCH or end + 1 == len(cells):
                yield from self._count(columns[start : end + 1], sizes)
                start, filled = end + 1, 0

    def _count(self, columns: list[tuple[int, ...]], sizes: tuple[int, ...]) -> list[Counts]:
        binary = {at for at, size in enumerate(sizes) if size == 2}
        most = min(
            MOST_BITS, int(62 / np.log2(len(sizes) + 1))
        )  # as keys of attributes are integers of 64 bits
        by_bits = [
            n for n, own in enumerate(columns) if len(own) <= most and binary.issuperset(own)
        ]
        others = sorted({*range(len(columns))}.difference(by_bits), key=columns.__getitem__)
        found: dict[int, Counts] = dict(
            zip(others, self._tally([columns[n] for n in others], sizes), strict=True)
        )
        for ways in {len(columns[n]) for n in by_bits}:
            these = [n for n in by_bits if len(columns[n]) == ways]
            found.update(
                zip(these, self._count_bits(np.array([columns[n] for n in these])), strict=True)
            )
        return [found[n] for n in range(len(columns))]

    def _tally(self, columns: list[tuple[int, ...]], sizes: tuple[int, ...]) -> list[Counts]:
        """Count tables, given in sorted order, by adding up row after row."""
        tables = [np.zeros(prod(sizes[at] for at in own), np.int64) for own in columns]
        width = max(SLICE, *(len(table) for table in tables)) if tables else SLICE
        for start in range(0, self.rows, width):
            fused: list[tuple[int, npt.NDArray[Any]]] = []
            """The common part so far: each attribute, and the code of all up to it."""
            for number, own in enumerate(columns):
                common = 0
                while common < min(len(fused), len(own)) and fused[common][0] == own[common]:
                    common += 1
                del fused[common:]
                for at in own[common:]:
                    codes = self.codes[at][start : start + width]
                    if not fused:
                        fused.append((at, codes))
                        continue
                    before, cells = fused[-1][1], prod(sizes[a] for a, _ in fused)
                    kind = np.dtype(np.uint16 if cells * sizes[at] < 1 << 16 else np.int64)
                    fused.append(
                        (at, np.multiply(before, sizes[at], dtype=kind, casting="unsafe") + codes)
                    )
                tables[number] += np.bincount(fused[-1][1], minlength=len(tables[number]))
        return tables

    def _count_bits(self, columns: npt.NDArray[np.int64]) -> list[Counts]:
        """Count tables of as many binary attributes each, a line of `columns` a table."""
        ways = columns.shape[1]
        ones = np.empty((len(columns), *(2,) * ways), np.int64)
        """Cell (1, 0, 1): rows in which the first and the third are 1, whatever the second; made
        the table in place.
        """
        for chosen in np.ndindex(*(2,) * ways):
            ones[(slice(None), *chosen)] = self._together(
                np.sort(columns[:, np.flatnonzero(chosen)], axis=1)
            )
        for axis in range(1, ways + 1):
            without, given = (np.take(ones, side, axis=axis) for side in (0, 1))
            ones[(slice(None),) * axis + (0,)] = without - given
        return list(ones.reshape(len(columns), -1))

    def _together(self, sets: npt.NDArray[np.int64]) -> Counts:
        """Count the rows in which all attributes of a set are 1, for many sets of one size, each in
        rising order.
        """
        if sets.shape[1] == 0:
            return np.full(len(sets), self.rows)
        if self._words is None:
            self._words = _pack(self.codes, self.domain, self.rows)
        lines = self._words
        keys = sets @ len(self.codes) ** np.arange(sets.shape[1] - 1, -1, -1)
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        different = sets[first]
        # Sets that differ in the last attribute alone stand together: one conjunction of the others
        # serves them all.
        new = np.ones(len(different), np.bool_)
        new[1:] = (np.diff(different[:, :-1], axis=0) != 0).any(axis=1)
        starts = np.flatnonzero(new).tolist()
        groups = list(zip(starts, [*starts[1:], len(different)], strict=True))
        counts = np.zeros(len(different), np.int64)
        most = max(end - start for start, end in groups)
        met, ones = (
            np.empty((most, WORDS), np.uint64),
            np.empty((most, WORDS), np.uint8),
        )  # reused: fresh pages cost more
        for at in range(0, lines.shape[1], WORDS):
            words = lines[:, at : at + WORDS]
            width = words.shape[1]
            for start, end in groups:
                tails, here, set_bits = (
                    different[start:end, -1],
                    met[: end - start, :width],
                    ones[: end - start, :width],
                )
                np.take(words, tails, axis=0, out=here, mode="clip")
                if different.shape[1] > 1:
                    here &= np.bitwise_and.reduce(words[different[start, :-1]], axis=0)
                np.bitwise_count(here, out=set_bits)
                counts[start:end] += np.add.reduce(set_bits, axis=1, dtype=np.uint16)
        return counts[back]


def _pack(codes: Codes, domain: Domain, rows: int) -> Words:
    """Lay binary attributes' codes out as bits, 64 rows a word; a line of zeros for every other
    attribute.
    """
    words = np.zeros((len(codes), -(-rows // 64)), np.uint64)
    for line, column, labels in zip(words, codes, domain.labels.values(), strict=True):
        if len(labels) == 2:
            line.view(np.uint8)[: -(-rows // 8)] = np.packbits(column.astype(np.bool_))
    return words
