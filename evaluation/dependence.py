"""Dependence: the mutual information of every pair of attributes, in both tables."""

from __future__ import annotations

from itertools import combinations

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator import Marginal, mutual_information
from ..parties import Records

__all__ = ["Dependence", "compare_dependence"]


class Dependence(msgspec.Struct, frozen=True, kw_only=True):
    """Mutual information in bits: matrices in the order of `attributes`, with a diagonal of 0."""

    attributes: tuple[str, ...]
    real: tuple[tuple[float, ...], ...]
    synthetic: tuple[tuple[float, ...], ...]
    difference: float
    """Average absolute difference over all pairs."""
    largest: float
    largest_pair: tuple[str, ...]
    """The pair with the largest difference. It is empty if there is only one attribute."""


def compare_dependence(real: Records, synthetic: Records) -> Dependence:
    """Compare the dependence of all pairs of attributes."""
    names = real.domain.attributes
    true, estimated = (_mutual_information(records) for records in (real, synthetic))
    pairs = list(combinations(range(len(names)), 2))
    differences = [abs(true[pair] - estimated[pair]) for pair in pairs]
    worst = int(np.argmax(differences)) if pairs else 0
    return Dependence(
        attributes=names,
        real=_rounded(true),
        synthetic=_rounded(estimated),
        difference=float(np.mean(differences)) if pairs else 0.0,
        largest=float(differences[worst]) if pairs else 0.0,
        largest_pair=tuple(names[index] for index in pairs[worst]) if pairs else (),
    )


def _mutual_information(records: Records) -> npt.NDArray[np.float64]:
    names = records.domain.attributes
    matrix = np.zeros((len(names), len(names)))
    pairs = list(combinations(names, 2))
    for pair, cells in zip(pairs, records.marginals(pairs), strict=True):
        bits = mutual_information(Marginal.of(records.domain, pair, cells), pair[:1], base=2)
        row, column = (names.index(name) for name in pair)
        matrix[row, column] = matrix[column, row] = max(bits, 0.0)
    return matrix


def _rounded(matrix: npt.NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.round(6).tolist())
