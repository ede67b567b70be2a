"""DP-SUBN on tables of two labels: attributes as they are, beside the variant on bits.

    python benchmarks/bits.py [FILE...] [seeds=2] [epsilon=0.2,0.8] [delta=0,1e-9] [parties=3]

The script prints two-way distances of the default and of `attributes=binary`, and their ratio.
Without a file the tables are made up: 16, 15 and 40 attributes that depend on three hidden numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from leave_one_out import two_way_distance

import sottovoce

ROWS = 20_000
HIDDEN = 3


def made_up(attributes: int, *, seed: int) -> pd.DataFrame:
    """Make up a table: each attribute depends on about half of the hidden numbers."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=(ROWS, HIDDEN))
    size = (HIDDEN, attributes)
    weights = generator.normal(size=size) * (generator.random(size) < 0.5)
    values = hidden @ weights + generator.normal(size=(ROWS, attributes))
    is_set = values > generator.normal(size=attributes)
    return pd.DataFrame({f"b{place}": column.astype(int) for place, column in enumerate(is_set.T)})


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    seeds, parties = int(settings.get("seeds", 2)), int(settings.get("parties", 3))
    tables = {Path(file).name: pd.read_csv(file) for file in files} or {
        f"made up, {attributes}": made_up(attributes, seed=seed)
        for seed, attributes in enumerate([16, 15, 40])
    }
    for title, numbers in tables.items():
        frame = numbers.astype(str)
        for delta in map(float, settings.get("delta", "0,1e-9").split(",")):
            for epsilon in map(float, settings.get("epsilon", "0.2,0.8").split(",")):
                means = []
                for more in ({}, {"attributes": "binary"}):
                    runs = [
                        sottovoce.run(
                            "dp-subn",
                            frame,
                            parties=parties,
                            epsilon=epsilon,
                            delta=delta,
                            seed=seed,
                            judge=False,
                            labels=True,
                            aggregator="masks",
                            **more,
                        )
                        for seed in range(seeds)
                    ]
                    rows = [run.synthetic for run in runs if run.synthetic is not None]
                    means.append(np.mean([two_way_distance(frame, table) for table in rows]))
                print(
                    f"{title}: delta {delta:g}, epsilon {epsilon:g}: default {means[0]:.4f}, "
                    f"on bits {means[1]:.4f}, {means[1] / means[0]:.2f} times",
                    flush=True,
                )


if __name__ == "__main__":
    main()
