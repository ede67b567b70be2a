"""After a run every message is forecast from what was published, but for some kinds by name.

The laws of conformance compare each line of a forecast with the ledger. A line that is missing is
found here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import sottovoce
from sottovoce.messages import UsageError
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.registry import OWN_PROTOCOLS, find
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in OWN_PROTOCOLS if name != "private-schema"},  # it has none
    "dp-subn on bits": ("dp-subn", {"attributes": "binary"}),
    "dp-subn in turn": ("dp-subn", {"attributes": "binary", "update": "sequential"}),
    "dp-subn, forest": ("dp-subn", {"init": "forest"}),
    "dp-ccbn at once": ("dp-ccbn", {"search": "oneshot"}),
    "jtree, top": ("jtree", {"structure": "top"}),
    "jtree, gauss": ("jtree", {"structure": "gauss"}),
    "privincr by tests": ("privincr", {"learning": "tests"}),
    "clldp, levels": ("clldp-decision-tree", {"learning": "levels"}),
}
OURS = {"dp-subn in turn", "dp-subn, forest", "jtree, top", "jtree, gauss"}
"""Variants that no paper has."""
REPORTS = {"Reports", "Clear"}
"""Users' reports: what they take is said by user, and not by message."""
UNFORESEEN: dict[str, set[str]] = {
    "aim": {"Candidates", "Chosen"},
    "clldp-decision-tree": {"Grown", "Terms"},
    "dist-diff-gen": {"Agreement", "Indicator", "Masked", "Permutation", "Product"},  # of leaves
    "independent": {"Model"},
    "jtree": {"Clusters", "Edges", "Margins", "Noisy"},
}
"""Kinds of messages of which not all are forecast, as their number or length is not published."""


TABLE = demo_table(200, seed=1)[["relationship", "sex", "income"]]
REQUIRED: dict[str, dict[str, Any]] = {"noisy-marginals": {"marginals": "sex*income"}}


def options_of(variant: str, *, mode: str, parties: int) -> tuple[str, dict[str, Any]]:
    """Give the protocol of a variant, and the options with which a small run has all phases."""
    name, parameters = VARIANTS[variant]
    fields = find(name).Parameters.__struct_fields__
    options = {"parties": parties, "seed": 1, "judge": False, "mode": mode, **parameters}
    if "epsilon" in fields:
        options["epsilon"] = 60.0  # with less, so few rows are not worth the noise of a table
    options |= REQUIRED.get(name, {})
    if mode == "paper":
        options |= {"key_bits": 256, "insecure_test_keys": True}
    elif "aggregator" in fields:
        options["aggregator"] = "masks"
    return name, options


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_message_is_forecast(variant: str, mode: Any) -> None:
    one_holder = (variant, mode) == ("jtree", "paper")  # of the paper
    name, options = options_of(variant, mode=mode, parties=1 if one_holder else 2)
    if mode not in find(name).modes or (mode == "paper" and variant in OURS):
        with pytest.raises(UsageError):
            sottovoce.run(name, TABLE, **options)
        return
    run = sottovoce.run(name, TABLE, **options)
    sent = check_forecast(run, name)
    # Only parties that talk without an introduction are introduced before the protocol begins.
    talk = any(entry.sender and entry.receiver for entry in run.record.entries)
    parties_talk = instantiate(run.record.job).parties_talk
    assert parties_talk == (talk and "Introduction" not in sent)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "dist-diff-gen"])
def test_every_message_of_a_run_that_could_go_on_is_forecast(variant: str) -> None:
    """Nobody is lost, but sums and choices take other messages, as somebody might be.

    DistDiffGen is for two parties, of whom none can be lost.
    """
    name, options = options_of(variant, mode="rigorous", parties=3)
    usual = instantiate(
        Job(
            protocol=name,
            parameters=dict(VARIANTS[variant][1], **REQUIRED.get(name, {})),
            parties=3,
        )
    )
    if not usual.goes_on:
        with pytest.raises(UsageError, match="on-loss"):
            sottovoce.run(name, TABLE, on_loss="continue", **options)
        return
    check_forecast(sottovoce.run(name, TABLE, on_loss="continue", **options), name)


def check_forecast(run: sottovoce.Run, name: str) -> Counter[str]:
    """Compare a forecast with the ledger, and return how often each kind was sent."""
    sent = Counter(entry.kind for entry in run.record.entries)
    forecast = Counter[str]()
    for line in run.report["communication"]["predicted"] or []:
        forecast[line["kind"]] += line["messages"]
        assert line["messages"] == line["measured_messages"]
        if not line["at_most"]:
            assert line["payload_bytes"] == line["measured_payload_bytes"]
    wrong = {kind for kind, number in sent.items() if number != forecast[kind]}
    assert wrong <= REPORTS | UNFORESEEN.get(name, set())
    assert set(forecast) <= set(sent)
    return sent
