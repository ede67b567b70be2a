"""Every option that changes a mechanism keeps the laws of releases.

Suites of whole protocols run the default options. Here each option is run on a small table: a
record changes no exact value by more than the sensitivity, nothing else that is sent depends on
records, and the releases add up to what is claimed. Every phase of an option releases something.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import pytest

from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.launch.conformance_runs import RECORDED_RUNS
from sottovoce.launch.conformance_tables import party_tables
from sottovoce.launch.result import Run
from sottovoce.parties import blocks, infer, merge, write_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.local.choice import RANDOMIZERS
from sottovoce.protocols.jtree.parameters import Structure
from sottovoce.protocols.registry import OWN_PROTOCOLS, find

if TYPE_CHECKING:
    import pandas as pd

ROWS = 48
COLUMNS = ["education", "marital-status", "relationship", "sex", "income"]

Options = Mapping[str, Any]
T = TypeVar("T")

MASKS: Options = {"aggregator": "masks"}
RICH: Options = {**MASKS, "epsilon": 60.0}
"""With less, so few rows are not worth the noise of a table, and later phases are left out."""
SMALL_KEY: Options = {"key_bits": 256, "insecure_test_keys": True}

OPTIONS: dict[str, tuple[str, Options]] = {
    **{f"one-way, {name}": ("one-way", {"aggregator": name}) for name in ("masks", "clear")},
    "one-way, paillier": ("one-way", SMALL_KEY),
    "one-way, r^n": ("one-way", {**SMALL_KEY, "randomness": "full"}),
    "one-way, selected": ("one-way", {**SMALL_KEY, "noise": "selected", "mode": "paper"}),
    "one-way, no collusion": ("one-way", {**MASKS, "colluding": 0}),
    **{
        f"one-way, {name}": ("one-way", {**MASKS, "noise": name})
        for name in ("laplace", "gaussian")
    },
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
        f"dp-subn, {name}": ("dp-subn", {**RICH, "attributes": "binary", "views": name})
        for name in ("nocd", "algorithm-2", "priview", "pairs")
    },
    "dp-subn, sequential": (
        "dp-subn",
        {**RICH, "attributes": "binary", "update": "sequential"},
    ),
    **{f"dp-subn, {name}": ("dp-subn", {**RICH, "init": name}) for name in ("forest", "edges")},
    "dp-subn as printed": ("dp-subn", {**SMALL_KEY, "mode": "paper", "noise": "laplace"}),
    "adaptive-pairs": ("adaptive-pairs", MASKS),
    "adaptive-pairs, pure": ("adaptive-pairs", {**MASKS, "delta": 0.0}),
    "dp-ccbn, binary": ("dp-ccbn", {**RICH, "attributes": "binary"}),
    "dp-ccbn, all at once": ("dp-ccbn", {**RICH, "search": "oneshot"}),
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
    "clldp, hashed": ("clldp-joint", {"randomizer": "hashed"}),
    "clldp, levels": (
        "clldp-decision-tree",
        {"learning": "levels", "depth": 2, "epsilon": 8.0},
    ),
    "no-priv-jtree": ("no-priv-jtree", {}),
}
"""By name the protocol, and the options that are not the default ones."""

PHASES: dict[str, set[str]] = {
    "one-way": {"count"},
    "noisy-marginals": {"count"},
    "jtree": {"graph", "clusters"},
    "jtree, tree": {"single attributes", "graph", "clusters"},
    "jtree, votes": {"single attributes", "graph", "clusters"},
    "dp-subn": {"correlations", "update", "parameters"},
    "dp-subn, forest": {"correlations", "initialisation", "parameters"},
    "dp-subn, edges": {"correlations", "initialisation", "parameters"},
    "dp-subn as printed": {"correlations", "initialisation", "update", "parameters"},
    "adaptive-pairs": {f"round {number}" for number in range(1, 6)},
    "adaptive-pairs, pure": {"round 1", "round 2"},
    "dp-ccbn": {"structure", "parameters"},
    "dist-diff-gen": {"tables", "leaves"},
    "dist-diff-gen as printed": {"specialisation", "tables", "leaves"},
    "independent": {"model"},
    "one-way-ldp": {"reports"},
    "fourier by counts": {"reports"},
    "calm by counts": {"reports"},
    "privincr by tests": {"cliques", *(f"round {number}" for number in range(1, 7))},
    "lopub": {"reports"},
    "label-dp": {"reports"},
    "clldp": {"reports"},
    "clldp, sample": {"beliefs", "reports"},
    "clldp, basic": {"reports"},
    "clldp, hashed": {"beliefs", "reports"},
    "clldp, levels": {"beliefs", "round 1", "round 2"},
    "no-priv-jtree": {"pairs", "cliques"},
}
"""The phases with a release, by the beginning of an option's name; the longest one holds.

A run that leaves out a phase would keep all laws of its mechanism.
"""
MECHANISMS = {
    "one-way, selected": "selected-laplace",
    "one-way, laplace": "multi-party-laplace",
    "one-way, gaussian": "multi-party-gaussian",
    "jtree, tree": "multi-party-gaussian",
    "jtree, top": "exponential",
    "jtree, svt": "sparse-vector",
    "jtree, gauss": "gaussian-of-scores",
    "jtree, laplace": "multi-party-laplace",
    "jtree, votes": "exponential",
    "jtree, threshold": "threshold-mechanism",
    "dp-subn, forest": "exponential",
    "dp-subn, edges": "exponential",
    "dp-subn as printed": "replaced-laplace",
    "adaptive-pairs": "multi-party-gaussian",
    "adaptive-pairs, pure": "multi-party-laplace",
    "dist-diff-gen as printed": "exponential",
    **{f"one-way-ldp, {name}": name for name in RANDOMIZERS},
    "lopub": "bloom",
    "label-dp": "clear-attributes",
    "clldp": "khr",
    "clldp, basic": "sue",
    "clldp, hashed": "clldp-hashing",
}
"""The mechanism that makes an option what it is, by the beginning of its name."""

IMPLIED: dict[str, set[str]] = {
    "dp-subn": {"original", "one-way", "mst", "em", "none", "joint", "replace", "I", "R"},
    "dp-ccbn": {"original"},
    "clldp": {"distilled"},
    "independent": {"I", "R"},
    "jtree": {"threshold", "sums"},
    "privincr": {"adaptive"},
}
"""Values that other options of a run above imply, or that its protocol has by default."""
WITHOUT_LAWS = {"oracle"}
"""Values with which a protocol keeps no law: beliefs from the records themselves."""
SHARED = {"aggregator", "noise", "randomness"}
"""Options of secure sums, which are tried with one protocol."""
NO_MECHANISM = {
    *("accumulation", "allocation", "base", "choice", "cliques", "factorisation", "groups"),
    *("projection", "reconstruction", "search", "simulate", "start", "test"),
}
"""Options of what is computed from releases, and of the sizes of what is asked for."""

UNPREDICTED = {"independent"}
WHOLLY_PREDICTED = {
    *("adaptive-pairs", "calm", "dp-ccbn", "dp-subn", "fourier", "no-priv-jtree"),
    *("noisy-marginals", "one-way"),
}
"""Protocols all of whose messages are predicted once the result is known."""

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


def at_longest(table: Mapping[str, T], name: str) -> T:
    """Look up the longest beginning of a name."""
    return table[max((start for start in table if name.startswith(start)), key=len)]


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
    report = suite._usual_run(reference).report
    releases = report["privacy"]["releases"]
    assert {release["phase"] for release in releases} == at_longest(PHASES, name)
    mechanisms = {release["mechanism"] for release in releases}
    assert at_longest({"": min(mechanisms), **MECHANISMS}, name) in mechanisms
    # The law of the predicted cost holds of no line at all.
    lines = report["communication"]["predicted"]
    assert bool(lines) == (reference not in UNPREDICTED)
    if reference in WHOLLY_PREDICTED:
        predicted = sum(line["measured_messages"] for line in lines)
        assert predicted == report["communication"]["messages"]


def literals(annotation: Any) -> Iterator[Any]:
    """List the values that an annotation names."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from literals(part)


@pytest.mark.parametrize("protocol", OWN_PROTOCOLS)
def test_every_value_of_an_option_that_changes_a_mechanism_is_tried(protocol: str) -> None:
    """A new value is to be tried above; CLLDP's models share one survey."""
    family = protocol.partition("-")[0] if protocol.startswith("clldp") else protocol
    parameters = find(protocol).Parameters
    annotations = get_type_hints(parameters, include_extras=True)
    for option in msgspec.structs.fields(parameters):
        if option.name in NO_MECHANISM:
            continue
        tried = {
            options.get(option.name)
            for reference, options in OPTIONS.values()
            if option.name in SHARED or reference.startswith(family)
        }
        usual = {option.default, "auto", *IMPLIED.get(family, ()), *WITHOUT_LAWS}
        assert {*literals(annotations[option.name])} <= tried | usual, option.name
