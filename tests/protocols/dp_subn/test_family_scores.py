"""Scores of families of bits, against families that are listed and scored one by one."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest

from sottovoce.parties import Categories, Records, Schema
from sottovoce.protocols.dp_subn.family_scores import (
    BitFamilies,
    BitScores,
    FamilyScores,
    rank_of,
    scores_of_families,
)
from sottovoce.protocols.dp_subn.usefulness import Sizes


def bits(attributes: int, *, rows: int, seed: int = 0) -> Records:
    """Make bits that depend on one another, one of them constant and two of them alike."""
    generator = np.random.default_rng(seed)
    base = generator.integers(0, 2, (rows, attributes))
    flips = generator.random((rows, attributes)) < 0.3
    table = np.where(flips, base, base[:, :1])
    table[:, -1], table[:, -2] = 0, table[:, -3]
    schema = Schema({f"b{at}": Categories(categories=("0", "1")) for at in range(attributes)})
    names = list(schema.attributes)
    return Records(pd.DataFrame(table.astype(str), columns=names), schema=schema)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", [1, 40, 3000])
def test_bits_have_the_scores_of_their_families(degree: int, rows: int) -> None:
    """In any order of the picks there are the same candidates, in the same order."""
    records = bits(8, rows=rows)
    sizes = Sizes.of_bits(records.domain, parents=degree)
    fast = BitScores(records, degree)
    plain = FamilyScores(records, sizes, degree, "I")
    order = np.random.default_rng(degree).permutation(records.domain.attributes).tolist()
    for picks in range(1, len(order)):
        found, expected = (search.candidates(order[:picks]) for search in (fast, plain))
        assert list(found.families) == list(expected.families)
        assert found.families[:2] == expected.families[:2]
        assert found.scores == pytest.approx(expected.scores, abs=1e-12)
        assert found.sensitivity == expected.sensitivity
        with pytest.raises(IndexError):
            found.families[len(expected.families)]


def test_each_set_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    records = bits(9, rows=200)
    counted: list[tuple[int, ...]] = []
    count = Records.count_ones

    def count_ones(self: Records, places: np.ndarray) -> np.ndarray:
        counted.extend(map(tuple, places.tolist()))
        return count(self, places)

    monkeypatch.setattr(Records, "count_ones", count_ones)
    search = BitScores(records, 3)
    for picks in range(1, 9):
        search.candidates(records.domain.attributes[:picks])
    assert len(counted) == len({*counted})
    assert {*counted} <= {places for size in range(1, 5) for places in combinations(range(9), size)}


def test_only_bits_that_all_fit_are_scored_together() -> None:
    records = bits(5, rows=50)
    sizes = Sizes.of_bits(records.domain, parents=2)
    assert isinstance(scores_of_families(records, sizes=sizes, degree=2, score="I"), BitScores)
    for degree, score in ((3, "I"), (2, "R"), (0, "I")):
        search = scores_of_families(records, sizes=sizes, degree=degree, score=score)  # type: ignore[arg-type]
        assert isinstance(search, FamilyScores)
    wide = Records(
        pd.DataFrame({"a": ["0", "1"], "b": ["0", "2"]}),
        schema=Schema(
            {"a": Categories(categories=("0", "1")), "b": Categories(categories=("0", "1", "2"))}
        ),
    )
    search = scores_of_families(wide, sizes=Sizes(wide.domain, 64), degree=1, score="I")
    assert isinstance(search, FamilyScores)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranks_number_all_sets(size: int) -> None:
    sets = np.array([*combinations(range(9), size)])
    assert sorted(rank_of(sets).tolist()) == list(range(comb(9, size)))


def test_families_of_bits_are_a_sequence() -> None:
    """They are numbered from 0 on, child after child, and there is none beyond the last."""
    families = BitFamilies("abcd", np.array([2, 3]), np.array([[0, 1], [0, 3], [1, 2]]))
    listed = [("a", "b", "c"), ("a", "d", "c"), ("b", "c", "c")]
    listed += [(first, second, "d") for first, second, _ in listed]
    assert [*families] == listed
    assert len(families) == 6
    assert families[5] == listed[5]
    assert families[1:4] == listed[1:4]
    for beyond in (6, -1):
        with pytest.raises(IndexError):
            families[beyond]
