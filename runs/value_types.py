"""Types of published columns: those of the tables that came in, where they hold every value.

What a schema says of a column comes first: whole numbers stay whole, texts stay texts. So a type is
given to a column of its own family alone, with as many bits as came in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NARROW", "with_type"]

NOT_HELD: Final = (ValueError, TypeError, OverflowError, NotImplementedError, ImportError)
"""Errors of pandas where a type cannot hold the values of a column, or is not known here."""
NARROW: Final[dict[str, type[np.floating]]] = {
    "float16": np.float16,
    "float32": np.float32,
    "Float32": np.float32,
}
"""Names of types of numbers with fewer digits than Python's."""
OF_CATEGORIES: Final = "category["


def with_type(column: pd.Series, name: str) -> pd.Series:
    """Give a column the named type; a column of another family, or with other values, stays.

    >>> import pandas as pd
    >>> [str(with_type(pd.Series([value]), "int8").dtype) for value in (1, 300)]
    ['int8', 'int64']
    """
    if not name:
        return column
    try:
        return _typed(column, name)
    except NOT_HELD:
        return column


def _typed(column: pd.Series, name: str) -> pd.Series:
    """Give a column the type, by the way of the column's family."""
    import pandas as pd

    types = pd.api.types
    if column.isna().all():
        return _without_values(column, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _with_categories(column, name)
    dtype = types.pandas_dtype(name)
    if types.is_datetime64_any_dtype(column.dtype):
        return _with_dates(column, dtype)
    if types.is_numeric_dtype(column.dtype):
        return _with_numbers(column, dtype)
    return _of_texts(column, dtype)


def _without_values(column: pd.Series, name: str) -> pd.Series:
    """Give a column in which all is missing its type, if that has missing values."""
    import pandas as pd

    dtype = pd.api.types.pandas_dtype("category" if name.startswith(OF_CATEGORIES) else name)
    typed = column.astype(dtype)
    return typed if typed.isna().all() else column


def _with_categories(column: pd.Series, name: str) -> pd.Series:
    """Give categories that came in as numbers, dates or booleans their type again."""
    if not name.startswith(OF_CATEGORIES):
        return column
    import pandas as pd

    inner = pd.api.types.pandas_dtype(name.removeprefix(OF_CATEGORIES).removesuffix("]"))
    texts = pd.Series(column.cat.categories)
    if inner.kind == "O":
        return column
    if pd.api.types.is_bool_dtype(inner):
        values = texts.map({"True": True, "False": False}).astype(inner)
    elif pd.api.types.is_numeric_dtype(inner):
        values = pd.to_numeric(texts).astype(inner)
    else:
        values = _of_texts(texts, inner)
    return column.cat.rename_categories(pd.Index(values))


def _with_numbers(column: pd.Series, dtype: Any) -> pd.Series:
    """Give numbers and booleans their width; with missing values a type that has them."""
    import pandas as pd

    types = pd.api.types
    families = (types.is_bool_dtype, types.is_integer_dtype, types.is_float_dtype)
    if not any(is_of(column.dtype) and is_of(dtype) for is_of in families):
        return column
    is_missing = column.isna().any()
    if is_missing and isinstance(dtype, np.dtype) and dtype.kind in "biu":
        dtype = "boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("u", "U")
    with np.errstate(over="ignore"):
        typed = column.astype(dtype)
    again = typed.astype(column.dtype)
    if types.is_float_dtype(column.dtype):
        return column if (np.isinf(again) & ~np.isinf(column)).any() else typed
    return typed if again.equals(column) else column


def _with_dates(column: pd.Series, dtype: Any) -> pd.Series:
    """Give dates their unit and their time zone: each is a midnight there."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(dtype):
        return column
    if isinstance(dtype, pd.DatetimeTZDtype) and column.dt.tz is None:
        # Where clocks change at midnight it is the first hour of the day.
        is_first = np.ones(len(column), np.bool_)
        column = column.dt.tz_localize(dtype.tz, ambiguous=is_first, nonexistent="shift_forward")
    return column.astype(dtype)


def _of_texts(column: pd.Series, dtype: Any) -> pd.Series:
    """Give texts their kind of texts, or read the dates, periods and spans of time that came in."""
    import pandas as pd

    types = pd.api.types
    if types.is_datetime64_any_dtype(dtype):
        has_zone = isinstance(dtype, pd.DatetimeTZDtype)
        return pd.to_datetime(column, format="ISO8601", utc=has_zone).astype(dtype)
    if types.is_timedelta64_dtype(dtype):
        return pd.to_timedelta(column).astype(dtype)
    is_known = types.is_string_dtype(dtype) or isinstance(dtype, pd.PeriodDtype)
    return column.astype(dtype) if is_known else column
