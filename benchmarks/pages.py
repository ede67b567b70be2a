"""Pages: how long one takes to make, and how large it is, beside the run that it is of and beside
the same bars by matplotlib.

    python benchmarks/pages.py [ROWS]

Runs of few messages and of many, judged and classified; the page is made twice, since the first
loads matplotlib.
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
        run, running = timed(partial(sottovoce.run, protocol, rows=rows, seed=1, **parameters))
        page, first = timed(run.page)
        _, again = timed(run.page)
        print(
            f"{title:<30} the run {running:6.2f} s, its page {first:5.2f} s, again {again:5.2f} s ({again / running:.2f} of "
            f"the run), {len(page) / 1e3:,.0f} kB, {len(page) / len(run.files['report.json']):.1f} times report.json",
            flush=True,
        )
    names = [f"category {at}" for at in range(16)]
    rows_of_bars = [
        Bars(name=name, heights=[at / 16 for at in range(16)]) for name in ("real", "published")
    ]
    ours, mine = timed(lambda: [bars(names, rows_of_bars, title="t") for _ in range(10)])
    theirs, other = timed(lambda: [by_matplotlib(names, rows_of_bars) for _ in range(10)])
    print(
        f"{'a chart of 2 x 16 bars':<30} ours {mine / 10 * 1e3:.2f} ms and {len(ours[0]) / 1e3:.0f} kB, matplotlib "
        f"{other / 10 * 1e3:.0f} ms and {len(theirs[0]) / 1e3:.0f} kB: {other / mine:,.0f} times as long"
    )


def by_matplotlib(names: list[str], rows: list[Bars]) -> str:
    import io

    from matplotlib.figure import Figure

    drawn = Figure(figsize=(4.4, 5))
    axes = drawn.add_subplot()
    for at, row in enumerate(rows):
        axes.barh(
            [place + 0.4 * at for place in range(len(names))],
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
    made = make()
    return made, time.perf_counter() - start


if __name__ == "__main__":
    main()
