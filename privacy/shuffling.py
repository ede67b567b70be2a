"""Privacy amplification by shuffling: the loss of local reports that arrive unlinked.

Each of n users sends one report by the same randomizer, which costs epsilon0 (local differential
privacy). If the reports reach the analyst in random order, and without anything that links them to
users, each user hides among the others. By theorem 3.1 of Feldman, McMillan and Talwar ("Hiding
among the clones", FOCS 2021), for every delta with epsilon0 <= ln(n / (16 ln(2 / delta))), the
shuffled reports are (epsilon, delta)-differentially private, where neighbouring datasets replace a
user's value and

    epsilon = ln(1 + (e0 - 1) / (e0 + 1) * (8 sqrt(e0 ln(4 / delta) / n) + 8 e0 / n)),
    e0 = e^epsilon0.

Tests compare it with the law to which the theorem reduces every randomizer, and this law with
enumerations of randomized response. The law itself gives an epsilon that is about a third of it for
large epsilon0, but has no closed form. The later bounds of 2023 ("Stronger privacy amplification")
are not used: an erratum restricts them to some randomizers.

It is an assumption on top of a protocol. Nothing here shuffles reports.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt, tanh

__all__ = ["shuffled_epsilon"]


def shuffled_epsilon(epsilon: float, *, users: int, delta: float) -> float:
    """Bound the loss of the shuffled reports of so many users.

    It is never more than that of a report by itself, and equal to it where the theorem does not
    hold, as there are too few users, or where delta is 0.

    Args:
        epsilon: the loss of one user's report, without shuffling.
        users: the number of users whose reports look alike, all by one randomizer.
        delta: the probability with which the bound may not hold.

    >>> [round(shuffled_epsilon(epsilon, users=45_222, delta=1e-9), 3) for epsilon in (1.0, 4.0)]
    [0.127, 0.819]
    >>> shuffled_epsilon(4.0, users=1_000, delta=1e-9)
    4.0
    """
    if not epsilon >= 0 or users < 1 or not 0 <= delta < 1:
        raise ValueError(
            "expected an epsilon of at least 0, at least one user and a delta from 0 to below 1, "
            f"found {epsilon:g}, {users} and {delta:g}"
        )
    if not delta or epsilon > log(users / (16 * log(2 / delta))):
        return epsilon
    e0 = exp(epsilon)
    blurred = 8 * sqrt(e0 * log(4 / delta) / users) + 8 * e0 / users
    return min(epsilon, log1p(tanh(epsilon / 2) * blurred))
