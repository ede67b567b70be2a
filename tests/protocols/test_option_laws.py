"""Every option that changes a mechanism keeps the laws of releases.

Suites of whole protocols run the default options. Here each option is run on a small table: a
record changes no exact value by more than the sensitivity, nothing else that is sent depends on
records, and the releases add up to what is claimed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import pytest

from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.launch.conformance_runs import RECORDED_RUNS
from sottovoce.launch.conformance_tables import party_tables
from sottovoce.launch.result import Run
from sottovoce.parties import blocks, infer, merge, write_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.local.choice import RANDOMIZERS
from sottovoce.protocols.jtree.parameters import Structure

if TYPE_CHECKING:
    import pandas as pd

ROWS = 48
COLUMNS = ["education", "marital-status", "relationship", "sex", "income"]

Options = Mapping[str, Any]

MASKS: Options = {"aggregator": "masks"}
SMALL_KEY: Options = {"key_bits": 256, "insecure_test_keys": True}

OPTIONS: dict[str, tuple[str, Options]] = {
    **{f"one-way, {name}": ("one-way", {"aggregator": name}) for name in ("masks", "clear")},
    "one-way, paillier": ("one-way", SMALL_KEY),
    "one-way, r^n": ("one-way", {**SMALL_KEY, "randomness": "full"}),
    "one-way, selected": ("one-way", {**SMALL_KEY, "noise": "selected", "mode": "paper"}),
    "one-way, no collusion": ("one-way", {**MASKS, "colluding": 0}),
    "noisy-marginals": ("noisy-marginals", {**MASKS, "marginals": "sex*income, education"}),
    **{
        f"jtree, {name}": ("jtree", {**MASKS, "structure": name})
        for name in get_args(Structure)
        if name != "threshold"
    },
    "jtree, votes": ("jtree", {**MASKS, "together": "votes"}),
    "jtree, threshold": ("jtree", {"mode": "paper", "parties": 1, "phi": 0.5, "noise": "laplace"}),
    "jtree, threshold, all rows": (
        "jtree",
        {"mode": "paper", "parties": 1, "phi": 0.5, "noise": "laplace", "sample": False},
    ),
    **{
        f"dp-subn, {name}": ("dp-subn", {**MASKS, "attributes": "binary", "views": name})
        for name in ("nocd", "algorithm-2", "priview", "pairs")
    },
    "dp-subn, sequential": (
        "dp-subn",
        {**MASKS, "attributes": "binary", "update": "sequential"},
    ),
    "dp-subn as printed": ("dp-subn", {**SMALL_KEY, "mode": "paper", "noise": "laplace"}),
    "adaptive-pairs": ("adaptive-pairs", MASKS),
    "adaptive-pairs, pure": ("adaptive-pairs", {**MASKS, "delta": 0.0}),
    "dp-ccbn, binary": ("dp-ccbn", {**MASKS, "attributes": "binary"}),
    "dp-ccbn, all at once": ("dp-ccbn", {**MASKS, "search": "oneshot"}),
    **{
        f"dist-diff-gen, {name}": ("dist-diff-gen", {**MASKS, "score": name, "parties": 2})
        for name in ("max", "gain")
    },
    **{
        f"dist-diff-gen as printed, {name}": (
            "dist-diff-gen",
            {"mode": "paper", "score": name, "parties": 2, "noise": "laplace", **SMALL_KEY},
        )
        for name in ("max", "gain")
    },
    **{
        f"independent, {name}": ("independent", {"attributes": name})
        for name in ("original", "binary")
    },
    **{f"one-way-ldp, {name}": ("one-way-ldp", {"oracle": name}) for name in RANDOMIZERS},
    "fourier by counts": ("fourier", {"simulate": "counts", "ways": 1}),
    "calm by counts": ("calm", {"simulate": "counts"}),
    "privincr by tests": ("privincr", {"learning": "tests"}),
    "lopub": ("lopub", {}),
    "label-dp": ("label-dp", {}),
    **{
        f"clldp, {name}": (
            "clldp-joint",
            {"belief": name, **({"prior": "*:0.9"} if name == "prior" else {})},
        )
        for name in ("sample", "prior", "none")
    },
    "clldp, basic": ("clldp-joint", {"randomizer": "basic"}),
    "clldp, levels": ("clldp-decision-tree", {"learning": "levels", "depth": 2}),
    "no-priv-jtree": ("no-priv-jtree", {}),
}
"""By name the protocol, and the options that are not the default ones."""

JOB_OPTIONS = ("mode", "parties")
OTHER_LAWS = (
    "test_the_ledger_balances",
    "test_the_predicted_cost_is_right",
    "test_every_release_is_accounted_for",
)
"""Laws of one run, for which the recorded run serves."""
RELEASE_LAWS: list[tuple[str, Any]] = [
    ("test_nothing_of_a_record_is_sent_without_a_release", "others"),
    *[("test_one_record_changes_no_more_than_the_sensitivity", seed) for seed in range(3)],
]


class SmallSuite(ProtocolConformance):
    """The suite on a small table; its tests are called one by one."""

    __test__ = False
    rows = ROWS
    table: ClassVar[pd.DataFrame] = demo_table(ROWS)[COLUMNS]

    def _usual_run(self, reference: str) -> Run:
        recorded, _ = RECORDED_RUNS[type(self), reference]
        return recorded

    def _tables(self, reference: str) -> tuple[list[pd.DataFrame], dict[str, Any]]:
        schema = merge([infer(blocks(self.table))])
        options = {"rows": None, "schema": json.loads(write_schema(schema))}
        return party_tables(self.table, parties=self.parties), options


SmallSuite.__test__ = False  # a subclass of the suite is collected unless it says otherwise


@pytest.mark.usefixtures("few_weighted_rows")
@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_keeps_the_laws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reference, options = OPTIONS[name]

    class Suite(SmallSuite):
        protocol = reference
        mode = options.get("mode", "rigorous")
        parties = options.get("parties", 2)
        parameters: ClassVar[Options] = {
            option: value for option, value in options.items() if option not in JOB_OPTIONS
        }

    Suite.__test__ = False
    suite = Suite()
    for law, argument in RELEASE_LAWS:
        getattr(suite, law)(reference, argument, monkeypatch)
    for law in OTHER_LAWS:
        getattr(suite, law)(reference)
