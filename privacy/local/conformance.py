"""The laws that every local randomizer keeps, as a test class.

An author writes two lines:

    class TestMine(RandomizerConformance):
        randomizer = Mine

The inequality of local differential privacy, p and q are checked by enumeration of `law`. Draws are
compared with the law, with fixed seeds. A correct randomizer exceeds each limit with a probability
below 1e-6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from ...crypto.user_words import UserWords
from .packing import pack, packed_size, unpack
from .randomizer import Randomizer, Reports, report

__all__ = ["RandomizerConformance"]

USERS = 60_000


class RandomizerConformance:
    """The suite. Subclass it under a name that starts with Test and set `randomizer`."""

    randomizer: ClassVar[Callable[..., Randomizer]]
    """Called with a number of cells and `epsilon=`."""
    enumerated: ClassVar[Callable[..., Randomizer] | None] = None
    """A smaller relative for the tests that enumerate reports, if there are too many."""
    epsilons: ClassVar[tuple[float, ...]] = (0.1, 1.0, 2.0, 4.0, 8.0)
    tight: ClassVar[bool] = True
    """Whether the randomizer uses all of epsilon."""
    __test__ = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__test__ = True

    def _small(self, cells: int, *, epsilon: float) -> Randomizer:
        kind = type(self)
        return (kind.enumerated or kind.randomizer)(cells, epsilon=epsilon)

    def _make(self, cells: int, *, epsilon: float) -> Randomizer:
        return type(self).randomizer(cells, epsilon=epsilon)

    @pytest.mark.parametrize("cells", [2, 3, 5, 8])
    def test_no_report_reveals_more_than_epsilon(self, cells: int) -> None:
        """No ratio of likelihoods is above e^epsilon, by exact enumeration."""
        for epsilon in self.epsilons:
            randomizer = self._small(cells, epsilon=epsilon)
            laws = [randomizer.law(value) for value in range(cells)]
            for law in laws:
                assert sum(law.values()) == 1
                assert set(law) == set(laws[0])
            columns = zip(*([law[data] for data in laws[0]] for law in laws), strict=True)
            worst = max(max(column) / min(column) for column in columns)
            assert worst <= randomizer.ratio
            assert float(randomizer.ratio) == pytest.approx(
                exp(randomizer.local_epsilon), rel=1e-12
            )
            if self.tight:
                assert float(worst) == pytest.approx(float(randomizer.ratio), rel=1e-4), (
                    "some of epsilon is not used"
                )

    @pytest.mark.parametrize("cells", [2, 3, 5, 8])
    def test_support_follows_from_the_law(self, cells: int) -> None:
        """P and q, and so unbiased estimates, follow from the law and the aggregator's side."""
        randomizer = self._small(cells, epsilon=1.3)
        laws = [randomizer.law(value) for value in range(cells)]
        supports = {
            data: np.flatnonzero(randomizer.support(_row(data))).tolist() for data in laws[0]
        }
        for value, law in enumerate(laws):
            supported = [Fraction(0)] * cells
            for data, probability in law.items():
                for cell in supports[data]:
                    supported[cell] += probability
            for cell, probability in enumerate(supported):
                expected = randomizer.p if cell == value else randomizer.q
                assert float(probability) == pytest.approx(float(expected), abs=1e-9)

    @pytest.mark.parametrize("cells", [2, 5])
    def test_reports_have_the_law(self, cells: int) -> None:
        randomizer = self._small(cells, epsilon=1.1)
        for value in range(cells):
            law = randomizer.law(value)
            reports = _reports(randomizer, np.full(USERS, value), stage=value)
            assert reports.shape == (USERS, -(-randomizer.bits // 8))
            counter = Counter(map(bytes, reports))
            assert set(counter) <= set(law)
            expected = np.array([float(probability) * USERS for probability in law.values()])
            counts = np.array([counter[data] for data in law], float)
            is_frequent = expected >= 5
            if not is_frequent.all():  # Rare reports are counted together.
                expected = np.append(expected[is_frequent], expected[~is_frequent].sum())
                counts = np.append(counts[is_frequent], counts[~is_frequent].sum())
            assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-8

    @pytest.mark.parametrize(("cells", "epsilon"), [(4, 0.5), (20, 1.5), (70, 1.0), (33, 4.0)])
    def test_estimates_are_unbiased_and_have_the_stated_variance(
        self, cells: int, epsilon: float
    ) -> None:
        """Means are within 6.5 deviations, and variances within the quantiles of chi-squared.

        This holds for reports and for simulated counts.
        """
        randomizer = self._make(cells, epsilon=epsilon)
        users, runs = 600, 300
        counts = np.random.default_rng(1).multinomial(
            users, np.random.default_rng(2).dirichlet(np.full(cells, 0.5))
        )
        values = np.tile(np.repeat(np.arange(cells), counts), runs)
        by_run = _reports(randomizer, values).reshape(runs, users, -1)
        reported = [
            randomizer.estimate(randomizer.support(reports), users=users) for reports in by_run
        ]
        generator = np.random.default_rng(3)
        simulated = [
            randomizer.estimate(randomizer.simulate(counts, generator), users=users)
            for _ in range(runs)
        ]
        low, high = stats.chi2.ppf([1e-10, 1 - 1e-10], runs - 1) / (runs - 1)
        for estimates in (np.array(reported), np.array(simulated)):
            for cell in range(cells):
                frequency = counts[cell] / users
                variance = randomizer.variance(users=users, frequency=frequency)
                mean = estimates[:, cell].mean()
                assert abs(mean - frequency) < 6.5 * np.sqrt(variance / runs)
                assert low * 0.97 < estimates[:, cell].var(ddof=1) / variance < high * 1.03

    def test_simulated_counts_have_the_covariances_of_reports(self) -> None:
        randomizer = self._make(3, epsilon=1.0)
        counts, runs = np.array([40, 25, 10]), 6000
        values = np.tile(np.repeat(np.arange(3), counts), runs)
        by_run = _reports(randomizer, values).reshape(runs, 75, -1)
        generator = np.random.default_rng(5)
        reported = np.array([randomizer.support(reports) for reports in by_run])
        simulated = np.array([randomizer.simulate(counts, generator) for _ in range(runs)])
        scale = np.outer(reported.std(axis=0), reported.std(axis=0)).max()
        covariances = np.cov(reported.T) - np.cov(simulated.T)
        assert np.abs(covariances).max() < 7 * scale * np.sqrt(2 * 2 / runs)
        means = reported.mean(axis=0) - simulated.mean(axis=0)
        assert np.abs(means).max() < 7 * np.sqrt(2 * scale / runs)

    @pytest.mark.parametrize("cells", [2, 5, 64, 100])
    def test_packed_reports_are_unpacked(self, cells: int) -> None:
        """Packed reports have the stated size; truncated and longer ones are refused."""
        randomizer = self._make(cells, epsilon=1.0)
        bits, reports = randomizer.bits, _reports(randomizer, np.arange(997) % cells)
        packed = pack(reports, bits=bits)
        assert packed.nbytes == packed_size(997, bits=bits) == -(-997 * bits // 8)
        assert np.array_equal(unpack(packed, bits=bits, reports=997), reports)
        with pytest.raises(ValueError, match="expected 997 reports"):
            unpack(packed[:-1], bits=bits, reports=997)
        with pytest.raises(ValueError, match="expected reports of"):
            randomizer.support(np.zeros((3, randomizer.size + 1), np.uint8))

    def test_reports_do_not_depend_on_other_users(self) -> None:
        randomizer = self._make(20, epsilon=1.0)
        values, users = np.arange(5000) % 20, np.arange(5000)[::-1].copy()
        together = report(randomizer, values, users=users, words=UserWords(b"k" * 16))
        some = np.random.default_rng(4).permutation(5000)[:700]
        assert np.array_equal(
            together[some],
            report(randomizer, values[some], users=users[some], words=UserWords(b"k" * 16)),
        )
        with_another_key = report(randomizer, values, users=users, words=UserWords(None))
        assert not np.array_equal(together, with_another_key)

    def test_impossible_parameters_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at least 2 cells, found 1"):
            self._make(1, epsilon=1.0)
        for epsilon in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="finite epsilon above 0"):
                self._make(4, epsilon=epsilon)


def _row(data: bytes) -> Reports:
    return np.frombuffer(data, np.uint8).reshape(1, -1)


def _reports(
    randomizer: Randomizer, values: np.ndarray[tuple[int], np.dtype[np.int64]], *, stage: int = 0
) -> Reports:
    return report(
        randomizer, values, users=np.arange(len(values)), words=UserWords(bytes([stage]) * 16)
    )
