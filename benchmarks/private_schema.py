"""Errors of private schemas: bins learnt with noise, beside true quantiles and equal widths.

    python benchmarks/private_schema.py FILE ... [epsilon=0.05,0.1,0.2] [parties=1,3] [seeds=3]
                                        [bins=16] [protocol=dp-subn] [budget=1] [share=0.1,0.3]

Each FILE is a table with numbers. A line is printed for each epsilon of the schema and each number
of parties, as means over columns of numbers and seeds:

    bins    how many bins a column has
    rank    how far the share of rows up to an edge is from the share that it stands for
    TV      total variation between the shares of rows in the bins and equal shares
    1-way   error of a synthetic table of the protocol, which has the schema and a further budget:
            the mean over 15 thresholds of |P(x <= t) - P'(x <= t)|
    2-way   the same for P(x <= s, y <= t), over pairs of columns and 7 x 7 thresholds

The last lines of a table are of whole runs: the protocol learns its schema itself, with a share of
the one budget. Rows above them have that budget for the protocol, beside what the schema cost.

With "kinds public" the plan says which columns are numbers, whole numbers or texts. Without it
that is learnt, too. Thresholds are true quantiles. A synthetic number is drawn uniformly from its
bin. All columns of a table are learnt, its texts too; the errors are those of its numbers.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import sottovoce

Numbers = npt.NDArray[np.float64]
MAX_PAIRS = 40


def true_quantiles(values: Numbers, *, bins: int) -> list[float]:
    """Give the edges of bins with equally many rows; equal quantiles are merged."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)[1:]))
    low = min(values.min(), edges[0]) - 1e-9 * max(1.0, abs(float(values.min())))
    return [float(low), *edges.tolist()]


def equal_widths(values: Numbers, *, bins: int) -> list[float]:
    """Give the edges of bins of equal width over the true range."""
    return [float(edge) for edge in np.linspace(values.min(), values.max(), bins + 1)]


def edge_errors(values: Numbers, edges: list[float]) -> tuple[float, float]:
    """Compute the mean rank error of the inner edges, and how unequal the bins are."""
    count, ordered = len(edges) - 1, np.sort(values)
    inner = np.array(edges[1:-1])
    shares = np.arange(1, count) / count
    low = np.searchsorted(ordered, inner, side="left") / len(values)
    high = np.searchsorted(ordered, inner, side="right") / len(values)
    ranks = np.maximum(0.0, np.maximum(low - shares, shares - high))
    bounds = np.concatenate([[-np.inf], inner, [np.inf]])
    masses = np.histogram(-values, -bounds[::-1])[0] / len(values)  # closed on the right
    return float(ranks.mean()) if count > 1 else np.nan, float(np.abs(masses - 1 / count).sum() / 2)


def numbers_of(column: pd.Series[Any], edges: list[float], *, seed: int) -> Numbers:
    """Draw a number in the bin of each label."""
    generator = np.random.default_rng(seed)
    ends = column.astype(str).str.strip("[]()").str.split(",", expand=True)
    if ends.shape[1] < 2:
        return np.full(len(column), edges[0])
    low, high = (pd.to_numeric(ends[side], errors="coerce").to_numpy(float) for side in (0, 1))
    drawn = low + (high - low) * generator.random(len(column))
    return np.where(np.isnan(drawn), edges[len(edges) // 2], drawn)


def answer_errors(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """Compute the errors of counts below one threshold, and below two."""
    singles, pairs = [], []
    fine = {name: np.quantile(real[name], np.arange(1, 16) / 16, method="higher") for name in real}
    below = {
        name: [frame[name].to_numpy()[:, None] <= fine[name] for frame in (real, synthetic)]
        for name in real
    }
    for first, second in below.values():
        singles.append(np.abs(first.mean(0) - second.mean(0)).mean())
    names = list(itertools.combinations(real.columns, 2))
    chosen = np.random.default_rng(0).permutation(len(names))[:MAX_PAIRS]
    for index in chosen:
        (a, b), (c, d) = below[names[index][0]], below[names[index][1]]
        exact = a[:, 1::2].T.astype(float) @ c[:, 1::2] / len(real)
        other = b[:, 1::2].T.astype(float) @ d[:, 1::2] / len(synthetic)
        pairs.append(np.abs(exact - other).mean())
    return float(np.mean(singles)), float(np.mean(pairs))


def measure(
    table: pd.DataFrame,
    names: list[str],
    schema: dict[str, Any],
    *,
    protocol: str,
    budget: float,
    seed: int,
    share: float = 0.1,
) -> list[float]:
    """Measure one schema, or the one that a run learns: bins, rank, TV, 1-way, 2-way."""
    run = sottovoce.run(
        protocol,
        table,
        schema=schema,
        schema_share=share,
        epsilon=budget,
        parties=3,
        seed=100 + seed,
        judge=False,
        aggregator="masks",
    )
    assert run.labels is not None
    learnt = json.loads(run.files["schema.json"])
    edges = {name: bin_edges(learnt[name]) for name in names}
    errors = [edge_errors(table[name].to_numpy(float), edges[name]) for name in names]
    synthetic = pd.DataFrame(
        {name: numbers_of(run.labels[name], edges[name], seed=seed) for name in names}
    )
    return [
        float(np.mean([len(each) - 1 for each in edges.values()])),
        float(np.nanmean([rank for rank, _ in errors])),
        float(np.mean([variation for _, variation in errors])),
        *answer_errors(table[names].astype(float), synthetic),
    ]


def plan_of(column: pd.Series[Any], kind: str, *, bins: int) -> dict[str, Any]:
    """Say how a column is learnt: by this kind, or by the kind that it has."""
    if not kind and column.dtype.kind not in "if":
        return {"private": "categories"}
    return {"private": kind or {"i": "integers", "f": "numbers"}[column.dtype.kind], "bins": bins}


def bin_edges(rule: dict[str, Any]) -> list[float]:
    """Give the edges of a rule, as a schema file has it."""
    if "bins" in rule:
        low, high = rule["range"]
        return [float(edge) for edge in np.linspace(low, high, rule["bins"] + 1)]
    return [float(edge) for edge in rule["edges"]]


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    epsilons = [float(word) for word in settings.get("epsilon", "0.05,0.1,0.2").split(",")]
    counts = [int(word) for word in settings.get("parties", "1,3").split(",")]
    seeds, bins = int(settings.get("seeds", 3)), int(settings.get("bins", 16))
    protocol, budget = settings.get("protocol", "dp-subn"), float(settings.get("budget", 1))
    print("| table | schema | K | bins | rank | TV | 1-way | 2-way |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for file in files:
        table = pd.read_csv(file)
        names = [name for name in table if table[name].dtype.kind in "if"]
        texts = {
            name: sorted(map(str, table[name].unique())) for name in table if name not in names
        }
        title = Path(file).name.partition(".")[0]
        for text, edges_of in (("true quantiles", true_quantiles), ("equal widths", equal_widths)):
            public: dict[str, Any] = {
                name: {"edges": edges_of(table[name].to_numpy(float), bins=bins), "clip": True}
                for name in names
            }
            rows = [
                measure(table, names, public | texts, protocol=protocol, budget=budget, seed=seed)
                for seed in range(seeds)
            ]
            print_row(title, text, "", rows)
        plans = {"private": "any", "kinds public": ""}
        for (text, kind), epsilon, parties in itertools.product(plans.items(), epsilons, counts):
            rows = []
            for seed in range(seeds):
                run = sottovoce.run(
                    "private-schema",
                    table,
                    schema={name: plan_of(table[name], kind, bins=bins) for name in table},
                    epsilon=epsilon,
                    parties=parties,
                    seed=seed,
                    judge=False,
                    aggregator="masks",
                )
                learnt = json.loads(run.files["schema.json"])
                kept = [name for name in names if "categories" not in learnt[name]]
                whole = learnt | texts
                rows.append(
                    measure(table, kept, whole, protocol=protocol, budget=budget, seed=seed)
                )
            print_row(title, f"{text}, epsilon {epsilon:g}", str(parties), rows)

        for share in (float(word) for word in settings.get("share", "0.1,0.3").split(",")):
            plan = {name: plan_of(table[name], "", bins=bins) for name in table}
            rows = [
                measure(
                    table, names, plan, protocol=protocol, budget=budget, seed=seed, share=share
                )
                for seed in range(seeds)
            ]
            print_row(title, f"one run, kinds public, share {share:g}", "3", rows)


def print_row(title: str, text: str, parties: str, rows: list[list[float]]) -> None:
    bins, *errors = np.nanmean(rows, axis=0)
    figures = " | ".join(f"{error:.4f}" for error in errors)
    print(f"| {title} | {text} | {parties} | {bins:.1f} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
