"""Defaults stay, as docs/stability.md promises: a run that names no value does what it did before.

Who changes one changes this table, and says so in CHANGELOG.md.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from sottovoce.protocols.registry import OWN_PROTOCOLS, find

RUN: Final = {"delta": 1e-9}
CENTRAL: Final = {**RUN, "epsilon": 1.0}
SUMS: Final = {
    **CENTRAL,
    "aggregator": "paillier",
    "noise": None,
    "colluding": 1,
    "randomness": "half",
}
USERS: Final = {**CENTRAL, "simulate": "reports", "users": 0}
LABELS: Final = {
    **USERS,
    "label": "",
    "belief": "sample",
    "prior": "",
    "sample": 0.1,
    "sure": None,
    "choice": None,
    "heads": 0,
    "randomizer": "khr",
    "hashes": 0,
    "record_cap": None,
}
FLAIM: Final = {**SUMS, "rounds": 10, "max_cells": 100_000, "synthetic_rows": 0}
PRIVINCR: Final = {
    **USERS,
    "oracle": "best",
    "learning": None,
    "rounds": 0,
    "graph_users": 0.5,
    "phi": 0.3,
    "alpha": 0.05,
    "base": "bits",
    "test": None,
    "projection": None,
    "accumulation": None,
    "cliques": None,
    "factorisation": "greedy",
    "groups": "domain",
    "synthetic_rows": 100_000,
}
DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "adaptive-pairs": {**SUMS, "rounds": None, "synthetic_rows": 0},
    "aim": {**SUMS, "rounds": 0, "max_cells": 100_000, "synthetic_rows": 0},
    "aug-flaim": FLAIM,
    "calm": {
        **USERS,
        "oracle": "best",
        "ways": 2,
        "synthetic_rows": 100_000,
        "theta": 0.0001,
        "most_attributes": 0,
        "most_cells": 0,
        "reconstruction": "maximum-entropy",
        "confidence": 0.95,
    },
    "clldp-decision-tree": {**LABELS, "learning": None, "depth": 0, "allocation": None},
    "clldp-joint": {**LABELS, "attributes": "", "projection": None},
    "clldp-naive-bayes": LABELS,
    "dist-diff-gen": {
        **SUMS,
        "specialisations": 10,
        "target": None,
        "score": None,
        "most_cells": 2**20,
    },
    "dp-ccbn": {
        **SUMS,
        "attributes": None,
        "search": "iterative",
        "theta": 6.0,
        "most_parents": 2,
    },
    "dp-subn": {
        **SUMS,
        "attributes": None,
        "views": None,
        "init": None,
        "update": None,
        "score": None,
        "budget": None,
        "theta": None,
        "theta_frontier": None,
        "updates": 1,
        "largest_view": 12,
        "block": 8,
        "synthetic_rows": None,
    },
    "flaim": FLAIM,
    "fourier": {**USERS, "ways": 2, "confidence": 0.95},
    "head-count": {**CENTRAL, "attribute": "", "value": ""},
    "independent": {
        **CENTRAL,
        "attributes": "original",
        "score": None,
        "beta": 0.3,
        "theta": 4.0,
        "most_parents": 3,
    },
    "jtree": {
        **SUMS,
        "structure": None,
        "together": None,
        "graph": None,
        "one_way": None,
        "edges": None,
        "usefulness": None,
        "phi": 0.2,
        "least": 0.05,
        "sample": True,
        "synthetic_rows": 0,
    },
    "label-dp": {**USERS, "label": ""},
    "lopub": {
        **USERS,
        "hashes": 5,
        "bits_per_value": 8,
        "phi": 0.3,
        "start": "lasso",
        "search": "accelerated",
        "iterations": 300,
        "synthetic_rows": 100_000,
    },
    "mst": {**SUMS, "synthetic_rows": 0},
    "no-incremental": {**PRIVINCR, "learning": "tests", "rounds": 1},
    "no-priv-jtree": {**RUN, "phi": 0.3, "base": "bits", "synthetic_rows": 0},
    "noisy-marginals": {**SUMS, "ways": "1,2", "marginals": "", "confidence": 0.95},
    "one-way": SUMS,
    "one-way-ldp": {**USERS, "oracle": "best", "synthetic_rows": 100_000},
    "private-schema": {**SUMS, "epsilon": 0.1},
    "privincr": PRIVINCR,
}


@pytest.mark.parametrize("name", sorted(OWN_PROTOCOLS))
def test_defaults_stay(name: str) -> None:
    fields = msgspec.structs.fields(find(name).Parameters)
    assert {field.name: field.default for field in fields} == DEFAULTS[name]


@pytest.mark.parametrize(
    ("mode", "options", "usual"),
    [
        ("rigorous", {}, ("one-way", "edges", "none", "by error", 4.0, 4.0)),
        ("rigorous", {"init": "forest"}, ("one-way", "forest", "none", "by size", 3.5, 4.0)),
        (
            "rigorous",
            {"attributes": "binary"},
            ("nocd", "mst", "joint", "0.3,0,0.1,0.6", 12.0, 4.0),
        ),
        ("paper", {}, ("algorithm-2", "em", "replace", "0.25,0.25,0.25,0.25", 6.0, 2.0)),
    ],
)
def test_variants_of_dp_subn_fill_what_is_left_open(
    mode: Any, options: dict[str, Any], usual: tuple[object, ...]
) -> None:
    """Who names a value has it; the others are those of the variant."""
    protocol: Any = find("dp-subn")

    def profile(**more: Any) -> Any:
        parameters = protocol.Parameters(**options, **more)
        return protocol.variant(parameters, mode=mode)(parameters, mode=mode).profile

    filled = profile()
    names = ("views", "init", "update", "budget", "theta", "theta_frontier")
    assert tuple(getattr(filled, name) for name in names) == usual
    named = profile(theta=2.5, theta_frontier=1.5)
    assert (named.theta, named.theta_frontier) == (2.5, 1.5)
