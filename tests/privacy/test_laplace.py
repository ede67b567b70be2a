"""Discrete Laplace noise against its exact law, and the accountant who stands before it."""

import math
from collections import Counter
from fractions import Fraction

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError
from sottovoce.privacy import Accountant, Release, epsilon_by_view, laplace
from sottovoce.privacy.laplace import two_sided_geometric


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.1, 1), (0.5, 1), (1.0, 2), (2.0, 1), (3.7, 3)]
)
def test_the_noise_has_its_exact_law(epsilon: float, sensitivity: int) -> None:
    stream = RandomStream(bytes(31) + b"\7")
    draws = 20_000
    rate = epsilon / sensitivity
    counts = Counter(
        two_sided_geometric(Fraction(epsilon) / sensitivity, stream) for _ in range(draws)
    )
    q = math.exp(-rate)
    edge = next(x for x in range(1000) if draws * (1 - q) / (1 + q) * q ** (x + 1) < 20)
    statistic, cells = 0.0, 0
    for x in range(-edge, edge + 1):
        expected = draws * (1 - q) / (1 + q) * q ** abs(x)
        statistic += (counts[x] - expected) ** 2 / expected
        cells += 1
    tail = draws * 2 * q ** (edge + 1) / (1 + q)
    statistic += (sum(n for x, n in counts.items() if abs(x) > edge) - tail) ** 2 / max(tail, 1)
    # Wilson and Hilferty: chi-square with `cells` degrees of freedom is below this but for a chance
    # of 1e-7.
    bound = cells * (1 - 2 / (9 * cells) + 5.2 * math.sqrt(2 / (9 * cells))) ** 3
    assert statistic < bound


def test_sensitivity_and_epsilon_must_make_sense() -> None:
    for given in (
        {"sensitivity": 0, "epsilon": 1.0},
        {"sensitivity": 1, "epsilon": 0.0},
        {"sensitivity": 1, "epsilon": math.inf},
    ):
        with pytest.raises(ValueError, match="expected a"):
            laplace(5, **given)  # type: ignore[arg-type]


def test_the_value_is_not_shown() -> None:
    assert "31337" not in repr(laplace(31337, sensitivity=1, epsilon=1))


class Counting(RandomStream):
    draws = 0

    def draw(self, length: int) -> bytes:
        self.draws += 1
        return super().draw(length)


def test_nothing_is_drawn_beyond_the_budget() -> None:
    accountant = Accountant(party=2, parties=3, budget=1.0, neighbours="add-or-remove-one")
    stream = Counting(bytes(32))
    for _ in range(3):
        accountant.release(
            laplace(0, sensitivity=1, epsilon=1 / 3), to=0, phase="p", randomness=stream
        )
    drawn, spent = stream.draws, accountant.spent
    with pytest.raises(BudgetError, match=r"at most epsilon 1 on party 2's records, found 1\.01"):
        accountant.release(
            laplace(0, sensitivity=1, epsilon=0.01), to=0, phase="p", randomness=stream
        )
    assert (stream.draws, accountant.spent, len(accountant.releases)) == (drawn, spent, 3)


def test_views_and_parties() -> None:
    def release(party: int, epsilon: float, to: int) -> Release:
        seen = dict.fromkeys(
            ("public", "curator", "other_party") if to == 0 else ("other_party",), epsilon
        )
        return Release(party, "p", "m", 1, 1, epsilon, to, seen)

    views = epsilon_by_view(
        [release(1, 0.5, 0), release(1, 0.25, 2), release(2, 0.6, 0)], parties=2
    )
    assert views["by_party"]["1"] == {
        "curator": 0.5,
        "public": 0.5,
        "other_party": 0.75,
        "curator_and_1": 0,
    }
    assert views["epsilon"] == {"curator": 0.6, "public": 0.6, "other_party": 0.75}
