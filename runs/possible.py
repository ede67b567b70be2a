"""The last step before a synthetic table is published: no row is one that the schema rules out."""

from __future__ import annotations

import msgspec
import numpy as np

from ..curator.impossible_cells import possible_codes
from ..parties import Schema
from .table import Table

__all__ = ["without_impossible"]


def without_impossible(table: Table, schema: Schema) -> Table:
    """Replace labels of rows that have an impossible combination (`Schema.never`).

    Only the table and the schema are used, which are public. Rules with a column that the table
    does not have are left out.
    """
    domain = schema.domain
    columns = {column.name: column for column in table.columns if column.labels is not None}
    never = [rule for rule in domain.never if rule.keys() <= columns.keys()]
    names = [*dict.fromkeys(name for rule in never for name in rule)]
    codes = {}
    for name in names:
        labels = {label: code for code, label in enumerate(domain.labels[name])}
        texts = columns[name].labels or ()
        if any(text not in labels for text in texts):  # a plug-in's own labels
            never = [rule for rule in never if name not in rule]
            continue
        codes[name] = np.array([labels[text] for text in texts], np.int64)[columns[name].codes()]
    if not never or not table.rows:
        return table
    possible = possible_codes(never, codes, {name: domain.cells((name,)) for name in names})
    changed = {
        name: msgspec.structs.replace(
            columns[name],
            labels=domain.labels[name],
            dtype=(typed := column.astype(np.min_scalar_type(domain.cells((name,)) - 1))).dtype.str,
            values=typed.tobytes(),
        )
        for name, column in possible.items()
    }
    return Table(tuple(changed.get(column.name, column) for column in table.columns), table.rows)
