"""Records: a party's own rows. The only objects in sottovoce that hold raw data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError, UsageError
from ..privacy.domain import Domain
from .demo import DEMO_ROWS, demo_table
from .schema import Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Records", "load", "share"]

DEMO: Final = "demo"


class Records:
    """Rows of a table that belong to one party. Printing them shows how many there are and nothing else."""

    def __init__(self, table: pd.DataFrame, *, schema: Schema | None = None) -> None:
        self._table = table
        self._codes = None if schema is None else schema.encode(table)
        self._domain = None if schema is None else schema.domain

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        if self._domain is None:
            raise MisuseError("expected records with a schema, found none: set needs_schema in the protocol")
        return self._domain

    def marginal(self, attributes: Sequence[str]) -> npt.NDArray[np.int64]:
        """Count every combination of these attributes' values: cells in row-major order. Exact, so for this party alone."""
        shape = self.domain.shape(attributes)
        if self._codes is None or not attributes:
            raise MisuseError("expected attributes to count by, found none")
        rows = [self._codes[self.domain.attributes.index(attribute)] for attribute in attributes]
        at = np.zeros(len(self), np.int64)
        for codes, size in zip(rows, shape, strict=True):
            at = at * size + codes
        return np.bincount(at, minlength=self.domain.cells(attributes)).astype(np.int64)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"Records({len(self)} rows of {len(self.attributes)} attributes)"

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(map(str, self._table.columns))

    def column(self, attribute: str) -> npt.NDArray[np.object_]:
        """Take one attribute of all rows, as text."""
        if attribute not in self.attributes:
            raise UsageError(f"expected an attribute of the data ({', '.join(self.attributes)}), found {attribute!r}")
        return self._table[attribute].astype(str).to_numpy(dtype=object)

    def count(self, attribute: str, value: str) -> int:
        """Count the rows in which the attribute has the value, compared as text."""
        return int((self.column(attribute) == value).sum())


def load(source: str | pd.DataFrame, *, rows: int | None, seed: int) -> pd.DataFrame:
    """Read a table: `demo`, a CSV file (also .gz) with a header, or a Parquet file. `rows` takes the first so many."""
    if not isinstance(source, str):
        return _named(source if rows is None else source.iloc[:rows])
    if source == DEMO:
        return demo_table(DEMO_ROWS if rows is None else rows, seed=seed)
    import pandas as pd

    path = Path(source)
    if not path.is_file():
        raise UsageError(f"expected a data file, found none at {source}: check --data")
    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
            table = table if rows is None else table.iloc[:rows]
        else:
            table = pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows)
    except (ValueError, OSError, ImportError, EOFError) as error:  # pandas' parser errors are ValueErrors
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(f"expected a CSV (or .csv.gz, .parquet) table in {source}, found {reason}") from None
    if not len(table.columns) or not len(table):
        raise UsageError(f"expected a header and at least one row in {source}, found {len(table)} rows")
    return _named(table)


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Name columns by text, each once."""
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        raise UsageError(f"expected different names of columns, found {', '.join(twice)} twice")
    return table.set_axis(names, axis="columns")


def share(table: pd.DataFrame, *, party: int, parties: int, seed: int) -> pd.DataFrame:
    """Take party i's rows of a public, seeded, even partition; every party computes the same one.

    Sizes differ by at most one and rows keep the file's order.
    """
    if len(table) < parties:
        raise UsageError(f"expected at least one row for each of {parties} parties, found {len(table)} rows")
    order = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 0x5EED]))).permutation(len(table))
    return table.iloc[np.sort(np.array_split(order, parties)[party - 1])]
