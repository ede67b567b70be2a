"""The negative binomial law equals scipy's distribution and exact integer arithmetic.

Each chi-square test has a fixed seed, and would fail by chance with probability 1e-7.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.privacy.arguments import SmallBudgetError
from sottovoce.privacy.negative_binomial import EXACT_BELOW, NegativeBinomial, kershaw_bounds

CHANCE = 1e-7
LAWS = [
    (Fraction(1, 2), Fraction(1, 2280)),
    (Fraction(1), Fraction(1, 40)),
    (Fraction(1, 9), Fraction(1, 4)),
    (Fraction(1, 15), Fraction(1, 30_000)),
    (Fraction(1, 3), Fraction(5)),
    (Fraction(1, 2), Fraction(1, 10**7)),
    (Fraction(1), Fraction(1, 10**6)),
]


def sample(shape: Fraction, rate: Fraction, count: int, salt: bytes = b"q") -> np.ndarray:
    return NegativeBinomial(shape=shape, rate=rate).draw(count, randomness=RandomStream(salt * 32))


@pytest.mark.parametrize(("shape", "rate"), LAWS)
def test_draws_have_the_law(shape: Fraction, rate: Fraction) -> None:
    values = sample(shape, rate, 300_000)
    law = stats.nbinom(float(shape), -math.expm1(-float(rate)))
    # Bins at quantiles, finer in the tail.
    borders = np.unique(law.ppf([*np.linspace(0.02, 0.98, 49), 0.99, 0.999, 0.9999]))
    chances = np.diff([0.0, *law.cdf(borders), 1.0])
    counts = np.bincount(np.searchsorted(borders, values), minlength=len(chances))
    used = chances * len(values) > 5
    folded = (
        np.append(counts[used], counts[~used].sum()),
        np.append(chances[used], chances[~used].sum()),
    )
    keep = folded[1] > 0
    assert (
        stats.chisquare(
            folded[0][keep], folded[1][keep] / folded[1][keep].sum() * len(values)
        ).pvalue
        > CHANCE
    )


def test_the_law_at_the_smallest_values() -> None:
    """The specification's share has P[0] = 0.1451842673 and variance 90 (r = 1/2, alpha = 0.9)."""
    rate = -Fraction(math.log(0.9))
    values = sample(Fraction(1, 2), rate, 400_000)
    # NB's pmf at 0 is sqrt(0.1). That of the difference of two is the specification's figure.
    others = sample(Fraction(1, 2), rate, 400_000, b"r")
    hits = int((values == others).sum())
    assert stats.binomtest(hits, 400_000, 0.1451842673).pvalue > CHANCE
    assert stats.binomtest(int((values == 0).sum()), 400_000, math.sqrt(0.1)).pvalue > CHANCE
    assert np.var((values - others).astype(float)) == pytest.approx(90, rel=0.03)


def test_shares_add_up_to_the_two_sided_geometric_law() -> None:
    """The specification has pmf(0) = 0.0526315789 and pmf(3) = 0.0383684210 for alpha = 0.9."""
    rate, count = -Fraction(math.log(0.9)), 300_000
    for shares in (1, 2, 5):
        law = NegativeBinomial(shape=Fraction(1, shares), rate=rate)
        stream = RandomStream(bytes([shares]) * 32)
        total = sum(
            law.draw(count, randomness=stream) - law.draw(count, randomness=stream)
            for _ in range(shares)
        )
        assert isinstance(total, np.ndarray)
        alpha = 0.9
        exact = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-60, 61))
        assert exact[60] == pytest.approx(0.0526315789)
        assert exact[63] == pytest.approx(0.0383684210)
        counts = np.bincount(np.clip(total, -61, 61) + 61, minlength=123)
        chances = np.concatenate([[(1 - exact.sum()) / 2], exact, [(1 - exact.sum()) / 2]])
        assert stats.chisquare(counts, chances * count).pvalue > CHANCE


@pytest.mark.parametrize(
    ("shape", "rate"), [(Fraction(1, 2), Fraction(1, 2280)), (Fraction(1, 9), Fraction(1, 300))]
)
def test_acceptance_is_right_to_the_last_bit(shape: Fraction, rate: Fraction) -> None:
    """The filter in floating point never decides against 400-bit arithmetic, however close."""
    law = NegativeBinomial(shape=shape, rate=rate)
    generator = np.random.default_rng(4)
    sizes = np.concatenate(
        [
            [EXACT_BELOW - 1, EXACT_BELOW, EXACT_BELOW + 1, 8191, 8192],
            generator.integers(1, 16_000, 300),
        ]
    )
    values, words = [], []
    with gmpy2.context(precision=400):
        r = gmpy2.mpfr(shape.numerator) / shape.denominator
        for j in map(int, sizes):
            start = 1 << (j.bit_length() - 1)

            def rho(k: int, r: gmpy2.mpfr = r) -> gmpy2.mpfr:
                return gmpy2.exp(
                    gmpy2.lngamma(k + r) - gmpy2.lngamma(gmpy2.mpfr(k + 1)) - gmpy2.lngamma(r)
                )

            edge = int(gmpy2.floor(rho(j) / rho(start) * (1 << 128)))
            for off in (-(1 << 110), -(1 << 70), -(1 << 20), 1 << 20, 1 << 70, 1 << 110):
                if j != start and 0 <= edge + off < 1 << 128:
                    values.append(j)
                    words.append((edge + off, off < 0))
    stream = _ScriptedStream(
        np.array([w >> 64 for w, _ in words], "<u8").tobytes(),
        np.array([w & (2**64 - 1) for w, _ in words], "<u8").tobytes(),
    )
    blocks = np.array([j.bit_length() for j in values])
    accepted = law._accepted(np.array(values, np.int64), blocks, stream)  # type: ignore[arg-type]
    assert accepted.tolist() == [expected for _, expected in words]


class _ScriptedStream:
    """A stream that returns given bytes."""

    def __init__(self, *draws: bytes) -> None:
        self._draws = list(draws)

    def draw(self, length: int) -> bytes:
        data = self._draws.pop(0)
        assert len(data) == length
        return data


@pytest.mark.parametrize("shape", [0.01, 1 / 3, 0.5, 0.99])
def test_kershaws_bounds_hold_and_are_tight(shape: float) -> None:
    """Referee: the gamma function with 256 bits. Few candidates lie between the bounds."""
    values = np.array([EXACT_BELOW, EXACT_BELOW + 1, 10**4, 10**6, 10**9, 10**12], float)
    lower, upper = kershaw_bounds(values, shape)
    with gmpy2.context(precision=256):
        for value, low, high in zip(values.tolist(), lower.tolist(), upper.tolist(), strict=True):
            j = gmpy2.mpfr(value)
            exact = gmpy2.exp(gmpy2.lngamma(j + gmpy2.mpfr(shape)) - gmpy2.lngamma(j + 1))
            assert low < exact < high
            assert 0 < high / low - 1 < 3e-12 + 0.07 / j


def test_ties_are_decided_by_the_next_64_bits() -> None:
    law = NegativeBinomial(shape=Fraction(1), rate=Fraction(1, 8))
    high, low = (int(words[0]) for words in law._borders)

    class Tie:
        def __init__(self, second: int) -> None:
            self.second = second

        def draw(self, length: int) -> bytes:
            return high.to_bytes(8, "little") * (length // 8)

        def below(self, bound: int) -> int:
            return self.second

    assert law._block(3, Tie(low - 1)).tolist() == [0, 0, 0]  # type: ignore[arg-type]
    assert law._block(3, Tie(low)).tolist() == [1, 1, 1]  # type: ignore[arg-type]


def test_seeded_draws_repeat_and_differ() -> None:
    for shape, rate in LAWS:
        assert np.array_equal(sample(shape, rate, 100), sample(shape, rate, 100))
    assert not np.array_equal(sample(*LAWS[0], 100), sample(*LAWS[0], 100, b"z"))
    assert len(sample(*LAWS[0], 0)) == 0


@pytest.mark.parametrize(
    ("shape", "rate", "message"),
    [
        (Fraction(2), Fraction(1), "shape"),
        (Fraction(0), Fraction(1), "shape"),
        (Fraction(1), Fraction(0), "rate"),
        (Fraction(1), Fraction(1, 2**70), "choose a larger epsilon"),
    ],
)
def test_impossible_parameters_are_refused(shape: Fraction, rate: Fraction, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NegativeBinomial(shape=shape, rate=rate)


def test_the_smallest_rate_is_one_whose_values_stay_below_2_to_the_60() -> None:
    """A larger value has a chance of exp(-rate 2^60), of which 2^-128 (1 - exp(-rate)) is let go.

    The limit is found by bisection. Sums of several values fit into 64 bits.
    """
    low, high = Fraction(1, 2**60), Fraction(1, 2**50)
    for _ in range(40):
        middle = (low + high) / 2
        chance = -float(middle) * 2.0**60 - math.log(-math.expm1(-float(middle)))
        low, high = (low, middle) if chance < -128 * math.log(2) else (middle, high)
    with pytest.raises(SmallBudgetError, match=r"expected noise below 2\*\*60"):
        NegativeBinomial(shape=Fraction(1), rate=low * (1 - Fraction(1, 10**6)))
    law = NegativeBinomial(shape=Fraction(1), rate=high * (1 + Fraction(1, 10**6)))
    values = law.draw(100_000, randomness=RandomStream(b"s" * 32))
    assert values.max() < 2**60
    scaled = values * float(high)
    assert stats.kstest(scaled, stats.expon.cdf).pvalue > CHANCE
