"""Pages of runs: seconds and size, beside the run itself and beside charts by matplotlib.

    python benchmarks/pages.py [ROWS]

There are runs with few messages and with many, judged and classified. Each page is made twice,
because the first one loads matplotlib.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import sottovoce
from sottovoce.report.pages.bars import Bars, bars

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "3 parties, a Bayesian network": (
        "dp-subn",
        {"epsilon": 4.0, "aggregator": "masks", "classify": ["income"]},
    ),
    "3 parties, a user for each row": ("privincr", {"epsilon": 4.0}),
    "60 parties, 7,200 messages": ("one-way", {"parties": 60, "aggregator": "masks"}),
}


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for title, (protocol, parameters) in RUNS.items():
        run, run_seconds = timed(partial(sottovoce.run, protocol, rows=rows, seed=1, **parameters))
        page, first_seconds = timed(run.page)
        _, second_seconds = timed(run.page)
        print(
            f"{title:<30} the run {run_seconds:6.2f} s, its page {first_seconds:5.2f} s, "
            f"again {second_seconds:5.2f} s ({second_seconds / run_seconds:.2f} of the run), "
            f"{len(page) / 1e3:,.0f} kB, "
            f"{len(page) / len(run.files['report.json']):.1f} times report.json",
            flush=True,
        )
    names = [f"category {index}" for index in range(16)]
    rows_of_bars = [
        Bars(name=name, heights=[index / 16 for index in range(16)])
        for name in ("real", "published")
    ]
    ours, our_seconds = timed(lambda: [bars(names, rows_of_bars, title="t") for _ in range(10)])
    theirs, their_seconds = timed(lambda: [by_matplotlib(names, rows_of_bars) for _ in range(10)])
    print(
        f"{'a chart of 2 x 16 bars':<30} ours {our_seconds / 10 * 1e3:.2f} ms "
        f"and {len(ours[0]) / 1e3:.0f} kB, matplotlib {their_seconds / 10 * 1e3:.0f} ms "
        f"and {len(theirs[0]) / 1e3:.0f} kB: {their_seconds / our_seconds:,.0f} times as long"
    )


def by_matplotlib(names: list[str], rows: list[Bars]) -> str:
    import io

    from matplotlib.figure import Figure

    drawn = Figure(figsize=(4.4, 5))
    axes = drawn.add_subplot()
    for number, row in enumerate(rows):
        axes.barh(
            [place + 0.4 * number for place in range(len(names))],
            row.heights,
            height=0.4,
            label=row.name,
        )
    axes.set_yticks(range(len(names)), labels=names)
    axes.legend()
    out = io.StringIO()
    drawn.savefig(out, format="svg")
    return out.getvalue()


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = make()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
