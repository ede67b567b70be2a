"""Forecasts that every protocol makes alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.privacy import Domain
from sottovoce.protocols.cost import Public
from sottovoce.protocols.registry import OWN_PROTOCOLS, find
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

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
    # These say that nothing is known before the run.
    assert (lines is None) == (name in {"dp-ccbn", "independent", "private-schema"})
    assert all(line.messages > 0 <= line.payload_bytes for line in lines or [])
    assert len(protocol.formulas(public)) == 0
    assert all(protocol.warnings(public))


AFTER_THE_RUN = {
    "dp-ccbn",
    "independent",
    "no-incremental",
    "no-priv-jtree",
    "private-schema",
    "privincr",
}
"""Protocols whose messages follow from what was published."""
DOMAIN = Domain({"a": ("x", "y"), "b": ("x", "y", "z"), "c": ("n", "p")})


@pytest.mark.parametrize("variant", VARIANTS)
def test_with_a_schema_the_first_messages_are_predicted(variant: str) -> None:
    name, parameters = VARIANTS[variant]
    required = {"noisy-marginals": {"marginals": "a*b"}}.get(name, {})
    job = Job(protocol=name, parameters={**required, **parameters}, parties=2)
    public = Public(parties=2, rows=5000, key_bits=2048, domain=DOMAIN)
    lines = list(instantiate(job).predict(public) or [])
    assert bool(lines) == (name not in AFTER_THE_RUN)
    assert all(line.messages > 0 < line.payload_bytes for line in lines)
    first = {line.phase for line in lines}
    if variant in {"one-way", "noisy-marginals", "dp-subn", "jtree", "dist-diff-gen"}:
        assert len(first) > 1  # keys, and what is counted first


def test_every_turn_of_noise_replacement_is_predicted() -> None:
    """Handovers and negated noise of earlier parties are forecast with the frontiers."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 300)
    table = pd.DataFrame({"a": a, "b": a ^ (generator.random(300) < 0.1), "c": a})
    options: dict[str, Any] = {"key_bits": 256, "insecure_test_keys": True, "noise": "laplace"}
    result = sottovoce.run(
        "dp-subn", table, parties=3, mode="paper", epsilon=100.0, seed=1, judge=False, **options
    )
    lines = [
        line for line in result.report["communication"]["predicted"] if line["phase"] == "update"
    ]
    assert {line["kind"] for line in lines} == {"Frontier", "Handover", "Negated", "Replaced"}
    for line in lines:
        assert line["messages"] == line["measured_messages"]
        assert line["payload_bytes"] == line["measured_payload_bytes"]


def test_both_cells_of_two_are_forecast_where_the_paper_counts_them() -> None:
    """The only cluster of a single attribute of two labels has two cells, as JTree is printed."""
    table = pd.DataFrame({"a": [0, 1, 1] * 100})
    result = sottovoce.run(
        "jtree", table, mode="paper", parties=1, aggregator="clear", seed=1, judge=False
    )
    lines = result.report["communication"]["predicted"]
    assert {line["phase"] for line in lines} == {"keys", "clusters"}
    for line in lines:
        assert line["messages"] == line["measured_messages"]
        assert line["payload_bytes"] == line["measured_payload_bytes"]


@pytest.mark.parametrize("parameters", [{}, {"search": "oneshot"}])
def test_every_batch_of_dp_ccbn_is_predicted(parameters: dict[str, Any]) -> None:
    """Each phase with a secure sum has its lines, beside the families that are announced."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 300)
    table = pd.DataFrame({"a": a, "b": a ^ (generator.random(300) < 0.1), "c": a})
    options: dict[str, Any] = {"aggregator": "masks", "parties": 2, "epsilon": 100.0, **parameters}
    result = sottovoce.run("dp-ccbn", table, seed=1, judge=False, **options)
    lines = result.report["communication"]["predicted"]
    kinds: dict[str, set[str]] = {}
    for line in lines:
        kinds.setdefault(line["phase"], set()).add(line["kind"])
        assert line["messages"] == line["measured_messages"]
        assert line["payload_bytes"] == line["measured_payload_bytes"]
    assert set(kinds) == {"keys", "structure", "parameters"}
    assert kinds["structure"] == {"Chosen"} | kinds["parameters"]
    assert "Chosen" not in kinds["parameters"]
