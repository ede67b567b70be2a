"""Scores of attributes and parent sets on one party's own records: what the exponential mechanism
chooses by.

Local and exact, so they never leave the party: only choices do, and each is a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Marginal, dependence, information_of_all
from ...parties import Records
from ...privacy.sensitivity import dependence_sensitivity, mutual_information_sensitivity
from ..secure_sum import Family
from .settings import Score

__all__ = ["score_families", "sensitivity_of"]

MANY: Final = 20_000
"""Tables that are scored at a time."""


def sensitivity_of(records: Records, families: Sequence[Family], *, score: Score) -> float:
    """Bound what one replaced record changes any of these families' scores by; mutual information
    is in bits.
    """
    rows = max(2, len(records))  # of a single record every score is 0, whatever it is
    if score == "R":
        return dependence_sensitivity(rows)
    sizes = dict(
        zip(records.domain.attributes, records.domain.shape(records.domain.attributes), strict=True)
    )
    binary = set(sizes.values()) <= {1, 2} or all(
        min(sizes[family[-1]], prod(sizes[name] for name in family[:-1])) <= 2
        for family in families
        if family
    )
    return mutual_information_sensitivity(rows, binary=binary, base=2)


def score_families(
    records: Records, families: Sequence[Family], *, score: Score
) -> npt.NDArray[np.float64]:
    """Score each family: how much its last attribute has to do with the others; 0 without
    others.
    """
    sizes = dict(
        zip(records.domain.attributes, records.domain.shape(records.domain.attributes), strict=True)
    )
    found = np.zeros(len(families))
    some = [at for at, family in enumerate(families) if len(family) > 1]
    for start in range(0, len(some), MANY):
        part = some[start : start + MANY]
        own = [families[at] for at in part]
        tables = records.marginals(own)
        if score == "I":
            found[part] = information_of_all(tables, [sizes[family[-1]] for family in own], base=2)
        else:
            named = (
                Marginal.of(records.domain, family, cells)
                for family, cells in zip(own, tables, strict=True)
            )
            found[part] = [dependence(table, table.attributes[-1:]) for table in named]
    return found
