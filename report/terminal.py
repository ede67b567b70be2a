"""What the commands print, where it is more than a line."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from ..evaluation import Evaluation
from ..evaluation.label_attacks import AttackResult
from .comparison import Comparison, comparison_table, legend
from .reported import ReportedRun
from .summary import summary_lines

__all__ = [
    "print_attacks",
    "print_sweep",
    "print_comparison",
    "print_summary",
    "print_table",
    "print_verdict",
]

if TYPE_CHECKING:
    import pandas as pd

FIGURES: Final = (
    "tvd_2",
    "floor_2",
    "tvd_3",
    "floor_3",
    "accuracy",
    "majority",
    "payload_bytes",
    "rounds",
    "seconds",
)
WIDE: Final = 200
"""Columns of what is no terminal: what a program reads is not folded."""


def print_summary(run: ReportedRun, *, folder: Path, names: Sequence[str]) -> None:
    """Print the summary of a run, its warnings, and the names of its files."""
    lines = [*summary_lines(run), *(("warning", text) for text in run.warnings)]
    lines.append(("written", f"{folder}/: {', '.join(names)}"))
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        sys.stdout.write(f"{name:<{width}}  {text}\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; in a pipe, which has no width, without folding what a program reads."""
    table = Table(box=None, pad_edge=False)
    for at, name in enumerate(head):
        numbers = all(_is_figure(row[at]) for row in rows)
        table.add_column(
            name, overflow="fold", justify="right" if numbers else "left", no_wrap=numbers
        )
    for row in rows:
        table.add_row(*row)
    console = Console(markup=False, highlight=False, width=_width())
    console.print(table)


def print_verdict(verdict: Evaluation) -> None:
    """Print the comparison of two tables."""
    rows = verdict.rows
    sys.stdout.write(
        f"{rows.real:,} real rows, {rows.synthetic:,} synthetic ones; schema {verdict.schema}\n\n"
    )
    sys.stdout.write("total variation distance of marginals, from 0 (alike) to 1\n")
    print_table(
        ("attributes", "ways", "average", "one-way only", "uniform", "worst", "marginal"),
        [
            [
                result.attributes,
                str(result.ways),
                f"{result.average:.4f}",
                f"{result.one_way:.4f}",
                f"{result.uniform:.4f}",
                f"{result.worst:.4f}",
                " x ".join(result.worst_marginal),
            ]
            for result in verdict.distances
        ],
    )
    dependence = verdict.dependence
    if dependence.largest_pair:
        sys.stdout.write(
            "\nmutual information of two attributes: "
            f"{dependence.difference:.4f} bits off on average, "
            f"{dependence.largest:.4f} at most ({' x '.join(dependence.largest_pair)})\n"
        )
    if verdict.classification:
        sys.stdout.write(
            "\nshare of real people predicted wrong by a linear support vector machine that learnt from\n"
        )
        print_table(
            ("target", "synthetic", "real", "majority", "tested"),
            [
                [
                    result.target,
                    f"{result.synthetic:.4f}",
                    f"{result.real:.4f}",
                    f"{result.majority:.4f}",
                    f"{result.tested:,}",
                ]
                for result in verdict.classification
            ],
        )
    for note in verdict.notes:
        sys.stdout.write(f"note: {note}\n")


def print_sweep(table: pd.DataFrame, *, before: int, folder: Path) -> None:
    """Print means over seeds, and how many runs there were."""
    done = table[table["status"] == "done"]
    if len(done):
        figures = [name for name in FIGURES if name in done.columns]
        asked = list(table.columns[: table.columns.get_loc("status")].drop(["run", "seed"]))
        varied = [
            name for name in asked if name == "protocol" or len({*table[name].astype(str)}) > 1
        ]
        rows = []
        for group, own in done.groupby(varied, dropna=False, sort=False):
            named = [
                _figure_of(value) for value in (group if isinstance(group, tuple) else (group,))
            ]
            rows.append(
                [*named, str(len(own)), *(_figure_of(own[name].mean()) for name in figures)]
            )
        print_table((*varied, "runs", *figures), rows)
        sys.stdout.write("\n")
    counts = table["status"].value_counts()
    made = int(counts.get("done", 0)) - before
    told = f"{len(table):,} runs: {made:,} made now, {before:,} found"
    told += "".join(
        f", {int(counts[name]):,} {name}" for name in ("failed", "not run") if name in counts
    )
    written = [
        name
        for name in ("results.csv", "results.parquet", "comparison.html")
        if (folder / name).is_file()
    ]
    for note in table["note"].dropna().unique() if "note" in table else ():
        sys.stdout.write(f"warning: {note}\n")
    sys.stdout.write(f"{told}\n{folder}/: {', '.join(written)}\n")


def _figure_of(value: object) -> str:
    """Write a value of a table; what is not there as nothing."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def print_attacks(rows: Sequence[AttackResult]) -> None:
    """Print how often labels were guessed right."""
    sys.stdout.write("share of users whose label is guessed right\n")
    figures = (
        "majority",
        "known",
        "labeldp_attributes",
        "labeldp_whole",
        "clldp_attributes",
        "clldp_whole",
        "clldp_and_attributes",
    )
    heads = (
        "most frequent",
        "attributes known",
        "LabelDP: paper",
        "+ label said",
        "CLLDP: paper",
        "whole report",
        "+ attributes",
    )
    print_table(
        ("epsilon", *heads, "omega", "epsilon of record"),
        [
            [
                f"{own.epsilon:g}",
                *(f"{getattr(own, name):.3f}" for name in figures),
                f"{own.omega[0]:.2f} to {own.omega[1]:.2f}",
                f"{own.epsilon_of_record:.2f}",
            ]
            for own in rows
        ],
    )
    sys.stdout.write(
        "\nknown: without any report; paper: from the attributes of a report alone (of CLLDP: the one noisy value), ignoring\n"
        "the label that it names; whole report: the best guess from all that she said; + attributes: by whoever knows hers.\n"
        "LabelDP's reports have the attributes, so its last two are one: compare '+ label said' with '+ attributes'.\n"
    )


def print_comparison(comparison: Comparison) -> None:
    """Print runs side by side, and what the columns mean."""
    heads, lines = comparison_table(comparison)
    columns = [
        [head, *column] for head, column in zip(heads, zip(*lines, strict=True), strict=True)
    ]
    if sum(max(map(len, column)) + 2 for column in columns) <= _width():
        print_table(heads, lines)
        sys.stdout.write("\n")
    else:  # a run a column, then, and as many beside one another as there is room for
        for some in _beside(lines, room=_width() - max(map(len, heads)) - 2):
            turned = [
                [head, *row] for head, row in zip(heads, zip(*some, strict=True), strict=True)
            ]
            print_table(turned[0], turned[1:])
            sys.stdout.write("\n")
    told = legend(comparison)
    for name, meaning in told:
        sys.stdout.write(f"{name:<{max(len(own) for own, _ in told)}}  {meaning}\n")


def _beside(lines: Sequence[Sequence[str]], *, room: int) -> Iterator[list[Sequence[str]]]:
    """Part runs into groups that fit; a run that does not fit at all is a group."""
    some: list[Sequence[str]] = []
    used = 0
    for line in lines:
        width = max(map(len, line)) + 2
        if some and used + width > room:
            yield some
            some, used = [], 0
        some.append(line)
        used += width
    if some:
        yield some


def _width() -> int:
    console = Console()
    return console.width if console.is_terminal else WIDE


def _is_figure(text: str) -> bool:
    try:
        float(text.replace(",", "") or 0)
    except ValueError:
        return False
    return True
