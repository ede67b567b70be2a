"""The warnings of a run whose schema was inferred from the data."""

from __future__ import annotations

from typing import Final

from ..parties import Schema
from ..parties.inferred_doubts import header_doubt, identifying_columns, inferred_doubts

__all__ = ["inferred_schema_warnings", "learnt_schema_warnings"]

SHOWN_DOUBTS: Final = 5


def inferred_schema_warnings(schema: Schema | None) -> list[str]:
    """Warn that inferring is not private, and name columns that `sottovoce schema` reads better.

    What is better follows from the schema alone, which is published.
    """
    if schema is None or not schema.inferred:
        return []
    warning = (
        "the schema was inferred from the data: that categories and ranges were taken from it "
        "is NOT private; give a public one with --schema, or learn one with --schema private"
    )
    warnings = [warning, *_rows_of_a_person(schema)]
    if doubt := header_doubt(schema):
        warnings.append(doubt)
    doubts = inferred_doubts(schema)
    if not doubts:
        return warnings
    more = f"; and {len(doubts) - SHOWN_DOUBTS} more" if len(doubts) > SHOWN_DOUBTS else ""
    listed = "; ".join(doubts[:SHOWN_DOUBTS])
    return [*warnings, f"`sottovoce schema` would read columns better: {listed}{more}"]


def learnt_schema_warnings(schema: Schema | None) -> list[str]:
    """Warn of attributes of which a private schema has learnt no label but that of the rest."""
    rules = {} if schema is None else schema.attributes
    names = [name for name, rule in rules.items() if len(rule.labels) == 1]
    if not names:
        return []
    more = f" and {len(names) - SHOWN_DOUBTS} more" if len(names) > SHOWN_DOUBTS else ""
    listed = ", ".join(names[:SHOWN_DOUBTS])
    warning = (
        f"every row has one label of {listed}{more}, as no other was frequent enough to be learnt: "
        "raise epsilon or --schema-share, or list the categories in a schema"
    )
    return [warning]


def _rows_of_a_person(schema: Schema) -> list[str]:
    """Warn that epsilon is of a row, if a column may identify persons who have several rows."""
    names = identifying_columns(schema)
    if not names:
        return []
    columns = " or ".join(names[:SHOWN_DOUBTS])
    warning = (
        f"epsilon is of a row: if a value of {columns} has several rows, "
        "the loss of these rows together grows with their number"
    )
    return [warning]
