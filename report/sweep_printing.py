"""What `sweep` prints at its end: means over seeds, and what all runs cost together."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Final

from .formats import quantity
from .not_accounted import MARK, MEANING
from .printing import print_red, print_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["print_sweep"]

SWEEP_FIGURES: Final = (
    "tvd_2",
    "ratio_2",
    "tvd_3",
    "ratio_3",
    "accuracy",
    "majority",
    "payload_bytes",
    "rounds",
    "seconds",
)
"""Columns of a sweep whose means are printed."""
PLUS_MINUS: Final = "\N{PLUS-MINUS SIGN}"
SWEEP_FILES: Final = ("results.csv", "results.parquet", "comparison.html")


def print_sweep(
    table: pd.DataFrame,
    *,
    before: int,
    folder: Path,
    together: Sequence[str] = (),
    figures: Sequence[str] = (),
) -> None:
    """Print means over seeds and the number of runs, of which some were there `before`.

    `together` says what all runs cost each dataset. `figures` names further columns.
    """
    done = table[table["status"] == "done"]
    if leaky := _count_above_zero(done, "not_accounted"):
        text = f"in {quantity(leaky, 'run')} messages left parties without a release"
        print_red(f"{MARK}: {text}. {MEANING}")
    if len(done):
        _print_means(table, done, figures=[*SWEEP_FIGURES, *figures])
        sys.stdout.write("\n")
    counts = table["status"].value_counts()
    new = int(counts.get("done", 0)) - before
    text = f"{quantity(len(table), 'run')}: {new:,} new, {before:,} from before"
    text += "".join(
        f", {int(counts[name]):,} {name}" for name in ("failed", "not run") if name in counts
    )
    if above := _count_above_zero(done, "above_claim"):
        sys.stdout.write(
            f"warning: in {quantity(above, 'run')} a privacy loss, as accounted, is above the "
            "claimed epsilon; comparison.html says to whom, and what to do\n"
        )
    for note in table["note"].dropna().unique() if "note" in table else ():
        sys.stdout.write(f"warning: {note}\n")
    sys.stdout.write("".join(f"{text}\n" for text in together))
    files = [name for name in SWEEP_FILES if (folder / name).is_file()]
    sys.stdout.write(f"{text}\n{folder}/: {', '.join(files)}\n")


def _count_above_zero(table: pd.DataFrame, column: str) -> int:
    """Count the runs in which a number that most runs lack is above zero."""
    return int((table[column] > 0).sum()) if column in table else 0


def _print_means(table: pd.DataFrame, done: pd.DataFrame, *, figures: Sequence[str]) -> None:
    """Print the means of runs that differ by their seed alone."""
    figures = [name for name in dict.fromkeys(figures) if name in done.columns]
    settings = table.columns[: table.columns.get_loc("status")].drop(["run", "seed"])
    varied = [
        name for name in settings if name == "protocol" or len({*table[name].astype(str)}) > 1
    ]
    rows = []
    for values, runs in done.groupby(varied, dropna=False, sort=False):
        group = values if isinstance(values, tuple) else (values,)
        means = [_mean_text([*runs[name].dropna()]) for name in figures]
        rows.append([*map(_sweep_cell, group), str(len(runs)), *means])
    print_table((*varied, "runs", *figures), rows)
    if any(PLUS_MINUS in cell for row in rows for cell in row):
        sys.stdout.write(f"{PLUS_MINUS}: two standard errors of the mean over seeds\n")


def _mean_text(values: Sequence[float]) -> str:
    """Write a mean, with two standard errors where the values differ.

    >>> _mean_text([1.0, 2.0, 1.5]), _mean_text([1332, 1332]), _mean_text([0.123456])
    ('1.50 ± 0.58', '1332', '0.1235')
    """
    if not values:
        return ""
    middle = mean(values)
    spread = 2 * stdev(values) / math.sqrt(len(values)) if len({*values}) > 1 else 0.0
    if spread <= 1e-9 * abs(middle):
        return f"{values[0]:.0f}" if float(values[0]).is_integer() else f"{values[0]:.4g}"
    digits = max(0, 1 - math.floor(math.log10(spread)))
    return f"{middle:.{digits}f} {PLUS_MINUS} {spread:.{digits}f}"


def _sweep_cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)
