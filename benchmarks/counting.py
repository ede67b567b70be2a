"""Counting marginals: ours beside pandas and numpy on the same job, and the floor that memory sets.

    python benchmarks/counting.py [ROWS]

The job of a protocol over Adult's 15 attributes: all 105 two-way tables, all 455 three-way ones,
and all 22,100 three-way ones of the 52 binary attributes. pandas is asked for a sample of the
larger jobs and scaled up. Then 10 million rows (or ROWS).
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


def count(records: Records, wanted: Sequence[tuple[str, ...]]) -> None:
    for _ in records.marginals(wanted):
        pass


def bincount(records: Records, wanted: Sequence[tuple[str, ...]]) -> None:
    for own in wanted:
        shape = records.domain.shape(own)
        flat = np.ravel_multi_index([records.codes(name) for name in own], shape)
        np.bincount(flat, minlength=int(np.prod(shape)))


def value_counts(frame: pd.DataFrame, wanted: Sequence[tuple[str, ...]]) -> None:
    for own in wanted:
        frame[list(own)].value_counts()


def crosstab(frame: pd.DataFrame, wanted: Sequence[tuple[str, ...]]) -> None:
    for own in wanted:
        pd.crosstab(frame[own[0]], [frame[name] for name in own[1:]])


def compare(title: str, records: Records, ways: int, *, pandas_sample: int) -> None:
    names = records.domain.attributes
    frame = pd.DataFrame({name: records.codes(name) for name in names})
    wanted = list(combinations(names, ways))
    sample = wanted[:: max(1, len(wanted) // pandas_sample)]
    scale = len(wanted) / len(sample)
    ours = seconds(lambda: count(records, wanted))
    theirs = {
        "numpy bincount": seconds(lambda: bincount(records, sample), times=1) * scale,
        "pandas value_counts": seconds(lambda: value_counts(frame, sample), times=1) * scale,
        "pandas crosstab": seconds(lambda: crosstab(frame, sample), times=1) * scale,
    }
    read = seconds(lambda: [records.codes(name).sum(dtype=np.uint64) for name in names])
    print(f"{title}: {len(wanted):,} tables of {len(records):,} rows")
    print(
        f"  {'ours':<20} {ours:9.4f} s   {len(wanted) * len(records) / ours / 1e6:8.0f} million rows a second"
    )
    for name, other in theirs.items():
        about = "" if scale == 1 else f" (from {len(sample)} of them)"
        print(f"  {name:<20} {other:9.4f} s   {other / ours:8.1f} times ours{about}")
    print(
        f"  {'reading codes once':<20} {read:9.4f} s   the floor of memory: ours takes {ours / read:.0f} times that"
    )


def large(rows: int) -> None:
    names = DEMO_SCHEMA.domain.attributes
    generator = np.random.default_rng(0)
    small = load("demo", schema=DEMO_SCHEMA)
    picked = generator.integers(0, len(small), rows, dtype=np.uint32)
    records = Records(CodedTable([small.codes(name)[picked] for name in names], DEMO_SCHEMA.domain))
    del picked
    before = peak()
    start = time.perf_counter()
    count(records, list(combinations(names, 2)))
    took = time.perf_counter() - start
    print(f"{rows:,} rows ({15 * rows / 2**20:.0f} MB of codes)")
    print(f"  all 2-way tables: {took:.1f} s, peak {peak():.0f} MB ({before:.0f} MB before)")
    start = time.perf_counter()
    bits = records.binary()
    made = time.perf_counter() - start
    start = time.perf_counter()
    chosen = list(combinations(bits.domain.attributes, 2))
    count(bits, chosen)
    print(
        f"  all {len(chosen):,} 2-way tables of 52 bits: {time.perf_counter() - start:.1f} s, bits made in {made:.1f} s"
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
