"""Counting, against numpy: every path, any order, and row counts around a word and a slice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import pytest

from sottovoce import UsageError
from sottovoce.messages import MisuseError
from sottovoce.parties.counting import CodedTable
from sottovoce.privacy import Domain


def make(sizes: list[int], rows: int, *, seed: int = 0) -> CodedTable:
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, size, rows, dtype=np.uint16) for size in sizes]
    return CodedTable(
        codes,
        Domain({f"x{index}": tuple(map(str, range(size))) for index, size in enumerate(sizes)}),
    )


def check(table: CodedTable, marginals: Sequence[tuple[str, ...]]) -> None:
    names = table.domain.attributes
    for attributes, counts in zip(marginals, table.marginals(marginals), strict=True):
        expected = np.zeros(table.domain.shape(attributes), np.int64)
        np.add.at(expected, tuple(table.codes[names.index(name)] for name in attributes), 1)
        assert np.array_equal(counts, expected.reshape(-1)), attributes


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 1000, 63_999, 64_000, 64_001, 70_000])
@pytest.mark.parametrize(
    "sizes", [[2] * 9, [2, 5, 2, 1, 300, 2, 2], [7, 3]], ids=["bits", "mixed", "categories"]
)
def test_every_marginal(rows: int, sizes: list[int]) -> None:
    table = make(sizes, rows)
    names = table.domain.attributes
    check(
        table,
        [
            attributes
            for ways in (1, 2, 3)
            for attributes in combinations(names, min(ways, len(names)))
        ],
    )


def test_any_order_and_repeats() -> None:
    table = make([2, 3, 2, 2, 4], 500)
    check(
        table,
        [
            *permutations(table.domain.attributes, 3),
            *permutations(table.domain.attributes[:4], 2),
        ]
        * 2,
    )


@pytest.mark.parametrize("ways", range(1, 11))
def test_many_ways_of_bits(ways: int) -> None:
    table = make([2] * 11, 700)
    check(table, list(combinations(table.domain.attributes, ways)))


def test_more_bits_than_a_word() -> None:
    table = make([2] * 130, 3000)
    check(table, list(combinations(table.domain.attributes, 3))[::997])


def test_sizes_at_the_edge_of_16_bits() -> None:
    for sizes in ([256, 256, 2], [1, 65_536, 2], [65_536, 1], [255, 257]):
        table = make(sizes, 5000)
        check(table, list(combinations(table.domain.attributes, 2)))


def test_what_cannot_be_counted() -> None:
    table = make([2, 3], 10)
    with pytest.raises(UsageError, match=r"an attribute of the data \(x0, x1\), found 'y'"):
        table.marginals([("x0", "y")])
    for wrong in ((), ("x0", "x0")):
        with pytest.raises(MisuseError, match="different attributes to count by"):
            table.marginals([wrong])
    with pytest.raises(MisuseError, match="expected 2 columns of one length"):
        CodedTable([np.zeros(3, np.uint8), np.zeros(4, np.uint8)], table.domain)


def test_adult(adult: object) -> None:
    """The 22,100 three-way tables of 52 bits each count all rows."""
    from sottovoce.parties import Records

    assert isinstance(adult, Records)
    bits = adult.binary()
    assert len(bits.attributes) == 52
    marginals = list(combinations(bits.attributes, 3))
    assert len(marginals) == 22_100
    assert all(int(counts.sum()) == 45_222 for counts in bits.marginals(marginals))


@pytest.mark.parametrize("rows", [0, 1, 64, 70_000])
def test_rows_in_which_all_bits_are_1(rows: int) -> None:
    table = make([2] * 6, rows)
    for ways in (1, 2, 4):
        sets = np.array([*combinations(range(6), ways)])
        expected = [
            np.all([table.codes[at] == 1 for at in places], axis=0).sum() for places in sets
        ]
        assert table.count_ones(sets).tolist() == expected
    with pytest.raises(MisuseError, match="sets of attributes with two labels"):
        make([2, 3], rows).count_ones(np.array([[0, 1]]))
