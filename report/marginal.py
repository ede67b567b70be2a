"""One of the published marginals, with a column for each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..messages import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["one_marginal"]

FIGURES: Final = ("count", "low", "high")


def one_marginal(table: pd.DataFrame | None, attributes: Sequence[str]) -> pd.DataFrame:
    """Take one marginal out of a table of all, with the attributes in this order.

    Raises:
        UsageError: No such marginal was published.
    """
    published: list[str] = []
    if table is not None:
        names = [str(name) for name in table.columns if str(name).startswith("attribute_")]
        for key, rows in table.groupby(names, sort=False):
            of_rows = [str(name) for name in (key if isinstance(key, tuple) else (key,)) if name]
            published.append("*".join(of_rows))
            if sorted(of_rows) == sorted(attributes):
                values = {name: rows[f"value_{of_rows.index(name) + 1}"] for name in attributes}
                figures = rows[[name for name in FIGURES if name in rows.columns]]
                whole = figures.assign(**values)[[*attributes, *figures.columns]]
                return whole.reset_index(drop=True)
    raise UsageError(
        f"expected one of the published marginals ({', '.join(published) or 'none'}), "
        f"found {'*'.join(attributes)!r}"
    )
