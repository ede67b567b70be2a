"""Experiments of the papers that are not runs of a protocol.

They estimate from simulated reports, or measure the leakage of labels. Each is a function of
keyword arguments, of which `seed` is one. It returns figures by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, floor, log2, sqrt
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np

from ..crypto import UserWords
from ..curator.expectation import most_likely
from ..curator.projections import norm_sub
from ..parties import Records, load, read_schema
from ..privacy.local import DirectEncoding, OptimisedUnary, Randomizer, SymmetricUnary, best
from ..privacy.local.belief import beliefs
from ..privacy.local.hashed_heads import HashedHeads, choose_hashes, named_values
from ..privacy.local.heads import HeadsResponse, choose_heads, heads_error
from ..privacy.local.per_attribute import UnaryPerAttribute
from .label_attacks import label_attacks
from .label_sets import conditional_of

__all__ = ["attack_labels", "count_cells", "estimate_joint", "estimate_labels", "find_belief"]


class MakeRandomizer(Protocol):
    """Makes a randomizer for a number of cells."""

    def __call__(self, cells: int, *, epsilon: float) -> Randomizer: ...


CELL_RANDOMIZERS: Final[Mapping[str, MakeRandomizer]] = {
    "VOUE": OptimisedUnary,
    "VRAPPOR": SymmetricUnary,
    "GRR": DirectEncoding,
    "best": best,
}
"""Methods that report the cell of the joint table with all of epsilon."""
ATTRIBUTE_RANDOMIZERS: Final[Mapping[str, type[OptimisedUnary | SymmetricUnary]]] = {
    "OUE+EM": OptimisedUnary,
    "RAPPOR+EM": SymmetricUnary,
}
"""Methods that report each attribute with a part of epsilon."""


def find_belief(*, labels: str, heads: int = 1, seed: int = 0) -> dict[str, float]:  # noqa: ARG001 - nothing is drawn
    """Compute omega of one of CLLDP's four distributions, exactly."""
    curve = beliefs(conditional_of(labels))
    return {"omega": float(curve[heads - 1]) if heads <= len(curve) else 1.0}


def estimate_labels(
    *,
    labels: str,
    epsilon: float,
    way: Literal["khr", "floor", "equation-8", "best", "hashed", "basic"] = "khr",
    heads: int = 1,
    simplex: bool = False,
    users: int = 100_000,
    seed: int = 0,
) -> dict[str, float]:
    """Estimate the joint table of a label and an attribute from reports under CLLDP.

    Args:
        labels: One of CLLDP's four distributions.
        epsilon: Budget of a report.
        way: How k is chosen, `hashed` for local hashing (section 4.4), or `basic` for a unary
            encoding.
        heads: k of `way=khr`. `way=floor` takes m / (e^epsilon + 1), rounded down.
        simplex: Whether the estimate is projected to a distribution. The paper does not do so.
        users: Number of users.
        seed: Seed of the sample and of the reports.

    Returns:
        The L2 error, and the expected one.
    """
    conditional = conditional_of(labels)
    true, curve = conditional / len(conditional), beliefs(conditional)
    if way == "basic":
        randomizer: Randomizer = SymmetricUnary(true.size, epsilon=epsilon)
        figures = {"heads": 0.0}
    elif way == "hashed":
        classes, values = conditional.shape
        hashes = choose_hashes(classes, values, epsilon=epsilon, beliefs=curve.tolist())
        omega = float(curve[named_values(values, hashes) - 1])
        randomizer = HashedHeads(
            true.size, epsilon=epsilon, labels=classes, belief=omega, hashes=hashes
        )
        expected = sqrt(true.size * randomizer.variance() / users)
        figures = {"heads": 1.0, "hashes": float(hashes), "omega": omega, "expected": expected}
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
    # The sums of the reports are drawn from their exact distribution.
    estimate = randomizer.estimate(randomizer.simulate(counts, generator), users=users)
    if simplex:
        estimate = norm_sub(estimate)
    return {"error": float(np.linalg.norm(estimate - counts / users)), **figures}


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
    """Estimate a joint table, such as `sex,income`, from one report a user: PrivIncr's figure 3.

    Noisy tables are projected to the nearest distribution.
    """
    records = _load(data, schema)
    names = attributes.split(",")
    sizes = records.domain.shape(names)
    size = int(np.prod(sizes))
    generator = np.random.Generator(np.random.Philox(seed))
    rows = generator.integers(0, len(records), users)
    cells = np.asarray(records.cells(names, rows))
    true = np.bincount(cells, minlength=size) / users
    if method in ATTRIBUTE_RANDOMIZERS:
        several = UnaryPerAttribute(sizes, kind=ATTRIBUTE_RANDOMIZERS[method], epsilon=epsilon)
        values = [np.asarray(records.codes(name)).astype(np.int64)[rows] for name in names]
        words = UserWords(seed.to_bytes(16, "little"))
        reports = several.report(values, users=np.arange(users), words=words)
        table = most_likely(several.likelihoods(reports)).table.reshape(-1)
    else:
        randomizer = CELL_RANDOMIZERS[method](size, epsilon=epsilon)
        support = randomizer.simulate(np.bincount(cells, minlength=size), generator)
        table = norm_sub(randomizer.estimate(support, users=users))
    return {"tvd": float(np.abs(table - true).sum()) / 2, "cells": float(size)}


def attack_labels(
    *, data: str, schema: str, epsilon: float, label: str = "", seed: int = 0
) -> dict[str, float]:
    """Measure the shares of labels that are guessed right from reports of CLLDP and LabelDP."""
    records = _load(data, schema)
    name = label or records.domain.attributes[-1]
    result = label_attacks(records, label=name, epsilon=epsilon, seed=seed)
    return {
        "majority": result.majority,
        "known": result.known,
        "labeldp_attributes": result.labeldp_attributes,
        "labeldp_whole": result.labeldp_whole,
        "clldp_attributes": result.clldp_attributes,
        "clldp_whole": result.clldp_whole,
        "clldp_and_attributes": result.clldp_and_attributes,
        "epsilon_of_record": result.epsilon_of_record,
        "chance": 1 / records.domain.cells([name]),
    }


def count_cells(*, data: str, schema: str, seed: int = 0) -> dict[str, float]:  # noqa: ARG001 - nothing is drawn
    """Count rows, attributes and bits, and the cells of the whole domain (as a logarithm)."""
    records = _load(data, schema)
    domain = records.domain
    return {
        "rows": float(len(records)),
        "attributes": float(len(domain.attributes)),
        "log2_cells": sum(log2(size) for size in domain.shape(domain.attributes)),
        "bits": float(len(records.binary().domain.attributes)),
    }


def _load(data: str, schema: str) -> Records:
    return load(data, schema=read_schema(Path(schema)))
