"""Tables as arguments of functions in Python: what is taken, and the way out for what is not."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..messages import UsageError
from .arrow import frame_of_arrow, is_arrow

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableSource", "TableSources", "table_argument", "table_arguments"]

TableSource: TypeAlias = "str | os.PathLike[str] | pd.DataFrame"
"""A path, or a DataFrame. An Arrow table, or one of Polars, is taken, too."""
TableSources: TypeAlias = "TableSource | Sequence[TableSource]"
"""One table, or one for each party."""


def table_argument(value: object, *, name: str) -> str | pd.DataFrame:
    """Take a path as text, a DataFrame as it is, and an Arrow table as a DataFrame.

    >>> table_argument([[1, 2]], name="real")
    Traceback (most recent call last):
    sottovoce.messages.errors.UsageError: expected a path or a DataFrame for real, found a list: \
pass pandas.DataFrame(...) with a name for each column
    """
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    if is_arrow(value):
        return frame_of_arrow(value)
    if isinstance(value, str | os.PathLike):
        return os.fsdecode(value)
    raise UsageError(
        f"expected a path or a DataFrame for {name}, found {_kind(value)}: {_way_out(value)}"
    )


def table_arguments(value: object, *, name: str) -> list[str | pd.DataFrame]:
    """Take one table, or a sequence of them, one for each party."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [table_argument(value, name=name)]
    if not value:
        raise UsageError(f"expected a table for {name}, found none: leave it out for the demo's")
    return [table_argument(table, name=name) for table in value]


def _kind(value: object) -> str:
    if value is None:
        return "None"
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    if isinstance(value, np.ndarray):
        return "a numpy array"
    return f"{article} {kind}"


def _way_out(value: object) -> str:
    import pandas as pd

    if isinstance(value, np.ndarray):
        return "pass pandas.DataFrame(array, columns=[...]), so that every column has a name"
    if isinstance(value, pd.Series):
        return "pass series.to_frame()"
    if value is None:
        return 'leave it out, or pass "demo", for the demo\'s table'
    if isinstance(value, Mapping | Sequence):
        return "pass pandas.DataFrame(...) with a name for each column"
    return "pass pandas.DataFrame(...), or the path of a CSV or Parquet file"
