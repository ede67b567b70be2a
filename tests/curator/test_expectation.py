"""Expectation and maximisation, against loops over users and against closed forms."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from sottovoce.curator import expectation
from sottovoce.curator.expectation import MIN_CHANGE, most_likely, repeat_steps
from sottovoce.privacy.local.per_attribute import likelihood


def written_out(
    likelihoods: list[np.ndarray], table: np.ndarray, *, iterations: int
) -> tuple[np.ndarray, list[float]]:
    """Go user by user and cell by cell.

    Returns:
        The table, and the log-likelihood of all reports before each step.
    """
    logarithms: list[float] = []
    for _ in range(iterations):
        sums, logarithm = np.zeros(table.shape), 0.0
        for user in range(likelihoods[0].shape[1]):
            posterior = np.zeros(table.shape)
            for cell in product(*map(range, table.shape)):
                posterior[cell] = table[cell] * prod(
                    likelihoods_of_user[label, user]
                    for likelihoods_of_user, label in zip(likelihoods, cell, strict=True)
                )
            sums += posterior / posterior.sum()
            logarithm += np.log(posterior.sum())
        table = sums / likelihoods[0].shape[1]
        logarithms.append(logarithm)
    return table, logarithms


def reports(
    shape: tuple[int, ...], *, users: int, seed: int, kind: Any = np.float64
) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [
        likelihood(generator.integers(0, 6, (size, users)).astype(np.uint8), ratio=0.7, kind=kind)
        for size in shape
    ]


SHAPES = [(3,), (2, 3), (4, 2), (3, 2, 2), (2, 3, 2, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_what_each_user_says(shape: tuple[int, ...]) -> None:
    likelihoods = reports(shape, users=40, seed=len(shape))
    start = np.random.default_rng(9).dirichlet(np.ones(prod(shape))).reshape(shape)
    expected, logarithms = written_out(likelihoods, start, iterations=6)
    fit = repeat_steps(likelihoods, start=start, iterations=6)
    assert fit.iterations == 6
    assert fit.table.shape == shape
    assert fit.table == pytest.approx(expected, abs=1e-13)
    assert logarithms == sorted(logarithms)  # no step makes the reports less likely
    from_uniform, _ = written_out(likelihoods, np.full(shape, 1 / prod(shape)), iterations=6)
    assert repeat_steps(likelihoods, iterations=6).table == pytest.approx(from_uniform, abs=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("from_uniform", [True, False])
def test_the_search_ends_where_plain_steps_end(
    shape: tuple[int, ...], from_uniform: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The likelihood is concave, so both find its maximum, the search with fewer steps."""
    likelihoods = reports(shape, users=200, seed=7)
    draw = np.random.default_rng(5).dirichlet(np.ones(prod(shape))).reshape(shape)
    start = None if from_uniform else draw
    monkeypatch.setattr(expectation, "MIN_CHANGE", 1e-9)
    plain = repeat_steps(likelihoods, start=start, iterations=200_000)
    search = most_likely(likelihoods, start=start, iterations=20_000)
    assert plain.converged
    assert search.converged
    assert search.iterations <= plain.iterations
    assert search.table == pytest.approx(plain.table, abs=1e-5)
    assert search.table.min() >= 0
    assert search.table.sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("iterations", [1, 2, 3, 4, 7, 1000])
def test_a_plain_step_would_end_there_too(shape: tuple[int, ...], iterations: int) -> None:
    """What converged is no further from its own step than plain steps are at their end."""
    likelihoods = reports(shape, users=300, seed=3)
    fit = most_likely(likelihoods, iterations=iterations)
    assert fit.iterations <= iterations
    following = repeat_steps(likelihoods, start=fit.table, iterations=1)
    if fit.converged:
        assert np.abs(following.table - fit.table).max() < MIN_CHANGE / fit.table.size
    else:
        assert fit.iterations == iterations
    assert fit.converged or iterations < 1000


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_and_blocks_do_not_matter(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = repeat_steps(reports(shape, users=3000, seed=4), iterations=60)
    rounded = repeat_steps(reports(shape, users=3000, seed=4, kind=np.float32), iterations=60)
    assert rounded.table == pytest.approx(exact.table, abs=1e-6)
    monkeypatch.setattr(expectation, "BLOCK", 1)
    assert repeat_steps(reports(shape, users=3000, seed=4), iterations=60).table == pytest.approx(
        exact.table, abs=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_the_users_are_counted(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(2).integers(0, shape, (500, len(shape))).T
    likelihoods = [np.eye(size)[codes].T for size, codes in zip(shape, cells, strict=True)]
    fit = most_likely(likelihoods)
    assert fit.converged
    assert fit.iterations == 2  # one that finds it, one that finds no change
    counts = np.zeros(shape)
    np.add.at(counts, tuple(cells), 1)
    assert fit.table == pytest.approx(counts / 500, abs=1e-15)


@pytest.mark.parametrize(("yes", "expected"), [(700, (0.7 - 0.25) / 0.5), (900, 1.0), (100, 0.0)])
def test_of_one_coin_it_is_the_clipped_estimate(yes: int, expected: float) -> None:
    """Randomized response with p = 3/4: the fit is (C / n - q) / (p - q), clipped to [0, 1]."""
    likelihoods = np.array([[0.25, 0.75], [0.75, 0.25]])[:, np.repeat([1, 0], [yes, 1000 - yes])]
    fit = most_likely([likelihoods], iterations=100_000)
    assert fit.converged
    assert fit.table[0] == pytest.approx(expected, abs=0.02)


def test_the_noise_of_each_attribute_is_taken_away() -> None:
    """Two coins, each flipped with probability 1/4, by 200,000 users.

    The joint table is found to within 0.01, which is 10 standard deviations.
    """
    generator = np.random.default_rng(3)
    table = np.array([[0.4, 0.1], [0.05, 0.45]])
    cells = np.unravel_index(generator.choice(4, 200_000, p=table.reshape(-1)), (2, 2))
    likelihoods = []
    for codes in cells:
        reported = codes ^ (generator.random(200_000) < 0.25)
        likelihoods.append(np.array([[0.75, 0.25], [0.25, 0.75]])[:, reported])
    assert most_likely(likelihoods).table == pytest.approx(table, abs=0.01)


def test_a_cell_of_nothing_stays() -> None:
    likelihoods = reports((2, 3), users=50, seed=1)
    fit = most_likely(likelihoods, start=np.array([[0.5, 0.0, 0.2], [0.1, 0.2, 0.0]]))
    assert fit.table[0, 1] == fit.table[1, 2] == 0
    assert fit.table.sum() == pytest.approx(1)
    # A report that is impossible counts for nothing.
    certain = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert most_likely([certain], start=np.array([0.5, 0.5, 0.0])).table.tolist() == [0.5, 0.5, 0.0]


def test_invalid_likelihoods_are_refused() -> None:
    with pytest.raises(ValueError, match="a column for each of the same users"):
        most_likely([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(ValueError, match="a column for each of the same users"):
        most_likely([np.ones((2, 0))])
    for start in (np.ones((2, 3)), np.array([0.5, -0.5]), np.zeros(2)):
        with pytest.raises(ValueError, match="a start of 2 cells, none below 0"):
            most_likely([np.ones((2, 3))], start=start)
