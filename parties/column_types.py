"""Types of the columns of a table, as its source states them, so that what is published has them.

Only the names of types are read, never a value. A CSV file states none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["ARROW_TYPES", "arrow_types", "column_types"]

ARROW_TYPES: Final = "types of the Arrow table"
"""The key in a DataFrame's `attrs` with the types of the Arrow table that it was made of."""

DAYS: Final = "datetime64[s]"
"""The type of dates without a time, where bins of dates have it, too."""


def column_types(tables: Iterable[str | pd.DataFrame]) -> dict[str, str]:
    """Name the pandas types of columns that are the same in all tables which state types.

    A file that this machine cannot read states none.

    >>> import numpy as np, pandas as pd
    >>> column_types([pd.DataFrame({"age": np.zeros(2, np.int8)})])
    {'age': 'int8'}
    """
    stated = [types for table in tables if (types := _types_of(table))]
    first = stated[0] if stated else {}
    return {
        name: kind
        for name, kind in first.items()
        if all(types.get(name) == kind for types in stated)
    }


def arrow_types(schema: pa.Schema) -> dict[str, str]:
    """Name the pandas types of an Arrow table's columns; pandas' own notes in it count.

    A day, of which pandas makes an object, is a date.
    """
    from pyarrow import types

    frame = _with_signed_codes(schema).empty_table().to_pandas()
    days = {field.name: DAYS for field in schema if types.is_date(field.type)}
    return _types_of_frame(frame.reset_index() if frame.index.name else frame) | days


def _with_signed_codes(schema: pa.Schema) -> pa.Schema:
    """Give categories signed codes: the oldest pyarrow that we take hands no others to pandas."""
    import pyarrow as pa

    for index, field in enumerate(schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
            signed = pa.dictionary(pa.int64(), kind.value_type, ordered=kind.ordered)
            schema = schema.set(index, field.with_type(signed))
    return schema


def _types_of(table: str | pd.DataFrame) -> dict[str, str]:
    if not isinstance(table, str):
        noted = table.attrs.get(ARROW_TYPES)
        return dict(noted) if isinstance(noted, dict) else _types_of_frame(table)
    if not table.endswith(".parquet"):
        return {}
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return {}
    try:
        return arrow_types(parquet.read_schema(table))
    except (ArrowException, OSError, ValueError, TypeError, NotImplementedError):
        return {}


def _types_of_frame(table: pd.DataFrame) -> dict[str, str]:
    """Name the types of columns, except of objects.

    Pandas makes a column one of objects if a single value is of another type, so that the name
    would tell of this value.
    """
    from pandas.api.types import is_object_dtype

    names = map(str, table.columns)
    return {
        name: _name_of(dtype)
        for name, dtype in zip(names, table.dtypes, strict=True)
        if not is_object_dtype(dtype)
    }


def _name_of(dtype: Any) -> str:
    """Name a type as pandas does; of categories, name the type of each."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return f"category[{dtype.categories.dtype}]"
    return str(dtype)
