"""DP-CCBN with one search: of all tables with a family the one with the fewest cells is read."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.curator import Estimate, Marginal
from sottovoce.privacy import Domain
from sottovoce.protocols.dp_ccbn import scores

if TYPE_CHECKING:
    import pytest

SIZES = {"a": 5, "b": 2, "c": 4, "d": 3}
DOMAIN = Domain({name: tuple(map(str, range(size))) for name, size in SIZES.items()})


def test_a_family_is_read_from_its_smallest_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table has a total of its own, by which what is summed out of it can be told."""
    triples = [*combinations(SIZES, 3)]
    counted = [
        Estimate(Marginal.of(DOMAIN, names, np.full(DOMAIN.cells(names), float(number))), 1.0)
        for number, names in enumerate(triples, start=1)
    ]
    total_of = {names: number * DOMAIN.cells(names) for number, names in enumerate(triples, 1)}
    read: dict[tuple[str, ...], float] = {}

    def scores_of(tables: Any, families: Any, *_: Any, **__: Any) -> Any:
        read.update({f: table.table.total for f, table in zip(families, tables, strict=True)})
        return np.arange(len(families))

    def candidates(chosen: Any) -> list[tuple[str, ...]]:
        placed = [family[-1] for family in chosen]
        rest = [name for name in SIZES if name not in placed]
        return [(*parents, name) for name in rest for parents in combinations(placed, 1)]

    monkeypatch.setattr(scores, "scores_of", scores_of)
    plan: Any = SimpleNamespace(domain=DOMAIN, candidates=candidates)
    chosen = scores.choose_all(counted, ("a",), plan=plan, rows=100)
    assert sorted(family[-1] for family in chosen) == sorted(SIZES)
    assert len(read) > 4
    for family, total in read.items():
        covering = [names for names in triples if {*family} <= {*names}]
        assert total == total_of[min(covering, key=DOMAIN.cells)]
