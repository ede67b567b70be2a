"""Scores of candidates by their noisy tables. All of it is post-processing of released tables.

Of noisy tables of different sizes the larger seem to have more dependence, as noise looks like
dependence. So on original attributes the score is the distance from independence less what noise
alone contributes. Tables of bits have one size: their score is the paper's, mutual information.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt

import numpy as np
import numpy.typing as npt

from ...curator import Estimate, dependence, information_of_all
from ...curator.projections import norm_mul
from ...privacy import Domain
from ..dp_subn.usefulness import CELL_NOISE
from ..secure_sum import Family
from .plan import CandidatePlan

__all__ = ["choose_all", "scores_of"]


def scores_of(
    counted: Sequence[Estimate], families: Sequence[Family], domain: Domain, *, rows: int
) -> npt.NDArray[np.float64]:
    """Score every candidate by how strongly its last attribute depends on the others."""
    if set(domain.shape(domain.attributes)) == {2}:
        sizes = [2 if len(family) > 1 else 1 for family in families]
        return information_of_all([estimate.table.values for estimate in counted], sizes, base=2)
    return np.array(
        [
            dependence(estimate.table.map(norm_mul), family[-1:])
            - CELL_NOISE * estimate.table.cells * sqrt(estimate.variance) / rows
            if len(family) > 1
            else 0.0
            for estimate, family in zip(counted, families, strict=True)
        ]
    )


def choose_all(
    counted: Sequence[Estimate], first: Family, *, plan: CandidatePlan, rows: int
) -> list[Family]:
    """Add the candidate with the highest score again and again, all from one batch of tables."""
    domain = plan.domain
    covering: dict[frozenset[str], Estimate] = {}
    # The smallest table that covers a set is written last.
    for estimate in sorted(counted, key=lambda estimate: -estimate.table.cells):
        for size in range(1, len(estimate.attributes) + 1):
            covering |= dict.fromkeys(
                map(frozenset, combinations(estimate.attributes, size)), estimate
            )
    chosen, score_of = [first], dict[Family, float]()
    for _ in domain.attributes[1:]:
        candidates = plan.candidates(chosen)
        new = [family for family in candidates if family not in score_of]
        tables = [covering[frozenset(family)].project(family) for family in new]
        score_of.update(zip(new, scores_of(tables, new, domain, rows=rows).tolist(), strict=True))
        chosen.append(max(candidates, key=lambda family: score_of[family]))
    return chosen
