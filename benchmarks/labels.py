"""CLLDP's classifiers and attacks on labels, with more variants than figures 4 and 5.

`sottovoce reproduce` makes the figures themselves.

    python benchmarks/labels.py learn TRAIN TEST SCHEMA [SEEDS] [out=FOLDER] [epsilon=1,4]
                                [tree=yes] ['only=best k|LabelDP']
    python benchmarks/labels.py attack DATA SCHEMA [out=FOLDER]

`attack` has the adversaries that figure 5 leaves out. The script prints means over seeds. With
`out` the numbers are written as CSV, and drawn as SVG.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce
from sottovoce.evaluation.label_attacks import EPSILONS, label_attacks
from sottovoce.evaluation.prediction import Classifier, accuracy
from sottovoce.parties import load, read_schema


def main() -> None:
    words = [word for word in sys.argv[1:] if "=" not in word]
    options: dict[str, str] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    out = Path(options.pop("out")) if "out" in options else None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    match words:
        case ["learn", train, test, schema, *seeds]:
            learn(train, test, schema, int(seeds[0]) if seeds else 3, out, options)
        case ["attack", data, schema]:
            attack(data, schema, out)
        case _:
            sys.exit(__doc__)


def learn(
    train: str, test: str, schema: str, seeds: int, out: Path | None, options_of_all: dict[str, str]
) -> None:
    """Learn classifiers, and apply them to other rows."""
    tree = options_of_all.pop("tree", "no") == "yes"
    epsilons = (
        [float(word) for word in options_of_all.pop("epsilon").split(",")]
        if "epsilon" in options_of_all
        else EPSILONS
    )
    rules = read_schema(Path(schema))
    test_rows = load(test, schema=rules)
    label = options_of_all.get("label", test_rows.domain.attributes[-1])
    share = np.bincount(np.asarray(test_rows.codes(label)).astype(int)).max() / len(test_rows)
    name = "clldp-decision-tree" if tree else "clldp-naive-bayes"
    variants: dict[str, tuple[str, dict[str, Any]]] = {
        "k = 1, true omega": (name, {"belief": "oracle", "heads": 1, "record_cap": 0}),
        "best k, true omega": (name, {"belief": "oracle", "record_cap": 0}),
        "best k, plug-in omega": (name, {"belief": "sample", "sure": 0, "record_cap": 0}),
        "default (upper omega, cap)": (name, {}),
        "omega = 1": (name, {"belief": "none"}),
        "as printed": (name, {"mode": "paper"}),
        "basic": (name, {"belief": "none", "randomizer": "basic"}),
        "LabelDP": ("label-dp", {}),
    }
    if tree:
        variants["levels, mended, k = 1, true omega"] = (
            name,
            {"learning": "levels", "depth": 3, "belief": "oracle", "heads": 1, "record_cap": 0},
        )
    if "only" in options_of_all:
        parts = options_of_all.pop("only").split("|")
        variants = {
            variant: parameters
            for variant, parameters in variants.items()
            if any(part in variant for part in parts)
        }
    print(f"{train}: tested on {len(test_rows):,} rows, the most frequent label {share:.4f}")
    rows = []
    for epsilon in epsilons:
        row: dict[str, Any] = {"epsilon": epsilon}
        for variant, (protocol, parameters) in variants.items():
            accuracies, started = [], time.perf_counter()
            options = {**parameters, **({} if protocol == "label-dp" else options_of_all)}
            for seed in range(seeds):
                run = sottovoce.run(
                    protocol,
                    train,
                    parties=2,
                    schema=schema,
                    epsilon=epsilon,
                    seed=seed,
                    judge=False,
                    **options,
                )
                accuracies.append(accuracy(Classifier(run.model, rules), test_rows).model)
            row[variant] = float(np.mean(accuracies))
            elapsed = (time.perf_counter() - started) / seeds
            print(
                f"epsilon {epsilon:<4g} {variant:28} "
                f"{np.mean(accuracies):.4f} ({np.std(accuracies):.4f})  "
                f"{elapsed:.1f} s a run",
                flush=True,
            )
        rows.append(row)
    _leave(
        out, "figure-4-tree" if tree else "figure-4", rows, x="epsilon", by="", ys=tuple(variants)
    )


def attack(data: str, schema: str, out: Path | None) -> None:
    """Guess labels from reports."""
    records = load(data, schema=read_schema(Path(schema)))
    label = records.domain.attributes[-1]
    rows = []
    for epsilon in EPSILONS:
        result = label_attacks(records, label=label, epsilon=epsilon)
        row = {"epsilon": epsilon, "majority": result.majority, "known attributes": result.known}
        row |= {
            "LabelDP: attributes (paper)": result.labeldp_attributes,
            "LabelDP: whole report": result.labeldp_whole,
        }
        row |= {
            "CLLDP: noisy value (paper)": result.clldp_attributes,
            "CLLDP: whole report": result.clldp_whole,
        }
        row |= {"CLLDP: report and attributes": result.clldp_and_attributes}
        rows.append(row)
        print(", ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)
    _leave(out, "figure-5", rows, x="epsilon", by="", ys=tuple(rows[0])[1:])


def _leave(
    out: Path | None,
    name: str,
    rows: Sequence[dict[str, Any]],
    *,
    x: str,
    by: str,
    ys: Sequence[str],
) -> None:
    """Write the numbers, and draw them."""
    if out is None:
        return
    with (out / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    try:
        import matplotlib as mpl
    except ImportError:
        print(f"{out / name}.csv (no picture: matplotlib is not installed)")
        return
    mpl.use("svg")
    from matplotlib import pyplot as plt

    groups = list(dict.fromkeys(row.get(by) for row in rows))
    figure, axes = plt.subplots(1, len(groups), figsize=(4 * len(groups), 3.2), squeeze=False)
    for axis, group in zip(axes[0], groups, strict=True):
        rows_of_group = [row for row in rows if row.get(by) == group]
        for y in ys:
            axis.plot(
                [row[x] for row in rows_of_group],
                [row[y] for row in rows_of_group],
                marker=".",
                label=y,
            )
        axis.set(xlabel=x, title=group or name)
        if by:
            axis.set_yscale("log")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out / f"{name}.svg")
    print(f"{out / name}.csv, {out / name}.svg")


if __name__ == "__main__":
    main()
