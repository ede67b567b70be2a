"""The best table that parties publish, beside AIM of one trusted holder, on any table.

    python benchmarks/best_table.py FILE... [seeds=3] [epsilon=0.2,0.4,0.8,1.6] [parties=1,3]
                                    [bins=16] [NAME=VALUE ...]

Numbers with more values than bins are cut at quantiles, which are taken as public here; other
columns are taken as they come, and with bins=0 all of them. All runs have the same neighbouring
tables (one record replaced) and delta 1e-9. The script prints the average total variation distance
of two-way and three-way marginals of the published rows, as means over seeds: of AIM with one
holder, of noisy single attributes, and of `adaptive-pairs` with each number of parties. At the end
come ratios to AIM. Noise does not depend on keys, so sums are masked. NAME=VALUE are parameters of
`adaptive-pairs`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import sottovoce


def binned(frame: pd.DataFrame, *, bins: int) -> pd.DataFrame:
    """Cut numbers at quantiles; a column with a single value is left out."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        values, places = np.unique(column.to_numpy(), return_inverse=True)
        is_number = pd.api.types.is_numeric_dtype(column)
        if bins and is_number and len(values) > bins:
            inner = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))
            places = np.searchsorted(inner, column, side="left")
        if len(values) > 1:  # labels stand in the order of the numbers
            columns[str(name)] = [f"{place:04}" for place in places.tolist()]
    return pd.DataFrame(columns)


def distances(protocol: str, frame: pd.DataFrame, **options: Any) -> tuple[list[float], float]:
    """Run a protocol, and compute the distances of its rows, of one-way tables, and the time."""
    start = perf_counter()
    run = sottovoce.run(protocol, frame, judge=False, aggregator="masks", **options)
    seconds = perf_counter() - start
    evaluation = sottovoce.evaluate(frame, run.synthetic)
    two, three = evaluation.distances[:2]
    return [two.average, three.average, two.one_way, three.one_way], seconds


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(settings.pop("seeds", 3))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.2,0.4,0.8,1.6").split(",")]
    parties = [int(text) for text in settings.pop("parties", "1,3").split(",")]
    bins = int(settings.pop("bins", 16))
    if not files:
        sys.exit("expected the path of a table, found none: name one or more CSV files")
    titles = ["aim, one holder", "one-way, one holder"]
    titles += [f"adaptive-pairs, {count}" for count in parties]
    ratios: dict[str, list[float]] = {title: [] for title in titles}
    for file in files:
        frame = binned(pd.read_csv(file), bins=bins)
        print(f"{Path(file).name}: {len(frame):,} rows, {len(frame.columns)} attributes")
        for epsilon in epsilons:
            means = {}
            for title, count in zip(titles, [1, 1, *parties], strict=True):
                name = title.split(",")[0]
                more = settings if name == "adaptive-pairs" else {}
                runs = [
                    distances(name, frame, parties=count, epsilon=epsilon, seed=seed, **more)
                    for seed in range(seeds)
                ]
                mean = np.mean([figures for figures, _ in runs], axis=0)
                seconds = np.mean([time for _, time in runs])
                means[title] = mean
                ratios[title].append(float(mean[0] / means[titles[0]][0]))
                print(
                    f"  epsilon {epsilon:<4} {title:<20} {mean[0]:.4f} / {mean[1]:.4f}"
                    f"  {ratios[title][-1]:.2f} of AIM, {mean[0] / mean[2]:.2f} of exact one-way "
                    f"tables, {seconds:.0f} s",
                    flush=True,
                )
    for title in titles[2:]:
        print(
            f"{title}: {np.mean(ratios[title]):.2f} times AIM's two-way distance on average, "
            f"{min(ratios[title]):.2f} to {max(ratios[title]):.2f}"
        )


if __name__ == "__main__":
    main()
