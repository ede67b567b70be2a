"""Forecasts for many parties: who is introduced to whom follows from the circle, pair by pair."""

from __future__ import annotations

from typing import Any

import pytest

from sottovoce.protocols.cost import Public
from sottovoce.protocols.flaim.augmented import AugFLAIM
from sottovoce.protocols.flaim.protocol import FLAIM
from sottovoce.protocols.secure_sum import SumOptions, predict_keys
from sottovoce.protocols.secure_sum.graph import Circle


@pytest.mark.parametrize("parties", [1, 2, 3, 33, 34, 40, 101])
@pytest.mark.parametrize("colluding", [1, 20])
@pytest.mark.parametrize(
    ("noise", "all_pairs"), [("shares", False), ("shares", True), ("selected", False)]
)
@pytest.mark.parametrize("aggregator", ["masks", "paillier", "clear"])
def test_introductions_are_those_of_the_pairs_that_talk(
    parties: int, colluding: int, noise: Any, all_pairs: bool, aggregator: Any
) -> None:
    """Everybody meets the curator. Of many parties neighbours meet, unless all pairs have to."""
    if colluding >= parties and parties > 1:
        pytest.skip("at least one party does not collude")
    options = SumOptions(aggregator=aggregator, colluding=colluding)
    public = Public(parties=parties, rows=100, key_bits=2048, domain=None)
    lines = predict_keys(options, public, noise=noise, phase="keys", all_pairs=all_pairs)
    met = {line.kind: line for line in lines}
    if aggregator == "clear":
        assert set(met) == {"Rows", "RowsByParty"}
        return
    circle = Circle.of(parties=parties, colluding=min(colluding, parties - 1), seed=b"any")
    neighbours = {
        frozenset((party, peer)) for party in circle.order for peer in circle.neighbours(party)
    }
    assert circle.edges == len(neighbours)
    is_sparse = noise == "shares" and not all_pairs
    pairs = len(neighbours) if is_sparse else parties * (parties - 1) // 2
    introduced = lines[0]
    assert introduced.messages == 2 * (parties + pairs)
    assert introduced.payload_bytes % introduced.messages == 0
    if parties == 101 and is_sparse:
        assert pairs < 101 * 100 / 2
    assert ("EncryptionKey" in met) == (aggregator == "paillier")
    assert met["Rows"].messages == met["RowsByParty"].messages == parties


@pytest.mark.parametrize(
    ("fitting", "expected"),
    [
        ([("a",), ("a", "b"), ("b",), ("b", "c")], [("a", "b"), ("b", "c")]),
        ([("a",), ("b",)], [("a",), ("b",)]),
    ],
)
def test_augmented_choices_are_of_pairs_where_any_fits(
    fitting: list[tuple[str, ...]], expected: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single attributes are measured again in each round anyway."""
    monkeypatch.setattr(FLAIM, "candidates", lambda *_, **__: fitting)
    mine: Any = object.__new__(AugFLAIM)
    assert mine.candidates(None, None, max_cells=10.0) == expected
