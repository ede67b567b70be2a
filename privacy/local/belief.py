"""Adversarial belief: how much of a label's people a report may be about, and what follows from it
(Xue et al., CLLDP).

    omega(k) = min(1, largest over labels l of the sum of the k largest Pr[s | l])                           Definition 5

A report of kHR names k cells (label, attributes), at worst all of one label. omega does not fall in
k and is concave, at least k / m_s, and 1 from k = m_s on.

What is learnt of a label by whoever knows no more than Pr[s | l], whatever these are within omega,
is bounded by e^epsilon. If the truth is omega* > omega, it is bounded by e^epsilon* = 1 + (omega* /
omega) (e^epsilon - 1) instead (`realised`), and by theta at most, against somebody who knows the
attributes.

Several reports of one user about sets of attributes that contain one another, s^1 in s^2 in ...,
tell together at most

    B_r = 1 + sum over i of omega_i (theta_i - 1) theta_1 ... theta_(i-1)                                      equation 13

(the same sum as printed, put together otherwise). It needs neither k nor omega to go one way (spec
A6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, expm1, inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Allocation",
    "Spent",
    "allocate",
    "beliefs",
    "capped",
    "excess",
    "leakage",
    "learnt",
    "realised",
]

Numbers = npt.NDArray[np.float64]

Allocation = Literal["tight", "paper_fixed", "paper"]
"""How a budget is shared out over rounds: all of it by equation 13; equation 15 with the remaining
budget; and as printed.
"""


class Spent(NamedTuple):
    """A report that was made: omega and theta."""

    belief: float
    ratio: float


def beliefs(likely: npt.ArrayLike) -> Numbers:
    """Find omega(1), omega(2), ... from Pr[s | l], a line for each label.

    >>> beliefs([[0.01, 0.22, 0.77], [0.68, 0.16, 0.16]]).round(2).tolist()
    [0.77, 0.99, 1.0]
    """
    lines = np.sort(np.asarray(likely, float), axis=1)[:, ::-1]
    return np.asarray(np.minimum(np.cumsum(lines, axis=1).max(axis=0), 1.0))


def capped(belief: float, *, epsilon: float, cap: float | None) -> float:
    """Raise omega until nobody learns more than `cap` of the whole value: theta = (E + omega) /
    omega <= e^cap.
    """
    return (
        belief
        if cap is None
        else min(1.0, max(belief, expm1(epsilon) / expm1(cap) if cap > epsilon else 1.0))
    )


def realised(*, epsilon: float, believed: float, true: float) -> float:
    """Compute what holds if the adversarial belief is `true`, and another one was believed
    (footnote 4).

    >>> round(realised(epsilon=1.0, believed=0.3, true=0.6), 10)
    1.4898801256
    """
    return log1p(true / believed * expm1(epsilon))


def leakage(spent: Sequence[Spent]) -> float:
    """Compute B_r: how much likelier all reports together may be from one label than from another.

    >>> theta = [expm1(eps) / omega + 1 for omega, eps in ((0.6, 0.2), (0.4, 0.25), (0.3, 0.1877))]
    >>> round(leakage([Spent(*own) for own in zip((0.6, 0.4, 0.3), theta)]), 7)
    2.0936022
    """
    return 1 + excess(spent)


def excess(spent: Sequence[Spent]) -> float:
    """Compute B_r - 1, with all digits where it is small."""
    bound, product = 0.0, 1.0
    for own in spent:
        bound += own.belief * (own.ratio - 1) * product
        product *= own.ratio
    return bound


def allocate(
    spent: Sequence[Spent],
    *,
    belief: float,
    epsilon: float,
    number: int,
    rounds: int,
    allocation: Allocation,
    cap: float | None = None,
) -> float:
    """Choose the epsilon of a report in round `number` of `rounds`, after those that were made; 0:
    none is left.

    tight          B_r rises to e^(epsilon (dep + ... + (dep - r + 1)) / (dep + ... + 1)): the first rounds get most
    paper_fixed    min(rest / (dep - r + 1), g)     what equation 15 must mean
    paper          min(epsilon / (dep - r + 1), g)  as printed: with omega = 1 nothing is left for the last round (spec C7)

    with rest = epsilon - ln B and g = ln(omega e^rest + 1 - omega), which Theorem 6 allows as long
    as omega does not rise; where it does, no more is given than equation 13 leaves.

    >>> made, given = [], []
    >>> for number in range(1, 6):
    ...     own = allocate(made, belief=1.0, epsilon=1.0, number=number, rounds=5, allocation="paper")
    ...     made, given = [*made, Spent(1.0, exp(own))], [*given, round(own, 6)]
    >>> given
    [0.2, 0.25, 0.333333, 0.216667, 0.0]
    """
    before, product = leakage(spent), float(np.prod([own.ratio for own in spent])) if spent else 1.0
    rest = max(epsilon - log(before), 0.0)
    if allocation == "tight":
        share = sum(rounds - i for i in range(number)) / (rounds * (rounds + 1) / 2)
        theta = 1 + max(exp(epsilon * share) - before, 0.0) / (belief * product)
    else:
        most = log1p(belief * expm1(rest))  # g
        first = epsilon / rounds if number == 1 else 0.0
        wanted = (rest if allocation == "paper_fixed" else epsilon) / (rounds - number + 1)
        theta = (
            1
            + min(expm1(first or min(wanted, most)), max(exp(epsilon) - before, 0.0) / product)
            / belief
        )
    if cap is not None:
        theta = min(theta, max(exp(cap) / product, 1.0))
    own = log1p(belief * (theta - 1))
    return own if own > 1e-9 else 0.0


def learnt(laws: Sequence[Mapping[bytes, Fraction]], likely: npt.ArrayLike) -> float:
    """Compute, by going through all reports, how much likelier one may be from one label than from
    another.

    `laws`: how likely each report is from each cell, labels first; `likely`: Pr[s | l], a line for
    each label. For small domains.
    """
    lines = np.asarray(likely, float)
    values = lines.shape[1]
    worst = 0.0
    for told in laws[0]:
        seen = [
            sum(float(laws[label * values + at][told]) * line[at] for at in range(values))
            for label, line in enumerate(lines)
        ]
        worst = max(worst, max(seen) / min(seen) if min(seen) > 0 else inf)
    return worst
