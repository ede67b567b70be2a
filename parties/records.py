"""Records: a party's own rows. No other objects in sottovoce hold raw data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError, Private, UsageError
from ..privacy.binary import BinaryEncoding
from ..privacy.domain import Domain
from ..privacy.exact import mark_exact
from .columns import ALL_COLUMNS, ColumnChoice
from .counting import CodedTable
from .csv_form import COMMAS, CsvForm
from .digest import TableNote
from .partition import SortKey, Split
from .raw import Change, RawTable, join_tables
from .rules import Bins
from .schema import Schema
from .schema_plan import LEARN_ALL, SchemaPlan
from .sources import blocks
from .tallies import count_texts, tally_numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Records", "load", "load_shares", "unite"]


class Records:
    """Rows of a table that belong to one party.

    With a schema they are kept as codes, otherwise as they are. Printing them shows their number
    and nothing else.
    """

    def __init__(
        self,
        rows: CodedTable | RawTable | pd.DataFrame,
        *,
        schema: Schema | None = None,
        numbers: npt.NDArray[np.int64] | None = None,
        plan: SchemaPlan = LEARN_ALL,
    ) -> None:
        self.numbers = numbers
        """Numbers of these rows in the whole table, if a public partition splits it."""
        self._plan = plan
        table = rows if isinstance(rows, CodedTable | RawTable) else RawTable.of(rows)
        if schema is not None and isinstance(table, RawTable):
            table = CodedTable(schema.encode(table), schema.domain)
        self._rows = table

    @property
    def _coded(self) -> CodedTable:
        if not isinstance(self._rows, CodedTable):
            raise MisuseError(
                "expected records with a schema, found none: set needs_schema in the protocol"
            )
        return self._rows

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self._coded.domain

    def marginal(self, attributes: Sequence[str]) -> npt.NDArray[np.int64]:
        """Count every combination of these attributes' values, with cells in row-major order.

        The counts are exact, so they are for this party alone.
        """
        return next(self.marginals([attributes]))

    def marginals(self, marginals: Sequence[Sequence[str]]) -> Iterator[npt.NDArray[np.int64]]:
        """Count many marginals in this order, a few at a time, so that memory stays bounded."""
        return map(mark_exact, self._coded.marginals(marginals))

    def count_ones(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count the rows in which all bits of a set are 1, for many sets of places in the domain.

        Places rise along each row. The counts are exact, so they are for this party alone.
        """
        return mark_exact(self._coded.count_ones(places))

    def binary(self) -> Records:
        """Encode the records bit by bit: `BinaryEncoding(domain).bits` is the domain."""
        binary = BinaryEncoding(self.domain)
        return Records(CodedTable(binary.encode(self._coded.codes), binary.bits, rows=len(self)))

    def grouped(self, groups: Mapping[str, Sequence[int]]) -> Records:
        """Replace the labels of some attributes by groups of them, numbered from 0.

        Each name has the group of each of its labels.
        """
        codes, labels = list(self._coded.codes), dict(self.domain.labels)
        for name, group_of in groups.items():
            kind = np.uint8 if max(group_of) < 1 << 8 else np.uint16
            codes[self.domain.attributes.index(name)] = np.array(group_of, kind)[self.codes(name)]
            labels[name] = tuple(map(str, range(max(group_of) + 1)))
        return Records(CodedTable(codes, Domain(labels), rows=len(self)))

    def with_groups(self, groupings: Mapping[str, tuple[str, Sequence[int]]]) -> Records:
        """Add attributes whose labels are groups of another attribute's labels.

        Each new name has the attribute, and the group of each of its labels, numbered from 0.
        """
        if not groupings:
            return self
        codes, labels = list(self._coded.codes), dict(self.domain.labels)
        for new, (name, groups) in groupings.items():
            kind = np.uint8 if max(groups) < 1 << 8 else np.uint16
            codes.append(np.array(groups, kind)[self.codes(name)])
            labels[new] = tuple(map(str, range(max(groups) + 1)))
        return Records(CodedTable(codes, Domain(labels), rows=len(self)))

    def cells(
        self, attributes: Sequence[str], rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Find the cell of each of these rows in the marginal of the attributes."""
        cells = np.zeros(len(rows), np.int64)
        for attribute, size in zip(attributes, self.domain.shape(attributes), strict=True):
            cells *= size
            cells += self._coded.codes[self.domain.attributes.index(attribute)][rows]
        return mark_exact(cells)

    def with_plan(self, plan: SchemaPlan) -> Records:
        """Keep a plan; a value that its public rules refuse is a `UsageError`."""
        public_rules = plan.of(self.attributes).public
        if public_rules:
            Schema(public_rules).encode(self._raw)
        return Records(self._raw, numbers=self.numbers, plan=plan)

    @property
    def plan(self) -> SchemaPlan:
        """The public plan by which a schema of these records is learnt."""
        return self._plan.of(self.attributes)

    def tally(self, attribute: str, bins: Bins) -> npt.NDArray[np.int64]:
        """Count an attribute's numbers in bins, then its texts, and last its absent values.

        The counts are exact, so they are for this party alone.
        """
        return mark_exact(tally_numbers(self._raw.columns[attribute], bins))

    def count_texts(self, attribute: str) -> dict[str, int]:
        """Count the rows of each text of an attribute; absent values have none."""
        return count_texts(self._raw.columns[attribute])

    def encode(self, schema: Schema) -> Records:
        """Keep these records as codes of a schema."""
        return Records(self._raw, schema=schema, numbers=self.numbers)

    @property
    def _raw(self) -> RawTable:
        if not isinstance(self._rows, RawTable):
            raise MisuseError("expected records without a schema, found codes of one")
        return self._rows

    def take(self, rows: npt.NDArray[np.int64]) -> Records:
        """Keep only these rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Records(self._rows.take(rows), numbers=numbers, plan=self._plan)

    def changed(self, change: Change) -> Records:
        """Make other records of the same shape, on which a part is played again."""
        return Records(self._rows.changed(change), numbers=self.numbers, plan=self._plan)

    def redrawn(self, rows: npt.NDArray[np.int64]) -> Records:
        """Put these of the rows in the places of all, as `changed` puts other values there."""
        return Records(self._rows.take(rows), numbers=self.numbers, plan=self._plan)

    def codes(self, attribute: str) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the codes of one attribute, for all rows."""
        self.domain.shape([attribute])
        return mark_exact(self._coded.codes[self.domain.attributes.index(attribute)])

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Records({len(self)} rows of {len(self.attributes)} attributes)"

    @property
    def attributes(self) -> tuple[str, ...]:
        if isinstance(self._rows, CodedTable):
            return self.domain.attributes
        return tuple(self._rows.columns)

    def column(self, attribute: str) -> npt.NDArray[np.object_]:
        """Return one attribute of all rows, as texts."""
        if attribute not in self.attributes:
            raise UsageError(
                "expected an attribute of the data (",
                Private(", ".join(self.attributes)),
                "), found ",
                Private(repr(attribute)),
            )
        if isinstance(self._rows, CodedTable):
            labels = np.array(self.domain.labels[attribute], dtype=object)
            return mark_exact(labels[self.codes(attribute)])
        return mark_exact(_texts(self._rows, attribute))

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
    choice: ColumnChoice = ALL_COLUMNS,
    note: TableNote | None = None,
    form: CsvForm = COMMAS,
) -> Records:
    """Read a table, or a party's share of it under a public `split`.

    With a schema the file is read in blocks and kept as codes, a byte or two for each value.
    Without one the columns of `choice` are kept. `note` is given the file's digest.
    """
    if split is None:
        tables = _tables(
            source, schema=schema, rows=rows, seed=seed, choice=choice, note=note, form=form
        )
        return Records(_join([*tables]))
    shares = load_shares(
        source,
        split=split,
        parties=[party],
        schema=schema,
        rows=rows,
        seed=seed,
        choice=choice,
        note=note,
        form=form,
    )
    return shares[party]


def load_shares(
    source: str | pd.DataFrame,
    *,
    split: Split,
    parties: Sequence[int],
    schema: Schema | None = None,
    rows: int | None = None,
    seed: int = 0,
    choice: ColumnChoice = ALL_COLUMNS,
    note: TableNote | None = None,
    form: CsvForm = COMMAS,
) -> dict[int, Records]:
    """Read a table once, and give these parties their shares of it under a public split.

    A split by attributes has to see all rows first. Any other keeps only the rows of the parties.
    """
    tables = _tables(
        source, schema=schema, rows=rows, seed=seed, choice=choice, note=note, form=form
    )
    if split.by:
        whole = _join([*tables])
        split.check(len(whole))
        keys = [_sort_key(whole, name) for name in split.by]
        shares = split.of_table(keys, parties=parties, rows=len(whole), seed=seed)
        return {
            party: Records(whole.take(chosen), numbers=chosen) for party, chosen in shares.items()
        }
    parts: dict[int, list[CodedTable | RawTable]] = {party: [] for party in parties}
    indices: dict[int, list[npt.NDArray[np.int64]]] = {party: [] for party in parties}
    before = 0
    for number, table in enumerate(tables):
        rows_of_block = split.of_block(
            parties=parties, rows=len(table), before=before, number=number, seed=seed
        )
        for party, chosen in rows_of_block.items():
            parts[party].append(table.take(chosen))
            indices[party].append(before + chosen)
        before += len(table)
    split.check(before)
    return {
        party: Records(_join(parts[party]), numbers=np.concatenate(indices[party]))
        for party in parties
    }


def _tables(
    source: str | pd.DataFrame,
    *,
    schema: Schema | None,
    rows: int | None,
    seed: int,
    choice: ColumnChoice,
    note: TableNote | None,
    form: CsvForm,
) -> Iterator[CodedTable | RawTable]:
    """Read a table block by block, and encode it if there is a schema."""
    domain = None if schema is None else schema.domain
    rows_read = rows_kept = 0
    source_blocks = blocks(
        source,
        rows=rows,
        seed=seed,
        only=None if schema is None else schema.attributes.keys(),
        choice=choice,
        note=note,
        form=form,
        numeric=() if schema is None else schema.numeric,
    )
    for block in source_blocks:
        table: CodedTable | RawTable = block
        if schema is not None and domain is not None:
            table = CodedTable(schema.encode(block, before=rows_read), domain)
        rows_read += len(block)
        rows_kept += len(table)
        yield table
    if not rows_kept:
        name = source if isinstance(source, str) else "the table"
        raise UsageError(
            f"expected at least one row without missing values in {name}, found ",
            Private(rows_read),
            " rows with some",
        )


def unite(tables: Sequence[Records]) -> Records:
    """Put coded records of one domain together. This is for the judge; no party has all records."""
    domain = tables[0].domain
    columns = [
        np.concatenate([table.codes(name) for table in tables]) for name in domain.attributes
    ]
    return Records(CodedTable(columns, domain))


def _join(tables: Sequence[CodedTable | RawTable]) -> CodedTable | RawTable:
    coded = [table for table in tables if isinstance(table, CodedTable)]
    if coded:
        columns = zip(*(table.codes for table in coded), strict=True)
        return CodedTable([np.concatenate(parts) for parts in columns], coded[0].domain)
    return join_tables([table for table in tables if isinstance(table, RawTable)])


def _sort_key(table: CodedTable | RawTable, name: str) -> SortKey:
    """Find the key of an attribute: its codes, or the order of its texts."""
    names = table.domain.attributes if isinstance(table, CodedTable) else (*table.columns,)
    if name not in names:
        raise UsageError(
            "expected an attribute of the data (",
            Private(", ".join(names)),
            f") in --split, found {name!r}",
        )
    if isinstance(table, CodedTable):
        return table.codes[names.index(name)]
    _, places = np.unique(_texts(table, name), return_inverse=True)
    return places


def _texts(table: RawTable, name: str) -> npt.NDArray[np.object_]:
    column = table.columns[name].as_texts()
    return np.array([*column.texts, ""], dtype=object)[column.places]
