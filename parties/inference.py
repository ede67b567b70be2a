"""Inference of a schema from the data, for a quick start. It is not private; the report says so.

Each party summarises its own table, block by block. `merge` unites the summaries of all parties
into one schema. A column is numeric if its values are numbers and more than
`MAX_NUMERIC_CATEGORIES` of them differ. It gets bins of equal width from the least number to the
greatest. Every other column has categories. Absent values get a category of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from ..messages import Private, UsageError
from ..privacy.domain import MAX_LABELS
from .raw import RawColumn, RawTable
from .rules import MISSING_TEXTS, Bins, Categories, Missing, number
from .schema import Schema

__all__ = ["infer", "merge"]

MAX_NUMERIC_CATEGORIES: Final = 64
"""A column with more different numbers than this is numeric."""
INFERRED_BINS: Final = 16
NO_VALUE: Final = "(none)"
"""The category of a column without a single value, because an attribute needs one."""


class _ColumnSummary:
    """The different texts of one column as long as they may be categories, and its range."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: set[str] = set()
        self.low, self.high = math.inf, -math.inf
        self.has_only_numbers = True
        self.has_missing = False

    def add(self, column: RawColumn) -> None:
        """Add a block of the column."""
        values = column.as_texts()
        places = np.unique(values.places).tolist()
        texts = {values.texts[place] for place in places if place >= 0}
        self.has_missing |= -1 in places or not texts.isdisjoint(MISSING_TEXTS)
        new = texts.difference(MISSING_TEXTS, self.texts)
        numbers = np.array([number(text) for text in new])
        finite = numbers[np.isfinite(numbers)]
        self.has_only_numbers &= len(finite) == len(new)
        if len(finite):
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))
        if len(self.texts) <= MAX_LABELS:
            self.texts |= new
        if not self.has_only_numbers and len(self.texts) > MAX_LABELS:
            raise _too_many_texts(self.name)

    def rule(self) -> Categories | Bins:
        """Choose a rule. Numbers have a single bin until the summaries are merged."""
        missing: Missing = "category" if self.has_missing else "refuse"
        is_numeric = self.has_only_numbers and len(self.texts) > MAX_NUMERIC_CATEGORIES
        if is_numeric and self.low < self.high:
            return Bins(edges=(self.low, self.high), missing=missing)
        if len(self.texts) + self.has_missing > MAX_LABELS:
            raise _too_many_texts(self.name)
        return Categories(categories=tuple(sorted(self.texts)) or (NO_VALUE,), missing=missing)


def infer(blocks: Iterable[RawTable]) -> Schema:
    """Summarise one table as a schema. Numeric columns have one bin until schemas are merged."""
    summaries: dict[str, _ColumnSummary] = {}
    for block in blocks:
        for name, column in block.columns.items():
            summaries.setdefault(name, _ColumnSummary(name)).add(column)
    return Schema({name: summary.rule() for name, summary in summaries.items()}, inferred=True)


def merge(schemas: Iterable[Schema]) -> Schema:
    """Unite inferred schemas: all categories, the widest range, and bins for numbers."""
    first, *rest = schemas
    if any(schema.attributes.keys() != first.attributes.keys() for schema in rest):
        raise UsageError(
            "expected the same columns in every party's data, found others: give --schema"
        )
    rules = {
        name: _unite(name, [schema.attributes[name] for schema in (first, *rest)])
        for name in first.attributes
    }
    return Schema(rules, inferred=True)


def _unite(name: str, rules: list[Categories | Bins]) -> Categories | Bins:
    missing: Missing = "category" if any(rule.missing == "category" for rule in rules) else "refuse"
    texts = {label for rule in rules if isinstance(rule, Categories) for label in rule.categories}
    texts = texts - {NO_VALUE} or texts
    edges = [edge for rule in rules if isinstance(rule, Bins) for edge in rule.edges]
    if not edges:
        if len(texts) + (missing == "category") > MAX_LABELS:
            raise _too_many_texts(name)
        return Categories(categories=_sorted(texts), missing=missing)
    numbers = np.array([*edges, *(number(text) for text in texts - {NO_VALUE})])
    if not np.isfinite(numbers).all():
        raise UsageError(
            f"expected numbers or categories in {name!r}, "
            "found numbers at one party and texts at another"
        )
    low, high = float(numbers.min()), float(numbers.max())
    try:
        return Bins.equal(low, high, bins=INFERRED_BINS, missing=missing)
    except ValueError:
        raise UsageError(
            f"expected a range that {INFERRED_BINS} bins can divide, found ",
            Private(f"{low:g} to {high:g}"),
            f" in {name!r}: give --schema",
        ) from None


def _sorted(labels: set[str]) -> tuple[str, ...]:
    """Sort labels: as numbers if any of them is one, otherwise as texts."""
    numbers = {label: number(label) for label in labels}
    if not any(math.isfinite(value) for value in numbers.values()):
        return tuple(sorted(labels))

    def key(label: str) -> tuple[float, str]:
        # NaN has no place among numbers, and every role must find the same order.
        return (numbers[label] if math.isfinite(numbers[label]) else math.inf, label)

    return tuple(sorted(labels, key=key))


def _too_many_texts(name: str) -> UsageError:
    return UsageError(
        "expected a table of categories and numbers, "
        f"found more than {MAX_LABELS} different texts in {name!r}: give --schema"
    )
