"""The error of JTree: by one holder and by several parties, each way to the graph, as printed, and
beside single attributes.

    python benchmarks/jtree.py [FILE] [SEEDS] [schema=FILE] [epsilon=0.2,0.5,0.8,1] [parties=1,4]
                               [structures=tree,top,...] [classify=LABEL,...]

Prints the average total variation distance of two-way and three-way marginals, a mean over seeds
with the deviation of the two-way mean over one seed, seconds, bytes, and ratios to the first. Noise
does not depend on who hides the sums, so masks do.
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
    "gauss": ("jtree", {"structure": "gauss"}),
    "paper": ("jtree", {"mode": "paper", "noise": "shares"}),
    "one-way": ("one-way", {}),
}


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 5
    data = words[0] if words else "demo"
    structures = settings.pop("structures", ",".join(STRUCTURES)).split(",")
    holders = [int(one) for one in settings.pop("parties", "1,4").split(",")]
    targets = [own for own in settings.pop("classify", "").split(",") if own]
    print(f"{data}, {seeds} seeds")
    for epsilon in map(float, settings.pop("epsilon", "0.2,0.5,0.8,1").split(",")):
        first = 0.0
        for parties in holders:
            for structure in structures:
                if structure == "paper" and parties > 1:
                    continue
                name, own = STRUCTURES[structure]
                found, missed = [], []
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
                        **(settings | own),
                    )
                    utility, sent = run.judgement["utility"], run.report["communication"]
                    found.append(
                        [
                            utility["tvd"]["2"],
                            utility["tvd"]["3"],
                            run.report["seconds"],
                            sent["payload_bytes"],
                        ]
                    )
                    missed.append([one["synthetic"] for one in utility["classification"]])
                two, three, seconds, sent_bytes = np.mean(found, axis=0)
                first = first or two
                deviation = np.std([one[0] for one in found], ddof=1) if seeds > 1 else 0.0
                told = ", ".join(
                    f"{t} {share:.3f}"
                    for t, share in zip(targets, np.mean(missed, axis=0), strict=True)
                )
                print(
                    f"epsilon {epsilon:g}  {parties} parties  {structure:8s} {two:.4f} ({deviation:.4f}) / {three:.4f}"
                    f"  {seconds:5.1f} s  {sent_bytes:11,.0f} bytes  {two / first:5.2f} times"
                    + (f"  wrong: {told}" if told else "")
                    + f"  ({time.perf_counter() - began:.0f} s in all)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
