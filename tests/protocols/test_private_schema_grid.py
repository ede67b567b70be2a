"""Bins from noisy counts on a public grid: against the true quantiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.parties.bins import Bins
from sottovoce.protocols.private_schema.grid import (
    COARSE_EDGES,
    Histogram,
    _ranks,
    _rounded,
    finer_edges,
    quantile_edges,
)

ROWS = 20_000
Numbers = npt.NDArray[np.float64]


def histogram(values: Numbers, edges: Numbers, *, deviation: float, seed: int = 0) -> Histogram:
    """Count values as parties do, and add noise of this standard deviation."""
    bins = Bins(edges=tuple(edges.tolist()), clip=True)
    counts = np.bincount(bins.bins_of(values), minlength=len(edges) - 1)
    noise = np.random.default_rng(seed).normal(0, deviation, len(counts))
    return Histogram(edges, (counts + noise).astype(np.float64), deviation**2)


def learn(
    values: Numbers, *, bins: int, deviation: float, rounds: int = 2, whole: bool = False
) -> Numbers:
    histograms = [histogram(values, COARSE_EDGES, deviation=deviation)]
    for seed in range(1, rounds):
        edges = finer_edges(histograms, rows=len(values), bins=bins, whole=whole)
        histograms.append(histogram(values, edges, deviation=deviation, seed=seed))
    return quantile_edges(histograms, rows=len(values), bins=bins, whole=whole)


def rank_errors(values: Numbers, edges: Numbers) -> Numbers:
    """Give how far the share of rows up to each inner edge is from the share that was asked for."""
    shares = np.arange(1, len(edges) - 1) / (len(edges) - 1)
    upper = np.searchsorted(np.sort(values), edges[1:-1], side="right") / len(values)
    return np.abs(upper - shares)


LAWS = {
    "normal": lambda generator: generator.normal(50, 10, ROWS),
    "around zero": lambda generator: generator.normal(0, 3, ROWS),
    "negative": lambda generator: -generator.exponential(40, ROWS),
    "heavy tail": lambda generator: generator.lognormal(3, 2, ROWS),
    "small": lambda generator: generator.uniform(0.001, 0.009, ROWS),
    "large": lambda generator: generator.uniform(2e7, 9e8, ROWS),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("deviation", "error"), [(0.0, 0.045), (60.0, 0.05)])
def test_edges_are_close_to_quantiles(law: str, deviation: float, error: float) -> None:
    values = LAWS[law](np.random.default_rng(7))
    edges = learn(values, bins=8, deviation=deviation)
    assert len(edges) == 9
    assert rank_errors(values, edges).max() < error


def test_a_third_histogram_finds_a_narrow_range() -> None:
    values = np.random.default_rng(3).normal(0.98, 0.003, ROWS)
    two, three = (
        rank_errors(values, learn(values, bins=16, deviation=5, rounds=rounds)).mean()
        for rounds in (2, 3)
    )
    assert three < two / 2


@pytest.mark.parametrize("place", [0, 2, 4])
def test_ranks_rise_from_no_row_to_all_rows(place: int) -> None:
    """Where noise makes a count negative, no rank is below 0, falls, or exceeds the rows."""
    counts = np.full(5, 25.0)
    counts[place] = -60.0
    coarse = Histogram(np.array([0.0, 10.0]), np.array([100.0]), 4.0)
    finer = Histogram(np.linspace(0.0, 10.0, 6), counts, 100.0)
    _, ranks = _ranks([coarse, finer], rows=100)
    assert ranks[0] == 0
    assert ranks[-1] == 100
    assert (np.diff(ranks) >= 0).all()
    assert ranks[place + 1] == ranks[place]  # nobody is in the cell


def test_zeros_are_never_split() -> None:
    """Most rows are 0, and the edge after them is 0 itself."""
    generator = np.random.default_rng(5)
    values = np.where(generator.random(ROWS) < 0.7, 0.0, generator.exponential(30, ROWS))
    edges = learn(values, bins=10, deviation=30)
    assert edges[0] < 0
    assert edges[1] == 0
    assert len(edges) >= 4


@pytest.mark.parametrize("deviation", [0.0, 60.0])
def test_few_whole_numbers_have_a_bin_each(deviation: float) -> None:
    numbers = np.array([1.0, 2.0, 3.0, 4.0])
    values = np.random.default_rng(5).choice(numbers, p=[0.3, 0.3, 0.2, 0.2], size=ROWS)
    assert learn(values, bins=8, deviation=deviation, whole=True).tolist() == [0, 1, 2, 3, 5]
    counts = np.random.default_rng(5).poisson(30, ROWS).astype(float)
    edges = learn(counts, bins=8, deviation=deviation, whole=True)
    assert (edges == np.rint(edges)).all()
    assert (
        np.abs(np.diff(np.searchsorted(np.sort(counts), edges, "right")) / ROWS - 1 / 8).max()
        < 0.08
    )


@pytest.mark.parametrize(("count", "first"), [(20.0, 2.0), (21.0, 1.0), (29.0, 1.0)])
def test_a_cell_within_two_deviations_of_the_noise_is_empty(count: float, first: float) -> None:
    """Beside a full cell it belongs to the range from the first count above 20 on."""
    edges, counts = np.arange(6.0), np.array([0.0, count, 60.0, 0.0, 0.0])
    occupied = Histogram(edges, counts, 100.0).occupied()
    assert occupied.edges.tolist() == [first, *range(int(first) + 1, 4)]


@pytest.mark.parametrize(("count", "is_kept"), [(40.0, False), (41.0, True)])
@pytest.mark.parametrize("scale", [0.02, 1.0, 50.0])
def test_a_cell_alone_stands_out_by_four_deviations(
    count: float, is_kept: bool, scale: float
) -> None:
    """By the deviation of the noise, whatever the size of both."""
    counts = np.array([count, 0.0, 0.0, 90.0, 0.0]) * scale
    occupied = Histogram(np.arange(6.0), counts, 100.0 * scale**2).occupied()
    assert (occupied.edges[0] == 0.0) == is_kept


def test_whole_numbers_have_whole_edges_of_about_equally_many_rows() -> None:
    values = np.random.default_rng(4).integers(0, 1000, ROWS).astype(float)
    coarse = histogram(values, COARSE_EDGES, deviation=0.0)
    edges = finer_edges([coarse], rows=ROWS, bins=8, whole=True)
    assert len(edges) == 9
    assert (edges[1:-1] == np.rint(edges[1:-1])).all()
    plain = finer_edges([coarse], rows=ROWS, bins=8, whole=False)
    assert np.abs(edges - plain).max() <= 0.5


def test_noise_alone_has_no_range() -> None:
    """The fullest of 127 cells of noise exceeds 5 deviations with a probability below 4e-5."""
    noise = histogram(np.zeros(0), COARSE_EDGES, deviation=100)
    assert not noise.has_range
    assert histogram(np.full(1000, 5.0), COARSE_EDGES, deviation=100).has_range


def test_fewer_bins_where_the_noise_carries_no_more() -> None:
    values = np.random.default_rng(1).normal(50, 10, ROWS)
    counts = [len(learn(values, bins=16, deviation=deviation)) - 1 for deviation in (0, 1000, 2500)]
    assert counts[0] == 16
    assert counts[1] <= 10
    assert counts[2] <= 4
    assert counts[2] >= 2


def test_one_value_gives_bins_that_hold_it() -> None:
    edges = learn(np.full(ROWS, 7.0), bins=4, deviation=10)
    bins = Bins(edges=tuple(edges.tolist()), clip=True)
    assert edges[0] < 7 <= edges[-1]
    assert bins.bins_of(np.array([7.0]))[0] >= 0


def test_edges_have_few_digits() -> None:
    """Rounding moves an edge by a twentieth of a bin at most, so that labels can be read."""
    edges = learn(np.random.default_rng(2).normal(50, 10, ROWS), bins=8, deviation=20)
    assert all(len(f"{edge:g}") <= 5 for edge in edges)


def test_the_coarse_grid_has_steps_of_at_most_two_and_a_half() -> None:
    """It reaches from 10^-9 to 10^12 on both sides of 0, so all usual units have their cells."""
    positive = COARSE_EDGES[COARSE_EDGES > 0]
    assert COARSE_EDGES.tolist() == [*(-positive[::-1]), 0.0, *positive]
    assert (positive[0], positive[-1]) == (1e-9, 1e12)
    assert np.diff(np.log10(positive)).min() > 0.3
    assert np.diff(np.log10(positive)).max() < 0.4
    assert {float(f"1e{power}") for power in range(-9, 13)} <= {*positive.tolist()}


@pytest.mark.parametrize("highest", [3, 5, 8, 40])
def test_inner_edges_of_whole_numbers_are_the_others_rounded(highest: int) -> None:
    values = np.random.default_rng(2).integers(0, highest, ROWS).astype(np.float64)
    coarse = histogram(values, COARSE_EDGES, deviation=0.0)
    low, *inner, high = finer_edges([coarse], rows=ROWS, bins=12, whole=False).tolist()
    rounded = {float(round(edge)) for edge in inner}
    whole = finer_edges([coarse], rows=ROWS, bins=12, whole=True).tolist()
    assert whole == [low, *sorted(edge for edge in rounded if low < edge < high), high]
    assert rounded != {*inner}


@pytest.mark.parametrize(("tolerance", "moved"), [(0.5, 10.0), (0.4, 10.5), (0.0, 10.5)])
def test_an_edge_may_move_by_its_whole_tolerance(tolerance: float, moved: float) -> None:
    assert _rounded(np.array([10.5]), tolerance=np.array([tolerance])).tolist() == [moved]
