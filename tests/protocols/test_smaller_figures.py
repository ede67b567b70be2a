"""Figures of estimates and bounds of tables that whole runs do not tell apart."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.curator import Marginal, dependency_graph, junction_tree
from sottovoce.curator.pair_tables import PairTables
from sottovoce.messages import UsageError
from sottovoce.privacy import Domain
from sottovoce.privacy.local import Randomizer, SymmetricUnary
from sottovoce.privacy.local.hashed_heads import HashedHeads
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.protocols.calm.reconstruction import PairReconstruction
from sottovoce.protocols.clldp.estimates import GroupEstimate
from sottovoce.protocols.lopub import protocol as lopub

RANDOMIZERS: list[Randomizer] = [
    HeadsResponse(12, epsilon=1.0, belief=0.5, chosen=3),
    HashedHeads(12, epsilon=1.0, labels=2, belief=0.5, hashes=2),
    SymmetricUnary(12, epsilon=1.0),
]


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_a_cell_has_the_variance_of_its_randomizer(randomizer: Randomizer) -> None:
    """The conformance suite of local randomizers compares it with draws."""
    table = Marginal(("l", "a"), np.full((2, 6), 1 / 12))
    estimate = GroupEstimate(("a",), table, 70, randomizer)
    assert estimate.variance == pytest.approx(randomizer.variance(users=70))
    assert estimate.variance_of(2) > estimate.variance


@pytest.mark.parametrize("reconstruction", ["maximum-entropy", "least-squares"])
def test_attributes_of_one_label_have_an_axis_of_their_own(reconstruction: Any) -> None:
    """Their table is that of the others; without others it holds everything."""
    domain = Domain({"a": ("x", "y"), "one": ("z",), "b": ("p", "q", "r"), "only": ("w",)})
    joint = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])
    pairs = PairTables(
        singles={
            "a": Marginal(("a",), joint.sum(axis=1)),
            "b": Marginal(("b",), joint.sum(axis=0)),
        },
        pairs={("a", "b"): Marginal(("a", "b"), joint)},
        posteriors={},
    )
    tables = PairReconstruction(domain, pairs, reconstruction)
    for attributes, expected in (
        (("a", "one", "b"), joint[:, None, :]),
        (("b", "a"), joint.T),
        (("one", "b"), joint.sum(axis=0)[None, :]),
        (("a",), joint.sum(axis=1)),
        (("one", "only"), np.ones((1, 1))),
    ):
        found = tables.marginal(attributes)
        assert found.attributes == attributes
        assert found.values == pytest.approx(expected)


@pytest.mark.parametrize(("cells", "is_refused"), [(24, False), (23, True)])
def test_the_largest_clique_of_lopub_is_bounded(
    cells: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a smaller one beside it, and a single attribute."""
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 2, "f": 5}
    domain = Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})
    edges = [*combinations("abc", 2), ("d", "e")]
    graph = junction_tree(domain, dependency_graph(domain, edges))
    pairs = {edge: Marginal.uniform(domain, edge) for edge in edges}
    tables: Any = SimpleNamespace(
        ones={}, joint=lambda clique: Marginal.uniform(domain, tuple(clique))
    )
    desk: Any = SimpleNamespace(domain=domain, progress=lambda *_, **__: None)
    me = lopub.LoPub(lopub.LoPubParameters(), mode="rigorous")
    monkeypatch.setattr(lopub, "MAX_CELLS", cells)
    if is_refused:
        with pytest.raises(UsageError, match="cliques with fewer"):
            me.cliques(desk, graph, tables, pairs)
    else:
        found = me.cliques(desk, graph, tables, pairs)
        assert sorted(table.attributes for table in found) == [("a", "b", "c"), ("d", "e"), ("f",)]
