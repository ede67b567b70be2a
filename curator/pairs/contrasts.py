"""Contrasts of labels: the directions in which the table of a pair can show dependence.

A contrast is a vector over the labels of an attribute, with the sum 0. The products of the
contrasts of two attributes span all tables whose rows and columns have the sum 0. So their
coefficients are just what the margins of a table do not determine.

If labels have the shares p, the indicators of a record's label have the covariance D = diag(p) -
p p'. A contrast u has the variance u' D u, which is small where u is about rare labels. For two
attributes of two labels each there is one product. If its coefficient has the prior variance s
times both variances, then the correlation of the two has the prior variance s.

At a finer level the contrasts between groups of the level before come first. Those between labels
of the same group follow. Within a group of the share P, D is diag(p) - p p' / P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from .groups import Groups

__all__ = ["Contrasts", "contrasts_of"]

MIN_VARIANCE: Final = 1e-12


@dataclass(frozen=True)
class Contrasts:
    """Orthonormal contrasts of one attribute, or of several with equally many labels."""

    vectors: Numbers
    """Labels, contrasts; an axis for several attributes comes first."""
    variances: Numbers
    """An element for each contrast."""
    between: int
    """The number of contrasts between groups of the level before."""
    groups: Groups
    """For each contrast 0 if it is between groups, or else the number of its group, from 1."""

    @classmethod
    def stacked(cls, several: Sequence[Contrasts]) -> Contrasts:
        """Put the contrasts of several attributes together."""
        return cls(
            np.stack([part.vectors for part in several]),
            np.stack([part.variances for part in several]),
            several[0].between,
            np.stack([part.groups for part in several]),
        )


def contrasts_of(shares: Numbers, parents: Groups) -> Contrasts:
    """Compute the contrasts of an attribute.

    Args:
        shares: the distribution of its labels.
        parents: the group of each label at the level before; at the coarsest level it is 0.
    """
    size, groups = len(shares), int(parents.max()) + 1
    count_work(WorkKind.ARRAY, 20 * groups + 20)
    members = (parents[:, None] == np.arange(groups)).astype(float)
    mean = shares[:, None] * shares
    vectors, variances, numbers = [], [], []
    if groups > 1:
        sums = members @ _orthogonal(members.sum(axis=0))
        between, values = _diagonalised(np.linalg.qr(sums)[0], np.diag(shares) - mean)
        vectors.append(between)
        variances.append(values)
        numbers.append(np.zeros(len(values), np.int64))
    for group in range(groups):
        places = np.flatnonzero(parents == group)
        if len(places) == 1:
            continue
        part = shares[places]
        covariance = np.diag(part) - np.outer(part, part) / max(float(part.sum()), MIN_VARIANCE)
        within, values = _diagonalised(_orthogonal_to_ones(len(places)), covariance)
        widened = np.zeros((size, within.shape[1]))
        widened[places] = within
        vectors.append(widened)
        variances.append(values)
        numbers.append(np.full(len(values), group + 1))
    return Contrasts(
        np.concatenate(vectors, axis=1),
        np.concatenate(variances),
        groups - 1,
        np.concatenate(numbers),
    )


def _orthogonal(vector: Numbers) -> Numbers:
    """Give an orthonormal basis of all that is orthogonal to a vector."""
    return np.asarray(np.linalg.qr(vector[:, None], mode="complete")[0][:, 1:])


@lru_cache(maxsize=256)
def _orthogonal_to_ones(size: int) -> Numbers:
    """Give the basis for groups of this size, of which there are many."""
    basis = _orthogonal(np.ones(size))
    basis.flags.writeable = False
    return basis


def _diagonalised(basis: Numbers, covariance: Numbers) -> tuple[Numbers, Numbers]:
    """Turn a basis so that the covariance between its vectors is 0; return their variances."""
    values, turns = np.linalg.eigh(basis.T @ covariance @ basis)
    return np.asarray(basis @ turns), np.maximum(values, MIN_VARIANCE)
