"""Experiments with parts of protocols: views that cover all pairs, for one trusted holder, and the
formulas of what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from ..curator import Estimate, Marginal, agree
from ..curator.maximum_entropy import reconstruct
from ..curator.projections import norm_mul
from ..evaluation.distances import marginals_of
from ..parties import Records, load, read_schema
from ..protocols.dp_ccbn import cost as ccbn_cost
from ..protocols.dp_subn import cost as subn_cost
from ..protocols.dp_subn.covering import covering
from ..protocols.dp_subn.designs import Block, algorithm_2, best_design, blocks_of, pair_error
from ..protocols.dp_subn.learning import pair_tables

__all__ = ["DESIGNS", "count_messages", "measure_priview", "measure_views"]

DESIGNS: Final[Mapping[str, Callable[[int], list[Block]]]] = {
    "pairs": lambda d: list(combinations(range(d), 2)),
    "algorithm-2": lambda d: blocks_of(algorithm_2(d), d),
    "primes": lambda d: best_design(d, primes_only=True, largest=12),
    "nocd": lambda d: best_design(d, largest=12),
    "priview-8": lambda d: covering(d, size=min(8, d)),
    "priview-6": lambda d: covering(d, size=min(6, d)),
}
"""How all pairs are covered: each by itself, by NOCD as printed, by the best over primes and over
all fields, with overlaps.
"""

Design = Literal["pairs", "algorithm-2", "primes", "nocd", "priview-8", "priview-6"]


def measure_views(
    *, data: str, schema: str, design: Design, epsilon: float, averaged: bool = False, seed: int = 0
) -> dict[str, float]:
    """Count views of the bits with noise, and compare every pair's table with the real one.

    `averaged`: every bit's own margin is averaged over all views that have it; otherwise tables are
    read as they come.
    """
    records = load(data, schema=read_schema(Path(schema))).binary()
    domain, names = records.domain, records.domain.attributes
    views = DESIGNS[design](len(names))
    noisy = _count(records, views, epsilon=epsilon, seed=seed)
    pairs = list(combinations(names, 2))
    real = np.array([np.asarray(counts) for counts in records.marginals(pairs)]) / len(records)
    found = pair_tables(domain, noisy, rows=len(records), averaged=averaged)
    guessed = np.array([norm_mul(table.values.reshape(-1), 1.0) for _, _, table in found])
    return {
        "tvd_2": float(np.abs(real - guessed).sum(axis=1).mean() / 2),
        "views": float(len(views)),
        "variance": pair_error(views, attributes=len(names)),
    }


def measure_priview(
    *,
    data: str,
    schema: str,
    epsilon: float,
    ways: int,
    design: Design = "priview-8",
    marginals: int = 200,
    seed: int = 0,
) -> dict[str, float]:
    """Reconstruct marginals of bits from consistent views by maximum entropy: their average L2
    error, as parts of all rows.
    """
    records = load(data, schema=read_schema(Path(schema))).binary()
    domain = records.domain
    noisy = _count(records, DESIGNS[design](len(domain.attributes)), epsilon=epsilon, seed=seed)
    views = agree(noisy, total=float(len(records)), sweeps=3)
    chosen = marginals_of(domain, ways=ways, limit=marginals)
    errors = []
    for names, counts in zip(chosen, records.marginals(chosen), strict=True):
        found = reconstruct(domain, names, views, total=float(len(records)), sweeps=30)
        errors.append(
            float(np.linalg.norm(found.project(names).values.reshape(-1) - counts / len(records)))
        )
    return {f"l2_{ways}": float(np.mean(errors))}


def _count(records: Records, views: list[Block], *, epsilon: float, seed: int) -> list[Estimate]:
    """Count views of one trusted holder's rows: replacing one changes M of them by 2 M."""
    generator = np.random.Generator(np.random.Philox(seed))
    names, scale = records.domain.attributes, 2 * len(views) / epsilon
    families = [tuple(names[at] for at in view) for view in views]
    return [
        Estimate(
            Marginal.of(records.domain, family, counts + generator.laplace(0, scale, counts.size)),
            2 * scale**2,
        )
        for family, counts in zip(families, records.marginals(families), strict=True)
    ]


def count_messages(
    *,
    protocol: Literal["dp-subn", "dp-ccbn"],
    parties: int,
    d: int = 52,
    k: int = 2,
    frontier: int = 4,
    view: float = 6.0,
    t1: int = 1024,
    seed: int = 0,  # noqa: ARG001 - nothing is drawn
) -> dict[str, float]:
    """Evaluate DP-SUBN's formulas of what is sent, as printed (section VI-F): `t1` is a
    ciphertext's size in bits.
    """
    common: dict[str, Any] = {"d": d, "k": k, "parties": parties, "t1": t1}
    subn = protocol == "dp-subn"
    said = (
        subn_cost.printed(**common, frontier=frontier, view=view)
        if subn
        else ccbn_cost.printed(**common)
    )
    return {
        "payload_bytes": sum(size for _, size in said.values()),
        "rounds": sum(rounds for rounds, _ in said.values()),
    }
