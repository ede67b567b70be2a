"""The schema: the attributes of a table in order, and the rule of each.

With it raw values become codes of a public domain. `schema_file` has its form as JSON. Columns that
the schema does not name are left out. Without a schema one is inferred from the data (`inference`).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import Private, UsageError
from ..privacy.domain import Domain
from ..privacy.impossible import first_possible, make_possible
from .bins import Bins
from .categories import Categories
from .columns import ColumnChoice
from .number_texts import PLAIN
from .raw import NumberColumn, RawColumn, RawTable
from .rules import ABSENT, INVALID

__all__ = ["Schema", "TableCodes", "code_type"]

TableCodes: TypeAlias = list[npt.NDArray[np.unsignedinteger[Any]]]
"""An array for each attribute, of 8 bits if they are enough and of 16 otherwise."""

MAX_SHOWN_TEXT: Final = 60
"""Characters of a value in an error message."""


class Schema(msgspec.Struct, frozen=True):
    """Attributes in order, and the rule of each."""

    attributes: dict[str, Categories | Bins]
    inferred: bool = False
    never: tuple[dict[str, tuple[str, ...]], ...] = ()
    """Combinations of labels that no record has. A record that has one is mapped to a near one."""

    def __post_init__(self) -> None:
        if not self.never:
            return
        names = {name for rule in self.never for name in rule}
        sizes = {name: len(self.attributes[name].labels) for name in names}
        if first_possible(self.domain.never, sizes) is None:
            raise ValueError("expected combinations that leave some row possible, found none left")

    @property
    def domain(self) -> Domain:
        labels = {name: rule.labels for name, rule in self.attributes.items()}
        never = tuple(
            {name: tuple(map(labels[name].index, texts)) for name, texts in rule.items()}
            for rule in self.never
        )
        return Domain(labels, never)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the attributes with bins of numbers that are written as Python writes them."""
        return tuple(
            name
            for name, rule in self.attributes.items()
            if isinstance(rule, Bins) and rule.kind != "dates" and rule.form == PLAIN
        )

    def select(self, choice: ColumnChoice) -> Schema:
        """Keep the attributes that are chosen; an unknown one is a `UsageError`."""
        names = choice.of([*self.attributes], where="the schema")
        return Schema(
            {name: self.attributes[name] for name in names},
            inferred=self.inferred,
            never=tuple(rule for rule in self.never if rule.keys() <= set(names)),
        )

    def encode(self, table: RawTable, *, before: int = 0) -> TableCodes:
        """Encode a table, without the rows that are dropped for missing values.

        A value outside the schema is a `UsageError` that names it and its row. Rows are counted
        from 1, after `before` rows of earlier blocks.
        """
        columns: list[npt.NDArray[np.int64]] = []
        is_kept = np.ones(len(table), np.bool_)
        for name, rule in self.attributes.items():
            if name not in table.columns:
                raise UsageError(
                    f"expected a column {name!r}, as the schema says, found ",
                    Private(", ".join(table.columns)),
                )
            codes = _codes(rule, table.columns[name])
            is_wrong = codes == INVALID
            if rule.missing == "refuse":
                is_wrong |= codes == ABSENT
            if rule.fallback is not None:
                codes = np.where(is_wrong, rule.fallback, codes)
                is_wrong = np.zeros_like(is_wrong)
            if is_wrong.any():
                index = int(np.argmax(is_wrong))
                raise UsageError(
                    f"expected {rule.description(name)}, found ",
                    Private(_quote(table.columns[name].value(index))),
                    f" in row {before + index + 1}",
                )
            if rule.has_category:
                codes = np.where(codes == ABSENT, len(rule.labels) - 1, codes)
            else:
                is_kept &= codes != ABSENT
            columns.append(codes)
        if not is_kept.all():
            columns = [codes[is_kept] for codes in columns]
        columns = self._without_impossible(columns)
        return [
            codes.astype(code_type(len(rule.labels)))
            for codes, rule in zip(columns, self.attributes.values(), strict=True)
        ]

    def _without_impossible(
        self, columns: list[npt.NDArray[np.int64]]
    ) -> list[npt.NDArray[np.int64]]:
        """Map records with impossible combinations to possible ones, each by itself."""
        if not self.never:
            return columns
        sizes = {name: len(rule.labels) for name, rule in self.attributes.items()}
        mapped = make_possible(
            self.domain.never, dict(zip(self.attributes, columns, strict=True)), sizes
        )
        return [mapped[name].astype(np.int64) for name in self.attributes]


def code_type(labels: int) -> type[np.uint8 | np.uint16]:
    """Choose the type of the codes of an attribute with so many labels."""
    return np.uint8 if labels <= 256 else np.uint16


def _codes(rule: Categories | Bins, column: RawColumn) -> npt.NDArray[np.int64]:
    """Encode a column, each different text once. A null is ABSENT."""
    if isinstance(rule, Bins) and rule.kind != "dates" and isinstance(column, NumberColumn):
        numbers = column.numbers.astype(np.float64)
        return np.where(np.isnan(numbers), ABSENT, rule.codes_of_numbers(numbers))
    texts = column.as_texts()
    codes = np.append(rule.codes_of(texts.texts), ABSENT)  # place -1, that of a null, is the last
    return codes[texts.places]


def _quote(text: str) -> str:
    """Quote a value; a long one is cut."""
    return repr(text if len(text) <= MAX_SHOWN_TEXT else f"{text[: MAX_SHOWN_TEXT - 3]}...")
