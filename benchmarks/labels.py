"""CLLDP's tables and figures: joint estimation, classifiers, attacks on labels, and the choice of k.

    python benchmarks/labels.py joint [SEEDS] [out=FOLDER]                  figures 3 and 6, table 4; data of its own
    python benchmarks/labels.py learn TRAIN TEST SCHEMA [SEEDS] [out=FOLDER] [epsilon=1,4] [tree=yes] ['only=best k|LabelDP']
    python benchmarks/labels.py attack DATA SCHEMA [out=FOLDER]             figure 5, with the adversaries that it leaves out

Each prints means over seeds, and beside them what is expected: of an estimate its exact error. With `out` the numbers are left
as CSV, and drawn as SVG where matplotlib is installed.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce
from sottovoce.curator.projections import norm_sub
from sottovoce.evaluation.label_attacks import EPSILONS, label_attacks
from sottovoce.evaluation.label_sets import LABEL_SETS, likely_of
from sottovoce.evaluation.prediction import Classifier, accuracy
from sottovoce.parties import load, read_schema
from sottovoce.privacy.local import SymmetricUnary
from sottovoce.privacy.local.belief import beliefs
from sottovoce.privacy.local.heads import HeadsResponse, choose_heads, heads_error

USERS = 100_000


def main() -> None:
    words = [word for word in sys.argv[1:] if "=" not in word]
    more: dict[str, str] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    out = Path(more.pop("out")) if "out" in more else None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    match words:
        case ["joint", *seeds]:
            joint(int(seeds[0]) if seeds else 5, out)
        case ["learn", train, test, schema, *seeds]:
            learn(train, test, schema, int(seeds[0]) if seeds else 3, out, more)
        case ["attack", data, schema]:
            attack(data, schema, out)
        case _:
            sys.exit(__doc__)


def joint(seeds: int, out: Path | None) -> None:
    """Estimate the four joint distributions at each epsilon."""
    print("omega at k = 1 (table 4):", ", ".join(f"{name} {beliefs(likely_of(name))[0]:.4f}" for name in LABEL_SETS))
    lines = []
    for name in LABEL_SETS:
        likely = likely_of(name)
        curve = beliefs(likely)
        true = likely / len(likely)
        for epsilon in (*EPSILONS[:2], 2.0, 3.0, 4.0, 5.0, 8.0):
            paper = choose_heads(true.size, epsilon=epsilon, beliefs=curve, rule="paper")
            best = choose_heads(true.size, epsilon=epsilon, beliefs=curve)
            ways: dict[str, Any] = {
                "k = 1": (1, curve[0]),
                "equation 8": (paper, _omega(curve, paper)),
                "best k": (best, _omega(curve, best)),
            }
            line: dict[str, Any] = {"set": name, "epsilon": epsilon}
            for way, (heads, omega) in ways.items():
                own = HeadsResponse(true.size, epsilon=epsilon, belief=float(omega), chosen=heads)
                errors = [_error(own, true, seed) for seed in range(seeds)]
                line |= {way: np.mean([one[0] for one in errors]), f"{way}, k": heads}
                line[f"{way}, expected"] = sqrt(heads_error(true.size, heads, epsilon=epsilon, belief=float(omega)) / USERS)
                if way == "best k":
                    line["best k, simplex"] = np.mean([one[1] for one in errors])
            basic = SymmetricUnary(true.size, epsilon=epsilon)
            line["basic"] = np.mean([_error(basic, true, seed)[0] for seed in range(seeds)])
            lines.append(line)
            print(
                f"{name:10} eps {epsilon:<4g} k=1 {line['k = 1']:.4f}  equation 8 {line['equation 8']:.4f} (k={paper})  "
                f"best k {line['best k']:.4f} (k={best}; expected {line['best k, expected']:.4f})  "
                f"simplex {line['best k, simplex']:.4f}  basic {line['basic']:.4f}",
                flush=True,
            )
    _leave(out, "figure-3", lines, x="epsilon", by="set", ys=("k = 1", "equation 8", "best k", "best k, simplex", "basic"))
    sweep = []
    for name in LABEL_SETS:
        curve, true = beliefs(likely_of(name)), likely_of(name) / 5
        for heads in (*range(1, 13), *range(15, 101, 5)):
            own = HeadsResponse(true.size, epsilon=3.0, belief=_omega(curve, heads), chosen=heads)
            expected = sqrt(heads_error(true.size, heads, epsilon=3.0, belief=own.belief) / USERS)
            error = float(np.mean([_error(own, true, seed)[0] for seed in range(seeds)]))
            sweep.append({"set": name, "k": heads, "error": error, "expected": expected})
        best, other = (
            min((own for own in sweep if own["set"] == name), key=lambda own: own[key]) for key in ("error", "expected")
        )
        print(
            f"epsilon 3, {name:10} least error {best['error']:.4f} at k={best['k']}; "
            f"expected {other['expected']:.4f} at {other['k']}"
        )
    _leave(out, "figure-6", sweep, x="k", by="set", ys=("error", "expected"))


def _omega(curve: Any, heads: int) -> float:
    return float(curve[heads - 1]) if heads <= len(curve) else 1.0


def _error(randomizer: Any, true: Any, seed: int) -> tuple[float, float]:
    """The L2 error of one estimate, as it is and made a distribution; reports' sums are drawn from their law."""
    generator = np.random.Generator(np.random.Philox(seed))
    counts = generator.multinomial(USERS, true.reshape(-1))
    found = randomizer.estimate(randomizer.simulate(counts, generator), users=USERS)
    empirical = counts / USERS
    return float(np.linalg.norm(found - empirical)), float(np.linalg.norm(norm_sub(found) - empirical))


def learn(train: str, test: str, schema: str, seeds: int, out: Path | None, more: dict[str, str]) -> None:
    """Learn classifiers, and apply them to rows of their own."""
    tree = more.pop("tree", "no") == "yes"
    epsilons = [float(own) for own in more.pop("epsilon").split(",")] if "epsilon" in more else EPSILONS
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
            name, {"learning": "levels", "depth": 3, "belief": "oracle", "heads": 1, "record_cap": 0},
        )  # fmt: skip
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
                run = sottovoce.run(protocol, train, parties=2, schema=schema, epsilon=epsilon, seed=seed, judge=False, **given)
                found.append(accuracy(Classifier(run.model, rules), held).model)
            line[way] = float(np.mean(found))
            took = (time.perf_counter() - started) / seeds
            print(f"epsilon {epsilon:<4g} {way:28} {np.mean(found):.4f} ({np.std(found):.4f})  {took:.1f} s a run", flush=True)
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
        line |= {"LabelDP: attributes (paper)": own.labeldp_attributes, "LabelDP: whole report": own.labeldp_whole}
        line |= {"CLLDP: noisy value (paper)": own.clldp_attributes, "CLLDP: whole report": own.clldp_whole}
        line |= {"CLLDP: report and attributes": own.clldp_and_attributes}
        lines.append(line)
        print(", ".join(f"{key} {value:.3f}" for key, value in line.items()), flush=True)
    _leave(out, "figure-5", lines, x="epsilon", by="", ys=tuple(lines[0])[1:])


def _leave(out: Path | None, name: str, lines: Sequence[dict[str, Any]], *, x: str, by: str, ys: Sequence[str]) -> None:
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
