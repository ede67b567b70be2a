"""Counting marginals: sottovoce, pandas and numpy on the same tables, and the limit of memory.

    python benchmarks/counting.py [ROWS]

The tables are those of protocols on Adult's 15 attributes: all 105 two-way tables, all 455
three-way tables, and all 22,100 three-way tables of the 52 binary attributes. The times of pandas
are of a sample, scaled up. At the end 10 million rows (or ROWS) are counted.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from sottovoce.parties import DEMO_SCHEMA, Records, load
from sottovoce.parties.counting import CodedTable


def seconds(job: Callable[[], Any], *, times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - start)
    return best


def count(records: Records, marginals: Sequence[tuple[str, ...]]) -> None:
    for _ in records.marginals(marginals):
        pass


def bincount(records: Records, marginals: Sequence[tuple[str, ...]]) -> None:
    for attributes in marginals:
        shape = records.domain.shape(attributes)
        flat = np.ravel_multi_index([records.codes(name) for name in attributes], shape)
        np.bincount(flat, minlength=int(np.prod(shape)))


def value_counts(frame: pd.DataFrame, marginals: Sequence[tuple[str, ...]]) -> None:
    for attributes in marginals:
        frame[list(attributes)].value_counts()


def crosstab(frame: pd.DataFrame, marginals: Sequence[tuple[str, ...]]) -> None:
    for attributes in marginals:
        pd.crosstab(frame[attributes[0]], [frame[name] for name in attributes[1:]])


def compare(title: str, records: Records, ways: int, *, pandas_sample: int) -> None:
    names = records.domain.attributes
    frame = pd.DataFrame({name: records.codes(name) for name in names})
    marginals = list(combinations(names, ways))
    sample = marginals[:: max(1, len(marginals) // pandas_sample)]
    scale = len(marginals) / len(sample)
    ours = seconds(lambda: count(records, marginals))
    theirs = {
        "numpy bincount": seconds(lambda: bincount(records, sample), times=1) * scale,
        "pandas value_counts": seconds(lambda: value_counts(frame, sample), times=1) * scale,
        "pandas crosstab": seconds(lambda: crosstab(frame, sample), times=1) * scale,
    }
    read = seconds(lambda: [records.codes(name).sum(dtype=np.uint64) for name in names])
    print(f"{title}: {len(marginals):,} tables of {len(records):,} rows")
    rate = len(marginals) * len(records) / ours / 1e6
    print(f"  {'ours':<20} {ours:9.4f} s   {rate:8.0f} million rows a second")
    for name, theirs_seconds in theirs.items():
        about = "" if scale == 1 else f" (from {len(sample)} of them)"
        print(
            f"  {name:<20} {theirs_seconds:9.4f} s   {theirs_seconds / ours:8.1f} times ours{about}"
        )
    print(
        f"  {'reading codes once':<20} {read:9.4f} s   the limit of memory: "
        f"ours takes {ours / read:.0f} times that"
    )


def large(rows: int) -> None:
    names = DEMO_SCHEMA.domain.attributes
    generator = np.random.default_rng(0)
    small = load("demo", schema=DEMO_SCHEMA)
    rows_of_demo = generator.integers(0, len(small), rows, dtype=np.uint32)
    records = Records(
        CodedTable([small.codes(name)[rows_of_demo] for name in names], DEMO_SCHEMA.domain)
    )
    del rows_of_demo
    before = peak()
    start = time.perf_counter()
    count(records, list(combinations(names, 2)))
    elapsed = time.perf_counter() - start
    print(f"{rows:,} rows ({15 * rows / 2**20:.0f} MB of codes)")
    print(f"  all 2-way tables: {elapsed:.1f} s, peak {peak():.0f} MB ({before:.0f} MB before)")
    start = time.perf_counter()
    bits = records.binary()
    encoding = time.perf_counter() - start
    start = time.perf_counter()
    pairs = list(combinations(bits.domain.attributes, 2))
    count(bits, pairs)
    print(
        f"  all {len(pairs):,} 2-way tables of 52 bits: {time.perf_counter() - start:.1f} s, "
        f"after {encoding:.1f} s of encoding"
    )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    records = load("demo", schema=DEMO_SCHEMA)
    compare("15 attributes, 2-way", records, 2, pandas_sample=105)
    compare("15 attributes, 3-way", records, 3, pandas_sample=60)
    compare("52 bits, 3-way", records.binary(), 3, pandas_sample=60)
    large(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)


if __name__ == "__main__":
    main()
