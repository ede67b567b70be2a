"""Records: a party's own rows. No other objects in sottovoce hold raw data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..messages import MisuseError, Private, UsageError
from ..privacy.binary import BinaryEncoding
from ..privacy.domain import Domain
from ..privacy.exact import mark_exact
from .bins import Bins
from .counting import CodedTable
from .lacking import Rules, lacking_values, opposite_ends, unlikely_values
from .named_values import Constant, named_codes, named_values
from .raw import Change, RawTable, Value
from .schema import Schema
from .schema_plan import LEARN_ALL, SchemaPlan
from .tallies import count_texts, tally_numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Records", "UnknownColumnError", "texts_of", "unite"]


class UnknownColumnError(UsageError):
    """A party's part asked for a column that its table does not have."""

    def __init__(self, *parts: str, attribute: str = "", way_out: str = "") -> None:
        super().__init__(*parts, *([f": {way_out}"] if way_out else []))
        self.description = parts
        self.attribute = attribute

    def with_way_out(self, way_out: str) -> UnknownColumnError:
        """Make the same error, which says what to do."""
        return UnknownColumnError(*self.description, attribute=self.attribute, way_out=way_out)


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

    def lacking(self, rules: Rules) -> dict[str, list[Value]]:
        """List the values that no row has and a neighbouring table may have, by attribute.

        `rules` are what is declared of columns without a schema. The values are for `put`.
        """
        if isinstance(self._rows, CodedTable):
            return self._rows.lacking()
        return lacking_values(self._rows, {**rules, **self._plan.public})

    def unlikely(self) -> dict[str, list[Value]]:
        """List values that a neighbouring table may have, and that most parts do not expect."""
        return {} if isinstance(self._rows, CodedTable) else unlikely_values(self._rows)

    def named(self, constants: Collection[Constant], rules: Rules) -> dict[str, list[Value]]:
        """List the constants that each attribute can have as a value. They are for `put`."""
        if isinstance(self._rows, CodedTable):
            return named_codes(self._rows, constants)
        return named_values(self._rows, constants, {**rules, **self._plan.public})

    def opposite_ends(self, rules: Rules) -> tuple[dict[str, list[Value]], dict[str, list[Value]]]:
        """Give columns without a negative number one far above all others, and one far below 0."""
        if isinstance(self._rows, CodedTable):
            return {}, {}
        return opposite_ends(self._rows, {**rules, **self._plan.public})

    def put(self, rows: npt.NDArray[np.int64], values: Mapping[str, Sequence[Value]]) -> Records:
        """Put values that `lacking` gives into these rows, each attribute's in turn."""
        return Records(self._rows.put(rows, values), numbers=self.numbers, plan=self._plan)

    def with_attribute_of(self, other: Records, attribute: str) -> Records:
        """Take one attribute from as many other records, and leave all others as they are."""
        rows: CodedTable | RawTable
        if isinstance(self._rows, CodedTable):
            rows = self._rows.with_column_of(other._coded, attribute)
        else:
            rows = self._rows.with_column_of(other._raw, attribute)
        return Records(rows, numbers=self.numbers, plan=self._plan)

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

    def __getitem__(self, attribute: object) -> NoReturn:
        """Refuse what a DataFrame takes."""
        raise MisuseError('expected me.records.column("NAME"), found me.records[...]')

    def column(self, attribute: str) -> npt.NDArray[np.object_]:
        """Return one attribute of all rows, as texts."""
        if attribute not in self.attributes:
            raise UnknownColumnError(
                "expected an attribute of the data (",
                Private(", ".join(self.attributes)),
                "), found ",
                Private(repr(attribute)),
                attribute=attribute,
            )
        if isinstance(self._rows, CodedTable):
            labels = np.array(self.domain.labels[attribute], dtype=object)
            return mark_exact(labels[self.codes(attribute)])
        return mark_exact(texts_of(self._rows, attribute))

    def count(self, attribute: str, value: str) -> int:
        """Count the rows in which the attribute has the value, compared as text."""
        return int((self.column(attribute) == value).sum())


def unite(tables: Sequence[Records]) -> Records:
    """Put coded records of one domain together. This is for the judge; no party has all records."""
    domain = tables[0].domain
    columns = [
        np.concatenate([table.codes(name) for table in tables]) for name in domain.attributes
    ]
    return Records(CodedTable(columns, domain))


def texts_of(table: RawTable, name: str) -> npt.NDArray[np.object_]:
    """Return one column of a table, as texts."""
    column = table.columns[name].as_texts()
    return np.array([*column.texts, ""], dtype=object)[column.places]
