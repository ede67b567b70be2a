"""The schema: the attributes of a table in order, and the rule of each.

With it raw values become codes of a public domain. `schema_file` has its form as JSON. Columns that
the schema does not name are left out. Without a schema one is inferred from the data (`inference`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..privacy.domain import Domain
from .rules import ABSENT, INVALID, Bins, Categories

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Schema", "TableCodes", "code_type", "values_of"]

TableCodes: TypeAlias = list[npt.NDArray[np.unsignedinteger[Any]]]
"""An array for each attribute, of 8 bits if they are enough and of 16 otherwise."""

MAX_SHOWN_TEXT: Final = 60
"""Characters of a value in an error message."""


class Schema(msgspec.Struct, frozen=True):
    """Attributes in order, and the rule of each."""

    attributes: dict[str, Categories | Bins]
    inferred: bool = False

    @property
    def domain(self) -> Domain:
        return Domain({name: rule.labels for name, rule in self.attributes.items()})

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the attributes with bins."""
        return tuple(name for name, rule in self.attributes.items() if isinstance(rule, Bins))

    def encode(self, table: pd.DataFrame, *, before: int = 0) -> TableCodes:
        """Encode a table, without the rows that are dropped for missing values.

        A value outside the schema is a `UsageError` that names it and its row. Rows are counted
        from 1, after `before` rows of earlier blocks.
        """
        columns: list[npt.NDArray[np.int64]] = []
        is_kept = np.ones(len(table), np.bool_)
        for name, rule in self.attributes.items():
            if name not in table.columns:
                raise UsageError(
                    f"expected a column {name!r}, as the schema says, "
                    f"found {', '.join(map(str, table.columns))}"
                )
            codes = _codes(rule, table[name])
            is_wrong = codes == INVALID
            if rule.missing == "refuse":
                is_wrong |= codes == ABSENT
            if is_wrong.any():
                index = int(np.argmax(is_wrong))
                raise UsageError(
                    f"expected {rule.description(name)}, "
                    f"found {_quote(table[name].iloc[index])} in row {before + index + 1}"
                )
            if rule.missing == "category":
                codes = np.where(codes == ABSENT, len(rule.labels) - 1, codes)
            else:
                is_kept &= codes != ABSENT
            columns.append(codes)
        if not is_kept.all():
            columns = [codes[is_kept] for codes in columns]
        return [
            codes.astype(code_type(len(rule.labels)))
            for codes, rule in zip(columns, self.attributes.values(), strict=True)
        ]


def code_type(labels: int) -> type[np.uint8 | np.uint16]:
    """Choose the type of the codes of an attribute with so many labels."""
    return np.uint8 if labels <= 256 else np.uint16


def values_of(column: pd.Series[Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """List the values of a column as texts, and find the place of each row's value in the list.

    The place of a null is -1. A text may be listed twice.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = [str(value) for value in column.cat.categories]
        return np.asarray(column.cat.codes, np.int64), texts
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) != "string":
        # 1, 1.0 and True are equal and have one hash, but they are three texts.
        nulls = column.isna()
        texts_or_none = [
            None if is_null else str(value) for value, is_null in zip(column, nulls, strict=True)
        ]
        column = pd.Series(texts_or_none, dtype=object)
    elif column.dtype.kind == "f":
        column = column + 0.0
    places, values = pd.factorize(column, use_na_sentinel=True)
    return np.asarray(places, np.int64), [str(value) for value in values]


def _codes(rule: Categories | Bins, column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    """Encode a column, each different value once. A null is ABSENT."""
    if isinstance(rule, Bins) and column.dtype.kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64)
        return np.where(np.isnan(numbers), ABSENT, rule.bins_of(numbers))
    places, texts = values_of(column)
    codes = np.append(rule.codes_of(texts), ABSENT)  # place -1, that of a null, is the last
    return codes[places]


def _quote(value: object) -> str:
    """Quote a value as it was written, as far as that is known; a long one is cut."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return repr(text if len(text) <= MAX_SHOWN_TEXT else f"{text[: MAX_SHOWN_TEXT - 3]}...")
