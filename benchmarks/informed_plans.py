"""What the planner of `adaptive-pairs` could gain from better guesses of how far each pair is.

    python benchmarks/informed_plans.py FILE... [epsilon=0.2,0.8] [parties=1,3] [seeds=2] [bins=16]

A plan expects a distance of each pair at each level from what was released (`spreads_of_levels`).
Here it is told the real one, of the records themselves, before each round. It is told nothing of
single attributes, and still looks one round ahead, so this is no bound for all plans. Sums are
simulated (`simulated_pairs`). For each table, epsilon and number of parties the script prints the
mean two-way distance with the product's plans and with informed ones, and the ratio; at the end it
prints the geometric mean of the ratios. Other plans have other noise, so with two seeds a ratio may
be off by 5 per cent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest.mock import patch

import numpy as np
import pandas as pd
from best_table import binned
from simulated_pairs import Codes, coded, simulated_distances, table_of

from sottovoce.curator.pairs import planning
from sottovoce.curator.pairs.groups import PairBatch
from sottovoce.curator.pairs.shrinkage_by_level import HALF, with_sums
from sottovoce.curator.pairs.spreads import SpreadDistribution, spreads_of_levels
from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs.tables import PlannedTable

MIN_DISTANCE: Final = 1e-4
"""Distances are taken to be at least so large, so that no pair is left out for good."""

Spreads: TypeAlias = Callable[..., Sequence[SpreadDistribution]]


def informed_spreads(domain: Domain, codes: Codes) -> Spreads:
    """Make a stand-in for `spreads_of_levels` that knows the records."""
    rows = len(next(iter(codes.values())))
    exact_tables: dict[tuple[str, ...], np.ndarray] = {}

    def exact(batch: PairBatch) -> np.ndarray:
        for pair in batch.pairs:
            if pair not in exact_tables:
                exact_tables[pair] = table_of(codes, domain, PlannedTable(pair, 1), rows=rows)
        return np.stack([exact_tables[pair] for pair in batch.pairs])

    def spreads(batch: PairBatch, singles: Any, **options: Any) -> list[SpreadDistribution]:
        finest, coarse, informed = exact(batch), None, []
        for level, guess in enumerate(spreads_of_levels(batch, singles, **options)):
            table = batch.merge(finest, start=batch.finest, level=level)
            even = table.sum(axis=2)[:, :, None] * table.sum(axis=1)[:, None, :]
            if coarse is not None:
                even = with_sums(batch, even, coarse, level)
            distances = np.abs(table - even).sum(axis=(1, 2)) / 2
            unit = HALF * np.sqrt(guess.even).sum(axis=1)  # the distance that a spread of 1 means
            weights, candidates = np.zeros((2, *guess.weights.shape))
            weights[:, 0] = 1
            candidates[:, 0] = (np.maximum(distances, MIN_DISTANCE) / unit) ** 2
            informed.append(SpreadDistribution(weights, candidates, guess.even))
            coarse = table
        return informed

    return spreads


def mean_distance(domain: Domain, codes: Codes, *, seeds: int, **options: Any) -> float:
    """Average the distances of all pairs and seeds."""
    means = [
        np.mean([*simulated_distances(domain, codes, seed=seed, **options).values()])
        for seed in range(seeds)
    ]
    return float(np.mean(means))


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    seeds, bins = int(settings.get("seeds", 2)), int(settings.get("bins", 16))
    if not files:
        sys.exit("expected the path of a table, found none: name one or more CSV files")
    ratios = []
    for file in files:
        domain, codes = coded(binned(pd.read_csv(file), bins=bins))
        for epsilon in map(float, settings.get("epsilon", "0.2,0.8").split(",")):
            for parties in map(int, settings.get("parties", "1,3").split(",")):
                options: dict[str, Any] = {"epsilon": epsilon, "parties": parties, "seeds": seeds}
                usual = mean_distance(domain, codes, **options)
                with patch.object(planning, "spreads_of_levels", informed_spreads(domain, codes)):
                    informed = mean_distance(domain, codes, **options)
                ratios.append(informed / usual)
                print(
                    f"{Path(file).name:<28} epsilon {epsilon:<4g} K = {parties}  "
                    f"{usual:.4f}  informed {informed:.4f}  {ratios[-1]:.2f}",
                    flush=True,
                )
    print(f"geometric mean of {len(ratios)} ratios: {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main()
