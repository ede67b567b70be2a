"""Adversarial belief: which share of a label's people a report may be about, and what follows.

    omega(k) = min(1, largest over labels l of the sum of the k largest Pr[s | l])    Definition 5

(Xue et al., CLLDP.) A report of kHR names k cells (label, attributes), at worst all of one label.
omega does not fall in k and is concave. It is at least k / m_s, and 1 from k = m_s on.

Take an adversary that knows of the attributes no more than Pr[s | l]. For it the likelihood ratio
of two labels is at most e^epsilon, for all Pr[s | l] that agree with omega. If the truth is
omega* > omega, the bound is e^epsilon* = 1 + (omega* / omega) (e^epsilon - 1) instead
(`realised_epsilon`). Against an adversary that knows the attributes it is theta.

A user may report several times, about sets of attributes that contain one another, s^1 in s^2 in
... . All her reports together are bounded by

    B_r = 1 + sum over i of omega_i (theta_i - 1) theta_1 ... theta_(i-1)             equation 13

This is the printed sum, arranged differently. It holds whichever way k and omega go from round to
round (spec A6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, expm1, inf, log, log1p
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Allocation",
    "PastReport",
    "allocate",
    "beliefs",
    "capped_belief",
    "excess",
    "largest_ratio",
    "leakage",
    "realised_epsilon",
]

Numbers = npt.NDArray[np.float64]

Allocation = Literal["tight", "paper_fixed", "paper"]
"""How a budget is divided among rounds.

    tight          the whole budget is used, by equation 13
    paper_fixed    equation 15 with the remaining budget
    paper          equation 15 as printed
"""

MIN_EPSILON: Final = 1e-9
"""A smaller epsilon counts as none."""


class PastReport(NamedTuple):
    """A report that was made: its omega and its theta."""

    belief: float
    ratio: float


def beliefs(conditional: npt.ArrayLike) -> Numbers:
    """Compute omega(1), omega(2), ... from Pr[s | l], a row for each label.

    >>> beliefs([[0.01, 0.22, 0.77], [0.68, 0.16, 0.16]]).round(2).tolist()
    [0.77, 0.99, 1.0]
    """
    descending = np.sort(np.asarray(conditional, float), axis=1)[:, ::-1]
    return np.asarray(np.minimum(np.cumsum(descending, axis=1).max(axis=0), 1.0))


def capped_belief(belief: float, *, epsilon: float, cap: float | None) -> float:
    """Raise omega until the loss of the whole value is at most `cap`.

    That is where theta = (E + omega) / omega <= e^cap, with E = e^epsilon - 1.
    """
    if cap is None:
        return belief
    least = expm1(epsilon) / expm1(cap) if cap > epsilon else 1.0
    return min(1.0, max(belief, least))


def realised_epsilon(*, epsilon: float, believed: float, true: float) -> float:
    """Compute the epsilon that holds if the belief is `true` in fact (footnote 4).

    >>> round(realised_epsilon(epsilon=1.0, believed=0.3, true=0.6), 10)
    1.4898801256
    """
    return log1p(true / believed * expm1(epsilon))


def leakage(reports: Sequence[PastReport]) -> float:
    """Compute B_r, the bound on the ratio of all reports' likelihoods from two labels.

    >>> theta = [expm1(eps) / omega + 1 for omega, eps in ((0.6, 0.2), (0.4, 0.25), (0.3, 0.1877))]
    >>> round(leakage([PastReport(*pair) for pair in zip((0.6, 0.4, 0.3), theta)]), 7)
    2.0936022
    """
    return 1 + excess(reports)


def excess(reports: Sequence[PastReport]) -> float:
    """Compute B_r - 1, with all digits where it is small."""
    bound, product = 0.0, 1.0
    for report in reports:
        bound += report.belief * (report.ratio - 1) * product
        product *= report.ratio
    return bound


def allocate(
    reports: Sequence[PastReport],
    *,
    belief: float,
    epsilon: float,
    number: int,
    rounds: int,
    allocation: Allocation,
    cap: float | None = None,
) -> float:
    """Choose the epsilon of a report in round `number` of `rounds`; 0 if none is left.

    Let d be the number of rounds, r the round's number, and B the bound after the earlier reports.

        tight          B_r rises to e^(epsilon (d + ... + (d - r + 1)) / (d + ... + 1)), so the
                       first rounds get most
        paper_fixed    min(rest / (d - r + 1), g), as equation 15 must mean
        paper          min(epsilon / (d - r + 1), g), as printed: with omega = 1 nothing is left for
                       the last round (spec C7)

    Here rest = epsilon - ln B and g = ln(omega e^rest + 1 - omega). Theorem 6 allows g as long as
    omega does not rise. Where it does rise, the report gets at most what equation 13 leaves.

    >>> reports, epsilons = [], []
    >>> for number in range(1, 6):
    ...     part = allocate(
    ...         reports, belief=1.0, epsilon=1.0, number=number, rounds=5, allocation="paper"
    ...     )
    ...     reports, epsilons = [*reports, PastReport(1.0, exp(part))], [*epsilons, round(part, 6)]
    >>> epsilons
    [0.2, 0.25, 0.333333, 0.216667, 0.0]

    Args:
        reports: the user's earlier reports.
        belief: omega of this report.
        epsilon: the budget of all rounds.
        number: the round, from 1 on.
        rounds: how many rounds there will be.
        allocation: how the budget is divided.
        cap: the bound on the loss of the whole value.
    """
    before = leakage(reports)
    product = float(np.prod([report.ratio for report in reports])) if reports else 1.0
    left = max(exp(epsilon) - before, 0.0)
    if allocation == "tight":
        share = sum(rounds - i for i in range(number)) / (rounds * (rounds + 1) / 2)
        theta = 1 + max(exp(epsilon * share) - before, 0.0) / (belief * product)
    else:
        rest = max(epsilon - log(before), 0.0)
        g = log1p(belief * expm1(rest))
        part = (rest if allocation == "paper_fixed" else epsilon) / (rounds - number + 1)
        wanted = epsilon / rounds if number == 1 else min(part, g)
        theta = 1 + min(expm1(wanted), left / product) / belief
    if cap is not None:
        theta = min(theta, max(exp(cap) / product, 1.0))
    allocated = log1p(belief * (theta - 1))
    return allocated if allocated > MIN_EPSILON else 0.0


def largest_ratio(laws: Sequence[Mapping[bytes, Fraction]], conditional: npt.ArrayLike) -> float:
    """Compute the largest ratio of a report's likelihoods from two labels, by enumeration.

    Args:
        laws: the law of the report from each cell, in the order of labels and then attributes.
        conditional: Pr[s | l], a row for each label; for small domains.
    """
    rows = np.asarray(conditional, float)
    values = rows.shape[1]
    worst = 0.0
    for report in laws[0]:
        likelihoods = [
            sum(float(laws[label * values + value][report]) * row[value] for value in range(values))
            for label, row in enumerate(rows)
        ]
        least = min(likelihoods)
        worst = max(worst, max(likelihoods) / least if least > 0 else inf)
    return worst
