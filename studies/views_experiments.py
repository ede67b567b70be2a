"""Experiments with parts of protocols.

Views that cover all pairs are measured on one trusted holder's rows, and traffic is evaluated by
the papers' formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Final, Literal

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
"""Sets of views that cover all pairs of attributes.

They are: each pair alone, NOCD as printed, the best designs over primes and over all finite fields,
and PriView's views, which overlap in more than one attribute.
"""

Design = Literal["pairs", "algorithm-2", "primes", "nocd", "priview-8", "priview-6"]


def measure_views(
    *, data: str, schema: str, design: Design, epsilon: float, averaged: bool = False, seed: int = 0
) -> dict[str, float]:
    """Count views of the bits with noise, and compare every pair's table with the exact one.

    With `averaged`, each bit's margin is averaged over all views with that bit. Otherwise each
    table is taken from its view alone.
    """
    records = load(data, schema=read_schema(Path(schema))).binary()
    domain, names = records.domain, records.domain.attributes
    views = DESIGNS[design](len(names))
    noisy = _count(records, views, epsilon=epsilon, seed=seed)
    pairs = list(combinations(names, 2))
    exact = np.array([np.asarray(counts) for counts in records.marginals(pairs)]) / len(records)
    tables = pair_tables(domain, noisy, rows=len(records), averaged=averaged)
    estimates = np.array([norm_mul(table.values.reshape(-1), 1.0) for _, _, table in tables])
    return {
        "tvd_2": float(np.abs(exact - estimates).sum(axis=1).mean() / 2),
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
    """Reconstruct marginals of bits from consistent views by maximum entropy.

    The figure is the average L2 error of a marginal, as a share of all rows.
    """
    records = load(data, schema=read_schema(Path(schema))).binary()
    domain = records.domain
    noisy = _count(records, DESIGNS[design](len(domain.attributes)), epsilon=epsilon, seed=seed)
    views = agree(noisy, total=float(len(records)), sweeps=3)
    families = marginals_of(domain, ways=ways, limit=marginals)
    errors = []
    combined: dict[tuple[str, ...], Marginal] = {}
    for family, counts in zip(families, records.marginals(families), strict=True):
        table = reconstruct(
            domain, family, views, total=float(len(records)), sweeps=30, combined=combined
        )
        estimate = table.project(family).values.reshape(-1)
        errors.append(float(np.linalg.norm(estimate - counts / len(records))))
    return {f"l2_{ways}": float(np.mean(errors))}


def _count(records: Records, views: list[Block], *, epsilon: float, seed: int) -> list[Estimate]:
    """Count views of one trusted holder's rows with noise.

    Replacing one record changes each of the M views by 2 in L1, hence all of them by 2 M.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    names, scale = records.domain.attributes, 2 * len(views) / epsilon
    families = [tuple(names[index] for index in view) for view in views]
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
    """Evaluate DP-SUBN's formulas of its traffic as printed (section VI-F).

    `t1` is the size of a ciphertext in bits.
    """
    costs = (
        subn_cost.printed(d=d, k=k, parties=parties, t1=t1, frontier=frontier, view=view)
        if protocol == "dp-subn"
        else ccbn_cost.printed(d=d, k=k, parties=parties, t1=t1)
    )
    return {
        "payload_bytes": sum(size for _, size in costs.values()),
        "rounds": sum(rounds for rounds, _ in costs.values()),
    }
