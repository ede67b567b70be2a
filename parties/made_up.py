"""Made-up records for a rehearsal: nobody's, in the shape of a schema or of a table.

Every value is drawn uniformly and apart from the others, from the domain or from the values that
occur in a column. So no record of a table is taken over, but its values are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .counting import CodedTable
from .raw import RawTable
from .schema import Schema, code_type

__all__ = ["made_up_codes", "made_up_rows"]


def made_up_codes(schema: Schema, *, rows: int, generator: np.random.Generator) -> CodedTable:
    """Make up coded records of a schema."""
    domain = schema.domain
    codes: list[npt.NDArray[np.unsignedinteger[Any]]] = [
        generator.integers(len(labels), size=rows).astype(code_type(len(labels)))
        for labels in domain.labels.values()
    ]
    return CodedTable(codes, domain, rows=rows).possible()


def made_up_rows(table: RawTable, *, rows: int, generator: np.random.Generator) -> RawTable:
    """Make up rows with the columns of a table."""
    resized = table.take(generator.integers(len(table), size=rows))
    return resized.changed(
        lambda places, values: generator.integers(values, size=len(places)).astype(np.int64)
    )
