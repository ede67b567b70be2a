"""Scores of attributes and parent sets on one party's own records: what the exponential mechanism chooses by.

Local and exact, so they never leave the party: only choices do, and each is a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Marginal, dependence, mutual_information
from ...parties import Records
from ...privacy.sensitivity import dependence_sensitivity, mutual_information_sensitivity
from .plan import Family, Score

__all__ = ["score_families", "sensitivity_of"]

MANY: Final = 20_000
"""Tables that are scored at a time."""


def sensitivity_of(records: Records, families: Sequence[Family], *, score: Score) -> float:
    """Bound what one replaced record changes any of these families' scores by; mutual information is in bits."""
    rows = max(2, len(records))  # of a single record every score is 0, whatever it is
    if score == "R":
        return dependence_sensitivity(rows)
    sizes = dict(zip(records.domain.attributes, records.domain.shape(records.domain.attributes), strict=True))
    binary = set(sizes.values()) <= {1, 2} or all(
        min(sizes[family[-1]], prod(sizes[name] for name in family[:-1])) <= 2 for family in families if family
    )
    return mutual_information_sensitivity(rows, binary=binary, base=2)


def score_families(records: Records, families: Sequence[Family], *, score: Score) -> npt.NDArray[np.float64]:
    """Score each family: how much its last attribute has to do with the others; 0 without others."""
    sizes = set(records.domain.shape(records.domain.attributes))
    if score == "I" and len(sizes) == 1 and len(set(map(len, families))) == 1 and len(families[0]) > 1:
        (size,) = sizes
        return np.concatenate(
            [
                _all_alike(np.array(list(records.marginals(families[at : at + MANY])), np.float64), size)
                for at in range(0, len(families), MANY)
            ]
        )
    found = np.zeros(len(families))
    some = [at for at, family in enumerate(families) if len(family) > 1]
    for at, cells in zip(some, records.marginals([families[at] for at in some]), strict=True):
        table, child = Marginal.of(records.domain, families[at], cells), families[at][-1:]
        found[at] = mutual_information(table, child, base=2) if score == "I" else dependence(table, child)
    return found


def _all_alike(tables: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Compute the mutual information of many tables of one shape at once: the last axis, of `size` labels, against the rest."""
    p = tables.reshape(len(tables), -1, size) / tables.sum(axis=1)[:, None, None]
    product = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True)
    logs = np.log2(np.divide(p, product, out=np.ones_like(p), where=p > 0))
    return np.asarray((p * logs).sum(axis=(1, 2)))
