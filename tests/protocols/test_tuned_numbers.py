"""Numbers that were chosen by measurements stay until they are measured anew.

No reason but a measurement tells a tuned number from its neighbour: with another one a protocol
keeps its claim and is less accurate. So a slip of the finger would be seen by nobody. Who changes
one on purpose changes it here, and says in CHANGELOG.md what was measured.
"""

from __future__ import annotations

from importlib import import_module

import pytest

TUNED: dict[str, dict[str, object]] = {
    "adaptive_pairs.estimation": {"MIN_WEIGHT": 0.5},
    "adaptive_pairs.protocol": {"ROUNDS": {"rho": 5, "epsilon": 2}},
    "adaptive_pairs.rounds": {"USUAL_PAIRS": 4},
    "adaptive_pairs.tables": {"MAX_WEIGHT": 100},
    "aim.budget": {"CHOICES": 0.1, "ROUNDS": 16, "STEP": 4.0},  # as the paper has them
    "aim.plan": {"MIN_ACCEPTED_CELLS": 4_194_304},
    "calm.design": {"SINGLES_FACTOR": 1.1, "MIN_USERS": 50},
    "clldp.decision_tree": {"LEAF_SHARE": 0.2, "MAX_DEPTH": 12},
    "dp_subn.bits_plan": {"MAX_PARENTS": 4, "MAX_FRONTIER_PARENTS": 6},
    "dp_subn.edge_choice": {"JOINED": 0.5, "WORTH": 0.8},
    "dp_subn.edge_plan": {
        "MAX_EDGES": {"rho": 4.0, "epsilon": 1.0},
        "MIN_GROUPS": {"rho": 4, "epsilon": 6},
        "CHOICE_LOSS": 1.5,
        "THETA_OF_LAPLACE": 1.5,
    },
    "dp_subn.edges": {"MIN_DRAWN_ROWS": 200_000, "MAX_RAKED": 120_000_000},
    "dp_subn.usefulness": {"CELL_NOISE": 0.4},
    "jtree.growing": {"MAX_TRIED": 2016},
    "jtree.scores": {"WORTH": {"rho": 0.4, "epsilon": 0.8}},
    "jtree.tables": {"SWEEPS": 5},
    "jtree.tree": {"MIN_DRAWN_ROWS": 200_000},
    "jtree.tree_search": {"MIN_VOTES": 0.3},
    "lopub.tables": {"ALPHA": 0.5},
    "mst.protocol": {"THIRD": 1 / 3},
    "mst.rare_labels": {"MIN_DEVIATIONS": 3.0},
    "private_schema.grid": {
        "EMPTY_BELOW": 2.0,
        "STANDS_OUT": 4.0,
        "RANGE_ABOVE": 4.0,
        "ROWS_OF_A_BIN": 2.0,
    },
    "private_schema.rounds": {
        "TWO": (0.5, 0.5),
        "THREE": (0.25, 0.375, 0.375),
        "ROWS_FOR_THREE": 5.0,
        "TEXTS_DELTA": 0.1,
    },
    "privincr.adaptive": {"FIRST": 0.3},
    "privincr.factoring": {"MAX_CELLS": 4096, "THETA": 0.25, "MAX_SEARCHED": 10},
    "privincr.planning": {"MIN_USERS": 50},
    "privincr.pruning": {"KAPPA": 0.75},
    "secure_sum.graph": {"FAILURE_BITS": 40, "COALITION": 3},
    "secure_sum.hidden_plaintexts": {"EXTRA_BYTES": 16},
    "secure_sum.keys": {"SPARE_BITS": 64},
    "secure_sum.reals": {"STEPS_IN_A_ROW": 4},
    "secure_sum.tables": {"MAX_WEIGHT": 8},
}


@pytest.mark.parametrize("module", TUNED)
def test_a_tuned_number_stays_until_it_is_measured_anew(module: str) -> None:
    there = import_module(f"sottovoce.protocols.{module}")
    assert {name: getattr(there, name) for name in TUNED[module]} == TUNED[module]
