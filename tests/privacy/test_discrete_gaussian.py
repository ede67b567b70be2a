"""The discrete Gaussian law equals exact arithmetic.

Each statistical test has a fixed seed, and would fail by chance with probability 1e-7.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.privacy.discrete_gaussian import (
    BITS,
    CHUNK,
    MAX_VARIANCE,
    WORD_BITS,
    DiscreteGaussian,
    discrete_gaussian,
)

CHANCE = 1e-7
VARIANCES = [
    Fraction(1, 10**6),
    Fraction(9, 100),
    Fraction(1, 3),
    Fraction(5, 2),
    Fraction(100),
    Fraction(127**2),
    Fraction(128**2),
    Fraction(10**7, 3),
    Fraction(10**12),
    Fraction(2**80),
    Fraction(MAX_VARIANCE),
]


def sample(variance: Fraction, count: int, salt: bytes = b"g") -> np.ndarray:
    return DiscreteGaussian(variance=variance).draw(count, randomness=RandomStream(salt * 32))


def chances_of_bins(variance: Fraction, borders: np.ndarray) -> np.ndarray:
    """Compute P[X <= border] for each border, and make it the chances of the bins between."""
    deviation = math.sqrt(variance)
    if deviation < 1000:
        reach = math.ceil(14 * deviation) + 1
        x = np.arange(-reach, reach + 1)
        law = np.exp(-(x**2) / (2 * float(variance)))
        below = np.cumsum(law / law.sum())[borders + reach]
    else:
        # The sum differs from the integral by less than 1 / variance, relatively.
        below = stats.norm.cdf((borders + 0.5) / deviation)
    return np.diff([0.0, *below, 1.0])


@pytest.mark.parametrize("variance", VARIANCES)
def test_draws_have_the_law(variance: Fraction) -> None:
    count = 400_000
    values, deviation = sample(variance, count), math.sqrt(variance)
    points = stats.norm.ppf([1e-4, 1e-3, 0.01, *np.linspace(0.02, 0.98, 49), 0.99, 0.999, 0.9999])
    borders = np.unique(np.round(points * deviation)).astype(np.int64)
    chances = chances_of_bins(variance, borders)
    counts = np.bincount(np.searchsorted(borders, values), minlength=len(chances))
    used = chances * count > 5
    assert counts[~used].sum() < 60
    if used.sum() > 1:
        assert (
            stats.chisquare(
                counts[used], chances[used] / chances[used].sum() * counts[used].sum()
            ).pvalue
            > CHANCE
        )


@pytest.mark.parametrize("variance", [Fraction(10**12), Fraction(2**80)])
def test_every_digit_of_large_draws(variance: Fraction) -> None:
    """Ten binary digits are uniform: the lowest, and those around the size of a block."""
    values = sample(variance, 400_000)
    block = DiscreteGaussian(variance=variance)._bits
    for lowest in (0, block - 5):
        counts = np.bincount((values >> lowest) & 1023, minlength=1024)
        assert stats.chisquare(counts).pvalue > CHANCE


def test_moments_and_tails_at_a_million() -> None:
    count, deviation = 2_000_000, 10**6
    values = sample(Fraction(deviation**2), count) / deviation
    quantile = stats.norm.isf(CHANCE / 2)
    # Powers of a normal variable have the variances 1, 2, 15 and 96.
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((values**power).mean() - mean) < quantile * math.sqrt(variance / count)
    for border in (1, 2, 3, 4, 5):
        hits = int((np.abs(values) > border).sum())
        assert stats.binomtest(hits, count, 2 * stats.norm.sf(border)).pvalue > CHANCE


def exact_masses(variance: Fraction, starts: list[int]) -> list[gmpy2.mpfr]:
    """Compute exp(-start^2 / 2 variance) with 400 bits, as parts of their sum."""
    twice = 2 * gmpy2.mpfr(variance.numerator) / variance.denominator
    masses = [gmpy2.exp(-gmpy2.mpfr(start * start) / twice) for start in starts]
    total = sum(masses, start=gmpy2.mpfr(0))
    return [mass / total for mass in masses]


@pytest.mark.parametrize("variance", VARIANCES)
def test_tables_express_the_law_to_the_last_bits(variance: Fraction) -> None:
    """The law that the alias tables mean, added up, differs by less than 2^-113 from the exact."""
    law = DiscreteGaussian(variance=variance)
    bins = 1 << law._index_bits
    size = (1 << BITS) >> law._index_bits
    meant: dict[int, int] = {}
    for index in range(bins):
        threshold = (int(law._high[index]) << WORD_BITS) + law._low[index]
        for start, weight in (
            (int(law._starts[index]), threshold),
            (int(law._other_starts[index]), size - threshold),
        ):
            meant[start] = meant.get(start, 0) + weight
    with gmpy2.context(precision=400):
        # What the tables leave out counts as an error, too.
        width = 1 << law._bits
        blocks = math.isqrt(math.ceil(variance)) * 16 // width + 16
        starts = [s for i in range(blocks) for s in (i * width, -1 - i * width)]
        errors = [
            abs(gmpy2.mpfr(meant.pop(start, 0)) / (1 << BITS) - mass)
            for start, mass in zip(starts, exact_masses(variance, starts), strict=True)
        ]
        assert not any(meant.values())
        assert sum(errors) / 2 < gmpy2.mpfr(2) ** -113


class _ScriptedStream:
    """A stream that returns given words, and then given integers."""

    def __init__(self, words: list[int], integers: list[int] | None = None) -> None:
        self._words = words
        self._integers = integers or []
        self.bounds: list[int] = []

    def draw(self, length: int) -> bytes:
        assert length == 8 * len(self._words)
        return np.array(self._words, "<u8").tobytes()

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        return self._integers.pop(0)


@pytest.mark.parametrize("variance", [v for v in VARIANCES if v >= 128**2])
def test_acceptance_is_right_to_the_last_bit(variance: Fraction) -> None:
    """The filter in floating point never decides against 400-bit arithmetic, however close."""
    law = DiscreteGaussian(variance=variance)
    generator = np.random.default_rng(5)
    more_bits = BITS - WORD_BITS + law._bits
    sizes, places, rests, expected, integers = [], [], [], [], []
    with gmpy2.context(precision=400):
        for _ in range(400):
            size = abs(int(generator.choice(law._starts)))
            place = int(generator.integers(0, 1 << law._bits))
            exponent = Fraction(place * (2 * size + place)) / (2 * variance)
            likelihood = gmpy2.exp(-gmpy2.mpfr(exponent.numerator) / exponent.denominator)
            edge = int(gmpy2.floor(likelihood * (1 << BITS)))
            for off in (-(1 << (more_bits + 9)), -(1 << more_bits), -1, 0, 1 << more_bits):
                word = edge + off
                if not 0 <= word < 1 << BITS:
                    continue
                sizes.append(size)
                places.append(place)
                rests.append(word >> more_bits)
                expected.append(word < edge)
                if word >> more_bits == edge >> more_bits:
                    integers.append(word & ((1 << more_bits) - 1))
    stream = _ScriptedStream([], integers)
    accepted = law._accepted(
        np.array(sizes, np.int64),
        np.array(places, np.int64),
        np.array(rests, np.uint64),
        stream,  # type: ignore[arg-type]
    )
    assert accepted.tolist() == expected
    # Further bits are drawn on ties alone.
    assert not integers
    assert set(stream.bounds) == {1 << more_bits}


def test_ties_between_blocks_are_decided_by_the_next_64_bits() -> None:
    law = DiscreteGaussian(variance=Fraction(100))
    index = next(i for i, low in enumerate(law._low) if low and law._starts[i])
    word = (index << (WORD_BITS - law._index_bits)) + int(law._high[index])
    first, second = int(law._starts[index]), int(law._other_starts[index])
    assert first != second
    for low, expected in ((law._low[index] - 1, first), (law._low[index], second)):
        stream = _ScriptedStream([word], [low])
        assert law.draw(1, randomness=stream).tolist() == [expected]  # type: ignore[arg-type]
        assert stream.bounds == [1 << WORD_BITS]


def test_seeded_draws_repeat_and_differ() -> None:
    for variance in VARIANCES:
        assert np.array_equal(sample(variance, 100), sample(variance, 100))
    assert not np.array_equal(sample(Fraction(100), 100), sample(Fraction(100), 100, b"z"))
    for variance in (Fraction(100), Fraction(10**12)):
        assert [len(sample(variance, count)) for count in (0, 1, CHUNK + 5)] == [0, 1, CHUNK + 5]


def test_seeded_draws_are_the_same_on_every_machine() -> None:
    """These vectors hold on any machine; a change of them changes every seeded run."""
    assert sample(Fraction(100), 8).tolist() == [-9, -5, -7, -12, 9, 3, 2, -19]
    assert sample(Fraction(10**12), 6).tolist() == [
        -788923,
        -390106,
        -633220,
        -1094041,
        -1079622,
        320552,
    ]


def test_a_law_is_made_once() -> None:
    assert discrete_gaussian(variance=Fraction(7)) is discrete_gaussian(variance=Fraction(7))


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(MAX_VARIANCE + 1)])
def test_impossible_variances_are_refused(variance: Fraction) -> None:
    with pytest.raises(ValueError, match=r"above 0 and at most 2\*\*92"):
        DiscreteGaussian(variance=variance)
