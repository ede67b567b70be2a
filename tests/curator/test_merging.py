"""Merging cliques into clusters: JTree's example, all partitions, and random chordal graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.curator import dependency_graph, junction_tree
from sottovoce.curator import merging as module
from sottovoce.curator.merging import merge, printed_objective, variance_of
from sottovoce.privacy import Domain

if TYPE_CHECKING:
    import pytest

SIZES = Domain(
    {name: tuple("abcd"[:size]) for name, size in zip("123456", (2, 2, 3, 4, 3, 2), strict=True)}
)
CLIQUES = [("1", "2"), ("2", "3", "4"), ("3", "4", "5"), ("4", "6")]
"""JTree's examples 1 and 2."""


def partitions(items: Sequence[Any]) -> Iterator[list[list[Any]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for own in partitions(rest):
        yield [[first], *own]
        for at in range(len(own)):
            yield [*own[:at], [first, *own[at]], *own[at + 1 :]]


def test_the_example() -> None:
    one, two, three, four = ([own] for own in CLIQUES)
    costs = {
        9216.0: [one, two, three, four],  # the paper prints 8960 (J3)
        7680.0: [one + two, three + four],
        6656.0: [one + four, two + three],
    }
    for cost, partition in costs.items():
        assert variance_of(partition, SIZES, epsilon=1.0) == cost
    assert variance_of([CLIQUES], SIZES, epsilon=1.0) == 9216
    every = sorted(variance_of(own, SIZES, epsilon=1.0) for own in partitions(CLIQUES))
    assert len(every) == 15
    assert every[:3] == [6656.0, 7680.0, 8928.0]
    assert merge(CLIQUES, SIZES) == [("1", "2", "4", "6"), ("2", "3", "4", "5")]


def test_the_printed_program_does_not_tell_partitions_apart() -> None:
    """J4: of two clusters each, all seven partitions have the printed value 1152; their true ones
    are 208 to 888.
    """
    pairs = [own for own in partitions(CLIQUES) if len(own) == 2]
    assert {printed_objective(own, SIZES) for own in pairs} == {1152.0}
    true = sorted(variance_of(own, SIZES, epsilon=1.0) / 32 for own in pairs)
    assert (len(pairs), true[0], true[-1]) == (7, 208.0, 888.0)


def random_tree(generator: np.random.Generator) -> tuple[list[tuple[str, ...]], Domain]:
    count = int(generator.integers(4, 9))
    domain = Domain(
        {f"a{at}": tuple(map(str, range(int(generator.integers(2, 9))))) for at in range(count)}
    )
    edges = [edge for edge in combinations(domain.attributes, 2) if generator.random() < 0.3]
    return list(junction_tree(domain, dependency_graph(domain, edges)).cliques), domain


def test_few_cliques_are_merged_exactly() -> None:
    generator = np.random.default_rng(1)
    for _ in range(25):
        cliques, domain = random_tree(generator)
        best = min(
            (variance_of(own, domain, epsilon=1.0) for own in partitions(cliques)), default=inf
        )
        found = merge(cliques, domain)
        assert all(any(set(clique) <= set(own) for own in found) for clique in cliques)
        assert not any(set(one) < set(other) for one in found for other in found)
        # Every clique counts in the smallest cluster that has it, which is no worse than its own.
        homes: dict[tuple[str, ...], list[tuple[str, ...]]] = {own: [] for own in found}
        for clique in cliques:
            homes[min((own for own in found if set(clique) <= set(own)), key=domain.cells)].append(
                clique
            )
        cells = sum(len(own) * domain.cells(cluster) for cluster, own in homes.items())
        assert 8 * len(found) ** 2 * cells <= best


def test_many_cliques_are_merged_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downhill from several levels: 3 per cent worse than the best on average (the specification's
    solver: 0.22).
    """
    generator = np.random.default_rng(2)
    ratios = []
    for _ in range(40):
        cliques, domain = random_tree(generator)

        def value(own: Sequence[tuple[str, ...]], domain: Domain = domain) -> float:
            return len(own) ** 2 * sum(map(domain.cells, own))

        exact = value(merge(cliques, domain))
        with monkeypatch.context() as patch:
            patch.setattr(module, "MAX_EXACT", 0)
            ratios.append(value(merge(cliques, domain)) / exact)
    assert np.mean(ratios) < 1.03


def test_fifty_pairs_take_no_time() -> None:
    domain = Domain({f"a{at}": ("0", "1") for at in range(50)})
    chain = list(zip(domain.attributes, domain.attributes[1:], strict=False))
    found = merge(chain, domain)
    assert 1 < len(found) < 49
    assert merge([], domain) == []
    assert merge(chain[:1], domain) == [("a0", "a1")]
