"""The laws of every local randomizer: one line of parametrisation for a new one.

Statistical tests have fixed seeds; each limit would be exceeded with a probability below 1e-6 if the law held.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto.user_words import UserWords
from sottovoce.privacy.local import DirectEncoding, HadamardResponse, OptimisedUnary, Randomizer, SymmetricUnary
from sottovoce.privacy.local.randomizer import below_exp, threshold

ALL: list[type[Randomizer]] = [DirectEncoding, OptimisedUnary, SymmetricUnary, HadamardResponse]
EPSILONS = (0.1, 1.0, 2.0, 4.0, 8.0)


def words(randomizer: Randomizer, users: int, *, seed: int = 0) -> np.ndarray:
    return UserWords(bytes([seed]) * 32, words=randomizer.words).of(0, users)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 3, 5, 8])
def test_no_report_tells_more_than_epsilon(kind: type[Randomizer], epsilon: float, cells: int) -> None:
    """By exhaustive enumeration, exactly: e^epsilon is rounded down, and no ratio of likelihoods is above it."""
    randomizer = kind(cells, epsilon=epsilon)
    laws = [randomizer.law(value) for value in range(cells)]
    most = below_exp(epsilon)
    for law in laws:
        assert sum(law.values()) == 1
        assert set(law) == set(laws[0])
    worst = max(max(own) / min(own) for own in zip(*([law[report] for report in laws[0]] for law in laws), strict=True))
    assert worst <= most
    assert float(worst) == pytest.approx(exp(epsilon), rel=1e-4)  # and nothing is given away


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("cells", [2, 3, 5, 8])
def test_support_follows_from_the_law(kind: type[Randomizer], cells: int) -> None:
    """p and q, and so estimates without bias, are what the enumerated law and the aggregator's side say together."""
    randomizer = kind(cells, epsilon=1.3)
    for value in range(cells):
        supported = [Fraction(0)] * cells
        for report, likely in randomizer.law(value).items():
            line = np.frombuffer(report, np.uint8).reshape(1, -1)
            for told in np.flatnonzero(randomizer.support(line)):
                supported[told] += likely
        for at, own in enumerate(supported):
            expected = randomizer.p if at == value else randomizer.q
            assert float(own) == pytest.approx(float(expected), abs=1e-9)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("cells", [2, 5])
def test_reports_have_the_law(kind: type[Randomizer], cells: int) -> None:
    randomizer = kind(cells, epsilon=1.1)
    users = 60_000
    for value in range(cells):
        law = randomizer.law(value)
        reports = randomizer.randomize(np.full(users, value), words(randomizer, users, seed=value))
        assert reports.shape == (users, -(-randomizer.bits // 8))
        found = Counter(map(bytes, reports))
        assert set(found) <= set(law)
        expected = [float(likely) * users for likely in law.values()]
        assert stats.chisquare([found[report] for report in law], expected).pvalue > 1e-7


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("cells", "epsilon"), [(4, 0.5), (20, 1.5), (33, 4.0)])
def test_estimates_are_unbiased_and_vary_as_said(kind: type[Randomizer], cells: int, epsilon: float) -> None:
    """Reports and simulated counts alike: means within 6 deviations, variances within those of a chi-squared."""
    randomizer = kind(cells, epsilon=epsilon)
    users, runs = 600, 300
    counts = np.random.default_rng(1).multinomial(users, np.random.default_rng(2).dirichlet(np.full(cells, 0.5)))
    values = np.repeat(np.arange(cells), counts)
    generator = np.random.default_rng(3)
    drawn = UserWords(bytes(32), words=randomizer.words)
    reported = [
        randomizer.estimate(randomizer.support(randomizer.randomize(values, drawn.of(users * run, users))), users=users)
        for run in range(runs)
    ]
    simulated = [randomizer.estimate(randomizer.simulate(counts, generator), users=users) for _ in range(runs)]
    for found in (np.array(reported), np.array(simulated)):
        for at in range(cells):
            variance = randomizer.variance(users=users, frequency=counts[at] / users)
            assert abs(found[:, at].mean() - counts[at] / users) < 6 * np.sqrt(variance / runs)
            low, high = stats.chi2.ppf([1e-9, 1 - 1e-9], runs - 1) / (runs - 1)
            assert low * 0.97 < found[:, at].var(ddof=1) / variance < high * 1.03


@pytest.mark.parametrize("kind", ALL)
def test_simulated_counts_vary_together_as_reports_do(kind: type[Randomizer]) -> None:
    """Not each count alone: the covariances of all pairs, which GRR and Hadamard response have."""
    randomizer = kind(3, epsilon=1.0)
    counts, runs = np.array([40, 25, 10]), 6000
    values = np.repeat(np.arange(3), counts)
    drawn, generator = UserWords(bytes(32), words=randomizer.words), np.random.default_rng(5)
    one = np.array([randomizer.support(randomizer.randomize(values, drawn.of(75 * run, 75))) for run in range(runs)])
    other = np.array([randomizer.simulate(counts, generator) for _ in range(runs)])
    scale = np.sqrt(np.outer(one.var(axis=0), one.var(axis=0)))
    assert np.abs(np.cov(one.T) - np.cov(other.T)).max() < 7 * scale.max() * np.sqrt(2 * 2 / runs)
    assert np.abs(one.mean(axis=0) - other.mean(axis=0)).max() < 7 * np.sqrt(2 * scale.max() / runs)


@pytest.mark.parametrize("kind", ALL)
def test_what_is_wrong(kind: type[Randomizer]) -> None:
    with pytest.raises(ValueError, match="at least 2 cells, found 1"):
        kind(1, epsilon=1.0)
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite epsilon above 0"):
            kind(4, epsilon=epsilon)
    with pytest.raises(ValueError, match="expected reports of"):
        kind(4, epsilon=1.0).support(np.zeros((3, 9), np.uint8))
    with pytest.raises(ValueError, match="that coins of 32 bits can express, found 1e-12: too small"):
        kind(4, epsilon=1e-12)
    assert float(kind(4, epsilon=60.0).p) > float(kind(4, epsilon=60.0).q)  # what coins cannot express is rounded to less


def test_values_that_cannot_be() -> None:
    for kind in (DirectEncoding, HadamardResponse):
        with pytest.raises(ValueError, match=r"expected (values|numbers) below"):
            kind(5, epsilon=1.0).support(np.array([[9]], np.uint8))


def test_known_answers() -> None:
    """Specification 7: 1, 2, 3 and 4."""
    assert [float(OptimisedUnary(9, epsilon=e).q) for e in (1, 2, 4, 8)] == pytest.approx(
        [0.268941421, 0.119202922, 0.017986210, 0.000335350], abs=1e-9
    )
    assert [OptimisedUnary(9, epsilon=e).variance(users=1) for e in (1, 2, 4, 8)] == pytest.approx(
        [3.68269438, 0.724061661, 0.0760218298, 0.00134275125], rel=2e-6
    )
    assert float(SymmetricUnary(9, epsilon=1).p) == pytest.approx(0.622459331, abs=1e-9)
    assert [SymmetricUnary(9, epsilon=e).variance(users=1) for e in (1, 8)] == pytest.approx(
        [3.91769809, 0.0190054575], rel=1e-6
    )
    assert SymmetricUnary(9, epsilon=1).variance(users=1, frequency=0.7) == pytest.approx(3.91769809, rel=1e-6)
    grr = DirectEncoding(16, epsilon=2)
    assert (float(grr.p), float(grr.q), grr.variance(users=1)) == pytest.approx(
        (0.330029818, 0.044664679, 0.52398423), rel=1e-6
    )
    assert DirectEncoding(16, epsilon=8).variance(users=1) == pytest.approx(3.37264362e-4, rel=1e-5)
    assert [HadamardResponse(16, epsilon=e).variance(users=1) for e in (1, 2, 4)] == pytest.approx(
        [4.68269438, 1.72406166, 1.07602183], rel=1e-6
    )
    assert (DirectEncoding(16, epsilon=1).bits, OptimisedUnary(16, epsilon=1).bits) == (4, 16)
    assert [HadamardResponse(cells, epsilon=1).bits for cells in (255, 256)] == [8, 9]
    assert OptimisedUnary(8, epsilon=4.0).variance(users=10_000, frequency=0.9) * 1e8 == pytest.approx(9760.2, abs=0.1)


def test_users_words_do_not_depend_on_who_asks() -> None:
    drawn = UserWords(b"k" * 32, words=5)
    whole = drawn.of(0, 40)
    assert np.array_equal(whole, np.concatenate([drawn.of(0, 13), drawn.of(13, 1), drawn.of(14, 26)]))
    assert len(np.unique(whole)) == whole.size
    assert drawn.of(1 << 60, 2).shape == (2, 5)
    assert not np.array_equal(UserWords(None, words=5).of(0, 4), UserWords(None, words=5).of(0, 4))
    for first, users in ((-1, 2), (0, -1)):
        with pytest.raises(ValueError, match="expected users from 0 on"):
            drawn.of(first, users)


def test_thresholds_round_to_the_safe_side() -> None:
    third = Fraction(1, 3)
    assert threshold(third) < third * 2**32 < threshold(third, up=True) == threshold(third) + 1
    assert below_exp(1.0) < Fraction(2718281828459045236, 10**18) < below_exp(1.0) + Fraction(1, 10**17)
