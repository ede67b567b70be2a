"""Intervals around the counts of calm and fourier: how often they cover the exact counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.privacy import Domain
from sottovoce.privacy.local import RANDOMIZERS
from sottovoce.privacy.noise_interval import score_interval
from sottovoce.protocols.local.intervals import SUMMABLE, intervals_of_answers
from sottovoce.protocols.survey import Answer, Question

USERS = 20_000
SIZES = {"a": 8, "b": 6, "c": 2}
RUNS = 20


def people() -> pd.DataFrame:
    """Make users whose attributes depend on each other, with frequent and rare labels."""
    generator = np.random.default_rng(4)
    hidden = generator.random(USERS)
    return pd.DataFrame(
        {
            name: np.minimum((hidden + generator.random(USERS) / 3) ** 2 * size, size - 1)
            .astype(int)
            .astype(str)
            for name, size in SIZES.items()
        }
    )


def exact_counts(table: pd.DataFrame, cells: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Count the rows of each published cell in the table itself."""
    names = [name for name in cells.columns if name.startswith("attribute_")]
    counts = []
    for _, cell in cells.iterrows():
        rows = np.ones(len(table), bool)
        for name in names:
            if cell[name]:
                rows &= table[cell[name]] == cell[name.replace("attribute", "value")]
        counts.append(int(rows.sum()))
    return np.array(counts)


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("fourier", {"epsilon": 1.0}),
        ("fourier", {"epsilon": 4.0, "ways": 1}),
        ("calm", {"epsilon": 1.0}),
        ("calm", {"epsilon": 4.0, "oracle": "grr"}),
        ("calm", {"epsilon": 4.0, "mode": "paper", "theta": 0.01}),
        ("calm", {"epsilon": 2.0, "ways": 1, "oracle": "hr"}),
    ],
)
def test_intervals_cover_the_exact_counts(protocol: str, options: dict[str, Any]) -> None:
    """Each of 20 runs has 16 cells or more, at confidence 0.9.

    Cells of a run depend on each other, so the share of a run counts as one draw. By Student's law
    with 19 degrees of freedom the mean of 20 draws is below 0.9 - 8 of its measured standard
    errors with a chance of 9e-8 in each of the six cases.
    """
    table = people()
    schema = {name: [str(label) for label in range(size)] for name, size in SIZES.items()}
    shares, truth = [], None
    for seed in range(RUNS):
        run = sottovoce.run(
            protocol, table, parties=2, schema=schema, seed=seed, confidence=0.9, judge=False,
            simulate="counts", **options,
        )  # fmt: skip
        cells = run.marginals
        assert cells is not None
        truth = exact_counts(table, cells) if truth is None else truth
        low, high = cells["low"].to_numpy(), cells["high"].to_numpy()
        assert (low >= 0).all()
        assert (high <= USERS).all()
        assert ((low <= cells["count"]) & (cells["count"] <= high)).all()
        shares.append(np.mean((low <= truth) & (truth <= high)))
    mean, error = float(np.mean(shares)), float(np.std(shares, ddof=1)) / np.sqrt(RUNS)
    assert mean >= 0.9 - 8 * error, f"{mean:.3f} with standard error {error:.4f}"
    # Without information an interval would go from 0 to all users.
    assert np.median(high - low) < USERS / 3


@pytest.mark.parametrize("name", sorted(SUMMABLE - {"olh"}))
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_supports_are_never_positively_correlated(name: str, epsilon: float) -> None:
    """Then the variances of the cells of a sum add up to a bound. The law is enumerated.

    That of olh has too many hashes; three of its values are independent, which is tested elsewhere.
    """
    randomizer = RANDOMIZERS[name](4, epsilon=epsilon)
    for value in range(randomizer.cells):
        law = randomizer.law(value)
        supports = np.array(
            [randomizer.support(np.frombuffer(report, np.uint8)[None]) for report in law], float
        )
        weights = np.array([float(probability) for probability in law.values()])
        means = weights @ supports
        covariances = (supports * weights[:, None]).T @ supports - np.outer(means, means)
        assert covariances[~np.eye(randomizer.cells, dtype=bool)].max() < 1e-12


def test_a_wider_confidence_is_a_wider_interval() -> None:
    table = people()
    widths = []
    for confidence in (0.5, 0.95):
        run = sottovoce.run("fourier", table, parties=1, seed=1, confidence=confidence, judge=False)
        assert run.marginals is not None
        widths.append((run.marginals["high"] - run.marginals["low"]).mean())
    assert widths[0] < widths[1]


def test_a_marginal_that_no_table_covers_has_no_bounds() -> None:
    """CALM asks for single attributes and pairs, so a marginal of three is known from none."""
    run = sottovoce.run(
        "calm", people(), parties=1, seed=1, ways=3, judge=False, simulate="counts", epsilon=0.1
    )
    assert run.marginals is not None
    assert set(run.marginals["low"]) == {0.0}
    assert set(run.marginals["high"]) == {float(USERS)}


@pytest.mark.parametrize("name", ["hr", "oue"])
def test_a_table_counts_for_smaller_marginals_if_its_cells_may_be_added(name: str) -> None:
    """With any randomizer it counts for its own marginal."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    randomizer = RANDOMIZERS[name](6, epsilon=1.0)
    answer = Answer(Question(("a", "b"), randomizer, 600), np.full(6, 250))
    alone, both = intervals_of_answers(domain, [answer], [("a",), ("a", "b")], confidence=0.95)
    says_nothing = (alone.low.tolist(), alone.high.tolist()) == ([0, 0], [1, 1])
    assert says_nothing == (name not in SUMMABLE) == (name == "hr")
    assert (both.high - both.low).max() < 1


def test_score_intervals_are_wilsons() -> None:
    """Without reports' noise a share of n users has the slope 1 / n: the textbook's interval."""
    low, high = score_interval(np.array([0.0, 0.2]), base=0.0, slope=1 / 100, confidence=0.95)
    assert low[0] == 0
    for estimate, ends in ((0.0, (low[0], high[0])), (0.2, (low[1], high[1]))):
        for end in ends:
            assert (estimate - end) ** 2 == pytest.approx(1.959964**2 * end / 100, abs=1e-9)
    # An estimate that no share explains, far below 0, still gives an interval.
    low, high = score_interval(np.array([-1.0]), base=1e-6, slope=1e-6, confidence=0.9)
    assert (low[0], high[0]) == (0, 0)
