"""How a party scores tables by its own records, and which chosen tables fit into one model.

FLAIM scores a table q of party k with n_k records by

    u(q) = w_q (|M_q(D_k) - n_k p_q|  -  sqrt(2 / pi) sigma cells(q))

in L1, where p is the model and w_q the weight of q in the workload. AugFLAIM subtracts how far the
party's single attributes are from all parties':

    tau(q) = mean over attributes j of q of |M_j(D_k) - n_k m_j|

where m_j are shares that were measured with noise. The paper divides counts by n_k, which is
public here: scores and their sensitivity are then both n_k times smaller, and the choice has the
same law.

A replaced record moves two cells of each table by 1 each, so both distances change by at most 2.
The public code of the paper has half of this ("Errata" in docs/flaim.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Estimate
from ...curator.belief_propagation import clique_tree
from ...privacy import Domain
from ..aim.workload import DISTANCE_CHANGE, Counts
from ..secure_sum import Family

__all__ = ["AUGMENTED_CHANGE", "measurable", "shares_of", "unlikeness"]

AUGMENTED_CHANGE: Final = 2 * DISTANCE_CHANGE
"""Most that AugFLAIM's score changes: that of the distance, and that of the unlikeness."""


def shares_of(singles: Sequence[Estimate], *, rows: int) -> npt.NDArray[np.float64]:
    """Give the measured share of each label, attribute after attribute; noise may exceed 0 or 1."""
    tables = [estimate.table.values / max(rows, 1) for estimate in singles]
    return np.concatenate(tables) if tables else np.zeros(0)


def unlikeness(
    tables: Mapping[Family, Counts],
    shares: Mapping[str, npt.NDArray[np.float64]],
    candidates: Sequence[Family],
    *,
    rows: int,
) -> npt.NDArray[np.float64]:
    """Compute tau: how far a party's single attributes are from the shares, in L1."""
    of_attribute = {
        name: float(np.abs(tables[(name,)] - rows * expected).sum())
        for name, expected in shares.items()
    }
    return np.array([np.mean([of_attribute[name] for name in family]) for family in candidates])


def measurable(
    domain: Domain,
    chosen: Mapping[int, Family],
    *,
    rows: Sequence[int],
    terms: Collection[Family],
    max_cells: float,
) -> list[Family]:
    """List the chosen tables that are measured together, those of most rows first.

    Each of them fits into the model by itself. A table with which the model of all those before it
    would grow too large is left out; the first never is. The paper measures all, so its model may
    grow with the number of parties.

    Args:
        domain: The attributes and their labels.
        chosen: The choice of each party.
        rows: The rows of each party.
        terms: The tables that the model has already.
        max_cells: The bound on the cells of the model's cliques.
    """
    behind: dict[Family, int] = {}
    for party, family in sorted(chosen.items()):
        behind[family] = behind.get(family, 0) + max(rows[party - 1], 0)
    sets, measured = [*terms], list[Family]()
    for family in sorted(behind, key=lambda family: (-behind[family], family)):
        larger = sets if family in sets else [*sets, family]
        if measured and clique_tree(domain, larger).junction_tree.cells > max_cells:
            continue
        sets, measured = larger, [*measured, family]
    return measured
