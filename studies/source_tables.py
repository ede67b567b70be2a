"""The table in a dataset's file, with the schema that belongs to it.

The schema is the first of these:

1. `NAME.schema.json` or `schema.json` beside the file, as `--schema` reads it;
2. for Adult the public code book;
3. the bins of a `*-domain.json` beside the file (`descriptions`), and otherwise what is inferred
   from the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..parties import DEMO_SCHEMA, Bins, Categories, Schema, blocks, infer, merge, read_schema
from ..parties.raw import RawTable, join_tables
from .datasets import DatasetFile
from .descriptions import read_description

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ADULT_SCHEMA", "SourceTable", "read_source"]

_RANGES: Final = {
    "age": (17, 90),
    "fnlwgt": (12_285, 1_490_400),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}
"""Ranges of Adult's numbers, over all of its 48,842 rows."""
IDENTIFIERS: Final = {"healthcare": ("case_id", "patientid")}
"""Columns of a dataset that name rows or people; no schema has them."""
ADULT_SCHEMA: Final = Schema(
    {
        name: Bins.equal(*_RANGES[name], bins=16)
        if name in _RANGES
        else Categories(categories=rule.labels)
        for name, rule in DEMO_SCHEMA.attributes.items()
    }
)
"""Adult's public code book, with numbers in 16 bins of one width.

It has the categories of the demo table; those of education are in the order of its length.
"""


class SourceTable(NamedTuple):
    """What a dataset's file holds."""

    table: pd.DataFrame
    schema: Schema
    user_schema: bool
    """Whether the user gave the schema, which is then left as it is."""


def read_source(file: DatasetFile) -> SourceTable:
    """Read a dataset's file, and find its schema."""
    table = join_tables([*blocks(str(file.path))]).frame()
    stem = file.path.name.split(".")[0]
    for path in (
        file.path.with_name(f"{stem}.schema.json"),
        file.path.with_name("schema.json"),
    ):
        if path.is_file():
            return SourceTable(table, read_schema(path), user_schema=True)
    described = {
        name: column
        for name, column in read_description(file.path).attributes.items()
        if name in table.columns
    }
    table = table.assign(**{name: column.decode(table[name]) for name, column in described.items()})
    if file.dataset == "adult":
        # UCI's files have blanks after commas, and full stops at the end of lines of adult.test.
        clean = {
            name: table[name].astype(str).str.strip().str.removesuffix(".")
            for name in table.columns
        }
        return SourceTable(table.assign(**clean), ADULT_SCHEMA, user_schema=False)
    people = table.drop(columns=[*IDENTIFIERS.get(file.dataset, ())])
    texts = RawTable.of(people, has_types=False)  # as they stand in the file
    rules = {**merge([infer([texts])]).attributes}
    rules |= {name: rule for name, column in described.items() if (rule := column.rule)}
    return SourceTable(table, Schema(rules), user_schema=False)
