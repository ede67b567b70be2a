"""Dependence: the mutual information of every pair of attributes, in both tables."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator import information_of_all
from ..parties import Records

__all__ = ["Dependence", "compare_dependence"]


MAX_ATTRIBUTES: Final = 400
"""Most attributes whose pairs are all compared; of more, so many are drawn at random."""


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


def compare_dependence(real: Records, synthetic: Records, *, seed: int = 0) -> Dependence:
    """Compare the dependence of all pairs of attributes, or of a random `MAX_ATTRIBUTES`."""
    names = real.domain.attributes
    if len(names) > MAX_ATTRIBUTES:
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 1])))
        drawn = generator.choice(len(names), MAX_ATTRIBUTES, replace=False)
        names = tuple(names[place] for place in np.sort(drawn).tolist())
    true, estimated = (_mutual_information(records, names) for records in (real, synthetic))
    left, right = np.triu_indices(len(names), 1)
    differences = np.abs(true - estimated)[left, right]
    worst = int(np.argmax(differences)) if len(differences) else 0
    return Dependence(
        attributes=names,
        real=_rounded(true),
        synthetic=_rounded(estimated),
        difference=float(np.mean(differences)) if len(differences) else 0.0,
        largest=float(differences[worst]) if len(differences) else 0.0,
        largest_pair=(names[left[worst]], names[right[worst]]) if len(differences) else (),
    )


def _mutual_information(records: Records, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    sizes = records.domain.shape(names)
    matrix = np.zeros((len(names), len(names)))
    left, right = np.triu_indices(len(names), 1)
    pairs = list(combinations(names, 2))
    sides = [sizes[place] for place in right.tolist()]
    bits = information_of_all(records.marginals(pairs), sides, base=2)
    matrix[left, right] = matrix[right, left] = np.maximum(bits, 0.0)
    return matrix


def _rounded(matrix: npt.NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.round(6).tolist())
