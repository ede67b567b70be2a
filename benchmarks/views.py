"""NOCD beside what else covers all pairs of 52 bits: how many views, the error that follows, and the error measured.

    python benchmarks/views.py [FILE] [SEEDS] [schema=FILE]

Of the demo table, or of a table of one's own that has any number of bits. Per design: the average variance of a pair's table at
epsilon 1, and the average total variation distance of all pairs at four epsilons, for one trusted holder of all records (noise
of scale 2 M / epsilon), read as they come (clipped, normalised) and with every attribute's own margins averaged over all views.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations

import numpy as np

from sottovoce.curator import Estimate, Marginal
from sottovoce.curator.projections import norm_mul
from sottovoce.parties import DEMO, DEMO_SCHEMA, Records, blocks, infer, load, merge, read_schema
from sottovoce.protocols.dp_subn.covering import covering
from sottovoce.protocols.dp_subn.learning import pair_tables
from sottovoce.protocols.dp_subn.views import View, algorithm_2, best_design, pair_error, views_of

EPSILONS = (0.2, 0.4, 0.8, 1.6)


def distance(records: Records, views: list[View], *, epsilon: float, averaged: bool, generator: np.random.Generator) -> float:
    domain, names = records.domain, records.domain.attributes
    families = [tuple(names[at] for at in view) for view in views]
    scale = 2 * len(views) / epsilon
    noisy = [
        Estimate(Marginal.of(domain, family, counts + generator.laplace(0, scale, counts.size)), 2 * scale**2)
        for family, counts in zip(families, records.marginals(families), strict=True)
    ]
    pairs = list(combinations(names, 2))
    real = np.array([np.asarray(counts) for counts in records.marginals(pairs)]) / len(records)
    found = pair_tables(domain, noisy, rows=len(records), averaged=averaged)
    guessed = np.array([norm_mul(table.values.reshape(-1), 1.0) for _, _, table in found])
    return float(np.abs(real - guessed).sum(axis=1).mean() / 2)


def main() -> None:
    schemas = [word.removeprefix("schema=") for word in sys.argv[1:] if word.startswith("schema=")]
    words = [word for word in sys.argv[1:] if not word.startswith("schema=")]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    source = words[0] if words else DEMO
    schema = DEMO_SCHEMA if source == DEMO else read_schema(schemas[0]) if schemas else merge([infer(blocks(source))])
    records = load(source, schema=schema).binary()
    d = len(records.domain.attributes)
    designs: dict[str, list[View]] = {
        "all pairs": list(combinations(range(d), 2)),
        "Algorithm 2, repaired": views_of(algorithm_2(d), d),
        "prime grids, the best": best_design(d, primes_only=True, largest=12),
        "PriView, blocks of 8": covering(d, size=8),
        "PriView, blocks of 6": covering(d, size=6),
        "default": best_design(d, largest=12),
    }
    print(f"{len(records):,} rows, {d} bits, mean of {seeds} seeds; 2-way distance as read / with averaged margins")
    print(f"{'':<22} {'views':>5} {'pair error':>10}  " + "  ".join(f"epsilon {epsilon:<7}" for epsilon in EPSILONS))
    best = {}
    for title, views in designs.items():
        started = time.perf_counter()
        cells = []
        for epsilon in EPSILONS:
            generator = np.random.default_rng(0)
            both = [
                np.mean([distance(records, views, epsilon=epsilon, averaged=own, generator=generator) for _ in range(seeds)])
                for own in (False, True)
            ]
            best[title, epsilon] = float(both[1])
            cells.append(f"{both[0]:.4f} / {both[1]:.4f}")
        error = pair_error(views, attributes=d)
        took = time.perf_counter() - started
        print(f"{title:<22} {len(views):5} {error:10.4g}  {'  '.join(cells)}  ({took:.0f} s)", flush=True)
    for title in designs:
        ratios = ", ".join(f"{best[title, epsilon] / best['default', epsilon]:.2f}" for epsilon in EPSILONS)
        print(f"{title:<22} has {ratios} times the default's error")


if __name__ == "__main__":
    main()
