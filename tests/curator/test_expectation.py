"""Expectation and maximisation, against the same written out for each user, and against closed
forms.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from sottovoce.curator import expectation
from sottovoce.curator.expectation import most_likely
from sottovoce.privacy.local.per_attribute import likelihood


def written_out(
    likelihoods: list[np.ndarray], table: np.ndarray, *, iterations: int
) -> tuple[np.ndarray, list[float]]:
    """Go user by user, cell by cell; and say how likely all reports were before each step."""
    found: list[float] = []
    for _ in range(iterations):
        sums, logarithm = np.zeros(table.shape), 0.0
        for user in range(likelihoods[0].shape[1]):
            posterior = np.zeros(table.shape)
            for cell in product(*map(range, table.shape)):
                posterior[cell] = table[cell] * prod(
                    own[at, user] for own, at in zip(likelihoods, cell, strict=True)
                )
            sums += posterior / posterior.sum()
            logarithm += np.log(posterior.sum())
        table = sums / likelihoods[0].shape[1]
        found.append(logarithm)
    return table, found


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
    said = reports(shape, users=40, seed=len(shape))
    start = np.random.default_rng(9).dirichlet(np.ones(prod(shape))).reshape(shape)
    expected, likely = written_out(said, start, iterations=6)
    found = most_likely(said, start=start, iterations=6)
    assert found.iterations == 6
    assert found.table.shape == shape
    assert found.table == pytest.approx(expected, abs=1e-13)
    assert likely == sorted(likely)  # no step makes the reports less likely
    from_uniform, _ = written_out(said, np.full(shape, 1 / prod(shape)), iterations=6)
    assert most_likely(said, iterations=6).table == pytest.approx(from_uniform, abs=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_and_blocks_do_not_matter(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = most_likely(reports(shape, users=3000, seed=4), iterations=60)
    rounded = most_likely(reports(shape, users=3000, seed=4, kind=np.float32), iterations=60)
    assert rounded.table == pytest.approx(exact.table, abs=1e-6)
    monkeypatch.setattr(expectation, "BLOCK", 1)
    assert most_likely(reports(shape, users=3000, seed=4), iterations=60).table == pytest.approx(
        exact.table, abs=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_the_users_are_counted(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(2).integers(0, shape, (500, len(shape))).T
    said = [np.eye(size)[own].T for size, own in zip(shape, cells, strict=True)]
    found = most_likely(said)
    assert found.converged
    assert found.iterations == 2  # one that finds it, one that finds no change
    counts = np.zeros(shape)
    np.add.at(counts, tuple(cells), 1)
    assert found.table == pytest.approx(counts / 500, abs=1e-15)


@pytest.mark.parametrize(("yes", "expected"), [(700, (0.7 - 0.25) / 0.5), (900, 1.0), (100, 0.0)])
def test_of_one_coin_it_is_the_clipped_estimate(yes: int, expected: float) -> None:
    """Randomized response with p = 3/4: the most likely share is (C / n - q) / (p - q), or the
    nearest that there is.
    """
    said = np.array([[0.25, 0.75], [0.75, 0.25]])[:, np.repeat([1, 0], [yes, 1000 - yes])]
    found = most_likely([said], iterations=100_000)
    assert found.converged
    assert found.table[0] == pytest.approx(expected, abs=0.02)


def test_the_noise_of_each_attribute_is_taken_away() -> None:
    """Two coins, each turned over once in four: the pair's table, of 200,000 users within 0.01 (10
    deviations).
    """
    generator = np.random.default_rng(3)
    table = np.array([[0.4, 0.1], [0.05, 0.45]])
    cells = np.unravel_index(generator.choice(4, 200_000, p=table.reshape(-1)), (2, 2))
    said = []
    for own in cells:
        told = own ^ (generator.random(200_000) < 0.25)
        said.append(np.array([[0.75, 0.25], [0.25, 0.75]])[:, told])
    assert most_likely(said).table == pytest.approx(table, abs=0.01)


def test_a_cell_of_nothing_stays() -> None:
    said = reports((2, 3), users=50, seed=1)
    found = most_likely(said, start=np.array([[0.5, 0.0, 0.2], [0.1, 0.2, 0.0]]))
    assert found.table[0, 1] == found.table[1, 2] == 0
    assert found.table.sum() == pytest.approx(1)
    # Who says what cannot be says nothing.
    one = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert most_likely([one], start=np.array([0.5, 0.5, 0.0])).table.tolist() == [0.5, 0.5, 0.0]


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="a column for each of the same users"):
        most_likely([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(ValueError, match="a column for each of the same users"):
        most_likely([np.ones((2, 0))])
    for start in (np.ones((2, 3)), np.array([0.5, -0.5]), np.zeros(2)):
        with pytest.raises(ValueError, match="a start of 2 cells, none below 0"):
            most_likely([np.ones((2, 3))], start=start)
