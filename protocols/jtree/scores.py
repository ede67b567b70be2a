"""How much pairs of attributes have to do with one another, on one party's own records. Exact, so
it never leaves as it is.

R     half the sum of |p_ij - p_i p_j|, of the party's own margins: one record changes it by 3/n + 2/n^2 (PrivBayes)
away  half the sum of |p_ij - q_i q_j|, of margins q that are published already: one record moves 1/n from one cell to
      another, and changes it by 1/n
I     mutual information, in nats (the paper)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, expm1, log, pi
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Marginal, dependence, information_of_all
from ...parties import Records
from .settings import Settings

__all__ = [
    "away",
    "away_by_chance",
    "information",
    "penalties",
    "r_of",
    "sample_size",
    "sampled_epsilon",
]

Scores = npt.NDArray[np.float64]
Pair = tuple[str, str]

WORTH: Final = 0.8
"""Of the noise that an edge's table will have, what counts against it: lambda. Chosen looking at
Adult.
"""


def r_of(records: Records, pairs: Sequence[Pair]) -> Scores:
    """Compute R of every pair."""
    tables = (
        Marginal.of(records.domain, pair, cells)
        for pair, cells in zip(pairs, records.marginals(pairs), strict=True)
    )
    return np.array([dependence(own, own.attributes[:1]) for own in tables])


def away(records: Records, pairs: Sequence[Pair], margins: Mapping[str, Scores]) -> Scores:
    """Compute how far every pair is from the product of published margins, which sum to 1."""
    products = (np.outer(margins[one], margins[other]).reshape(-1) for one, other in pairs)
    counted = zip(records.marginals(pairs), products, strict=True)
    return np.array(
        [
            float(np.abs(np.asarray(cells) / len(records) - product).sum()) / 2
            for cells, product in counted
        ]
    )


def away_by_chance(pairs: Sequence[Pair], margins: Mapping[str, Scores], *, rows: int) -> Scores:
    """Compute how far so many rows are from it on average where nothing depends on anything: E|x|,
    normal, in each cell.
    """
    found = []
    for one, other in pairs:
        product = np.outer(margins[one], margins[other])
        found.append(0.5 * float(np.sqrt(2 * product * (1 - product) / (pi * rows)).sum()))
    return np.array(found)


def penalties(
    pairs: Sequence[Pair], sizes: Mapping[str, int], settings: Settings, *, rows: int
) -> Scores:
    """Compute what an edge's table costs: the distance that its noise makes, as far as it counts.
    Public.
    """
    return np.array(
        [WORTH * 0.5 * sizes[one] * sizes[other] * settings.scale() / rows for one, other in pairs]
    )


def information(records: Records, pairs: Sequence[Pair]) -> Scores:
    """Compute I of every pair, in nats."""
    sizes = [records.domain.cells(pair[1:]) for pair in pairs]
    return information_of_all(records.marginals(pairs), sizes, base=np.e)


def sample_size(rows: int, *, epsilon: float, binary: bool) -> int:
    """Choose how many rows to sample: Algorithm 1, line 2. What noise there is for what information
    tells is least.

    >>> [sample_size(45_222, epsilon=own, binary=False) for own in (0.05, 0.1, 0.5)]
    [9010, 20422, 45222]
    """
    if rows < 2:
        return rows
    n = np.arange(2, rows + 1, dtype=np.float64)
    if binary:
        sensitivity = np.log(n) / n + (n - 1) / n * np.log(n / (n - 1))
    else:
        sensitivity = 2 / n * np.log((n + 1) / 2) + (n - 1) / n * np.log((n + 1) / (n - 1))
    return int(
        n[
            np.argmin(
                sensitivity / [sampled_epsilon(epsilon, rate=own) for own in (n / rows).tolist()]
            )
        ]
    )


def sampled_epsilon(epsilon: float, *, rate: float) -> float:
    """Compute eps_a: what may be spent on a sample of this rate (theorem 2, which is about a record
    more or less: spec J2).

    >>> round(sampled_epsilon(0.1, rate=20_422 / 45_222), 3)
    0.209
    """
    return epsilon + log(-expm1(-epsilon) / rate + exp(-epsilon))  # ln(1 + (e^epsilon - 1) / rate)
