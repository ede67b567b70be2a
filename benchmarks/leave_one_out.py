"""Constants of DP-SUBN's choice of edges, each chosen on all tables but one and tried on that one.

    python benchmarks/leave_one_out.py FILE FILE ... [epsilon=0.2,0.4,0.8,1.6] [seeds=1] [bins=16]

For each constant the script runs DP-SUBN with three parties with smaller and larger values, and
prints the two-way distance relative to that with the value of the code, as a geometric mean over
epsilons. Then it chooses the best value on all tables but one, and prints the ratio on that one. If
the ratios are near 1, no table decides the constants.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pandas as pd
from best_table import binned

import sottovoce
from sottovoce.protocols.dp_subn import edge_choice, edge_plan

CONSTANTS: Final[list[tuple[ModuleType, str, tuple[float, ...]]]] = [
    (edge_choice, "JOINED", (0.25, 0.8)),
    (edge_choice, "WORTH", (0.5, 1.1)),
    (edge_plan, "CHOICE_LOSS", (1.0, 2.5)),
]


def two_way_distance(real: pd.DataFrame, rows: pd.DataFrame) -> float:
    """Compute the average total variation distance of all pairs of attributes."""
    labels = {name: np.unique(real[name]) for name in real.columns}
    codes = [
        {name: np.searchsorted(labels[name], table[name].astype(str)) for name in real.columns}
        for table in (real, rows)
    ]
    distances = []
    for first, second in combinations(real.columns, 2):
        size = len(labels[second])
        cells = len(labels[first]) * size
        shares = [
            np.bincount(code[first] * size + code[second], minlength=cells) / len(code[first])
            for code in codes
        ]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances))


def log_distances(frame: pd.DataFrame, *, epsilons: list[float], seeds: int) -> float:
    """Run DP-SUBN, and average the logarithms of its distances."""
    logs = []
    for epsilon in epsilons:
        for seed in range(seeds):
            run = sottovoce.run(
                "dp-subn",
                frame,
                parties=3,
                epsilon=epsilon,
                seed=seed,
                aggregator="masks",
                labels=True,
                judge=False,
            )
            assert run.synthetic is not None
            logs.append(np.log(two_way_distance(frame, run.synthetic)))
    return float(np.mean(logs))


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    if len(files) < 2:
        sys.exit("expected two tables or more, found fewer: name CSV files")
    epsilons = [float(text) for text in settings.get("epsilon", "0.2,0.4,0.8,1.6").split(",")]
    seeds, bins = int(settings.get("seeds", 1)), int(settings.get("bins", 16))
    tables = {Path(file).name: binned(pd.read_csv(file), bins=bins) for file in files}
    usual = {
        name: log_distances(frame, epsilons=epsilons, seeds=seeds) for name, frame in tables.items()
    }
    for module, constant, values in CONSTANTS:
        logs: dict[float, dict[str, float]] = {
            getattr(module, constant): dict.fromkeys(tables, 0.0)
        }
        for value in values:
            with patch.object(module, constant, value):
                logs[value] = {
                    name: log_distances(frame, epsilons=epsilons, seeds=seeds) - usual[name]
                    for name, frame in tables.items()
                }
            figures = "  ".join(f"{name} {np.exp(log):.3f}" for name, log in logs[value].items())
            mean = np.exp(np.mean([*logs[value].values()]))
            print(f"{constant} = {value}: {mean:.3f} on average; {figures}", flush=True)
        kept = []
        for left_out in tables:
            means = {
                value: np.mean([log for name, log in ratios.items() if name != left_out])
                for value, ratios in logs.items()
            }
            kept.append(np.exp(logs[min(means, key=lambda value: means[value])][left_out]))
        print(f"{constant}, chosen without a table, on that one: {np.mean(kept):.3f} on average")


if __name__ == "__main__":
    main()
