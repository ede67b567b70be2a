"""The warnings of a run whose schema was inferred from the data."""

from __future__ import annotations

from typing import Final

from ..parties import Schema
from ..parties.inferred_doubts import inferred_doubts

__all__ = ["inferred_schema_warnings"]

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
    doubts = inferred_doubts(schema)
    if not doubts:
        return [warning]
    more = f"; and {len(doubts) - SHOWN_DOUBTS} more" if len(doubts) > SHOWN_DOUBTS else ""
    listed = "; ".join(doubts[:SHOWN_DOUBTS])
    return [warning, f"`sottovoce schema` would read columns better: {listed}{more}"]
