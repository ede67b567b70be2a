"""Scores by which the exponential mechanism chooses attributes, parent sets and edges.

Scores are computed exactly on one party's own records. They never leave the party: only choices do,
and each choice is a release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import dependence_of_all, information_of_all
from ...parties import Records
from ...privacy.sensitivity import (
    choice_sensitivity,
    dependence_sensitivity,
    mutual_information_sensitivity,
)
from ..secure_sum import Family
from .options import Score

__all__ = ["score_families", "sensitivity_of"]

BLOCK: Final = 20_000
"""Number of tables that are scored at a time."""


def sensitivity_of(records: Records, families: Sequence[Family], *, score: Score) -> float:
    """Compute the sensitivity of a choice among these families when one record is replaced.

    Mutual information is in bits. A family of a single attribute, or of none, has a score of 0,
    which never changes.
    """
    rows = max(2, len(records))  # of a single record every score is 0
    if score == "R":
        wide, narrow = (dependence_sensitivity(rows, binary=binary) for binary in (False, True))
    else:
        wide, narrow = (
            mutual_information_sensitivity(rows, binary=binary, base=2) for binary in (False, True)
        )
    size_of = _sizes(records)
    changing = [family for family in families if len(family) > 1]
    # Only the two largest bounds count.
    widest = list(islice((family for family in changing if _is_wide(family, size_of)), 2))
    bounds = [wide] * len(widest) + [narrow] * (len(changing) - len(widest))
    return choice_sensitivity(bounds or [narrow])


def score_families(
    records: Records, families: Sequence[Family], *, score: Score
) -> npt.NDArray[np.float64]:
    """Score how strongly each family's last attribute depends on the others; 0 without others."""
    size_of = _sizes(records)
    scores = np.zeros(len(families))
    with_parents = [index for index, family in enumerate(families) if len(family) > 1]
    for start in range(0, len(with_parents), BLOCK):
        indices = with_parents[start : start + BLOCK]
        block = [families[index] for index in indices]
        tables = records.marginals(block)
        sizes = [size_of[family[-1]] for family in block]
        if score == "I":
            scores[indices] = information_of_all(tables, sizes, base=2)
        else:
            scores[indices] = dependence_of_all(tables, sizes)
    return scores


def _is_wide(family: Family, size_of: Mapping[str, int]) -> bool:
    """Tell whether both sides of a family's table have more than two values."""
    return min(size_of[family[-1]], prod(size_of[name] for name in family[:-1])) > 2


def _sizes(records: Records) -> dict[str, int]:
    names = records.domain.attributes
    return dict(zip(names, records.domain.shape(names), strict=True))
