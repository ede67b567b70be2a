"""NIST's K-marginal score on a census excerpt, or on made-up people.

    python benchmarks/k_marginal.py [FILE] [columns=AGEP,SEX,...] [rows=N] [epsilon=1] [seeds=3]
                                    [parties=1,4] [protocols=adaptive-pairs,...] [NAME=VALUE ...]

The score is 1000 times one minus the average total variation distance of all pairs of attributes.
Every value of a column is a label of its own, in the order of numbers; so ages are as they come.
NIST's own report (SDNist) cuts a column of more than 20 numbers into 20 bins of equal frequency
before it compares; that score is printed beside the stricter one of single values.
Without a file the people are made up (`made_up_census`). With more `rows` than the file has, they
are drawn from it with replacement: the same tables with the noise of so many records. The first
line has independent attributes whose distributions are exact. The second has AIM of one trusted
holder, the baseline. Then come means over seeds with standard deviations, and for
each attribute what its pairs lose on average. NAME=VALUE are parameters of the protocols.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from made_up_census import made_up_census

import sottovoce

COLUMNS: Final = (
    "AGEP,SEX,MSP,RAC1P,HOUSING_TYPE,OWN_RENT,EDU,PINCP_DECILE,DVET,DEYE"  # NIST's demographic ones
)
MADE_UP_ROWS: Final = 27_000
BINS: Final = 20  # SDNist, report/dataset/binning.py


def pair_distances(real: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Compute the total variation distance of each pair of attributes."""
    distances = {}
    for pair in combinations(real.columns, 2):
        shares = [table.groupby([*pair]).size() / len(table) for table in (real, rows)]
        distances[pair] = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
    return pd.Series(distances)


def binned(real: pd.DataFrame, rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut columns of many numbers at the percentiles of the real ones, as SDNist does."""
    cut = []
    for table in (real, rows):
        columns = {}
        for name in table.columns:
            numbers, others = (pd.to_numeric(t[name], errors="coerce") for t in (real, table))
            if numbers.nunique() <= BINS:
                columns[name] = table[name]
                continue
            edges = np.percentile(
                numbers.dropna(), np.linspace(0, 100, BINS, endpoint=False), method="higher"
            )
            places = np.searchsorted(np.unique(edges)[1:], others, side="left").astype(str)
            columns[name] = pd.Series(
                np.where(others.isna(), table[name], places), index=table.index
            )
        cut.append(pd.DataFrame(columns))
    return cut[0], cut[1]


def score(distances: pd.Series) -> float:
    """Write a mean distance as NIST's score."""
    return 1000 * (1 - float(distances.mean()))


def losses(distances: pd.Series, attributes: list[str]) -> dict[str, float]:
    """Average for each attribute what its pairs lose of 1000 points."""
    return {
        name: 1000 * float(np.mean([distances[pair] for pair in distances.index if name in pair]))
        for name in attributes
    }


def labels_in_order(column: pd.Series) -> list[str]:
    """List the labels of a column of texts, numbers by their value and other texts behind them."""
    numbers = pd.to_numeric(pd.Series(column.unique(), index=column.unique()), errors="coerce")
    return [str(label) for label in numbers.sort_values(kind="stable").index]


def load(file: str | None, *, columns: str, rows: int) -> pd.DataFrame:
    """Read the excerpt, or make people up, as texts."""
    if file is None:
        return made_up_census(rows or MADE_UP_ROWS)
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)[columns.split(",")]
    if rows:
        places = np.random.default_rng(0).integers(len(frame), size=rows)
        frame = frame.iloc[places].reset_index(drop=True)
    return frame


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    frame = load(
        files[0] if files else None,
        columns=settings.pop("columns", COLUMNS),
        rows=int(settings.pop("rows", 0)),
    )
    epsilon, seeds = float(settings.pop("epsilon", 1)), int(settings.pop("seeds", 3))
    parties = [int(text) for text in settings.pop("parties", "1,4").split(",")]
    protocols = settings.pop("protocols", "adaptive-pairs").split(",")
    schema = {name: labels_in_order(frame[name]) for name in frame.columns}
    sizes = ", ".join(f"{name} {len(labels)}" for name, labels in schema.items())
    print(f"{Path(files[0]).name if files else 'made up'}: {len(frame):,} rows; labels: {sizes}")
    generator = np.random.default_rng(0)
    shuffled = pd.DataFrame(
        {name: generator.permutation(frame[name].to_numpy()) for name in frame.columns}
    )
    floors = [score(pair_distances(*pair)) for pair in ((frame, shuffled), binned(frame, shuffled))]
    print(f"  exact attributes, independent   {floors[0]:.1f}, in {BINS} bins {floors[1]:.1f}")
    runs = [("aim", 1), *((protocol, count) for protocol in protocols for count in parties)]
    for protocol, count in runs:
        figures: list[pd.Series] = []
        in_bins: list[float] = []
        for seed in range(seeds):
            run = sottovoce.run(
                protocol,
                frame,
                schema=schema,
                parties=count,
                epsilon=epsilon,
                seed=seed,
                judge=False,
                labels=True,
                aggregator="masks",
                **(settings if protocol != "aim" else {}),
            )
            assert run.synthetic is not None
            rows = run.synthetic.astype(str)
            figures.append(pair_distances(frame, rows))
            in_bins.append(score(pair_distances(*binned(frame, rows))))
        scores = [score(distances) for distances in figures]
        mean = pd.concat(figures, axis=1).mean(axis=1)
        lost = losses(mean, [*frame.columns])
        worst = ", ".join(f"{name} {points:.0f}" for name, points in lost.items())
        print(
            f"  {protocol + ', ' + str(count):<24} {np.mean(scores):.1f} +- {np.std(scores):.1f}"
            f", in {BINS} bins {np.mean(in_bins):.1f} +- {np.std(in_bins):.1f}; lost by attribute: "
            f"{worst}",
            flush=True,
        )


if __name__ == "__main__":
    main()
