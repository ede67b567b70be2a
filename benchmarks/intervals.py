"""How often the intervals around published counts cover the exact counts, over many runs.

    python benchmarks/intervals.py [runs=200] [confidence=0.95] [out=FILE.csv]

The table is made up: 3,000 rows of three attributes, two of which depend on each other. Half of its
cells hold fewer than 20 rows, and some none, so that the part of an interval below 0 is cut off. A
line has the share of all cells, of cells of fewer than 20 rows, and of cells without a row. The
cells of a run with Laplace or Gaussian noise are independent; those of users' reports are not, so
the standard error is of the runs' own shares.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import sottovoce

ROWS = 3000
SIZES = {"a": 12, "b": 8, "c": 2}
FEW = 20
LAPLACE = {"aggregator": "masks", "ways": 2, "delta": 0}
GAUSSIAN = {"aggregator": "masks", "ways": 2, "noise": "gaussian"}
USERS = {"simulate": "counts", "ways": 2}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Laplace, epsilon 1": ("noisy-marginals", {**LAPLACE, "epsilon": 1.0}),
    "Laplace, epsilon 8": ("noisy-marginals", {**LAPLACE, "epsilon": 8.0}),
    "Laplace, 2 colluding": ("noisy-marginals", {**LAPLACE, "epsilon": 1.0, "colluding": 2}),
    "Gaussian, epsilon 1": ("noisy-marginals", {**GAUSSIAN, "epsilon": 1.0}),
    "Gaussian, epsilon 8": ("noisy-marginals", {**GAUSSIAN, "epsilon": 8.0}),
    "calm, epsilon 4": ("calm", {**USERS, "epsilon": 4.0}),
    "fourier, epsilon 4": ("fourier", {**USERS, "epsilon": 4.0}),
}


def main() -> None:
    options = dict(word.partition("=")[::2] for word in sys.argv[1:])
    runs = int(options.pop("runs", 200))
    confidence = float(options.pop("confidence", 0.95))
    out = options.pop("out", None)
    if options:
        sys.exit(__doc__)
    rows = [
        (title, *measure(protocol, parameters, runs=runs, confidence=confidence))
        for title, (protocol, parameters) in CASES.items()
    ]
    if out is not None:
        with Path(out).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("case", "covered", "standard error", "few", "none", "half-width"))
            writer.writerows(rows)


def measure(
    protocol: str, parameters: dict[str, Any], *, runs: int, confidence: float
) -> tuple[float, float, float, float, float]:
    """Give the shares of cells covered, their standard error, and the mean half-width."""
    table = people()
    schema = {name: [str(label) for label in range(size)] for name, size in SIZES.items()}
    covered, widths = [], []
    exact: npt.NDArray[np.int64] | None = None
    for seed in range(runs):
        run = sottovoce.run(
            protocol, table, parties=3, schema=schema, confidence=confidence, seed=seed,
            judge=False, **parameters,
        )  # fmt: skip
        cells = run.marginals
        assert cells is not None
        exact = counts(table, cells) if exact is None else exact
        low, high = cells["low"].to_numpy(), cells["high"].to_numpy()
        covered.append((low <= exact) & (exact <= high))
        widths.append((high - low).mean() / 2)
    assert exact is not None
    shares = np.array(covered)
    error = shares.mean(1).std(ddof=1) / np.sqrt(runs)
    few, none = shares[:, exact < FEW].mean(), shares[:, exact == 0].mean()
    figures = (shares.mean(), error, few, none, np.mean(widths))
    print(
        f"{protocol} {parameters}: {shares.size} cells, covered {figures[0]:.4f} "
        f"(standard error {error:.4f}); of fewer than {FEW} rows {few:.4f}, of none {none:.4f}; "
        f"half-width {figures[4]:.1f}",
        flush=True,
    )
    return tuple(float(number) for number in figures)  # type: ignore[return-value]


def people() -> pd.DataFrame:
    """Make the table, with frequent, rare and absent combinations."""
    generator = np.random.default_rng(11)
    hidden = generator.random(ROWS)
    return pd.DataFrame(
        {
            name: np.minimum((hidden + generator.random(ROWS) / 4) ** 2 * size, size - 1)
            .astype(int)
            .astype(str)
            for name, size in SIZES.items()
        }
    )


def counts(table: pd.DataFrame, cells: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Count the rows of each published cell in the table itself."""
    chosen = [
        [
            table[cell[name]] == cell[name.replace("attribute", "value")]
            for name in cells.columns
            if name.startswith("attribute_") and cell[name]
        ]
        for _, cell in cells.iterrows()
    ]
    return np.array([np.logical_and.reduce(columns).sum() for columns in chosen])


if __name__ == "__main__":
    main()
