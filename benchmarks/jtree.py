"""Errors of JTree, with one party and several, for each structure, and of single attributes.

    python benchmarks/jtree.py [FILE] [SEEDS] [schema=FILE] [epsilon=0.2,0.5,0.8,1] [parties=1,4]
                               [structures=tree,top,...] [classify=LABEL,...] [delta=0]

The script prints the average total variation distance of two-way and three-way marginals as a mean
over seeds, the standard deviation of the two-way distance, seconds, bytes, and ratios to the first.
Noise does not depend on the aggregator, so masks are used. Structure gauss has delta 1e-6.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import sottovoce

STRUCTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("jtree", {}),
    "top": ("jtree", {"structure": "top"}),
    "svt": ("jtree", {"structure": "svt"}),
    "laplace": ("jtree", {"structure": "laplace"}),
    "gauss": ("jtree", {"structure": "gauss", "delta": 1e-6}),
    "paper": ("jtree", {"mode": "paper", "noise": "laplace"}),
    "one-way": ("one-way", {}),
}


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 5
    data = words[0] if words else "demo"
    structures = settings.pop("structures", ",".join(STRUCTURES)).split(",")
    holders = [int(word) for word in settings.pop("parties", "1,4").split(",")]
    targets = [word for word in settings.pop("classify", "").split(",") if word]
    print(f"{data}, {seeds} seeds")
    for epsilon in map(float, settings.pop("epsilon", "0.2,0.5,0.8,1").split(",")):
        first_distance = 0.0
        for parties in holders:
            for structure in structures:
                if structure == "paper" and parties > 1:
                    continue
                name, parameters = STRUCTURES[structure]
                figures, errors = [], []
                began = time.perf_counter()
                for seed in range(1, seeds + 1):
                    run = sottovoce.run(
                        name,
                        data,
                        epsilon=epsilon,
                        parties=parties,
                        seed=seed,
                        aggregator="masks",
                        classify=targets,
                        **(settings | parameters),
                    )
                    utility, sent = run.judgement["utility"], run.report["communication"]
                    figures.append(
                        [
                            utility["tvd"]["2"],
                            utility["tvd"]["3"],
                            run.report["seconds"],
                            sent["payload_bytes"],
                        ]
                    )
                    errors.append([row["synthetic"] for row in utility["classification"]])
                two_way, three_way, seconds, sent_bytes = np.mean(figures, axis=0)
                first_distance = first_distance or two_way
                deviation = np.std([row[0] for row in figures], ddof=1) if seeds > 1 else 0.0
                wrong = ", ".join(
                    f"{t} {share:.3f}"
                    for t, share in zip(targets, np.mean(errors, axis=0), strict=True)
                )
                print(
                    f"epsilon {epsilon:g}  {parties} parties  {structure:8s} "
                    f"{two_way:.4f} ({deviation:.4f}) / {three_way:.4f}"
                    f"  {seconds:5.1f} s  {sent_bytes:11,.0f} bytes"
                    f"  {two_way / first_distance:5.2f} times"
                    + (f"  wrong: {wrong}" if wrong else "")
                    + f"  ({time.perf_counter() - began:.0f} s in all)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
