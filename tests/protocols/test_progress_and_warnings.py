"""Secure sums: how far they are, what they warn of, and keys that are made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sottovoce import Curator, Party
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumBatch, SumOptions
from sottovoce.protocols.secure_sum.options import NoiseKind, sum_warnings

Converse = Callable[..., Any]


@pytest.mark.parametrize(
    ("aggregator", "noise"), [("masks", "shares"), ("paillier", "shares"), ("paillier", "selected")]
)
def test_progress_rises_to_its_end(converse: Converse, aggregator: str, noise: NoiseKind) -> None:
    """Several pages are sent; the last call says that all cells are done."""
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]
    batch = SumBatch(cells=9000, sensitivity=2, epsilon=1.0)
    calls: dict[int, list[float]] = {}

    def note(role: Any) -> None:
        def progress(done: float, *, of: float) -> None:
            calls.setdefault(role.rank, []).append(done)
            assert of == batch.cells

        role.progress = progress

    def party(me: Party) -> None:
        note(me)
        with me.phase("keys"):
            sums = PartySums(me, options, noise=noise)
        with me.phase("count"):
            sums.contribute([np.zeros(batch.cells, np.int64)], batch)

    def curator(desk: Curator) -> None:
        note(desk)
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise=noise)
        with desk.phase("count"):
            sums.total(batch)

    converse(party, curator, parties=2)
    assert calls.keys() == {0, 1, 2}
    for done in calls.values():
        assert done == sorted(set(done))
        assert done[0] > 0
        assert done[-1] == batch.cells


def test_what_is_given_up_is_warned_of_and_nothing_else() -> None:
    options = SumOptions(aggregator="masks")
    assert sum_warnings(options, noise="shares", parties=3) == []
    assert sum_warnings(options, noise="selected", parties=1) == []  # its noise is its own
    (warning,) = sum_warnings(options, noise="selected", parties=3)
    assert "with probability 1/3 the noise is a party's own" in warning
    (warning,) = sum_warnings(SumOptions(aggregator="clear"), noise="shares", parties=3)
    assert "aggregator=clear protects nothing" in warning


def test_a_table_of_powers_serves_all_batches_but_much_larger_ones(converse: Converse) -> None:
    options = SumOptions(aggregator="paillier")

    def party(me: Party) -> None:
        with me.phase("keys"):
            keyed = PartySums(me, options).keyed_party
        first = keyed.encryptor(uses=10)
        assert keyed.encryptor(uses=1) is keyed.encryptor(uses=80) is first
        assert keyed.encryptor(uses=81) is not first

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            CuratorSums(desk, options)

    converse(party, curator, parties=2)
