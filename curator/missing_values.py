"""Missing values of a published table, inferred from its rows that have them.

Wang et al. 2023 (PrivIncr) propose as future work to learn from the tuples without missing values,
and to infer the others from what was learnt. Here this is done with published rows: a row without a
value takes that of a row that has one and agrees with it in the attributes that tell most of it. It
costs no privacy, because no record is read. It assumes that whether a value is missing depends on
the other attributes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["infer_codes"]

Codes: TypeAlias = npt.NDArray[np.int64]
MAX_MATCHED: Final = 3
"""Attributes in which a row and the row whose value it takes agree, if there is such a row."""


def infer_codes(
    columns: Mapping[str, Codes], name: str, *, missing: int, generator: np.random.Generator
) -> Codes:
    """Give a column in which missing values are inferred; without any value it stays as it is.

    Of the rows that agree in the most informative attributes one is drawn. If there is none, rows
    that agree in fewer of them are taken, and in the end any row.
    """
    values = columns[name].copy()
    empty, full = np.flatnonzero(values == missing), np.flatnonzero(values != missing)
    if not len(empty) or not len(full):
        return values
    others = {other: codes for other, codes in columns.items() if other != name}
    matched = _most_informative({key: codes[full] for key, codes in others.items()}, values[full])
    for number in range(len(matched), -1, -1):
        keys = _numbered([others[other] for other in matched[:number]], rows=len(values))
        order = full[np.argsort(keys[full], kind="stable")]
        first = np.searchsorted(keys[order], keys[empty], side="left")
        last = np.searchsorted(keys[order], keys[empty], side="right")
        place = first + np.floor(generator.random(len(empty)) * (last - first)).astype(np.int64)
        agrees = last > first
        values[empty[agrees]] = columns[name][order[place[agrees]]]
        empty = empty[~agrees]
    return values


def _most_informative(others: Mapping[str, Codes], values: Codes) -> Sequence[str]:
    """List the attributes that tell most of the values, the best one first."""
    information = {name: _information(codes, values) for name, codes in others.items()}
    useful = [name for name, bits in information.items() if bits > 0]
    return sorted(useful, key=lambda name: -information[name])[:MAX_MATCHED]


def _information(codes: Codes, values: Codes) -> float:
    """Estimate mutual information in nats, less what as many rows have by chance."""
    left, right = (np.unique(column, return_inverse=True)[1] for column in (codes, values))
    table = np.zeros((left.max() + 1, right.max() + 1))
    np.add.at(table, (left, right), 1)
    joint = table / len(values)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    has = joint > 0
    information = float(np.sum(joint[has] * np.log(joint[has] / product[has])))
    return information - (len(table) - 1) * (len(table.T) - 1) / (2 * len(values))


def _numbered(columns: Sequence[Codes], *, rows: int) -> Codes:
    """Number the combinations of some columns."""
    keys = np.zeros(rows, np.int64)
    for codes in columns:
        keys = keys * (int(codes.max()) + 1) + codes
        keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return keys
