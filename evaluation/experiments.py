"""Experiments of the papers that are no protocol's runs: estimates from simulated reports, and what
reports tell of labels.

Each is a function of keyword arguments, of which `seed` is one, that gives figures by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, floor, log2, sqrt
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from ..crypto import UserWords
from ..curator.expectation import most_likely
from ..curator.projections import norm_sub
from ..parties import Records, load, read_schema
from ..privacy.local import DirectEncoding, OptimisedUnary, Randomizer, SymmetricUnary, best
from ..privacy.local.belief import beliefs
from ..privacy.local.heads import HeadsResponse, choose_heads, heads_error
from ..privacy.local.several import SeveralUnary
from .label_attacks import label_attacks
from .label_sets import likely_of

__all__ = ["attack_labels", "count_cells", "estimate_joint", "estimate_labels", "find_belief"]

WHOLE: Final[Mapping[str, Any]] = {
    "VOUE": OptimisedUnary,
    "VRAPPOR": SymmetricUnary,
    "GRR": DirectEncoding,
    "best": best,
}
APART: Final[Mapping[str, Any]] = {"OUE+EM": OptimisedUnary, "RAPPOR+EM": SymmetricUnary}


def find_belief(*, labels: str, heads: int = 1, seed: int = 0) -> dict[str, float]:  # noqa: ARG001 - nothing is drawn
    """Compute omega of one of CLLDP's four distributions, exactly."""
    curve = beliefs(likely_of(labels))
    return {"omega": float(curve[heads - 1]) if heads <= len(curve) else 1.0}


def estimate_labels(
    *,
    labels: str,
    epsilon: float,
    way: Literal["khr", "floor", "equation-8", "best", "basic"] = "khr",
    heads: int = 1,
    simplex: bool = False,
    users: int = 100_000,
    seed: int = 0,
) -> dict[str, float]:
    """Estimate a label and an attribute together from reports under CLLDP: the L2 error, and what
    it is expected to be.

    `heads`: k, of way=khr; way=floor has m / (e^epsilon + 1), rounded down. `simplex`: after the
    nearest distribution, which the paper does not take.
    """
    likely = likely_of(labels)
    true, curve = likely / len(likely), beliefs(likely)
    if way == "basic":
        randomizer: Randomizer = SymmetricUnary(true.size, epsilon=epsilon)
        figures = {"heads": 0.0}
    else:
        if way == "floor":
            heads = min(max(1, floor(true.size / (exp(epsilon) + 1))), true.size // 2)
        elif way != "khr":
            rule: Literal["paper", "scan"] = "paper" if way == "equation-8" else "scan"
            heads = choose_heads(true.size, epsilon=epsilon, beliefs=curve.tolist(), rule=rule)
        omega = float(curve[heads - 1]) if heads <= len(curve) else 1.0
        randomizer = HeadsResponse(true.size, epsilon=epsilon, belief=omega, chosen=heads)
        expected = sqrt(heads_error(true.size, heads, epsilon=epsilon, belief=omega) / users)
        figures = {"heads": float(heads), "omega": omega, "expected": expected}
    generator = np.random.Generator(np.random.Philox(seed))
    counts = generator.multinomial(users, true.reshape(-1))
    # The reports' sums are drawn from their law.
    found = randomizer.estimate(randomizer.simulate(counts, generator), users=users)
    kept = norm_sub(found) if simplex else found
    return {"error": float(np.linalg.norm(kept - counts / users)), **figures}


def estimate_joint(
    *,
    data: str,
    schema: str,
    attributes: str,
    epsilon: float,
    method: str,
    users: int = 50_000,
    seed: int = 0,
) -> dict[str, float]:
    """Estimate the table of some attributes, such as `sex,income`, by one report a user: PrivIncr's
    figure 3.

    VOUE, VRAPPOR, GRR and `best` report the cell, with all of epsilon; OUE+EM and RAPPOR+EM each
    attribute, with a part of it. Noisy tables are taken to the nearest distribution.
    """
    records = _open(data, schema)
    names = attributes.split(",")
    sizes = records.domain.shape(names)
    size = int(np.prod(sizes))
    generator = np.random.Generator(np.random.Philox(seed))
    rows = generator.integers(0, len(records), users)
    cells = np.asarray(records.cells(names, rows))
    truth = np.bincount(cells, minlength=size) / users
    if method in APART:
        several = SeveralUnary(sizes, kind=APART[method], epsilon=epsilon)
        values = [np.asarray(records.codes(name)).astype(np.int64)[rows] for name in names]
        reports = several.report(
            values, users=np.arange(users), words=UserWords(seed.to_bytes(16, "little"))
        )
        table = most_likely(several.likelihoods(reports)).table.reshape(-1)
    else:
        randomizer = WHOLE[method](size, epsilon=epsilon)
        said = randomizer.simulate(np.bincount(cells, minlength=size), generator)
        table = norm_sub(randomizer.estimate(said, users=users))
    return {"tvd": float(np.abs(table - truth).sum()) / 2, "cells": float(size)}


def attack_labels(
    *, data: str, schema: str, epsilon: float, label: str = "", seed: int = 0
) -> dict[str, float]:
    """Guess labels from the reports of CLLDP and LabelDP: the shares that several adversaries get
    right.
    """
    records = _open(data, schema)
    own = label_attacks(
        records, label=label or records.domain.attributes[-1], epsilon=epsilon, seed=seed
    )
    names = (
        "majority",
        "known",
        "labeldp_attributes",
        "labeldp_whole",
        "clldp_attributes",
        "clldp_whole",
    )
    figures = {
        name: float(getattr(own, name))
        for name in (*names, "clldp_and_attributes", "epsilon_of_record")
    }
    return {**figures, "chance": 1 / records.domain.cells([label or records.domain.attributes[-1]])}


def count_cells(*, data: str, schema: str, seed: int = 0) -> dict[str, float]:  # noqa: ARG001 - nothing is drawn
    """Count rows, attributes, and the cells of the whole domain: as they are, and as bits have
    them.
    """
    records = _open(data, schema)
    domain = records.domain
    return {
        "rows": float(len(records)),
        "attributes": float(len(domain.attributes)),
        "log2_cells": sum(log2(size) for size in domain.shape(domain.attributes)),
        "bits": float(len(records.binary().domain.attributes)),
    }


def _open(data: str, schema: str) -> Records:
    return load(data, schema=read_schema(Path(schema)))
