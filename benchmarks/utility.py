"""Errors of DP-SUBN and of its baselines by epsilon, on the demo table or another one.

    python benchmarks/utility.py [FILE] [SEEDS] [schema=FILE] [parties=3] [epsilon=0.2,0.4,0.8,1.6]
                                 [judge=original|binary] [classify=LABEL]
                                 [protocols=dp-subn,one-way,...] [NAME=VALUE ...]

The script prints the average total variation distance of two-way and three-way marginals as a mean
over seeds, the standard error of the two-way mean, the distance of exact one-way tables, and at the
end ratios to the first protocol. NAME=VALUE are parameters of the protocols that have them, such as
attributes=binary, or delta=0 for pure epsilon. With classify it also prints the error of a linear
classifier of LABEL (education without `education-num`, which is the same). Noise does not depend on
keys, so keys are short.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from family import FAMILY

import sottovoce
from sottovoce.parties import DEMO
from sottovoce.parties.demo import demo_table
from sottovoce.protocols import find


def errors(
    protocol: str, data: Any, *, seeds: int, judge: str, classify: list[str], **settings: Any
) -> list[list[float]]:
    """Compute the two-way and three-way distances, those of exact one-way tables, and the error.

    Returns:
        A row for each seed.
    """
    rows = []
    for seed in range(seeds):
        run = sottovoce.run(protocol, data, seed=seed, judge=False, **settings)
        schema = json.loads(run.files["schema.json"])
        real = demo_table() if isinstance(data, str) and data == DEMO else data
        evaluation = sottovoce.evaluate(
            real,
            run.synthetic,
            schema=schema,
            binary=judge == "binary",
            classify=classify,
            drop=["education-num"] if classify and classify[0].startswith("education") else [],
        )
        distances = [result for result in evaluation.distances if result.attributes == judge]
        averages = [result.average for result in distances]
        baselines = [result.one_way for result in distances]
        wrong = [result.synthetic for result in evaluation.classification] or [np.nan]
        rows.append([*averages, *baselines, *wrong])
    return rows


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    data = words[0] if words else DEMO
    judge = settings.pop("judge", "original")
    classify = [settings.pop("classify")] if "classify" in settings else []
    protocols = settings.pop("protocols", "dp-subn,one-way").split(",")
    common = {"parties": int(settings.pop("parties", 3))}
    common |= {"schema": settings.pop("schema")} if "schema" in settings else {}
    means: dict[tuple[str, str], float] = {}
    for epsilon in settings.pop("epsilon", "0.2,0.4,0.8,1.6").split(","):
        exact: list[float] = []
        lines = []
        for title in protocols:
            name, fixed = FAMILY[title]
            fields = find(name).Parameters.__struct_fields__
            parameters = {key: value for key, value in settings.items() if key in fields} | fixed
            if "aggregator" in fields:
                paper = parameters.get("mode") == "paper"
                parameters |= (
                    {"aggregator": "paillier", "key_bits": 512, "insecure_test_keys": True}
                    if paper
                    else {"aggregator": "masks"}
                )
            figures = np.array(
                errors(
                    name,
                    data,
                    seeds=seeds,
                    judge=judge,
                    classify=classify,
                    epsilon=float(epsilon),
                    **common,
                    **parameters,
                )
            )
            two_way, three_way, *exact, wrong = figures.mean(axis=0).tolist()
            means[title, epsilon] = two_way
            spread = figures[:, 0].std(ddof=1) / np.sqrt(seeds) if seeds > 1 else 0.0
            lines.append(
                f"  {title:<16} {two_way:.4f} (+- {spread:.4f}) / {three_way:.4f}"
                + (f"  wrong {wrong:.4f}" if classify else "")
            )
        print(
            f"epsilon {epsilon}, exact one-way tables {exact[0]:.4f} / {exact[1]:.4f}",
            *lines,
            sep="\n",
            flush=True,
        )
    for title in protocols[1:]:
        ratios = ", ".join(
            f"{means[title, e] / means[protocols[0], e]:.2f}"
            for (parameters, e) in means
            if parameters == protocols[0]
        )
        print(f"{title} has {ratios} times the two-way distance of {protocols[0]}")


if __name__ == "__main__":
    main()
