"""Inference: a schema out of the data itself, for a quick start. Not private: the report says so.

Each party looks at its own table, block by block, and says what it saw; `merge` unites what all saw
into one schema. A column of numbers of which there are more than `MOST_NUMBERS` different ones is
numeric, in equal-width bins from the least to the greatest; everything else is categories. Absent
values get a category of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..messages import UsageError
from ..privacy.domain import MOST_LABELS
from .schema import MISSING_TEXTS, Bins, Categories, Missing, Schema, number, values_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["infer", "merge"]

MOST_NUMBERS: Final = 64
"""A column with more different numbers than this is numeric."""
INFERRED_BINS: Final = 16
NOTHING: Final = "(none)"
"""The category of a column without a single value: an attribute needs one."""


class _Column:
    """What was seen of one column so far, in bounded memory: texts as long as they may be
    categories, the numbers' range.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: set[str] = set()
        self.low, self.high = math.inf, -math.inf
        self.only_numbers = True
        self.missing = False

    def see(self, column: pd.Series[Any]) -> None:
        places, values = values_of(column)
        here = {values[place] for place in np.unique(places).tolist() if place >= 0}
        self.missing |= bool((places < 0).any()) or not here.isdisjoint(MISSING_TEXTS)
        new = here.difference(MISSING_TEXTS, self.texts)
        numbers = np.array([number(text) for text in new])
        finite = numbers[np.isfinite(numbers)]
        self.only_numbers &= len(finite) == len(new)
        if len(finite):
            self.low, self.high = (
                min(self.low, float(finite.min())),
                max(self.high, float(finite.max())),
            )
        if len(self.texts) <= MOST_LABELS:
            self.texts |= new
        if not self.only_numbers and len(self.texts) > MOST_LABELS:
            raise UsageError(_too_many(self.name))

    def rule(self) -> Categories | Bins:
        missing: Missing = "category" if self.missing else "refuse"
        if self.only_numbers and len(self.texts) > MOST_NUMBERS and self.low < self.high:
            return Bins(edges=(self.low, self.high), missing=missing)
        if len(self.texts) + self.missing > MOST_LABELS:
            raise UsageError(_too_many(self.name))
        return Categories(categories=tuple(sorted(self.texts)) or (NOTHING,), missing=missing)


def _too_many(name: str) -> str:
    found = f"found more than {MOST_LABELS} different texts in {name!r}"
    return f"expected a table of categories and numbers, {found}: give --schema"


def infer(blocks: Iterable[pd.DataFrame]) -> Schema:
    """Say what one table shows; numeric columns have one bin until they are merged."""
    columns: dict[str, _Column] = {}
    for block in blocks:
        for name in map(str, block.columns):
            columns.setdefault(name, _Column(name)).see(block[name])
    return Schema({name: column.rule() for name, column in columns.items()}, inferred=True)


def merge(schemas: Iterable[Schema]) -> Schema:
    """Unite what the parties inferred: all categories, the widest range; numbers are binned
    here.
    """
    first, *rest = schemas
    if any(schema.attributes.keys() != first.attributes.keys() for schema in rest):
        raise UsageError(
            "expected the same columns in every party's data, found others: give --schema"
        )
    names = first.attributes
    return Schema(
        {
            name: _unite(name, [schema.attributes[name] for schema in (first, *rest)])
            for name in names
        },
        inferred=True,
    )


def _unite(name: str, rules: list[Categories | Bins]) -> Categories | Bins:
    missing: Missing = "category" if any(rule.missing == "category" for rule in rules) else "refuse"
    texts = {label for rule in rules if isinstance(rule, Categories) for label in rule.categories}
    texts = texts - {NOTHING} or texts
    edges = [edge for rule in rules if isinstance(rule, Bins) for edge in rule.edges]
    if not edges:
        if len(texts) + (missing == "category") > MOST_LABELS:
            raise UsageError(_too_many(name))
        return Categories(categories=_in_order(texts), missing=missing)
    numbers = np.array([*edges, *(number(text) for text in texts - {NOTHING})])
    if not np.isfinite(numbers).all():
        raise UsageError(
            f"expected numbers or categories in {name!r}, found numbers at one party and texts at another"
        )
    low, high = float(numbers.min()), float(numbers.max())
    try:
        return Bins.equal(low, high, bins=INFERRED_BINS, missing=missing)
    except ValueError:
        found = f"found {low:g} to {high:g} in {name!r}"
        raise UsageError(
            f"expected a range that {INFERRED_BINS} bins can divide, {found}: give --schema"
        ) from None


def _in_order(labels: set[str]) -> tuple[str, ...]:
    """Sort numbers as numbers, texts as texts."""
    numbers = {label: number(label) for label in labels}
    if not any(math.isfinite(value) for value in numbers.values()):
        return tuple(sorted(labels))
    # NaN has no place among numbers, and every role must come to the same order.
    return tuple(
        sorted(
            labels,
            key=lambda label: (
                (numbers[label], label) if math.isfinite(numbers[label]) else (math.inf, label)
            ),
        )
    )
