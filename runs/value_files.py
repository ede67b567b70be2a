"""Columns with values, and the files and DataFrames that hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from .value_types import NARROW, with_type

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ValueColumn", "csv_of", "frame_of", "parquet_of"]


class ValueColumn(msgspec.Struct, frozen=True):
    """One column with values of one type."""

    name: str
    array: npt.NDArray[Any]
    is_missing: npt.NDArray[np.bool_] | None = None
    """Rows without a value; `None` if there can be none."""
    missing_text: str = ""
    """The text of a missing value in a file."""
    listed: tuple[str, ...] | None = None
    """All categories in their order, where the column is one of categories."""
    is_ordered: bool = False
    type_name: str = ""
    """The type that came in, which a DataFrame takes again where it holds every value."""
    decimal: str = "."
    """The sign before decimals in a file."""
    date_format: str = ""
    """How a file writes dates; empty for 2024-02-29."""


def frame_of(columns: Sequence[ValueColumn]) -> pd.DataFrame:
    """Make a DataFrame with the types that came in, as far as they hold all values."""
    import pandas as pd

    series: dict[str, object] = {}
    for column in columns:
        values, is_missing = column.array.copy(), column.is_missing
        has_missing = is_missing is not None and bool(is_missing.any())
        series[column.name] = values
        if is_missing is not None and has_missing and values.dtype.kind == "O":
            values[is_missing] = None
        if column.listed is not None:
            series[column.name] = pd.Categorical(
                values,
                categories=list(column.listed),
                ordered=column.is_ordered,
            )
            continue
        if is_missing is None:
            continue
        match values.dtype.kind:
            case "i":
                series[column.name] = pd.arrays.IntegerArray(values, is_missing.copy())
            case "b":
                series[column.name] = pd.arrays.BooleanArray(values, is_missing.copy())
            case "f":
                values[is_missing] = np.nan
            case "O":
                pass
            case _:
                values[is_missing] = np.array(
                    "NaT", values.dtype
                )  # NaT without a unit is deprecated
    frame = pd.DataFrame(series, index=range(len(columns[0].array) if columns else 0))
    typed = {column.name: with_type(frame[column.name], column.type_name) for column in columns}
    return pd.DataFrame(typed, index=frame.index)


def csv_of(columns: Sequence[ValueColumn]) -> bytes:
    """Write a CSV file."""
    lists: list[list[object]] = []
    for column in columns:
        array = column.array
        if array.dtype in NARROW.values():
            array = array.astype(str).astype(np.float64)  # the fewest digits that tell it
        values: list[object] = array.tolist()
        if column.decimal != ".":
            values = [str(value).replace(".", column.decimal) for value in values]
        if column.date_format:
            values = [value.strftime(column.date_format) for value in array.astype(object)]
        if column.is_missing is not None:
            for row in np.flatnonzero(column.is_missing):
                values[row] = column.missing_text
        lists.append(values)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue().encode()


def parquet_of(columns: Sequence[ValueColumn]) -> bytes:
    """Write a Parquet file, which keeps the types of columns. It has no sparse ones."""
    import pandas as pd

    frame, out = frame_of(columns), io.BytesIO()
    dense = {
        str(name): frame[name].astype(kind.subtype)
        for name, kind in frame.dtypes.items()
        if isinstance(kind, pd.SparseDtype)
    }
    frame.assign(**dense).to_parquet(out, index=False)
    return out.getvalue()
