"""Errors of dist-diff-gen and of one-way tables by epsilon: of marginals, and of a classifier.

    python benchmarks/dist_diff_gen.py FILE SCHEMA TARGET [SEEDS] [delta=0] [NAME=VALUE ...]

Two parties publish four fifths of the table. The script prints the average total variation distance
of its two-way marginals, and the share of the other fifth that a linear support vector machine
predicts wrong. Both are means over seeds. NAME=VALUE are parameters of dist-diff-gen.
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
    delta = float(settings.pop("delta", 0))
    rules = read_schema(schema)
    table = pd.read_csv(file, dtype=object, keep_default_na=False)
    order = np.random.default_rng(0).permutation(len(table))
    published_rows, test_rows = (
        table.iloc[order[: len(table) * 4 // 5]],
        table.iloc[order[len(table) * 4 // 5 :]],
    )
    real, test, label = (
        load(published_rows, schema=rules),
        load(test_rows, schema=rules),
        read_target(rules.domain, target),
    )
    for epsilon in (0.2, 0.4, 0.8, 1.6):
        for protocol, options in (
            ("one-way", {}),
            (PROTOCOL, {"mode": "rigorous", "target": target, **settings}),
            (PROTOCOL, {"mode": "paper", "target": target, **settings}),
        ):
            distances, errors = [], []
            for seed in range(seeds):
                run = sottovoce.run(
                    protocol,
                    published_rows,
                    schema=schema,
                    parties=2,
                    seed=seed,
                    epsilon=epsilon,
                    aggregator="masks",
                    delta=delta,
                    **options,
                )
                two_way = run.judgement["utility"]["distances"][0]
                distances.append(two_way["average"])
                result = classify(real, load(run.synthetic, schema=rules), label, test=test)
                errors.append(result.synthetic)
            sent = run.report["communication"]
            print(
                f"epsilon {epsilon}: {run.report['protocol']} {options.get('mode', '')}: "
                f"two-way {np.mean(distances):.4f} "
                f"(exact one-way {two_way['one_way']:.4f}, uniform {two_way['uniform']:.4f}), "
                f"wrong {np.mean(errors):.4f} "
                f"(real {result.real:.4f}, majority {result.majority:.4f}); "
                f"{sent['payload_bytes']:,} bytes, {sent['rounds']} rounds",
                flush=True,
            )


if __name__ == "__main__":
    main()
