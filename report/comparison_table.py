"""A comparison of runs as a table, as JSON, and the legend of its columns."""

from __future__ import annotations

import json
from typing import Final

from .comparison import BASELINE, Cell, Comparison
from .formats import epsilon_text
from .report import in_json

__all__ = ["comparison_json", "comparison_table", "legend"]

LEGEND: Final = (
    ("epsilon", "claimed privacy loss of one record, or of one label; less is more private"),
    ("public, curator, party", "accounted privacy loss to the public, the curator, another party"),
    ("neighbours", "what neighbouring datasets differ in: a record, or a user's label"),
    ("delta", "probability that epsilon does not hold"),
    (
        "whole record",
        "privacy loss of attributes and label together, where epsilon is of the label",
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
    "delta",
    "whole record",
)
"""The columns of privacy losses, and of delta."""

JSON_NAMES: Final = {BASELINE: "floor"}
"""Names of rows that are different in JSON."""


def comparison_json(comparison: Comparison) -> str:
    """Write the rows as JSON, infinity as the word."""
    rows = comparison.rows
    for row in rows[len(comparison.runs) :]:
        row["run"] = JSON_NAMES.get(str(row["run"]), row["run"])
    return json.dumps(in_json(rows), indent=2) + "\n"


def legend(comparison: Comparison) -> list[tuple[str, str]]:
    """Explain the columns and rows that the comparison has."""
    names = {name for row in comparison.rows for name in row} | {*(comparison.levels or {})}
    return [
        (columns, meaning)
        for columns, meaning in LEGEND
        if any(column in name for column in columns.split(", ") for name in names)
    ]


def comparison_table(comparison: Comparison) -> tuple[tuple[str, ...], list[list[str]]]:
    """Write the rows as text, with a column for every figure that some run has."""
    rows = comparison.rows
    columns = list(dict.fromkeys(name for row in rows for name in row))
    heads = tuple(name.replace("other_party", "party") for name in columns)
    return heads, [[_text(name, row.get(name)) for name in columns] for row in rows]


def _text(column: str, value: Cell) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if column in LOSSES:
        return epsilon_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    if "-way" in column or column.startswith("wrong"):
        return f"{value:.4f}"
    return str(value)
