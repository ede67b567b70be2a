"""The error of dp-subn on a table of one's own, beside the floor, by epsilon.

    python benchmarks/utility.py FILE [SEEDS] [NAME=VALUE ...]

Prints the average total variation distance of two-way and three-way marginals, K = 3, a mean over seeds, and what single
attributes alone reach: with noise (`one-way`) and exactly. NAME=VALUE are parameters of dp-subn; schema=FILE is the schema.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import sottovoce


def error(protocol: str, data: str, *, seeds: int, **settings: Any) -> tuple[list[float], list[float]]:
    runs = [sottovoce.run(protocol, data, seed=seed, aggregator="masks", **settings).report for seed in range(seeds)]
    found = np.mean([[own["average"] for own in run["utility"]["distances"]] for run in runs], axis=0)
    return found.tolist(), [own["one_way"] for own in runs[0]["utility"]["distances"]]


def main() -> None:
    data, *words = sys.argv[1:]
    seeds = int(words.pop(0)) if words and words[0].isdigit() else 3
    settings: dict[str, Any] = dict(word.split("=", 1) for word in words)
    schema = {"schema": settings.pop("schema")} if "schema" in settings else {}
    for epsilon in (0.2, 0.4, 0.8, 1.6):
        ours, exact = error("dp-subn", data, seeds=seeds, epsilon=epsilon, **schema, **settings)
        floor, _ = error("one-way", data, seeds=seeds, epsilon=epsilon, **schema)
        shown = ", ".join(
            f"{name} {' / '.join(f'{value:.4f}' for value in values)}"
            for name, values in (("dp-subn", ours), ("one-way", floor), ("exact one-way", exact))
        )
        print(f"epsilon {epsilon}: {shown}", flush=True)


if __name__ == "__main__":
    main()
