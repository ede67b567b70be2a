"""Tables of many columns: protocols finish, or refuse with a way out before they count."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import log, prod
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce import run
from sottovoce.curator import Marginal, pair_rows
from sottovoce.curator.pair_planning import Planning
from sottovoce.curator.pair_rows import farthest
from sottovoce.messages import UsageError
from sottovoce.privacy import Domain
from sottovoce.protocols.calm.covering import cover, least_sets
from sottovoce.protocols.calm.design import covers

COLUMNS = 120
ROWS = 4000


def domain_of(sizes: list[int]) -> Domain:
    return Domain(
        {f"c{i}": tuple(f"v{label}" for label in range(size)) for i, size in enumerate(sizes)}
    )


def wide_table(columns: int = COLUMNS) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Make a table in which each column repeats the one before in nine rows of ten."""
    generator = np.random.default_rng(1)
    sizes = generator.integers(2, 5, columns).tolist()
    sizes[7] = 30
    codes = [generator.integers(sizes[0], size=ROWS)]
    for size in sizes[1:]:
        noise = generator.integers(size, size=ROWS)
        codes.append(np.where(generator.random(ROWS) < 0.9, codes[-1] % size, noise))
    schema = {name: list(labels) for name, labels in domain_of(sizes).labels.items()}
    return pd.DataFrame(
        {name: np.array(schema[name])[column] for name, column in zip(schema, codes, strict=True)}
    ), schema


@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("calm", {}),
        ("privincr", {}),
        ("dp-subn", {"aggregator": "clear"}),
        ("jtree", {"aggregator": "clear"}),
        ("jtree", {"aggregator": "clear", "parties": 1}),
        ("independent", {"epsilon": 1.0}),
    ],
)
def test_a_wide_table_is_published(
    protocol: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # 5,000 pairs and 100,000 rows would take half a minute.
    monkeypatch.setattr(pair_rows, "MAX_RAKED", 300)
    monkeypatch.setattr(pair_rows, "MIN_ROWS", ROWS)
    data, schema = wide_table()
    outcome = run(
        protocol,
        data,
        schema=schema,
        seed=1,
        judge=False,
        **{"parties": 3, "epsilon": 8.0} | parameters,
    )
    assert outcome.synthetic is not None
    assert list(outcome.synthetic) == list(schema)
    assert all(set(outcome.synthetic[name]) <= set(schema[name]) for name in schema)
    if protocol in ("dp-subn", "jtree"):
        assert neighbours_dependence(outcome.synthetic) > neighbours_dependence(data) / 3


def neighbours_dependence(table: pd.DataFrame) -> float:
    """Average distance of two columns in a row from independence."""
    distances = []
    for first, second in pairwise(table.columns):
        joint = pd.crosstab(table[first], table[second], normalize="all").to_numpy()
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        distances.append(np.abs(joint - product).sum() / 2)
    return float(np.mean(distances))


@pytest.mark.parametrize(
    ("protocol", "parameters", "message"),
    [
        (
            "dp-ccbn",
            {"aggregator": "clear", "theta": 0.01, "most_parents": 1},
            "found up to 562,475 of 150 attributes: --set search=oneshot",
        ),
        (
            "fourier",
            {},
            "of 150 attributes, found 4,000 users: --set ways=1, fewer attributes, or calm",
        ),
        (
            "aim",
            {},
            "found 11,175 of 150 attributes: name fewer by --columns, or take adaptive-pairs",
        ),
        (
            "flaim",
            {},
            "found 11,175 of 150 attributes: name fewer by --columns, or take adaptive-pairs",
        ),
        (
            "aug-flaim",
            {},
            "found 11,175 of 150 attributes: name fewer by --columns, or take adaptive-pairs",
        ),
    ],
)
def test_what_a_protocol_cannot_do_it_says_before_it_counts(
    protocol: str, parameters: dict[str, Any], message: str
) -> None:
    data, schema = wide_table(150)
    with pytest.raises(UsageError, match=message):
        run(protocol, data, schema=schema, parties=3, seed=1, judge=False, **parameters)


def test_dist_diff_gen_takes_more_columns_than_an_array_has_axes() -> None:
    data, schema = wide_table(90)
    outcome = run(
        "dist-diff-gen",
        data,
        schema=schema,
        parties=2,
        seed=1,
        judge=False,
        aggregator="clear",
        target="c0",
    )
    assert outcome.synthetic is not None
    assert len(outcome.synthetic.columns) == 90


def cover_slowly(domain: Domain, *, of: int, most: int, cells: float) -> list[tuple[str, ...]]:
    """Cover greedily with sets of names, as the documentation describes it."""
    names = domain.attributes
    sizes = dict(zip(names, domain.shape(names), strict=True))
    uncovered = {frozenset(part) for part in combinations(names, of)}
    seeds = sorted(
        combinations(names, of),
        key=lambda part: (
            -prod(sizes[name] for name in part),
            [-names.index(name) for name in part],
        ),
    )
    sets = []
    for seed in seeds:
        if frozenset(seed) not in uncovered:
            continue
        chosen = list(seed)
        while len(chosen) < most:
            gains = {
                name: sum(
                    frozenset((*part, name)) in uncovered for part in combinations(chosen, of - 1)
                )
                / log(sizes[name])
                for name in names
                if name not in chosen
                and sizes[name] > 1
                and prod(sizes[other] for other in chosen) * sizes[name] <= cells
            }
            if not any(gains.values()):
                break
            chosen.append(max(gains, key=lambda name: gains[name]))
        sets.append(tuple(sorted(chosen, key=names.index)))
        uncovered -= {frozenset(part) for part in combinations(chosen, of)}
    return sets


@pytest.mark.parametrize("seed", range(40))
def test_covers_are_those_of_the_slow_search(seed: int) -> None:
    generator = np.random.default_rng(seed)
    domain = domain_of(generator.integers(1, 12, int(generator.integers(1, 13))).tolist())
    of = int(generator.choice([1, 2, 2, 3]))
    most = int(generator.integers(of, 7))
    cells = float(generator.choice([0, 64, 256, 4096, np.inf]))
    sets = cover(domain, of=of, most=most, cells=cells)
    assert sets == cover_slowly(domain, of=of, most=most, cells=cells)
    if of <= len(domain.attributes):
        assert len(sets) >= least_sets(len(domain.attributes), of=of, most=most)


def test_covers_of_too_many_sets_are_not_made() -> None:
    """300 attributes have 44,850 pairs, and sets of four cover six pairs each."""
    domain = domain_of([2] * 300)
    assert covers(domain, max_sets=7474) == []
    small = domain_of([2] * 10)
    everything = covers(small)
    assert covers(small, max_sets=45) == everything
    assert [choice.most for choice in covers(small, max_sets=44)] == [3, 4]


def test_plans_of_all_pairs_of_300_attributes_fit_into_memory() -> None:
    """A full matrix of pairs by sets would take 16 GB here."""
    domain = domain_of([3] * 300)
    sets = [*((name,) for name in domain.attributes), *combinations(domain.attributes, 2)]
    planning = Planning(domain, sets, lambda cells: (cells / 100, 1.0))
    even = dict.fromkeys(sets, 1000.0)
    assert 0 < planning.predict(even) < planning.predict(dict.fromkeys(sets, 10.0))


def test_rows_are_raked_to_the_pairs_that_they_miss_most() -> None:
    domain = domain_of([2, 2, 2, 3])
    generator = np.random.default_rng(2)
    codes = [generator.integers(size, size=20_000, dtype=np.uint8) for size in (2, 2, 2, 3)]
    codes[1] = np.where(generator.random(20_000) < 0.8, codes[0], codes[1])
    even: dict[tuple[str, ...], Marginal] = {
        pair: Marginal.uniform(domain, pair) for pair in combinations(domain.attributes, 2)
    }
    # The rows of the first pair are no product, and the target of the last one is none.
    even["c2", "c3"] = Marginal(("c2", "c3"), np.array([[0.4, 0.1, 0.0], [0.1, 0.1, 0.3]]))
    assert list(farthest(domain, codes, even, count=2)) == [("c0", "c1"), ("c2", "c3")]
    assert list(farthest(domain, codes, even, count=1)) == [("c0", "c1")]
    assert list(farthest(domain, codes, even, count=6)) == list(even)
