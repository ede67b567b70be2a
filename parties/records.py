"""Records: a party's own rows. The only objects in sottovoce that hold raw data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError, UsageError
from ..privacy.binary import BinaryEncoding
from ..privacy.domain import Domain
from ..privacy.exact import exact
from .counting import Counter
from .partition import Split
from .schema import Schema
from .sources import blocks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Records", "load", "unite"]


class Records:
    """Rows of a table that belong to one party: as codes where there is a schema, as they are where
    there is none.

    Printing them shows how many there are and nothing else.
    """

    def __init__(
        self,
        rows: pd.DataFrame | Counter,
        *,
        schema: Schema | None = None,
        numbers: npt.NDArray[np.int64] | None = None,
    ) -> None:
        import pandas as pd

        self.numbers = numbers
        """Which rows of the one table these are, where a table is split by a public partition."""

        if isinstance(rows, pd.DataFrame) and schema is not None:
            rows = Counter(schema.encode(rows), schema.domain)
        self._rows = rows

    @property
    def _coded(self) -> Counter:
        if not isinstance(self._rows, Counter):
            raise MisuseError(
                "expected records with a schema, found none: set needs_schema in the protocol"
            )
        return self._rows

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self._coded.domain

    def marginal(self, attributes: Sequence[str]) -> npt.NDArray[np.int64]:
        """Count every combination of these attributes' values: cells in row-major order. Exact, so
        for this party alone.
        """
        return next(self.marginals([attributes]))

    def marginals(self, wanted: Sequence[Sequence[str]]) -> Iterator[npt.NDArray[np.int64]]:
        """Count many marginals, in the order asked for: some at a time, so memory stays bounded."""
        return map(exact, self._coded.marginals(wanted))

    def binary(self) -> Records:
        """Write the records bit by bit: `BinaryEncoding(domain).bits` is the domain."""
        binary = BinaryEncoding(self.domain)
        return Records(Counter(binary.encode(self._coded.codes), binary.bits, rows=len(self)))

    def cells(
        self, attributes: Sequence[str], rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Say in which cell of these attributes' marginal each of these rows stands."""
        found = np.zeros(len(rows), np.int64)
        for attribute, size in zip(attributes, self.domain.shape(attributes), strict=True):
            found *= size
            found += self._coded.codes[self.domain.attributes.index(attribute)][rows]
        return exact(found)

    def take(self, rows: npt.NDArray[np.int64]) -> Records:
        """Keep these rows alone."""
        codes = [column[rows] for column in self._coded.codes]
        kept = Counter(codes, self.domain, rows=len(rows))
        return Records(kept, numbers=None if self.numbers is None else self.numbers[rows])

    def codes(self, attribute: str) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Take one attribute of all rows, as codes of the domain."""
        self.domain.shape([attribute])
        return exact(self._coded.codes[self.domain.attributes.index(attribute)])

    def __len__(self) -> int:
        return self._rows.rows if isinstance(self._rows, Counter) else len(self._rows)

    def __repr__(self) -> str:
        return f"Records({len(self)} rows of {len(self.attributes)} attributes)"

    @property
    def attributes(self) -> tuple[str, ...]:
        return (
            self.domain.attributes
            if isinstance(self._rows, Counter)
            else tuple(map(str, self._rows.columns))
        )

    def column(self, attribute: str) -> npt.NDArray[np.object_]:
        """Take one attribute of all rows, as text."""
        if attribute not in self.attributes:
            raise UsageError(
                f"expected an attribute of the data ({', '.join(self.attributes)}), found {attribute!r}"
            )
        if isinstance(self._rows, Counter):
            return exact(
                np.array(self.domain.labels[attribute], dtype=object)[self.codes(attribute)]
            )
        column = self._rows[attribute]
        return exact(
            column.astype(object).where(column.notna(), "").astype(str).to_numpy(dtype=object)
        )

    def count(self, attribute: str, value: str) -> int:
        """Count the rows in which the attribute has the value, compared as text."""
        return int((self.column(attribute) == value).sum())


def load(
    source: str | pd.DataFrame,
    *,
    schema: Schema | None = None,
    rows: int | None = None,
    seed: int = 0,
    party: int = 1,
    split: Split | None = None,
) -> Records:
    """Read a table, or a party's share of it under a public `split`.

    With a schema what is kept are codes, a byte or two a value; the file is read in blocks. A split
    `by` attributes has to see all rows before it chooses; the others keep only the party's own.
    """
    kept: list[Any] = []
    own: list[npt.NDArray[np.int64]] = []
    before = read = 0
    only = None if schema is None else schema.attributes.keys()
    numeric = () if schema is None else schema.numeric
    for number, block in enumerate(
        blocks(source, rows=rows, seed=seed, only=only, numeric=numeric)
    ):
        part = block if schema is None else schema.encode(block, before=read)
        read += len(block)
        size = _rows(part)
        if split is not None and not split.by:
            at = split.of_block(party=party, rows=size, before=before, number=number, seed=seed)
            part = _take(part, at)
            own.append(before + at)
        before += size
        kept.append(part)
    if not before:
        raise UsageError(
            f"expected at least one row without missing values in {_name(source)}, found {read} rows with some"
        )
    whole = _join(kept)
    if split is not None:
        split.check(before)
        if split.by:
            keys = [_key(whole, name, schema) for name in split.by]
            own = [split.of_sorted(keys, party=party, rows=before, seed=seed)]
            whole = _take(whole, own[0])
    numbers = np.concatenate(own) if own else None
    return Records(whole if schema is None else Counter(whole, schema.domain), numbers=numbers)


def unite(tables: Sequence[Records]) -> Records:
    """Put coded records of one domain together. For the judge: no party has another's."""
    domain = tables[0].domain
    return Records(
        Counter(
            _join([[table.codes(name) for name in domain.attributes] for table in tables]), domain
        )
    )


def _name(source: str | pd.DataFrame) -> str:
    return source if isinstance(source, str) else "the table"


def _rows(part: Any) -> int:
    return len(part[0]) if isinstance(part, list) else len(part)


def _take(part: Any, at: npt.NDArray[np.int64]) -> Any:
    return [column[at] for column in part] if isinstance(part, list) else part.iloc[at]


def _join(parts: list[Any]) -> Any:
    if isinstance(parts[0], list):
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _key(whole: Any, name: str, schema: Schema | None) -> npt.NDArray[Any]:
    """Find what to sort by: the order of the schema's labels, or of the texts."""
    names = list(whole.columns) if schema is None else list(schema.attributes)
    if name not in names:
        raise UsageError(
            f"expected an attribute of the data ({', '.join(map(str, names))}) in --split, found {name!r}"
        )
    if schema is not None:
        return np.asarray(whole[names.index(name)])
    import pandas as pd

    return np.asarray(pd.factorize(whole[name].astype(str), sort=True)[0])
