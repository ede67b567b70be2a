"""A published table with values: numbers and dates drawn within their bins, and types as they came.

A protocol publishes labels, and a label of a bin is an interval. Here it becomes a number or a date
of that interval. This depends on the published table and the public schema alone, so it costs no
privacy. The draw follows from the table's digest: the same labels have the same values wherever
they are made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.missing_values import infer_codes
from ..parties import Bins, Categories, Schema
from ..parties.categories import CategoryKind
from ..parties.clock_texts import write_clock
from .numbers_in_bins import numbers_in_bins
from .record import RunRecord
from .table import Column, Table
from .value_files import ValueColumn
from .value_types import NARROW

__all__ = [
    "values_as_asked",
    "values_of",
    "values_of_run",
    "with_inferred",
]


TYPES: Final[dict[CategoryKind, tuple[str, Callable[[str], object]]]] = {
    "integers": ("int64", int),
    "numbers": ("float64", float),
    "booleans": ("bool", {"True": True, "False": False}.__getitem__),
}
"""The type of categories that are no texts, and how a label is read."""
HOUR_SECONDS: Final = 3600
LISTED: Final = ("categorical", "ordered", "weekdays", "months")
"""Kinds of categories that stay a list in a DataFrame."""
ORDERED: Final = ("ordered", "weekdays", "months")
"""Kinds of categories with an order."""


def values_of_run(record: RunRecord) -> list[ValueColumn] | None:
    """Make the columns of a run's synthetic table: values, or labels if the job wants them."""
    table = record.outcome.synthetic
    if table is None:
        return None
    if record.schema is not None:
        table = with_inferred(table, record.schema)
    return values_as_asked(table, record)


def values_as_asked(table: Table, record: RunRecord) -> list[ValueColumn]:
    """Make the columns of a table of labels as the job of a run wants them."""
    if record.job.labels:
        return values_of(table, None)
    return values_of(table, record.schema, types=record.types, midpoints=record.job.midpoints)


def with_inferred(table: Table, schema: Schema) -> Table:
    """Infer the missing values of attributes with `"missing": "infer"` from the other rows.

    All are inferred from the table as it was published.
    """
    rules = {
        column.name: rule
        for column in table.columns
        if (rule := schema.attributes.get(column.name)) is not None
        and rule.missing == "infer"
        and column.labels is not None
        and rule.missing_as[0] in column.labels
    }
    if not rules:
        return table
    digest = hashlib.sha256(msgspec.msgpack.encode(table)).digest()
    codes = {
        column.name: column.codes().astype(np.int64)
        for column in table.columns
        if column.labels is not None
    }
    columns = []
    for index, column in enumerate(table.columns):
        if (rule := rules.get(column.name)) is not None and column.labels is not None:
            inferred = infer_codes(
                codes,
                column.name,
                missing=column.labels.index(rule.missing_as[0]),
                generator=np.random.default_rng([index, 1, *digest]),
            )
            values = inferred.astype(np.dtype(column.dtype)).tobytes()
            columns.append(msgspec.structs.replace(column, values=values))
        else:
            columns.append(column)
    return msgspec.structs.replace(table, columns=tuple(columns))


def values_of(
    table: Table,
    schema: Schema | None,
    *,
    types: Mapping[str, str] = MappingProxyType({}),
    midpoints: bool = False,
) -> list[ValueColumn]:
    """Draw values for the labels of a table. Columns that the schema does not explain stay.

    `types` names the types that came in. With `midpoints` the value of a bin is its middle.
    """
    rules = {} if schema is None else schema.attributes
    digest = hashlib.sha256(msgspec.msgpack.encode(table)).digest()
    columns = []
    for index, column in enumerate(table.columns):
        rule = rules.get(column.name)
        generator = np.random.default_rng([index, *digest])
        drawn = None
        if isinstance(rule, Bins) and column.labels is not None:
            drawn = _binned(
                column,
                rule,
                generator=None if midpoints else generator,
                narrow=NARROW.get(types.get(column.name, "")),
            )
        elif isinstance(rule, Categories) and column.labels is not None:
            drawn = _typed(column, rule, generator=None if midpoints else generator)
        drawn = ValueColumn(column.name, column.array()) if drawn is None else drawn
        type_name = types.get(column.name, "")
        columns.append(msgspec.structs.replace(drawn, type_name=type_name))
    return columns


def _binned(
    column: Column,
    rule: Bins,
    *,
    generator: np.random.Generator | None,
    narrow: type[np.floating] | None,
) -> ValueColumn | None:
    """Draw the values of an attribute with bins; `None` if a label is none of its bins.

    Without a generator they are the middles of bins. `narrow` is the type of numbers that came in.
    """
    places = {label: place for place, label in enumerate(rule.labels)}
    labels = column.labels or ()
    codes_of_labels = np.array([places.get(label, -1) for label in labels], np.int64)
    codes = codes_of_labels[column.codes()]
    if (codes < 0).any():
        return None
    is_missing = codes >= len(rule.bin_labels)
    kept = codes[~is_missing]
    drawn = numbers_in_bins(rule, kept, generator=generator, narrow=narrow)
    values = np.zeros(len(codes), drawn.dtype)
    values[~is_missing] = drawn
    # A file is written as the schema says, so that it can be read with the same schema.
    return ValueColumn(
        column.name,
        values,
        *_missing(rule, is_missing),
        decimal=rule.form.decimal,
        date_format=rule.formats[0] if rule.formats else "",
    )


def _typed(
    column: Column, rule: Categories, *, generator: np.random.Generator | None
) -> ValueColumn | None:
    """Give categories the type that the schema says; `None` if a label is none of them."""
    labels = column.labels or ()
    if not {*labels} <= {*rule.labels}:
        return None
    is_absent = np.array([text not in rule.listed for text in labels], np.bool_)
    if rule.kind == "hours":
        times = _times_in_hours(rule, labels, column.codes(), generator=generator)
        return ValueColumn(column.name, times, *_missing(rule, is_absent[column.codes()]))
    dtype, read = TYPES.get(rule.kind, ("object", str))
    if rule.other is not None and rule.kind in TYPES:
        dtype, read = "object", str  # the label of the rest is a text
    blank = rule.categories[0] if rule.categories else ""
    """Stands for missing values, which are marked beside."""
    values = [
        read(blank if absent and dtype != "object" else text)
        for text, absent in zip(labels, is_absent, strict=True)
    ]
    codes = column.codes()
    return ValueColumn(
        column.name,
        np.array(values, dtype)[codes],
        *_missing(rule, is_absent[codes]),
        listed=rule.listed if rule.kind in LISTED else None,
        is_ordered=rule.kind in ORDERED,
    )


def _times_in_hours(
    rule: Categories,
    labels: Sequence[str],
    codes: npt.NDArray[np.integer[Any]],
    *,
    generator: np.random.Generator | None,
) -> npt.NDArray[np.object_]:
    """Write a time within the hour of each code; without a generator it is the half hour."""
    hours = [rule.listed.index(label) if label in rule.listed else 0 for label in labels]
    begins = HOUR_SECONDS * np.array(hours, np.int64)[codes]
    half = np.full(len(codes), HOUR_SECONDS // 2)
    drawn = half if generator is None else generator.integers(HOUR_SECONDS, size=len(codes))
    # Where a format shows no seconds, each minute stands for 60 of them, so all are as likely.
    times = [write_clock(int(second), rule.formats) for second in begins + drawn]
    return np.array(times, np.object_)


def _missing(
    rule: Bins | Categories, is_missing: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_] | None, str]:
    """Give the missing rows, and the text for them that the rule reads as missing."""
    if not rule.has_category or (rule.missing == "infer" and not is_missing.any()):
        return None, ""
    return is_missing, "" if "" in rule.missing_as else rule.missing_as[0]
