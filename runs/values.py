"""A published table with values: numbers and dates drawn within their bins, and types as they came.

A protocol publishes labels, and a label of a bin is an interval. Here it becomes a number or a date
of that interval. This depends on the published table and the public schema alone, so it costs no
privacy. The draw follows from the table's digest: the same labels have the same values wherever
they are made.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.within_bins import draw_numbers, draw_whole_numbers
from ..parties import Bins, Categories, Schema
from .record import RunRecord
from .table import Column, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ValueColumn", "csv_of", "frame_of", "values_of", "values_of_run"]


def _int64(text: str) -> int:
    """Read a whole number that fits into 64 bits.

    Raises:
        ValueError: It is none.
    """
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(text)
    return value


READERS: Final[dict[str, Callable[[str], object]]] = {
    "int64": _int64,
    "float64": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
"""How texts of each type are read, in the order in which types are tried."""


class ValueColumn(msgspec.Struct, frozen=True):
    """One column with values of one type."""

    name: str
    array: npt.NDArray[Any]
    is_missing: npt.NDArray[np.bool_] | None = None
    """Rows without a value; `None` if there can be none."""
    missing_text: str = ""
    """The text of a missing value in a file."""


def values_of_run(record: RunRecord) -> list[ValueColumn] | None:
    """Make the columns of a run's synthetic table: values, or labels if the job wants them."""
    table = record.outcome.synthetic
    if table is None:
        return None
    return values_of(table, None if record.job.labels else record.schema)


def values_of(table: Table, schema: Schema | None) -> list[ValueColumn]:
    """Draw values for the labels of a table. Columns that the schema does not explain stay."""
    rules = {} if schema is None else schema.attributes
    digest = hashlib.sha256(msgspec.msgpack.encode(table)).digest()
    columns = []
    for index, column in enumerate(table.columns):
        rule = rules.get(column.name)
        generator = np.random.default_rng([index, *digest])
        drawn = None
        if isinstance(rule, Bins) and column.labels is not None:
            drawn = _binned(column, rule, generator=generator)
        elif isinstance(rule, Categories) and schema is not None and schema.inferred:
            drawn = _typed(column, rule)
        columns.append(ValueColumn(column.name, column.array()) if drawn is None else drawn)
    return columns


def frame_of(columns: Sequence[ValueColumn]) -> pd.DataFrame:
    """Make a DataFrame. Missing values are those of pandas for the column's type."""
    import pandas as pd

    series: dict[str, object] = {}
    for column in columns:
        values, is_missing = column.array.copy(), column.is_missing
        series[column.name] = values
        if is_missing is None or not is_missing.any():
            continue
        match values.dtype.kind:
            case "i":
                series[column.name] = pd.arrays.IntegerArray(values, is_missing.copy())
            case "b":
                series[column.name] = pd.arrays.BooleanArray(values, is_missing.copy())
            case "f":
                values[is_missing] = np.nan
            case _:
                values[is_missing] = np.array(
                    "NaT", values.dtype
                )  # NaT without a unit is deprecated
    return pd.DataFrame(series, index=range(len(columns[0].array) if columns else 0))


def csv_of(columns: Sequence[ValueColumn]) -> bytes:
    """Write a CSV file."""
    lists: list[list[object]] = []
    for column in columns:
        values: list[object] = column.array.tolist()
        if column.is_missing is not None:
            for row in np.flatnonzero(column.is_missing):
                values[row] = column.missing_text
        lists.append(values)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue().encode()


def _binned(column: Column, rule: Bins, *, generator: np.random.Generator) -> ValueColumn | None:
    """Draw the values of an attribute with bins; `None` if a label is none of its bins."""
    places = {label: place for place, label in enumerate(rule.labels)}
    labels = column.labels or ()
    codes_of_labels = np.array([places.get(label, -1) for label in labels], np.int64)
    codes = codes_of_labels[column.codes()]
    if (codes < 0).any():
        return None
    is_missing = codes >= len(rule.bin_labels)
    draw = draw_numbers if rule.kind == "numbers" else draw_whole_numbers
    drawn: npt.NDArray[np.generic] = draw(rule.edges, codes[~is_missing], generator=generator)
    values = np.zeros(len(codes), drawn.dtype)
    values[~is_missing] = drawn
    if rule.kind == "dates":
        values = values.astype("datetime64[D]")
    return ValueColumn(column.name, values, *_missing(rule, is_missing))


def _typed(column: Column, rule: Categories) -> ValueColumn | None:
    """Read inferred categories as numbers or booleans, if all of them are; `None` otherwise."""
    labels = column.labels or ()
    for dtype, read in READERS.items():
        if all(_is_written_so(text, read) for text in rule.categories):
            numbers = np.array(
                [read(text) if text in rule.categories else 0 for text in labels], dtype
            )
            is_absent = np.array([text not in rule.categories for text in labels], np.bool_)
            codes = column.codes()
            return ValueColumn(column.name, numbers[codes], *_missing(rule, is_absent[codes]))
    return None


def _is_written_so(text: str, read: Callable[[str], object]) -> bool:
    """Tell whether a text is the one way to write a value: 01 and 1e3 are no numbers here."""
    try:
        return str(read(text)) == text
    except (ValueError, KeyError):
        return False


def _missing(
    rule: Bins | Categories, is_missing: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_] | None, str]:
    """Give the missing rows, and the text for them that the rule reads as missing."""
    if rule.missing != "category":
        return None, ""
    return is_missing, "" if "" in rule.missing_as else rule.missing_as[0]
