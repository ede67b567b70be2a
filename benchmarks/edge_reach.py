"""How the budget of `dp-subn` is divided with pure epsilon, as now, as before, and in the extreme.

    python benchmarks/edge_reach.py [FILE...] [made_up=0] [seeds=2] [epsilon=0.2,0.8] [delta=0]

A plan counts the noise of an edge in other pairs by its `reach`. Two-way distances are printed as
now, with a reach of 1 (before 28 November 2026) and of 0, and beside them those of single
attributes alone. Files are cut at 16 quantiles, and have three parties. `made_up` is a number of
tables of `made_up_tables`, each of which has its own parties and epsilon. At last geometric means
of ratios to a reach of 1 are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from unittest.mock import PropertyMock, patch

import numpy as np
import pandas as pd
from best_table import binned
from made_up_tables import made_up_table

import sottovoce
from sottovoce.protocols.dp_subn.edge_plan import EdgeFigures

REACHES: Final[Mapping[str, float | None]] = {"now": None, "reach 1": 1.0, "reach 0": 0.0}
PARTIES: Final = 3
BINS: Final = 16


def distance(protocol: str, frame: pd.DataFrame, *, seeds: int, **options: Any) -> float:
    """Average the two-way distance of published rows over seeds."""
    distances = []
    for seed in range(seeds):
        run = sottovoce.run(protocol, frame, judge=False, aggregator="masks", seed=seed, **options)
        evaluation = sottovoce.evaluate(
            frame, run.synthetic, schema=options.get("schema"), ways=(2,), binary=False
        )
        distances.append(evaluation.distances[0].average)
    return float(np.mean(distances))


def compare(title: str, frame: pd.DataFrame, **options: Any) -> dict[str, float]:
    """Print the distances of a table, and return ratios to a reach of 1."""
    distances = {}
    for name, reach in REACHES.items():
        if reach is None:
            distances[name] = distance("dp-subn", frame, **options)
            continue
        with patch.object(EdgeFigures, "reach", new_callable=PropertyMock, return_value=reach):
            distances[name] = distance("dp-subn", frame, **options)
    texts = [f"{name} {value:.4f}" for name, value in distances.items()]
    alone = distance("one-way", frame, **options)
    print(f"{title}: {', '.join(texts)}, single attributes {alone:.4f}", flush=True)
    return {name: value / distances["reach 1"] for name, value in distances.items()}


def tables(
    files: list[str], made_up: int, epsilons: list[float]
) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Give the title, the table and the options of each comparison."""
    for file in files:
        frame = binned(pd.read_csv(file), bins=BINS)
        for epsilon in epsilons:
            title = f"{Path(file).name} at {epsilon:g}"
            yield title, frame, {"epsilon": epsilon, "parties": PARTIES}
    for number in range(1, made_up + 1):
        table = made_up_table(number)
        options = {"epsilon": table.epsilon, "parties": table.parties, "schema": table.schema}
        yield f"{number} {table.structure}", table.frame, options


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    made_up, seeds = int(settings.pop("made_up", 0)), int(settings.pop("seeds", 2))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.2,0.8").split(",")]
    delta = float(settings.pop("delta", 0))
    if settings or not (files or made_up):
        sys.exit(
            f"expected files or made_up=N, found {' '.join(settings) or 'neither'}: see the first "
            "lines of this script"
        )
    ratios = []
    for title, frame, options in tables(files, made_up, epsilons):
        try:
            ratios.append(compare(title, frame, seeds=seeds, delta=delta, **options))
        except sottovoce.UsageError as error:  # a table that nobody can publish
            print(f"{title}: left out, {error}")
    for name in ("now", "reach 0"):
        values = [each[name] for each in ratios]
        print(
            f"{name} over reach 1: {np.exp(np.mean(np.log(values))):.3f}, "
            f"{min(values):.2f} to {max(values):.2f}"
        )


if __name__ == "__main__":
    main()
