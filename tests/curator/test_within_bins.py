"""Values within bins: they stay in their bins, and follow the neighbouring counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from sottovoce.curator.within_bins import draw_numbers, draw_whole_numbers
from sottovoce.parties import Bins

EDGES = [
    (17.0, 30.0, 45.0, 90.0),
    (0.0, 1e-7, 2e-7, 0.3),
    (-5.5, -1.0, 0.0, 1e9),
    (0.1, 0.2, 0.30000000000000004, 0.7),
    (1e15, 1e15 + 2, 1e15 + 5),
]


@pytest.mark.parametrize("edges", EDGES)
def test_numbers_stay_in_their_bins(edges: tuple[float, ...]) -> None:
    generator = np.random.default_rng(5)
    codes = generator.integers(len(edges) - 1, size=20_000)
    numbers = draw_numbers(edges, codes, generator=generator)
    assert Bins(edges=edges).bins_of(numbers).tolist() == codes.tolist()
    # Rounding leaves texts of few digits, and keeps values apart.
    assert len(np.unique(numbers)) > 6
    if edges[0] == 17:
        assert max(len(str(number)) for number in numbers.tolist()) <= 5


@pytest.mark.parametrize("edges", [(17.0, 30.0, 45.5, 46.0, 90.0), (0.5, 1.5, 2.0), (3.0, 4.0)])
def test_whole_numbers_stay_in_their_bins_and_all_occur(edges: tuple[float, ...]) -> None:
    generator = np.random.default_rng(6)
    codes = np.repeat(np.arange(len(edges) - 1), 5000)
    numbers = draw_whole_numbers(edges, codes, generator=generator)
    assert Bins(edges=edges).bins_of(numbers.astype(float)).tolist() == codes.tolist()
    whole = [number for number in range(91) if edges[0] <= number <= edges[-1]]
    assert set(numbers.tolist()) == set(whole)


@pytest.mark.parametrize(
    "edges",
    [
        (1e-300, 1e-290, 1e-5, 1e10, 1e300),
        (-1e300, -1.0, 0.0, 1e-310, 1e300),
        (5e-324, 1e308),
        (0.0, 5e-324, 1e-323, 4e-323, 1e-321),
    ],
)
@pytest.mark.parametrize("power", [-3, 0, 3])
def test_bins_of_any_size_overflow_nowhere(edges: tuple[float, ...], power: int) -> None:
    """Heights, ratios of ends and products of them would be infinite, and draws not a number."""
    generator, ends = np.random.default_rng(4), np.array(edges)
    shares = np.arange(1.0, len(edges)) ** power
    codes = generator.choice(len(shares), 500, p=shares / shares.sum())
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        numbers = draw_numbers(edges, codes, generator=generator)
    assert ((numbers >= ends[codes]) & (numbers <= ends[codes + 1])).all()


def test_a_bin_leans_to_the_side_of_its_larger_neighbour() -> None:
    """Counts 3:2:1 have slope -1, so the middle bin's mean is 1/24 below its middle.

    The mean of a line 1 + a (2 t - 1) is 1/2 + a/6, here with a = -1/4; at the ends a = -1/6 and
    -1/2. A bound of six standard deviations fails with probability below 1e-8.
    """
    codes = np.repeat([0, 1, 2], [300_000, 200_000, 100_000])
    numbers = draw_numbers([0, 1, 2, 3], codes, generator=np.random.default_rng(7))
    for code, tilt in enumerate((-1 / 6, -1 / 4, -1 / 2)):
        within = numbers[codes == code] - code
        deviation = 1 / np.sqrt(12 * len(within))
        assert abs(within.mean() - (0.5 + tilt / 6)) < 6 * deviation


def test_a_peak_is_level() -> None:
    """At a peak a draw is uniform; the test fails by chance with probability 1e-7."""
    codes = np.repeat([0, 1, 2], [1000, 60_000, 1000])
    numbers = draw_whole_numbers([0, 6, 12, 18], codes, generator=np.random.default_rng(8))
    counts = np.bincount(numbers[codes == 1], minlength=13)[7:]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-7


def test_lines_are_nearer_to_a_smooth_distribution_than_levels() -> None:
    edges = np.arange(0.0, 101, 10)
    real = np.random.default_rng(9).exponential(15, 200_000)
    real = real[real < 100]
    codes = np.searchsorted(edges, real, side="left") - 1
    lines = draw_numbers([*edges], codes, generator=np.random.default_rng(10))
    levels = edges[codes] + 10 * np.random.default_rng(10).random(len(codes))
    distances = [stats.wasserstein_distance(real, drawn) for drawn in (lines, levels)]
    # Levels are off by width² / (12 scale) of each value, on average half of that beneath.
    assert distances[0] < distances[1] / 3


def test_a_single_bin_and_no_rows() -> None:
    generator = np.random.default_rng(11)
    numbers = draw_numbers([0, 1], np.zeros(10_000, int), generator=generator)
    assert stats.kstest(numbers, "uniform").pvalue > 1e-7
    assert len(draw_numbers([0, 1, 2], np.zeros(0, int), generator=generator)) == 0
    assert len(draw_whole_numbers([0, 1, 2], np.zeros(0, int), generator=generator)) == 0


def test_an_empty_bin_beside_full_ones_stays_empty() -> None:
    for low, high in pairwise([0, 10, 20]):
        codes = np.full(100, low // 10)
        drawn = draw_numbers([0, 10, 20], codes, generator=np.random.default_rng(12))
        assert ((drawn > low) & (drawn <= high)).all()


TAILS = {
    "lognormal": lambda generator: generator.lognormal(8, 1.5, 20_000),
    "very long": lambda generator: generator.lognormal(7, 2.5, 20_000),
    "Pareto": lambda generator: 1000 * (generator.pareto(1.2, 20_000) + 1),
    "exponential": lambda generator: 1 + generator.exponential(100, 20_000),
    "below zero": lambda generator: -1000 * (generator.pareto(1.2, 20_000) + 1),
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("tail", TAILS)
def test_the_mean_of_a_long_tail_is_kept(tail: str, whole: bool) -> None:
    """The last of 16 bins of equally many rows has most of the sum, and begins far below its end.

    Along a line the mean of these tables would be up to 50 times too large.
    """
    real = TAILS[tail](np.random.default_rng(11))
    edges = np.unique(np.quantile(real, np.linspace(0, 1, 17)))
    codes = np.clip(np.searchsorted(edges, real, side="left") - 1, 0, 15)
    draw = draw_whole_numbers if whole else draw_numbers
    drawn = draw([*edges], codes, generator=np.random.default_rng(12))
    assert 0.6 < drawn.mean() / real.mean() < 1.6
    if not whole:
        assert Bins(edges=tuple(edges)).bins_of(drawn.astype(float)).tolist() == codes.tolist()


def test_a_long_bin_of_even_density_stays_even() -> None:
    """Uniform numbers from 1 to 100: the first of two bins is long, and nothing falls."""
    real = np.random.default_rng(13).uniform(1, 100, 50_000)
    codes = (real > 50).astype(int)
    drawn = draw_numbers([1, 50, 100], codes, generator=np.random.default_rng(14))
    assert stats.kstest(drawn, stats.uniform(1, 99).cdf).statistic < 0.02


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_density_that_falls_as_a_power_is_drawn_so(power: float) -> None:
    """Bins of one ratio: counts fall as the power says, so the draw has the exact law.

    The Kolmogorov-Smirnov test fails by chance with probability 1e-7.
    """
    edges = np.array([1.0, 5.0, 25.0, 125.0])
    weights = edges[:-1] ** (1 - power)
    counts = np.round(40_000 * weights / weights.sum()).astype(int)
    codes = np.repeat([0, 1, 2], counts)
    drawn = draw_numbers([*edges], codes, generator=np.random.default_rng(15))[codes == 2]
    grid = np.linspace(25, 125, 2001)
    primitive = np.log(grid) if power == 1 else grid ** (1 - power) / (1 - power)
    law = (primitive - primitive[0]) / (primitive[-1] - primitive[0])
    assert stats.kstest(drawn, lambda x: np.interp(x, grid, law)).pvalue > 1e-7
