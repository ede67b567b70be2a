"""Dependence: the mutual information of every two attributes, in the real and in the synthetic
table.
"""

from __future__ import annotations

from itertools import combinations

import msgspec
import numpy as np

from ..curator import Marginal, mutual_information
from ..parties import Records

__all__ = ["Dependence", "dependence_kept"]


class Dependence(msgspec.Struct, frozen=True, kw_only=True):
    """Mutual information in bits: a matrix each, in the order of `attributes`, with 0 on the
    diagonal.
    """

    attributes: tuple[str, ...]
    real: list[list[float]]
    synthetic: list[list[float]]
    difference: float
    """The average absolute difference over all pairs."""
    largest: float
    largest_pair: tuple[str, ...]


def dependence_kept(real: Records, synthetic: Records) -> Dependence:
    """Compare the dependence of all pairs."""
    names = real.domain.attributes
    one, other = (_matrix(records) for records in (real, synthetic))
    pairs = list(combinations(range(len(names)), 2))
    gaps = [abs(one[pair] - other[pair]) for pair in pairs]
    worst = int(np.argmax(gaps)) if gaps else 0
    return Dependence(
        attributes=names,
        real=one.round(6).tolist(),
        synthetic=other.round(6).tolist(),
        difference=float(np.mean(gaps)) if gaps else 0.0,
        largest=float(gaps[worst]) if gaps else 0.0,
        largest_pair=tuple(names[at] for at in pairs[worst]) if gaps else (),
    )


def _matrix(records: Records) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    names = records.domain.attributes
    matrix = np.zeros((len(names), len(names)))
    pairs = list(combinations(names, 2))
    for pair, cells in zip(pairs, records.marginals(pairs), strict=True):
        bits = mutual_information(Marginal.of(records.domain, pair, cells), pair[:1], base=2)
        at = tuple(names.index(name) for name in pair)
        matrix[at] = matrix[at[::-1]] = max(bits, 0.0)
    return matrix
