"""Columns of Arrow tables and of Parquet files as columns of a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..messages import Private, UsageError
from .column_types import ARROW_TYPES, arrow_types
from .columns import check_header

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["column_of_arrow", "frame_of_arrow", "is_arrow", "refuse_kind"]


def column_of_arrow(name: str, values: pa.Array, source: str) -> Any:
    """Convert a column from Arrow: numbers if none is missing, otherwise objects.

    Pandas' own conversion would make floats of integers with a null among them, and other texts.
    """
    from pyarrow import types

    if types.is_dictionary(values.type):
        values = _with_texts(values)
        listed = values.type.value_type
        if types.is_string(listed) or types.is_large_string(listed):
            return values.to_pandas()
        values = values.dictionary_decode()
    refuse_kind(name, values.type, source)
    if types.is_decimal(values.type) and values.type.scale > 0:
        values = values.cast("float64")
    is_integer, is_float = types.is_integer(values.type), types.is_floating(values.type)
    if is_float or (is_integer and values.null_count == 0):
        return values.to_numpy(zero_copy_only=False)
    return np.array(values.to_pandas(integer_object_nulls=True), dtype=object)


def _column_of_argument(name: str, values: pa.Array) -> Any:
    """Convert a column; one that cannot be read stays as it is, and is refused if it is used."""
    import pandas as pd

    if _is_readable(values.type):
        return column_of_arrow(name, values, "the table")
    return pd.Series(values, dtype=pd.ArrowDtype(values.type))


def _with_texts(values: pa.DictionaryArray) -> pa.DictionaryArray:
    """Give categories whole texts and signed codes.

    Polars has views of texts, with which Arrow cannot count yet, and unsigned codes. The oldest
    pyarrow that we take neither casts such views, so that they go by way of Python, nor hands such
    codes to pandas.
    """
    import pyarrow as pa

    codes, labels = values.indices, values.dictionary
    if pa.types.is_unsigned_integer(codes.type):
        codes = codes.cast(pa.int64())
    if pa.types.is_string_view(labels.type):
        labels = pa.array(labels.to_pylist(), pa.string())
    return pa.DictionaryArray.from_arrays(codes, labels, ordered=values.type.ordered)


def _is_readable(kind: pa.DataType) -> bool:
    """Tell whether columns of this type are texts, numbers or dates."""
    from pyarrow import types

    refused = (
        types.is_nested,
        types.is_binary,
        types.is_large_binary,
        types.is_binary_view,
        types.is_fixed_size_binary,
        types.is_interval,
    )
    return not any(is_of(kind) for is_of in refused)


def refuse_kind(name: str, kind: pa.DataType, source: str) -> None:
    """Refuse a column that is neither texts nor numbers nor dates."""
    if not _is_readable(kind):
        raise UsageError(
            f"expected texts and numbers in {source}, found ",
            Private(f"{kind} in column {name!r}"),
            ": convert it, or leave it out with --drop",
        )


def is_arrow(table: object) -> bool:
    """Tell whether this is an Arrow table, or one that can be read as such, such as of Polars.

    A Series of pandas has no columns.
    """
    import pandas as pd

    return hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.DataFrame | pd.Series)


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """Make a DataFrame of an Arrow table, with the values as they would be read from Parquet."""
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        raise UsageError(
            "expected pyarrow for an Arrow table, found none: pip install 'sottovoce[parquet]'"
        ) from None
    try:
        arrow = pa.table(table)
        names = [*map(str, arrow.column_names)]
        check_header(names, where="the table")
        columns = {
            name: _column_of_argument(name, arrow.column(index).combine_chunks())
            for index, name in enumerate(names)
        }
    except pa.ArrowException as error:
        raise UsageError(
            "expected an Arrow table that pyarrow can convert, found ", Private(str(error))
        ) from None
    frame = pd.DataFrame(columns, index=range(arrow.num_rows))
    frame.attrs[ARROW_TYPES] = arrow_types(arrow.schema)
    return frame
