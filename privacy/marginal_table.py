"""Published marginals: rows of attribute_1, value_1, ..., count, as codes of labels.

So a curator that publishes counts needs no pandas, which takes a third of a second and 35 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from .domain import Domain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MarginalTable", "marginal_table", "read_marginal_table"]

Numbers = npt.NDArray[np.int64 | np.float64]


@dataclass(frozen=True, slots=True)
class MarginalTable:
    """Rows of attributes and values, as codes of labels, and columns of numbers."""

    labels: Mapping[str, tuple[str, ...]]
    """The labels of each column of labels; an empty one stands where a marginal has fewer."""
    codes: Mapping[str, npt.NDArray[np.integer[Any]]]
    """The codes of each of these columns."""
    numbers: Mapping[str, Numbers]
    """The columns of numbers: the count, and what was added to it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return (*self.labels, *self.numbers)

    def __len__(self) -> int:
        return len(self.numbers["count"])

    def with_interval(self, low: Numbers, high: Numbers) -> MarginalTable:
        """Add the interval of each count."""
        return replace(self, numbers={**self.numbers, "low": low, "high": high})

    def frame(self) -> pd.DataFrame:
        """Make a DataFrame, with labels as text."""
        import pandas as pd

        texts = {
            name: np.array(self.labels[name], object)[codes] for name, codes in self.codes.items()
        }
        return pd.DataFrame({**texts, **self.numbers})


def marginal_table(
    domain: Domain, marginals: Sequence[tuple[str, ...]], counts: Sequence[Numbers]
) -> MarginalTable:
    """Write marginals as rows of attribute_1, value_1, ..., count; cells in row-major order.

    >>> domain = Domain({"sex": ("f", "m"), "age": ("young", "old")})
    >>> table = marginal_table(domain, [("sex",)], [np.array([3, 4])])
    >>> table.columns, len(table)
    (('attribute_1', 'value_1', 'count'), 2)
    """
    kind = np.min_scalar_type(sum(map(len, domain.labels.values())) + 1)
    labels: dict[str, tuple[str, ...]] = {}
    codes: dict[str, npt.NDArray[np.integer[Any]]] = {}
    for place in range(max(map(len, marginals))):
        names, values = {"": 0}, {"": 0}
        name_codes, value_codes = [], []
        for attributes in marginals:
            shape = domain.shape(attributes)
            name, cell_codes = "", np.zeros(1, kind)
            if place < len(attributes):
                name = attributes[place]
                axis = [values.setdefault(label, len(values)) for label in domain.labels[name]]
                rest = prod(shape[place + 1 :])
                cell_codes = np.tile(np.repeat(np.array(axis, kind), rest), prod(shape[:place]))
            cells = prod(shape)
            name_codes.append(np.full(cells, names.setdefault(name, len(names)), kind))
            value_codes.append(np.broadcast_to(cell_codes, cells))
        for column, code_of, parts in (
            (f"attribute_{place + 1}", names, name_codes),
            (f"value_{place + 1}", values, value_codes),
        ):
            labels[column] = tuple(code_of)
            codes[column] = np.concatenate(parts)
    return MarginalTable(labels, codes, {"count": np.concatenate(counts)})


def read_marginal_table(
    domain: Domain, table: pd.DataFrame
) -> list[tuple[tuple[str, ...], npt.NDArray[np.float64]]]:
    """Read a table that `marginal_table` wrote: each marginal's attributes, and its cells in order.

    Raises:
        UsageError: a marginal lacks cells.
    """
    names = (
        table[[column for column in table.columns if str(column).startswith("attribute_")]]
        .fillna("")
        .to_numpy(dtype=str)
    )
    counts = table["count"].to_numpy(dtype=np.float64)
    starts = [0, *(np.flatnonzero((names[1:] != names[:-1]).any(axis=1)) + 1).tolist()]
    ends = [*starts[1:], len(names)]
    marginals = []
    for start, end in zip(starts, ends, strict=True) if len(names) else ():
        attributes = tuple(str(name) for name in names[start] if name)
        if end - start != (cells := domain.cells(attributes)):
            raise UsageError(
                f"expected {cells} rows for the marginal of {' x '.join(attributes)}, "
                f"found {end - start}"
            )
        marginals.append((attributes, counts[start:end]))
    return marginals
