"""Values that a classifier meets after its training, and that its schema has no code for.

A number outside all bins counts as the nearest bin. Where the schema was inferred from the training
table, other values are replaced, too: a number by the nearest one that has a code, and any other
value by the most frequent one of its column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from ..parties import Bins, Categories, RawTable, Schema
from ..parties.number_texts import number
from ..parties.rules import ABSENT, INVALID

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UsualValues", "within_bins"]

NARROW: Final = frozenset({"float16", "float32"})
"""Types of numbers that are not of double precision."""


def within_bins(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Put numbers outside all bins into the nearest bin."""
    bins = {
        name: rule
        for name, rule in schema.attributes.items()
        if isinstance(rule, Bins) and name in table.columns
    }
    numeric = {name: rule for name, rule in bins.items() if table[name].dtype.kind in "iuf"}
    return table.assign(
        **{
            name: _as_written(table[name]).clip(rule.edges[0], rule.edges[-1])
            for name, rule in numeric.items()
        }
    )


def _as_written(column: pd.Series[Any]) -> pd.Series[Any]:
    """Take numbers of single precision as records have them (`parties.raw`).

    If the edge were rounded to single precision, the number that is written there could be outside.
    """
    if str(column.dtype).lower() not in NARROW:
        return column
    (raw,) = RawTable.of(column.to_frame()).columns.values()
    return column.astype(float).mask(column.notna(), raw.array())


@dataclass(frozen=True, slots=True)
class UsualValues:
    """The most frequent text of each column with categories, and the median of other columns."""

    texts: Mapping[str, str]
    medians: Mapping[str, float]

    @classmethod
    def of(cls, table: pd.DataFrame, schema: Schema) -> Self:
        """Find them in the training table."""
        texts: dict[str, str] = {}
        medians: dict[str, float] = {}
        for name, rule in schema.attributes.items():
            if isinstance(rule, Categories):
                column = RawTable.of(table[[name]]).columns[name].as_texts()
                counts = np.bincount(column.places[column.places >= 0], minlength=1)
                texts[name] = (
                    column.texts[int(counts.argmax())] if column.texts else rule.categories[0]
                )
            elif table[name].dtype.kind in "iuf":
                medians[name] = float(table[name].median())
        return cls(texts, medians)

    def fill(self, table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """Replace values without a code."""
        filled: dict[str, Any] = {}
        for name, rule in schema.attributes.items():
            if name not in table.columns:
                continue
            if isinstance(rule, Categories):
                filled[name] = self._categories(table[[name]], rule, usual=self.texts[name])
            elif name in self.medians and rule.missing == "refuse":
                filled[name] = table[name].fillna(self.medians[name])
        return within_bins(table.assign(**filled), schema)

    @staticmethod
    def _categories(column: pd.DataFrame, rule: Categories, *, usual: str) -> Any:
        (raw,) = RawTable.of(column).columns.values()
        texts = raw.as_texts()
        codes = rule.codes_of(texts.texts)
        cells = [
            _nearest(text, rule.categories, usual=usual) if code == INVALID else text
            for text, code in zip(texts.texts, codes, strict=True)
        ]
        absent = usual if rule.missing == "refuse" else rule.missing_as[0]
        cells = [
            absent if code == ABSENT else text for text, code in zip(cells, codes, strict=True)
        ]
        return np.array([*cells, absent], object)[texts.places]


def _nearest(text: str, categories: tuple[str, ...], *, usual: str) -> str:
    """Give the nearest category of a number, where categories are numbers; else the usual one.

    >>> _nearest("7", ("1", "5", "20"), usual="20"), _nearest("x", ("a", "b"), usual="b")
    ('5', 'b')
    """
    value, numbers = number(text), [number(category) for category in categories]
    if not math.isfinite(value) or not all(map(math.isfinite, numbers)):
        return usual
    return min(zip(numbers, categories, strict=True), key=lambda item: abs(item[0] - value))[1]
