"""Published rows as a balanced sample, and as random ones by the same weights.

    python benchmarks/balanced_rows.py FILE... [seeds=3] [epsilon=0.4,1.6,4] [parties=1] [bins=16]
                                       [protocol=adaptive-pairs]

Runs of a seed have the same noise, estimates and weights, and differ in how the rows are drawn:
balanced as published, systematically, and each row by itself. The script prints two-way and
three-way distances from the real table, as means over seeds, their ratios to those of balanced
rows, and the seconds of a run. Numbers with more values than bins are cut at quantiles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pandas as pd
from best_table import binned, distances

from sottovoce.curator import raking


def by_itself(_: Any, weights: Any, *, rows: int, generator: np.random.Generator) -> Any:
    """Draw each row by itself."""
    return generator.choice(len(weights), size=rows, p=weights / weights.sum())


def as_drawn(*arguments: Any, **_: Any) -> Any:
    """Leave a sample as it is."""
    return arguments[-1]


def without_balance() -> AbstractContextManager[Any]:
    return patch.object(raking, "balance", as_drawn)


WAYS: Final[dict[str, Callable[[], list[AbstractContextManager[Any]]]]] = {
    "balanced": list,
    "systematic": lambda: [without_balance()],
    "each by itself": lambda: [
        without_balance(),
        patch.object(raking, "systematic_sample", by_itself),
    ],
}


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    if not files:
        sys.exit("expected the path of a table, found none: name one or more CSV files")
    seeds, bins = int(settings.pop("seeds", 3)), int(settings.pop("bins", 16))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.4,1.6,4").split(",")]
    protocol, parties = settings.pop("protocol", "adaptive-pairs"), int(settings.pop("parties", 1))
    if settings:
        sys.exit(
            f"expected settings of this script, found {', '.join(settings)}: see its first lines"
        )
    for file in files:
        frame = binned(pd.read_csv(file), bins=bins)
        print(f"{Path(file).name}: {len(frame):,} rows, {len(frame.columns)} attributes")
        for epsilon in epsilons:
            best: Any = None
            for name, patches in WAYS.items():
                figures, seconds = [], 0.0
                with ExitStack() as stack:
                    for context in patches():
                        stack.enter_context(context)
                    for seed in range(seeds):
                        row, time = distances(
                            protocol, frame, parties=parties, epsilon=epsilon, seed=seed
                        )
                        figures.append(row[:2])
                        seconds += time / seeds
                two, three = np.mean(figures, axis=0)
                best = best or (two, three)
                print(
                    f"  epsilon {epsilon:<4} {name:<15} {two:.4f} / {three:.4f}"
                    f"  {two / best[0]:.3f} and {three / best[1]:.3f} times, {seconds:.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
