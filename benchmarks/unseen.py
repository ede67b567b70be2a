"""The default protocol on tables that nobody has seen, beside single attributes and AIM.

    python benchmarks/unseen.py [tables=40] [first=0] [columns=2,61] [seeds=1] [aim=10]
                                [parties=K] [NAME=VALUE ...]

Each table is made up by its number (`made_up_tables`), with rows, columns, parties and epsilon.
Those with fewer or more `columns` are left out. The script runs `sottovoce.run` without a
protocol's name, noisy single attributes of the same parties (`one-way`), and AIM of one trusted
holder where there are at most as many columns as `aim` says. It prints average two-way distances,
as means over seeds, and the ratios of ours to both; an exclamation mark stands at ratios above 1
and above 1.1. Sums are masked. `parties` takes the place of each table's number of parties.
NAME=VALUE are parameters of `adaptive-pairs`.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np
from made_up_tables import MadeUpTable, made_up_table

import sottovoce


def mean_distance(protocol: str | None, table: MadeUpTable, *, seeds: int, **options: Any) -> float:
    """Run a protocol, and average the two-way distances of its rows over seeds."""
    distances = []
    for seed in range(seeds):
        run = sottovoce.run(
            protocol,
            table.frame,
            schema=table.schema,
            epsilon=table.epsilon,
            seed=seed,
            aggregator="masks",
            judge=False,
            **options,
        )
        evaluation = sottovoce.evaluate(
            table.frame, run.synthetic, schema=table.schema, ways=(2,), binary=False
        )
        distances.append(evaluation.distances[0].average)
    return float(np.mean(distances))


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:])
    tables, first = int(settings.pop("tables", 40)), int(settings.pop("first", 0))
    seeds, aim_columns = int(settings.pop("seeds", 1)), int(settings.pop("aim", 10))
    fewest, most = (int(text) for text in settings.pop("columns", "2,61").split(","))
    ratios: dict[str, list[float]] = {"single attributes": [], "AIM": []}
    for number in range(first, first + tables):
        table = made_up_table(number)
        parties = int(settings.get("parties", table.parties))
        rows, columns = table.frame.shape
        if not fewest <= columns <= most:
            continue
        line = (
            f"{number:>3} {table.structure:<10} {rows:>7,} x {columns:<2} K = {parties:<2} "
            f"epsilon {table.epsilon:<3g}"
        )
        start = perf_counter()
        ours = mean_distance(None, table, seeds=seeds, **{**settings, "parties": parties})
        seconds = (perf_counter() - start) / seeds
        line += f"  ours {ours:.4f} ({seconds:.0f} s)"
        baselines = {
            "single attributes": mean_distance("one-way", table, seeds=seeds, parties=parties)
        }
        if columns <= aim_columns:
            baselines["AIM"] = mean_distance("aim", table, seeds=seeds, parties=1)
        for title, distance in baselines.items():
            ratio = ours / distance if distance else float(ours > 0)
            ratios[title].append(ratio)
            mark = "!" if ratio > (1.1 if title == "AIM" else 1.0) else ""
            line += f"  {title} {distance:.4f} {ratio:.2f}{mark}"
        print(line, flush=True)
    for title, values in ratios.items():
        if values:
            print(
                f"ours over {title}: {np.exp(np.mean(np.log(values))):.3f} as a geometric mean of "
                f"{len(values)} tables, {min(values):.2f} to {max(values):.2f}"
            )


if __name__ == "__main__":
    main()
