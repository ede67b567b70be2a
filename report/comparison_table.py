"""A comparison of runs as a table, as JSON, and the legend of its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from typing import Final

from ..runs.infinity import in_json
from .claims import NOT_ACCOUNTED
from .comparison import BASELINE, Cell, Comparison
from .comparison_groups import mean_rows
from .formats import bound_text, epsilon_text

__all__ = ["claim_warnings", "comparison_json", "comparison_table", "legend", "merged_table"]

LEGEND: Final = (
    ("claimed", "claimed epsilon of one record, or of one label; less is more private"),
    (
        "public, curator, party, coalition",
        "epsilon as accounted, to the public, the curator, another party, and roles that collude",
    ),
    ("not accounted", "number of messages, and of other traces of records, without a release"),
    ("neighbours", "what neighbouring datasets differ in: a record, or a user's label"),
    ("delta", "probability that epsilon does not hold"),
    (
        "whole record",
        "epsilon as accounted of attributes and label together, where the claim is of the label",
    ),
    (
        "2-way, 3-way",
        "average total variation distance of marginals of two and three attributes; 0 is perfect",
    ),
    (
        "wrong",
        "share of real people whose label is predicted wrong by what learnt from published data",
    ),
    ("baseline", "errors of the exact single attributes, and of always the most frequent label"),
)
"""Names of columns or rows, and what they mean."""

LOSSES: Final = (
    "epsilon",
    "public",
    "curator",
    "other_party",
    "coalition",
    "delta",
    "whole record",
)
"""The columns of privacy losses, and of delta."""

EXACT: Final = ("epsilon", "delta")
"""The columns of figures that were asked for, and are not bounds."""

HEADS: Final = {"epsilon": "claimed", "other_party": "party"}
"""Names of columns that are different in JSON."""

ADVERSARIES: Final = ("public", "curator", "party", "coalition")
"""Heads of the columns of losses by adversary."""

JSON_NAMES: Final = {BASELINE: "floor"}
"""Names of rows that are different in JSON."""


def comparison_json(comparison: Comparison) -> str:
    """Write the rows as JSON, infinity as the word; then the means of several runs."""
    rows = comparison.rows
    for row in rows[len(comparison.runs) :]:
        row["run"] = JSON_NAMES.get(str(row["run"]), row["run"])
    means = mean_rows(comparison) if len(comparison.runs) > 1 else []
    return json.dumps(in_json([*rows, *means]), indent=2) + "\n"


def legend(comparison: Comparison) -> list[tuple[str, str]]:
    """Explain the columns and rows that the comparison has."""
    columns = {HEADS.get(name, name) for row in comparison.rows for name in row}
    names = columns | {*(comparison.levels or {})}
    return [
        (entry, meaning)
        for entry, meaning in LEGEND
        if any(column in name for column in entry.split(", ") for name in names)
    ]


def claim_warnings(comparison: Comparison) -> list[str]:
    """Write for each run which losses are above its claim, and what to do about it."""
    return [f"{run.name}: {text}" for run in comparison.runs for text in run.excesses]


def comparison_table(comparison: Comparison) -> tuple[tuple[str, ...], list[list[str]]]:
    """Write the rows as text, with a column for every figure that some run has."""
    rows = comparison.rows
    columns = list(dict.fromkeys(name for row in rows for name in row))
    heads = tuple(HEADS.get(name, name) for name in columns)
    return heads, [[_text(name, row) for name in columns] for row in rows]


def merged_table(comparison: Comparison) -> tuple[tuple[str, ...], list[list[str]]]:
    """Write the rows as `comparison_table` does, with one column for equal losses to adversaries.

    A page is narrower than the table of many columns.
    """
    heads, rows = comparison_table(comparison)
    columns = [*zip(heads, zip(*rows, strict=True), strict=True)]
    merged: list[tuple[str, tuple[str, ...]]] = []
    for head, cells in columns:
        if merged and head in ADVERSARIES and merged[-1][1] == cells and merged[-1][0] != "claimed":
            merged[-1] = (f"{merged[-1][0]}, {head}", cells)
        else:
            merged.append((head, cells))
    turned = zip(*(cells for _, cells in merged), strict=True)
    return tuple(head for head, _ in merged), [[*row] for row in turned]


def _text(column: str, row: Mapping[str, Cell]) -> str:
    value = row.get(column)
    if column in LOSSES and value == inf and row.get("not accounted"):
        return NOT_ACCOUNTED
    if value is None or isinstance(value, str):
        return value or ""
    if column in LOSSES:
        return epsilon_text(value) if column in EXACT else bound_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    if "-way" in column or column.startswith("wrong"):
        return f"{value:.4f}"
    return str(value)
