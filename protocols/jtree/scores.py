"""How strongly pairs of attributes depend on each other, measured on one party's own records.

The scores are exact, so they never leave a party as they are:

R     half the sum of |p_ij - p_i p_j|, with the party's own margins (PrivBayes).
      One record changes it by less than 3/n, and by less than 2/n if an attribute is binary.
away  half the sum of |p_ij - q_i q_j|, with margins q that are already published.
      One record moves 1/n from one cell to another, so it changes the score by at most 1/n.
I     mutual information, in nats (the paper).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, expm1, log, pi
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator import dependence_of_all, information_of_all
from ...parties import Records
from ...privacy import Domain
from ...privacy.budget import Unit
from ...privacy.sensitivity import dependence_sensitivity

__all__ = [
    "Pair",
    "Scores",
    "away",
    "away_by_chance",
    "information",
    "pairs_of",
    "penalties",
    "r_bounds",
    "r_of",
    "sample_size",
    "sampled_epsilon",
]

Scores: TypeAlias = npt.NDArray[np.float64]
Pair: TypeAlias = tuple[str, str]

WORTH: Final[Mapping[Unit, float]] = {"rho": 0.4, "epsilon": 0.8}
"""Share of the expected noise that counts against an edge: lambda. Shrinkage takes the rest away.

That of Laplace noise was chosen looking at Adult, that of Gaussian noise on eight tables.
"""


def pairs_of(domain: Domain) -> list[Pair]:
    """List the pairs of attributes that can depend on each other."""
    return list(combinations([name for name in domain.attributes if domain.cells((name,)) > 1], 2))


def r_of(records: Records, pairs: Sequence[Pair]) -> Scores:
    """Compute R of every pair."""
    sizes = [records.domain.cells(pair[1:]) for pair in pairs]
    return dependence_of_all(records.marginals(pairs), sizes)


def r_bounds(domain: Domain, pairs: Sequence[Pair], *, rows: int) -> Scores:
    """Bound the change of each pair's R when one of a party's records is replaced."""
    rows = max(2, rows)  # of a single record R is 0
    return np.array(
        [dependence_sensitivity(rows, binary=min(domain.shape(pair)) <= 2) for pair in pairs]
    )


def away(records: Records, pairs: Sequence[Pair], margins: Mapping[str, Scores]) -> Scores:
    """Compute every pair's distance from the product of published margins, which sum to 1."""
    products = (np.outer(margins[left], margins[right]).reshape(-1) for left, right in pairs)
    counted = zip(records.marginals(pairs), products, strict=True)
    return np.array(
        [
            float(np.abs(np.asarray(cells) / len(records) - product).sum()) / 2
            for cells, product in counted
        ]
    )


def away_by_chance(pairs: Sequence[Pair], margins: Mapping[str, Scores], *, rows: int) -> Scores:
    """Compute the mean distance of so many rows where all attributes are independent.

    The mean of |x| is that of a normal variable in each cell.
    """
    distances = []
    for left, right in pairs:
        product = np.outer(margins[left], margins[right])
        distances.append(0.5 * float(np.sqrt(2 * product * (1 - product) / (pi * rows)).sum()))
    return np.array(distances)


def penalties(
    pairs: Sequence[Pair], domain: Domain, *, noise_scale: float, rows: int, unit: Unit
) -> Scores:
    """Compute what an edge's table costs: the part of its noise that counts against the edge.

    The penalties are public.
    """
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    return np.array(
        [
            WORTH[unit] * 0.5 * sizes[left] * sizes[right] * noise_scale / rows
            for left, right in pairs
        ]
    )


def information(records: Records, pairs: Sequence[Pair]) -> Scores:
    """Compute I of every pair, in nats."""
    sizes = [records.domain.cells(pair[1:]) for pair in pairs]
    return information_of_all(records.marginals(pairs), sizes, base=np.e)


def sample_size(rows: int, *, epsilon: float, binary: bool) -> int:
    """Choose how many rows to sample (Algorithm 1, line 2): the noise on information is least.

    >>> [sample_size(45_222, epsilon=epsilon, binary=False) for epsilon in (0.05, 0.1, 0.5)]
    [9010, 20422, 45222]
    """
    if rows < 2:
        return rows
    n = np.arange(2, rows + 1, dtype=np.float64)
    if binary:
        sensitivity = np.log(n) / n + (n - 1) / n * np.log(n / (n - 1))
    else:
        sensitivity = 2 / n * np.log((n + 1) / 2) + (n - 1) / n * np.log((n + 1) / (n - 1))
    epsilons = [sampled_epsilon(epsilon, rate=rate) for rate in (n / rows).tolist()]
    return int(n[np.argmin(sensitivity / epsilons)])


def sampled_epsilon(epsilon: float, *, rate: float) -> float:
    """Compute eps_a: the budget on a sample of this rate that costs epsilon on all rows.

    That is theorem 2, which is about one record more or less (spec J2).

    >>> round(sampled_epsilon(0.1, rate=20_422 / 45_222), 3)
    0.209
    """
    return epsilon + log(-expm1(-epsilon) / rate + exp(-epsilon))  # ln(1 + (e^epsilon - 1) / rate)
