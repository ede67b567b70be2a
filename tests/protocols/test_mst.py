"""MST: the rules of every protocol, its rare labels, its tree and its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.curator import Estimate, Marginal
from sottovoce.curator.spanning_forest import SpanningForest
from sottovoce.messages import MessageError, UsageError, Where
from sottovoce.parties import Categories, Records, Schema
from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs.tables import PlannedTable, count_tables
from sottovoce.protocols.mst.choosing import quotas
from sottovoce.protocols.mst.messages import add_edges, edge_numbers, read_groups, read_shares
from sottovoce.protocols.mst.protocol import attributes_of
from sottovoce.protocols.mst.rare_labels import MergedLabels, merge_rare

WHERE = Where(rank=1, protocol="mst", phase="choices", step=1)
DOMAIN = Domain({"a": ("0", "1", "2", "3", "4"), "b": ("0", "1"), "c": ("0", "1", "2")})


class TestMST(SampledSuite):
    protocol = "mst"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks"}
    rows = 300


class TestMSTOfOneHolder(VariantSuite):
    protocol = "mst"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "clear"}
    rows = 300


# ---- Rare labels


def single(name: str, counts: Sequence[float], *, variance: float) -> Estimate:
    return Estimate(Marginal((name,), np.array(counts)), variance)


def test_labels_below_three_deviations_are_merged() -> None:
    """Two or more; a rare label alone stays as it is."""
    singles = [
        single("a", [50.0, 11.9, 12.0, -3.0, 5.0], variance=16.0),
        single("b", [11.0, 60.0], variance=16.0),
        single("c", [1.0, 2.0, 3.0], variance=16.0),
    ]
    merged = merge_rare(DOMAIN, singles)
    assert merged.groupings == {"a": (0, 2, 1, 2, 2), "c": (0, 0, 0)}
    assert merged.domain.attributes == DOMAIN.attributes
    assert merged.domain.shape("abc") == (3, 2, 1)


def test_a_merged_table_has_the_sums_of_the_corrected_one() -> None:
    merged = MergedLabels(DOMAIN, {"a": (0, 2, 1, 2, 2)})
    before = single("a", [50.0, 11.0, 20.0, -3.0, 7.0], variance=16.0)
    after = merged.merge(before, total=100)
    assert np.array_equal(after.table.values, [53.0, 23.0, 24.0])
    unmerged = single("b", [40.0, 61.0], variance=16.0)
    assert merged.merge(unmerged, total=100) is unmerged


def test_pairs_are_counted_in_groups() -> None:
    generator = np.random.default_rng(3)
    table = {name: generator.choice(labels, 500) for name, labels in DOMAIN.labels.items()}
    schema = Schema({name: Categories(categories=labels) for name, labels in DOMAIN.labels.items()})
    records = Records(pd.DataFrame(table), schema=schema)
    merged = MergedLabels(DOMAIN, {"a": (0, 2, 1, 2, 2), "c": (1, 0, 0)})
    families = [*combinations("abc", 2)]
    counted = count_tables(records, [merged.planned(family) for family in families])
    for family, cells in zip(families, counted, strict=True):
        expected = Counter(
            tuple(
                merged.groupings[name][code] if name in merged.groupings else code
                for name, code in zip(family, codes, strict=True)
            )
            for codes in zip(*(records.codes(name).tolist() for name in family), strict=True)
        )
        shape = merged.domain.shape(family)
        assert {cell: n for cell, n in np.ndenumerate(cells.reshape(shape)) if n} == expected


def test_a_merged_label_is_drawn_among_its_group() -> None:
    """Each with the same probability; a deviation of 5 sigma has a chance of 6e-7."""
    groups = (0, 2, 1, 2, 2)
    merged = MergedLabels(DOMAIN, {"a": groups})
    generator = np.random.default_rng(4)
    drawn = [generator.integers(0, size, 30_000).astype(np.uint8) for size in (3, 2, 3)]
    a, b, c = merged.spread(drawn, generator)
    assert np.array_equal(np.array(groups)[a], drawn[0])
    assert b is drawn[1]
    assert c is drawn[2]
    members = np.bincount(a[drawn[0] == 2], minlength=5)
    rows = members.sum()
    deviation = np.sqrt(rows * (1 / 3) * (2 / 3))
    assert np.abs(members[[1, 3, 4]] - rows / 3).max() < 5 * deviation


# ---- The tree


def test_a_forest_is_that_of_networkx() -> None:
    generator = np.random.default_rng(2)
    forest = SpanningForest()
    graph: nx.Graph[str] = nx.Graph()
    for _ in range(200):
        first, second = map(str, generator.choice(30, 2, replace=False))
        graph.add_nodes_from((first, second))
        apart = not nx.has_path(graph, first, second)
        assert forest.joins(first, second) == apart
        assert not forest.joins(first, first)
        if apart:
            forest.add(first, second)
            graph.add_edge(first, second)
    assert len(forest.edges) == graph.number_of_edges()
    with pytest.raises(ValueError, match="closes no circle"):
        forest.add(*forest.edges[0])


@pytest.mark.parametrize(
    ("edges", "rows"), [(14, [5, 9, 2, 0]), (3, [1] * 10), (40, [7, 7, 100]), (1, [0]), (9, [0, 0])]
)
def test_quotas_make_the_least_precision_largest(edges: int, rows: list[int]) -> None:
    """No edge can move to another party without a choice that is less precise than all were."""
    numbers = quotas(edges, rows=rows)
    assert sum(numbers) == edges
    least = min(count**2 / n for count, n in zip(rows, numbers, strict=True) if n)
    for to, count in enumerate(rows):
        if numbers[to] < edges:
            assert count**2 / (numbers[to] + 1) <= least


def correlated(rows: int) -> pd.DataFrame:
    """Five attributes that depend on each other more or less, and one with a single label."""
    generator = np.random.default_rng(5)
    columns = {"a": generator.integers(0, 3, rows)}
    for name, before, changed in (("b", "a", 0.1), ("c", "a", 0.3), ("d", "c", 0.2)):
        noise = generator.random(rows) < changed
        columns[name] = np.where(noise, generator.integers(0, 3, rows), columns[before])
    columns["e"] = (columns["b"] + (generator.random(rows) < 0.4)) % 2
    columns["f"] = np.zeros(rows, int)
    return pd.DataFrame(columns).astype(str)


SCHEMA = {**{name: ["0", "1", "2"] for name in "abcd"}, "e": ["0", "1"], "f": ["0"]}


@pytest.mark.parametrize("parties", [1, 3])
def test_with_little_noise_the_tree_is_the_maximum_spanning_tree(parties: int) -> None:
    """At epsilon 100 the pairs of the tree are right, too."""
    table = correlated(9000)
    run = sottovoce.run(
        "mst",
        table,
        schema=SCHEMA,
        parties=parties,
        epsilon=100.0,
        aggregator="masks",
        seed=1,
        judge=False,
    )
    graph: nx.Graph[str] = nx.Graph()
    for first, second in combinations("abcde", 2):
        joint = pd.crosstab(table[first], table[second], normalize="all").to_numpy()
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        graph.add_edge(first, second, weight=float(np.abs(joint - product).sum()))
    assert run.model is not None
    turns = run.model["turns"]
    assert [turn["party"] for turn in turns] == [*range(1, parties + 1)]
    edges = {frozenset(edge) for turn in turns for edge in turn["edges"]}
    assert edges == {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    synthetic = run.synthetic
    assert synthetic is not None
    for first, second in map(sorted, edges):
        real = pd.crosstab(table[first], table[second], normalize="all")
        drawn = pd.crosstab(synthetic[first], synthetic[second], normalize="all")
        assert (real - drawn.reindex_like(real).fillna(0)).abs().to_numpy().sum() / 2 < 0.01


def test_where_all_labels_are_rare_rows_are_still_drawn() -> None:
    """Each attribute is one group then, and its labels are equally likely."""
    run = sottovoce.run(
        "mst",
        correlated(40),
        schema=SCHEMA,
        parties=2,
        epsilon=0.05,
        aggregator="clear",
        seed=1,
        judge=False,
        synthetic_rows=3000,
    )
    assert run.model is not None
    assert {name: set(groups) for name, groups in run.model["groups"].items()} == {
        name: {0} for name in "abcde"
    }
    assert run.synthetic is not None
    assert run.synthetic["a"].value_counts().min() > 800


def test_what_mst_cannot_do_it_says_before_it_counts() -> None:
    with pytest.raises(UsageError, match="at least one attribute of two labels or more"):
        attributes_of(Domain({"a": ("0",)}))
    wide = Domain({name: tuple(map(str, range(6000))) for name in "ab"})
    with pytest.raises(
        UsageError,
        match=r"pairs of a tree for mst .* found a with 6,000 and b with 6,000: .*--drop a",
    ):
        attributes_of(wide)


# ---- Messages


@pytest.mark.parametrize(
    ("edges", "match"),
    [
        ((), "expected 2 edges of the tree, found 0"),
        (((0, 1), (1, 2), (0, 3)), "expected 2 edges of the tree, found 3"),
        (((0, 1), (0, 1)), "of different trees"),
        (((0, 2), (1, 0)), "of different trees"),
        (((0, 2), (1, 1)), "of different trees"),
        (((0, 2), (2, 4)), "of different trees"),
        (((0, 2), (-1, 1)), "of different trees"),
        (((0, 2), (1,)), "of different trees"),
        (((0, 2), (0, 1, 3)), "of different trees"),
        (((0, 2), (1, 3)), "of different trees"),
    ],
)
def test_only_edges_of_a_forest_are_accepted(
    edges: tuple[tuple[int, ...], ...], match: str
) -> None:
    """The edge b - d is there before."""
    forest = SpanningForest([("b", "d")])
    with pytest.raises(MessageError, match=match):
        add_edges(forest, edges, "abcd", count=2, where=WHERE)
    forest = SpanningForest([("b", "d")])
    add_edges(forest, ((0, 2), (0, 1)), "abcd", count=2, where=WHERE)
    assert edge_numbers(forest.edges, "abcd") == ((1, 3), (0, 2), (0, 1))


def test_groups_and_shares_are_of_all_attributes() -> None:
    merged = MergedLabels(DOMAIN, {"a": (0, 2, 1, 2, 2)})
    plan = [merged.planned((name,)) for name in "abc"]
    assert read_groups(plan, DOMAIN, "abc", where=WHERE) == merged
    for wrong in (plan[:2], [plan[1], plan[0], plan[2]], [*plan, PlannedTable(("a", "b"), 1)]):
        with pytest.raises(MessageError, match="expected the groups of 3 attributes"):
            read_groups(wrong, DOMAIN, "abc", where=WHERE)
    values = np.arange(8) / 7
    shares = read_shares(values, merged, "abc", where=WHERE)
    assert [(shares[name] * 7).round().tolist() for name in "abc"] == [[0, 1, 2], [3, 4], [5, 6, 7]]
    wrong_values = (values[:7], np.full(10, 0.5), np.full(8, np.nan), values * 1.001, -values)
    for values in wrong_values:
        with pytest.raises(MessageError, match="expected 8 shares of groups from 0 to 1"):
            read_shares(values, merged, "abc", where=WHERE)
