"""Discrete Laplace noise against its exact law."""

import math
from collections import Counter
from fractions import Fraction

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import laplace
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
    # Chi-square with `cells` degrees of freedom exceeds this with probability 1e-7 (Wilson and
    # Hilferty).
    bound = cells * (1 - 2 / (9 * cells) + 5.2 * math.sqrt(2 / (9 * cells))) ** 3
    assert statistic < bound


def test_impossible_sensitivities_and_epsilons_are_refused() -> None:
    for arguments in (
        {"sensitivity": 0, "epsilon": 1.0},
        {"sensitivity": 1, "epsilon": 0.0},
        {"sensitivity": 1, "epsilon": math.inf},
    ):
        with pytest.raises(ValueError, match="expected a"):
            laplace(5, **arguments)  # type: ignore[arg-type]


def test_the_value_is_not_shown() -> None:
    assert "31337" not in repr(laplace(31337, sensitivity=1, epsilon=1))
