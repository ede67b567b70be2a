"""CLLDP's classifiers and attacks on labels, in more ways than figures 4 and 5 have (`sottovoce
reproduce` makes these).

    python benchmarks/labels.py learn TRAIN TEST SCHEMA [SEEDS] [out=FOLDER] [epsilon=1,4] [tree=yes] ['only=best k|LabelDP']
    python benchmarks/labels.py attack DATA SCHEMA [out=FOLDER]             figure 5, with the adversaries that it leaves out

Each prints means over seeds. With `out` the numbers are left as CSV, and drawn as SVG.
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
    more: dict[str, str] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    out = Path(more.pop("out")) if "out" in more else None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    match words:
        case ["learn", train, test, schema, *seeds]:
            learn(train, test, schema, int(seeds[0]) if seeds else 3, out, more)
        case ["attack", data, schema]:
            attack(data, schema, out)
        case _:
            sys.exit(__doc__)


def learn(
    train: str, test: str, schema: str, seeds: int, out: Path | None, more: dict[str, str]
) -> None:
    """Learn classifiers, and apply them to rows of their own."""
    tree = more.pop("tree", "no") == "yes"
    epsilons = (
        [float(own) for own in more.pop("epsilon").split(",")] if "epsilon" in more else EPSILONS
    )
    rules = read_schema(Path(schema))
    held = load(test, schema=rules)
    label = more.get("label", held.domain.attributes[-1])
    share = np.bincount(np.asarray(held.codes(label)).astype(int)).max() / len(held)
    name = "clldp-decision-tree" if tree else "clldp-naive-bayes"
    ways: dict[str, tuple[str, dict[str, Any]]] = {
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
        ways["levels, mended, k = 1, true omega"] = (
            name,
            {"learning": "levels", "depth": 3, "belief": "oracle", "heads": 1, "record_cap": 0},
        )
    if "only" in more:
        wanted = more.pop("only").split("|")
        ways = {way: own for way, own in ways.items() if any(part in way for part in wanted)}
    print(f"{train}: tested on {len(held):,} rows, the most frequent label {share:.4f}")
    lines = []
    for epsilon in epsilons:
        line: dict[str, Any] = {"epsilon": epsilon}
        for way, (protocol, own) in ways.items():
            found, started = [], time.perf_counter()
            given = {**own, **({} if protocol == "label-dp" else more)}
            for seed in range(seeds):
                run = sottovoce.run(
                    protocol,
                    train,
                    parties=2,
                    schema=schema,
                    epsilon=epsilon,
                    seed=seed,
                    judge=False,
                    **given,
                )
                found.append(accuracy(Classifier(run.model, rules), held).model)
            line[way] = float(np.mean(found))
            took = (time.perf_counter() - started) / seeds
            print(
                f"epsilon {epsilon:<4g} {way:28} {np.mean(found):.4f} ({np.std(found):.4f})  {took:.1f} s a run",
                flush=True,
            )
        lines.append(line)
    _leave(out, "figure-4-tree" if tree else "figure-4", lines, x="epsilon", by="", ys=tuple(ways))


def attack(data: str, schema: str, out: Path | None) -> None:
    """Guess labels from reports."""
    records = load(data, schema=read_schema(Path(schema)))
    label = records.domain.attributes[-1]
    lines = []
    for epsilon in EPSILONS:
        own = label_attacks(records, label=label, epsilon=epsilon)
        line = {"epsilon": epsilon, "majority": own.majority, "known attributes": own.known}
        line |= {
            "LabelDP: attributes (paper)": own.labeldp_attributes,
            "LabelDP: whole report": own.labeldp_whole,
        }
        line |= {
            "CLLDP: noisy value (paper)": own.clldp_attributes,
            "CLLDP: whole report": own.clldp_whole,
        }
        line |= {"CLLDP: report and attributes": own.clldp_and_attributes}
        lines.append(line)
        print(", ".join(f"{key} {value:.3f}" for key, value in line.items()), flush=True)
    _leave(out, "figure-5", lines, x="epsilon", by="", ys=tuple(lines[0])[1:])


def _leave(
    out: Path | None,
    name: str,
    lines: Sequence[dict[str, Any]],
    *,
    x: str,
    by: str,
    ys: Sequence[str],
) -> None:
    """Write numbers, and draw them."""
    if out is None:
        return
    with (out / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    try:
        import matplotlib as mpl
    except ImportError:
        print(f"{out / name}.csv (no picture: matplotlib is not installed)")
        return
    mpl.use("svg")
    from matplotlib import pyplot as plt

    groups = list(dict.fromkeys(line.get(by) for line in lines))
    figure, axes = plt.subplots(1, len(groups), figsize=(4 * len(groups), 3.2), squeeze=False)
    for axis, group in zip(axes[0], groups, strict=True):
        own = [line for line in lines if line.get(by) == group]
        for y in ys:
            axis.plot([line[x] for line in own], [line[y] for line in own], marker=".", label=y)
        axis.set(xlabel=x, title=group or name)
        if by:
            axis.set_yscale("log")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out / f"{name}.svg")
    print(f"{out / name}.csv, {out / name}.svg")


if __name__ == "__main__":
    main()
