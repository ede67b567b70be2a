"""Amplification by shuffling: the closed form, the law behind it, and enumerations."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations_with_replacement, product
from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from sottovoce.privacy.shuffling import shuffled_epsilon

Numbers = npt.NDArray[np.float64]


def delta_of(left: Numbers, right: Numbers, *, epsilon: float) -> float:
    """Compute the least delta for which both laws are within e^epsilon of each other."""
    return max(
        float(np.maximum(p - exp(epsilon) * q, 0).sum()) for p, q in ((left, right), (right, left))
    )


def delta_of_clones(epsilon0: float, *, users: int, epsilon: float) -> float:
    """Compute the delta of the law to which theorem 3.1 reduces every randomizer.

    Each other user looks like the first one's old value or like her new one with probability
    e^-epsilon0, and each is as likely. Among C such clones a report of the one's own kind is
    added, with probability e0 / (e0 + 1) of the right kind. Counts of C without 1e-15 of its
    probability are left out, which is added.
    """
    own = 1 / (1 + exp(-epsilon0))
    chance = exp(-epsilon0)
    least, most = binom.ppf([5e-16, 1 - 5e-16], users - 1, chance).astype(int)
    clones = np.arange(least, most + 1)[:, None]
    totals = [0.0, 0.0]
    weight = binom.pmf(clones, users - 1, chance)
    # Only counts within 9 standard deviations of C / 2 matter: the rest has less than 1e-17.
    spread = int(9 * np.sqrt(most) / 2 + 2)
    offsets = np.arange(-spread, spread + 1)[None, :]
    counts = clones // 2 + offsets
    same, other = (binom.pmf(counts - shift, clones, 0.5) for shift in (0, 1))
    old, new = own * other + (1 - own) * same, own * same + (1 - own) * other
    for index, (p, q) in enumerate(((old, new), (new, old))):
        totals[index] = float((weight * np.maximum(p - exp(epsilon) * q, 0)).sum())
    return max(totals) + 2e-15


def response(values: int, *, epsilon: float) -> Numbers:
    """Write randomized response as a matrix: a row for each value, a column for each answer."""
    matrix = np.ones((values, values)) + (exp(epsilon) - 1) * np.eye(values)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def enumerated_delta(matrix: Numbers, *, users: int, epsilon: float) -> float:
    """Find the largest delta over all neighbouring tables, by all answers of all users."""
    values = len(matrix)
    worst = 0.0
    for others in combinations_with_replacement(range(values), users - 1):
        laws = []
        for first in range(values):
            law: dict[tuple[int, ...], float] = defaultdict(float)
            for answers in product(range(values), repeat=users):
                chance = float(
                    np.prod([matrix[v, a] for v, a in zip((first, *others), answers, strict=True)])
                )
                law[tuple(np.bincount(answers, minlength=values))] += chance
            laws.append(law)
        for old, new in product(laws, laws):
            both = np.array([[old[key], new[key]] for key in old])
            worst = max(worst, delta_of(both[:, 0], both[:, 1], epsilon=epsilon))
    return worst


def binary_delta(epsilon0: float, *, users: int, epsilon: float) -> float:
    """Find the largest delta of shuffled answers of two values, over all neighbouring tables."""
    right = exp(epsilon0) / (1 + exp(epsilon0))
    worst = 0.0
    for ones in range(users):
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, right),
            binom.pmf(np.arange(users - ones), users - 1 - ones, 1 - right),
        )
        old, new = (np.convolve(others, law) for law in ((right, 1 - right), (1 - right, right)))
        worst = max(worst, delta_of(old, new, epsilon=epsilon))
    return worst


@pytest.mark.parametrize(
    ("epsilon0", "users", "delta", "expected"),
    [
        (1.0, 45_222, 1e-9, 0.127),
        (4.0, 45_222, 1e-9, 0.820),
        (0.5, 10_000, 1e-6, 0.0939),
        # The published implementation has 0.5378, by an older and weaker form of the theorem.
        (4.0, 100_000, 1e-6, 0.535),
    ],
)
def test_figures(epsilon0: float, users: int, delta: float, expected: float) -> None:
    assert shuffled_epsilon(epsilon0, users=users, delta=delta) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("users", [300, 3_000, 45_222])
def test_the_closed_form_covers_the_law_of_clones(users: int, delta: float) -> None:
    """Also at the border, where epsilon0 is as large as the theorem allows."""
    largest = log(users / (16 * log(2 / delta)))
    for part in (0.05, 0.3, 0.6, 0.9, 1.0):
        epsilon0 = part * largest
        if epsilon0 <= 0:
            continue
        epsilon = shuffled_epsilon(epsilon0, users=users, delta=delta)
        assert delta_of_clones(epsilon0, users=users, epsilon=epsilon) <= delta


@pytest.mark.parametrize(("users", "epsilon0"), [(100, 0.2), (100, 0.7), (400, 0.7), (400, 1.5)])
def test_the_closed_form_covers_randomized_response(users: int, epsilon0: float) -> None:
    for delta in (0.1, 0.02, 1e-3):
        epsilon = shuffled_epsilon(epsilon0, users=users, delta=delta)
        assert binary_delta(epsilon0, users=users, epsilon=epsilon) <= delta


@pytest.mark.parametrize(("values", "users"), [(2, 2), (2, 3), (2, 6), (3, 2), (3, 4)])
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 3.0])
def test_the_law_of_clones_covers_every_enumeration(
    values: int, users: int, epsilon0: float
) -> None:
    """All answers of all users, for all neighbouring tables."""
    matrix = response(values, epsilon=epsilon0)
    for epsilon in (0.0, 0.1 * epsilon0, 0.5 * epsilon0, 0.9 * epsilon0):
        worst = enumerated_delta(matrix, users=users, epsilon=epsilon)
        if values == 2:
            binary = binary_delta(epsilon0, users=users, epsilon=epsilon)
            assert worst == pytest.approx(binary, abs=1e-12)
        bound = delta_of_clones(epsilon0, users=users, epsilon=epsilon)
        assert 0 < worst <= bound + 1e-12


def test_without_enough_users_nothing_is_gained() -> None:
    border = 16 * log(2 / 1e-9) * exp(2.0)
    assert shuffled_epsilon(2.0, users=int(border), delta=1e-9) == 2.0
    assert shuffled_epsilon(2.0, users=int(border) + 1, delta=1e-9) < 2.0
    assert shuffled_epsilon(0.01, users=400, delta=1e-9) <= 0.01
    assert shuffled_epsilon(1.0, users=10**9, delta=0.0) == 1.0
    assert shuffled_epsilon(float("inf"), users=10**9, delta=1e-9) == float("inf")
    assert shuffled_epsilon(0.0, users=10**6, delta=1e-9) == 0.0


@pytest.mark.parametrize(
    ("epsilon", "users", "delta"), [(-1.0, 5, 0.1), (float("nan"), 5, 0.1), (1, 0, 0.1), (1, 5, 1)]
)
def test_impossible_arguments_are_refused(epsilon: float, users: int, delta: float) -> None:
    with pytest.raises(ValueError, match="expected an epsilon of at least 0, at least one user"):
        shuffled_epsilon(epsilon, users=users, delta=delta)
