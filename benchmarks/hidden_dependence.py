"""What tells how much dependence groups of labels hide: two predictors, on exact tables.

    python benchmarks/hidden_dependence.py [FILE ...] [tables=64] [bins=16]

A pair's dependence within groups, at a level of `curator.pairs`, is the distance of its table from
one that is even within the groups of the level before. It is compared with

    before   the dependence at the level before
    change   how far the table changes linearly within groups (`changes_within_groups`)

For each structure of made-up tables, and for each file, the script prints the number of pairs, the
median of both ratios, and the standard deviation of their logarithms: the smaller, the better the
predictor. Pairs with less than .004 within groups are left out, and those in which chance alone
makes two thirds of it. Of made-up tables those with 5,000 records or more are taken, and at most 20
columns of at most 120 labels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from best_table import binned
from k_marginal import labels_in_order
from made_up_tables import made_up_table

from sottovoce.curator.pairs.groups import PairBatch, batches_of, nested_groups
from sottovoce.curator.pairs.interpolation import changes_within_groups
from sottovoce.curator.pairs.shrinkage_by_level import HALF, with_sums

MIN_ROWS: Final = 5000
MAX_COLUMNS: Final = 20
MAX_LABELS: Final = 120
MIN_WITHIN: Final = 0.004
MIN_OVER_CHANCE: Final = 1.5
COLUMNS: Final = ("within", "before", "change", "chance")
MIN_CHANGE: Final = 1e-5
"""A smaller change is due to rounding: two groups show no order."""


def made_up(tables: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Make up tables with enough records, named by their structure."""
    for number in range(1, tables + 1):
        table = made_up_table(number)
        frame = table.frame
        kept = [name for name in frame if 1 < frame[name].nunique() <= MAX_LABELS]
        if len(frame) >= MIN_ROWS and len(kept) > 1:
            yield table.structure, frame[kept[:MAX_COLUMNS]]


def within_groups(frame: pd.DataFrame) -> pd.DataFrame:
    """List each pair's dependence within groups, by level, with both predictors."""
    codes, shares = {}, {}
    for name in map(str, frame.columns):
        texts = frame[name].astype(str)
        labels = labels_in_order(texts)
        codes[name] = pd.Categorical(texts, categories=labels).codes.astype(np.int64)
        shares[name] = np.bincount(codes[name], minlength=len(labels)) / len(frame)
    lines: list[pd.DataFrame] = []
    groups = {name: nested_groups(values, first=2) for name, values in shares.items()}
    for batch in batches_of(groups):
        exact = np.stack([_table(codes, shares, pair) for pair in batch.pairs])
        before = np.zeros(len(batch.pairs))
        for level in range(batch.levels):
            table = batch.merge(exact, start=batch.finest, level=level)
            product = np.stack(
                [np.outer(*pair) for pair in zip(*batch.margins(shares, level), strict=True)]
            )
            coarse = batch.merge(exact, start=batch.finest, level=level - 1) if level else None
            even = product if coarse is None else with_sums(batch, product, coarse, level)
            within = np.abs(table - even).sum(axis=(1, 2)) / 2
            if coarse is not None:
                change = changes_within_groups(batch, shares, coarse, level)
                chance = HALF * np.sqrt(table * (1 - table) / len(frame)).sum(axis=(1, 2))
                chance *= _free(batch, level)
                columns = {"within": within, "before": before, "change": change, "chance": chance}
                lines.append(pd.DataFrame(columns))
            before = within
    return pd.concat(lines) if lines else pd.DataFrame(columns=COLUMNS, dtype=float)


def _table(codes: Any, shares: Any, pair: tuple[str, ...]) -> np.ndarray:
    left, right = pair
    sizes = len(shares[left]), len(shares[right])
    counts = np.bincount(codes[left] * sizes[1] + codes[right], minlength=sizes[0] * sizes[1])
    return np.asarray(counts.reshape(sizes) / len(codes[left]))


def _free(batch: PairBatch, level: int) -> float:
    """Compute the share of a level's cells that the level before does not determine."""
    return 1 - batch.cells(level - 1) / batch.cells(level)


def report(name: str, found: pd.DataFrame) -> None:
    """Print how both predictors do."""
    clear = found[
        (found.within > MIN_WITHIN)
        & (found.within > MIN_OVER_CHANCE * found.chance)
        & (found.change > MIN_CHANGE)
    ]
    if len(clear) < 2:
        print(f"{name:<24}{len(clear):>6} pairs")
        return
    text = ""
    for key in ("before", "change"):
        ratios = clear["within"] / clear[key].clip(lower=1e-4)
        deviation = float(np.log(ratios.to_numpy()).std(ddof=1))
        text += f"   {key} {ratios.median():6.2f}  sd {deviation:.2f}"
    print(f"{name:<24}{len(clear):>6} pairs{text}", flush=True)


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    bins = int(settings.pop("bins", 16))
    by_structure: dict[str, list[pd.DataFrame]] = {}
    for structure, frame in made_up(int(settings.pop("tables", 64))):
        by_structure.setdefault(structure, []).append(within_groups(frame))
    for structure, parts in sorted(by_structure.items()):
        report(structure, pd.concat(parts))
    if by_structure:
        report(
            "all made-up tables",
            pd.concat([part for parts in by_structure.values() for part in parts]),
        )
    for file in files:
        report(Path(file).name, within_groups(binned(pd.read_csv(file), bins=bins)))


if __name__ == "__main__":
    main()
