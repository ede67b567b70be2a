"""What the commands print on a terminal, where it is more than a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..evaluation import Evaluation
from ..evaluation.label_attacks import AttackResult
from ..runs.record import Unaccounted
from .comparison import Comparison
from .comparison_groups import means_table
from .comparison_table import claim_warnings, comparison_table, legend
from .not_accounted import MARK, MEANING, unaccounted_texts
from .printing import print_named, print_red, print_table, terminal_width
from .reported import ReportedRun
from .summary import summary_lines

__all__ = [
    "print_attacks",
    "print_comparison",
    "print_evaluation",
    "print_not_accounted",
    "print_summary",
]

ATTACKS: Final = {
    "majority": "most frequent",
    "known": "attributes known",
    "labeldp_attributes": "LabelDP: paper",
    "labeldp_whole": "+ noisy label",
    "clldp_attributes": "CLLDP: paper",
    "clldp_whole": "whole report",
    "clldp_and_attributes": "+ attributes",
}
"""Columns of the attacks on labels, and their names."""
ATTACKS_LEGEND: Final = (
    ("most frequent", "always guesses the most frequent label"),
    ("attributes known", "knows the user's attributes, and sees no report"),
    (
        "paper",
        "the papers' adversary: uses the attributes in the report (of CLLDP, the one noisy value)",
    ),
    ("+ noisy label", "uses the label in LabelDP's report, too; it has all attributes already"),
    ("whole report", "uses all that CLLDP's report contains"),
    ("+ attributes", "uses the whole report, and knows the user's attributes"),
)


def print_summary(
    run: ReportedRun, *, folder: Path, names: Sequence[str], remark: str = ""
) -> None:
    """Print the summary of a run, its warnings, and the names of its files.

    Messages that no release covers come right after the protocol's line, which ends with the
    remark.
    """
    warnings = [text for text in run.warnings if not text.startswith(MARK)]
    lines = [*summary_lines(run), *(("warning", text) for text in warnings)]
    if remark:
        (name, protocol), *rest = lines
        lines = [(name, f"{protocol}, {remark}"), *rest]
    lines.append(("written", f"{folder}/: {', '.join(names)}"))
    width = max(len(name) for name, _ in lines)
    print_named(lines[:1], width=width)
    print_not_accounted(run.report.privacy.not_accounted)
    print_named(lines[1:], width=width)


def print_not_accounted(messages: Sequence[Unaccounted], *, to_error: bool = False) -> None:
    """Print which messages no release covers, in red where the terminal has colours.

    Args:
        messages: The list in the report.
        to_error: Whether to print on standard error, where standard output is for programs.
    """
    texts = unaccounted_texts(messages)
    for text in [*texts, MEANING] if texts else []:
        print_red(text, to_error=to_error)


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the comparison of a synthetic table with the real one."""
    rows = evaluation.rows
    sys.stdout.write(
        f"{rows.real:,} real rows, {rows.synthetic:,} synthetic ones; "
        f"schema {evaluation.schema}\n\n"
        "total variation distance of marginals, from 0 (equal) to 1\n"
    )
    print_table(
        ("attributes", "ways", "average", "one-way only", "uniform", "worst", "marginal"),
        [
            [
                distance.attributes,
                str(distance.ways),
                f"{distance.average:.4f}",
                f"{distance.one_way:.4f}",
                f"{distance.uniform:.4f}",
                f"{distance.worst:.4f}",
                " x ".join(distance.worst_marginal),
            ]
            for distance in evaluation.distances
        ],
    )
    dependence = evaluation.dependence
    if dependence.largest_pair:
        sys.stdout.write(
            "\nmutual information of two attributes: "
            f"{dependence.difference:.4f} bits off on average, "
            f"{dependence.largest:.4f} at most ({' x '.join(dependence.largest_pair)})\n"
        )
    if evaluation.classification:
        sys.stdout.write(
            "\nshare of real people whose label is predicted wrong "
            "by a linear support vector machine, by the table that it learnt from\n"
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
                for result in evaluation.classification
            ],
        )
    for note in evaluation.notes:
        sys.stdout.write(f"note: {note}\n")


def print_attacks(attacks: Sequence[AttackResult]) -> None:
    """Print the shares of labels that adversaries guess right."""
    sys.stdout.write("share of users whose label is guessed right\n")
    print_table(
        ("epsilon", *ATTACKS.values(), "omega", "epsilon of record"),
        [
            [
                f"{attack.epsilon:g}",
                *(f"{getattr(attack, name):.3f}" for name in ATTACKS),
                f"{attack.omega[0]:.2f} to {attack.omega[1]:.2f}",
                f"{attack.epsilon_of_record:.2f}",
            ]
            for attack in attacks
        ],
    )
    sys.stdout.write("\n")
    print_named(ATTACKS_LEGEND)
    sys.stdout.write("compare '+ noisy label' and '+ attributes' with 'attributes known'\n")


def print_comparison(comparison: Comparison) -> None:
    """Print runs side by side, and what the columns mean.

    Where the terminal is too narrow, runs are columns: as many beside one another as fit.
    """
    for run in comparison.runs:
        for text in unaccounted_texts(run.not_accounted):
            print_red(f"{run.name}: {text}")
    if any(run.not_accounted for run in comparison.runs):
        print_red(MEANING)
    for heads, rows in (comparison_table(comparison), means_table(comparison)):
        if rows:
            _print_fitting(heads, rows)
    if warnings := claim_warnings(comparison):
        print_named([("warning", text) for text in warnings])
        sys.stdout.write("\n")
    print_named(legend(comparison))


def _print_fitting(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, turned and in parts where the terminal is too narrow."""
    columns = [[head, *cells] for head, cells in zip(heads, zip(*rows, strict=True), strict=True)]
    if sum(max(map(len, column)) + 2 for column in columns) <= terminal_width():
        print_table(heads, rows)
        sys.stdout.write("\n")
        return
    for group in _groups(rows, room=terminal_width() - max(map(len, heads)) - 2):
        turned = [
            [head, *cells] for head, cells in zip(heads, zip(*group, strict=True), strict=True)
        ]
        print_table(turned[0], turned[1:])
        sys.stdout.write("\n")


def _groups(rows: Sequence[Sequence[str]], *, room: int) -> Iterator[list[Sequence[str]]]:
    """Divide runs into groups that fit beside one another; a run that is too wide is a group."""
    group: list[Sequence[str]] = []
    used = 0
    for row in rows:
        width = max(map(len, row)) + 2
        if group and used + width > room:
            yield group
            group, used = [], 0
        group.append(row)
        used += width
    if group:
        yield group
