"""Inference: a schema out of the data itself, for a quick start. Not private: the report says so.

Each party looks at its own table, block by block, and says what it saw; `merge` unites what all saw into one schema. A
column of numbers of which there are more than `MOST_NUMBERS` different ones is numeric, in equal-width bins from the least to
the greatest; everything else is categories. Absent values get a category of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..privacy.domain import MOST_LABELS
from .schema import MISSING_TEXTS, Bins, Categories, Missing, Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["infer", "merge"]

MOST_NUMBERS: Final = 64
"""A column with more different numbers than this is numeric."""
INFERRED_BINS: Final = 16


class _Column:
    """What was seen of one column so far, in bounded memory: texts as long as they may be categories, the numbers' range."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: set[str] = set()
        self.low, self.high = math.inf, -math.inf
        self.only_numbers = True
        self.missing = False

    def see(self, column: pd.Series[Any]) -> None:
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.cat.remove_unused_categories()
            values, missing = column.cat.categories, bool(column.isna().any())
        else:
            places, values = pd.factorize(column, use_na_sentinel=True)
            missing = bool((places < 0).any())
        texts = {str(value) for value in values}
        self.missing |= missing or bool(texts & set(MISSING_TEXTS))
        texts -= set(MISSING_TEXTS)
        numbers = pd.to_numeric(pd.Series([*texts], dtype="str"), errors="coerce").to_numpy(dtype=np.float64)
        finite = numbers[np.isfinite(numbers)]
        self.only_numbers &= len(finite) == len(texts)
        if len(finite):
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
        if len(self.texts) <= MOST_LABELS:
            self.texts |= texts
        if not self.only_numbers and len(self.texts) > MOST_LABELS:
            found = f"found more than {MOST_LABELS} different texts in {self.name!r}"
            raise UsageError(f"expected a table of categories and numbers, {found}: give --schema")

    def rule(self) -> Categories | Bins:
        missing: Missing = "category" if self.missing else "refuse"
        if self.only_numbers and len(self.texts) > MOST_NUMBERS and self.low < self.high:
            return Bins(edges=(self.low, self.high), missing=missing)
        # A column without a single value is one category, the missing one, and a first that nobody has.
        return Categories(categories=tuple(sorted(self.texts)) or ("",), missing=missing)


def infer(blocks: Iterable[pd.DataFrame]) -> Schema:
    """Say what one table shows; numeric columns have one bin until they are merged."""
    columns: dict[str, _Column] = {}
    for block in blocks:
        for name in map(str, block.columns):
            columns.setdefault(name, _Column(name)).see(block[name])
    return Schema({name: column.rule() for name, column in columns.items()}, inferred=True)


def merge(schemas: Iterable[Schema]) -> Schema:
    """Unite what the parties inferred: all categories, the widest range; numbers are binned here."""
    first, *rest = schemas
    if any(schema.attributes.keys() != first.attributes.keys() for schema in rest):
        raise UsageError("expected the same columns in every party's data, found others: give --schema")
    names = first.attributes
    return Schema({name: _unite(name, [schema.attributes[name] for schema in (first, *rest)]) for name in names}, inferred=True)


def _unite(name: str, rules: list[Categories | Bins]) -> Categories | Bins:
    missing: Missing = "category" if any(rule.missing == "category" for rule in rules) else "refuse"
    texts = {label for rule in rules if isinstance(rule, Categories) for label in rule.categories}
    edges = [edge for rule in rules if isinstance(rule, Bins) for edge in rule.edges]
    if not edges:
        return Categories(categories=_in_order(texts), missing=missing)
    try:
        numbers: npt.NDArray[np.float64] = np.array([*edges, *(float(text) for text in texts - {""})])
    except ValueError:
        numbers = np.array([math.nan])
    if not np.isfinite(numbers).all():
        raise UsageError(f"expected numbers or categories in {name!r}, found numbers at one party and texts at another")
    return Bins.equal(float(numbers.min()), float(numbers.max()), bins=INFERRED_BINS, missing=missing)


def _in_order(labels: set[str]) -> tuple[str, ...]:
    """Sort numbers as numbers, texts as texts."""
    labels = labels - {""} or labels
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return tuple(sorted(labels))
    # NaN has no place among numbers, and every role must come to the same order.
    return tuple(
        sorted(labels, key=lambda label: (numbers[label], label) if math.isfinite(numbers[label]) else (math.inf, label))
    )
