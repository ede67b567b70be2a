"""Forecasts that every protocol makes alike."""

from __future__ import annotations

from typing import Any

import pytest

from sottovoce.protocols.protocol import Public
from sottovoce.protocols.registry import OWN_PROTOCOLS, find
from sottovoce.runs.job import Job, instantiate

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in OWN_PROTOCOLS},
    "dp-subn on bits": ("dp-subn", {"attributes": "binary"}),
    "dp-subn in turn": ("dp-subn", {"attributes": "binary", "update": "sequential"}),
    "dp-ccbn at once": ("dp-ccbn", {"search": "oneshot"}),
    "jtree, top": ("jtree", {"structure": "top"}),
    "privincr by tests": ("privincr", {"learning": "tests"}),
    "clldp, levels": ("clldp-decision-tree", {"learning": "levels"}),
}


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_before_there_is_a_schema_little_is_predicted(variant: str, mode: Any) -> None:
    """Without a domain no table has a size, so at most the messages of fixed size are known."""
    name, parameters = VARIANTS[variant]
    if mode not in find(name).modes or (mode == "paper" and name != variant):
        pytest.skip("there is no such variant")
    parties = 1 if mode == "paper" and name == "jtree" else 2
    required = {"noisy-marginals": {"marginals": "a*b"}}.get(name, {})
    job = Job(protocol=name, mode=mode, parameters={**required, **parameters}, parties=parties)
    protocol = instantiate(job)
    public = Public(parties=parties, rows=100, key_bits=2048, domain=None)
    lines = protocol.predict(public)
    assert lines is None or all(line.messages > 0 <= line.payload_bytes for line in lines)
    assert len(protocol.formulas(public)) == 0
    assert all(protocol.warnings(public))
