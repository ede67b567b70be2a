"""Groups whose reports are simulated together have the law of groups that are simulated alone."""

import numpy as np
import pytest

from sottovoce.privacy.local import DirectEncoding, OptimisedUnary
from sottovoce.privacy.local.direct import GroupedDirectEncoding

RUNS = 4000
Z = 6.5
"""Of 60 means and 60 variances one is this far off with probability below 1e-8."""


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_direct_encoding_has_the_same_law(cells: int) -> None:
    randomizer = GroupedDirectEncoding(cells, epsilon=1.0)
    counts = np.random.default_rng(1).integers(0, 40, (6, cells))
    counts[0], counts[1] = 0, np.arange(cells)
    generator = np.random.default_rng(2)
    together = np.array([randomizer.simulate_groups(counts, generator) for _ in range(RUNS)])
    alone = np.array(
        [[randomizer.simulate(group, generator) for group in counts] for _ in range(RUNS)]
    )
    assert (together.sum(axis=2) == counts.sum(axis=1)).all()
    deviation = np.sqrt((together.var(axis=0) + alone.var(axis=0)) / RUNS)
    assert (np.abs(together.mean(axis=0) - alone.mean(axis=0)) <= Z * deviation).all()
    # The variance of a variance of nearly normal numbers is 2 / RUNS of its square.
    mean = (together.var(axis=0) + alone.var(axis=0)) / 2
    apart = np.abs(together.var(axis=0) - alone.var(axis=0))
    assert (apart <= Z * mean * np.sqrt(6 / RUNS)).all()
    # Different groups are independent, as 36 correlations of 4000 runs must show.
    other = together[:, 1:, 0] - together[:, 1:, 0].mean(axis=0)
    correlations = np.asarray(np.corrcoef(other.T))
    np.fill_diagonal(correlations, 0.0)
    assert np.abs(correlations).max() < Z / np.sqrt(RUNS)


def test_one_group_draws_the_same_numbers() -> None:
    randomizer, counts = GroupedDirectEncoding(4, epsilon=2.0), np.array([[7, 0, 90, 3]])
    together = randomizer.simulate_groups(counts, np.random.default_rng(3))
    assert together.tolist() == [randomizer.simulate(counts[0], np.random.default_rng(3)).tolist()]


@pytest.mark.parametrize("kind", [DirectEncoding, OptimisedUnary])
def test_other_randomizers_draw_group_by_group(
    kind: type[DirectEncoding | OptimisedUnary],
) -> None:
    randomizer = kind(4, epsilon=2.0)
    counts = np.array([[7, 0, 90, 3], [1, 2, 3, 4]])
    generator = np.random.default_rng(3)
    alone = [randomizer.simulate(group, generator).tolist() for group in counts]
    assert randomizer.simulate_groups(counts, np.random.default_rng(3)).tolist() == alone


def test_estimates_of_groups_are_those_of_each() -> None:
    randomizer = GroupedDirectEncoding(3, epsilon=0.7)
    support, users = np.array([[4, 5, 1], [0, 0, 2]]), np.array([10, 2])
    each = [
        randomizer.estimate(group, users=number).tolist()
        for group, number in zip(support, users.tolist(), strict=True)
    ]
    assert randomizer.estimate_groups(support, users=users).tolist() == each
