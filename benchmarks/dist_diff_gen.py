"""The error of dist-diff-gen on a table of one's own, beside one-way tables, by epsilon: of
marginals, and of a classifier.

    python benchmarks/dist_diff_gen.py FILE SCHEMA TARGET [SEEDS] [NAME=VALUE ...]

K = 2. Four fifths of the table are published, a mean over seeds; printed are the average total
variation distance of its two-way marginals, and the share of the other fifth that a linear support
vector machine predicts wrong. NAME=VALUE are parameters of dist-diff-gen.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

import sottovoce
from sottovoce.evaluation.classification import classify, read_target
from sottovoce.parties import load, read_schema

PROTOCOL = "sottovoce.protocols.dist_diff_gen:DistDiffGen"


def main() -> None:
    file, schema, target, *words = sys.argv[1:]
    seeds = int(words.pop(0)) if words and words[0].isdigit() else 3
    settings: dict[str, Any] = dict(word.split("=", 1) for word in words)
    rules = read_schema(schema)
    table = pd.read_csv(file, dtype=object, keep_default_na=False)
    order = np.random.default_rng(0).permutation(len(table))
    kept, held = table.iloc[order[: len(table) * 4 // 5]], table.iloc[order[len(table) * 4 // 5 :]]
    real, test, asked = (
        load(kept, schema=rules),
        load(held, schema=rules),
        read_target(rules.domain, target),
    )
    for epsilon in (0.2, 0.4, 0.8, 1.6):
        for protocol, more in (
            ("one-way", {}),
            (PROTOCOL, {"mode": "rigorous", "target": target, **settings}),
            (PROTOCOL, {"mode": "paper", "target": target, **settings}),
        ):
            distances, errors = [], []
            for seed in range(seeds):
                run = sottovoce.run(
                    protocol,
                    kept,
                    schema=schema,
                    parties=2,
                    seed=seed,
                    epsilon=epsilon,
                    aggregator="masks",
                    **more,
                )
                two = run.judgement["utility"]["distances"][0]
                distances.append(two["average"])
                found = classify(real, load(run.synthetic, schema=rules), asked, test=test)
                errors.append(found.synthetic)
            print(
                f"epsilon {epsilon}: {run.report['protocol']} {more.get('mode', '')}: two-way {np.mean(distances):.4f} "
                f"(exact one-way {two['one_way']:.4f}, uniform {two['uniform']:.4f}), wrong {np.mean(errors):.4f} "
                f"(real {found.real:.4f}, majority {found.majority:.4f}); "
                f"{run.report['communication']['payload_bytes']:,} bytes, {run.report['communication']['rounds']} rounds",
                flush=True,
            )


if __name__ == "__main__":
    main()
