"""The laws that every local randomizer keeps, as a test class.

One line for the author:

    class TestMine(RandomizerConformance):
        randomizer = Mine

Everything is enumerated where it can be: the inequality of local differential privacy, p and q,
from `law`. What is drawn is compared with the law; each limit would be exceeded with a probability
below 1e-6 if it held, under fixed seeds.
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
    """A smaller relative for the tests that write all reports out, if there are too many."""
    epsilons: ClassVar[tuple[float, ...]] = (0.1, 1.0, 2.0, 4.0, 8.0)
    tight: ClassVar[bool] = True
    """Whether all of epsilon is used."""
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
    def test_no_report_tells_more_than_epsilon(self, cells: int) -> None:
        """By exhaustive enumeration, exactly: e^epsilon is rounded down, and no ratio of
        likelihoods is above it.
        """
        for epsilon in self.epsilons:
            randomizer = self._small(cells, epsilon=epsilon)
            laws = [randomizer.law(value) for value in range(cells)]
            for law in laws:
                assert sum(law.values()) == 1
                assert set(law) == set(laws[0])
            columns = zip(*([law[told] for told in laws[0]] for law in laws), strict=True)
            worst = max(max(own) / min(own) for own in columns)
            assert worst <= randomizer.ratio
            assert float(randomizer.ratio) == pytest.approx(
                exp(randomizer.local_epsilon), rel=1e-12
            )
            if self.tight:
                assert float(worst) == pytest.approx(float(randomizer.ratio), rel=1e-4), (
                    "some of epsilon is given away"
                )

    @pytest.mark.parametrize("cells", [2, 3, 5, 8])
    def test_support_follows_from_the_law(self, cells: int) -> None:
        """P and q, and so estimates without bias, are what the law and the aggregator's side say
        together.
        """
        randomizer = self._small(cells, epsilon=1.3)
        laws = [randomizer.law(value) for value in range(cells)]
        supports = {
            told: np.flatnonzero(randomizer.support(_line(told))).tolist() for told in laws[0]
        }
        for value, law in enumerate(laws):
            supported = [Fraction(0)] * cells
            for told, likely in law.items():
                for at in supports[told]:
                    supported[at] += likely
            for at, own in enumerate(supported):
                assert float(own) == pytest.approx(
                    float(randomizer.p if at == value else randomizer.q), abs=1e-9
                )

    @pytest.mark.parametrize("cells", [2, 5])
    def test_reports_have_the_law(self, cells: int) -> None:
        randomizer = self._small(cells, epsilon=1.1)
        for value in range(cells):
            law = randomizer.law(value)
            told = _reports(randomizer, np.full(USERS, value), stage=value)
            assert told.shape == (USERS, -(-randomizer.bits // 8))
            found = Counter(map(bytes, told))
            assert set(found) <= set(law)
            expected = np.array([float(likely) * USERS for likely in law.values()])
            seen = np.array([found[one] for one in law], float)
            many = expected >= 5  # the rest together
            if not many.all():
                expected = np.append(expected[many], expected[~many].sum())
                seen = np.append(seen[many], seen[~many].sum())
            assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-8

    @pytest.mark.parametrize(("cells", "epsilon"), [(4, 0.5), (20, 1.5), (70, 1.0), (33, 4.0)])
    def test_estimates_are_unbiased_and_vary_as_said(self, cells: int, epsilon: float) -> None:
        """Reports and simulated counts alike: means within 6 deviations, variances within those of
        a chi-squared.
        """
        randomizer = self._make(cells, epsilon=epsilon)
        users, runs = 600, 300
        counts = np.random.default_rng(1).multinomial(
            users, np.random.default_rng(2).dirichlet(np.full(cells, 0.5))
        )
        told = _reports(randomizer, np.tile(np.repeat(np.arange(cells), counts), runs)).reshape(
            runs, users, -1
        )
        reported = [randomizer.estimate(randomizer.support(own), users=users) for own in told]
        generator = np.random.default_rng(3)
        simulated = [
            randomizer.estimate(randomizer.simulate(counts, generator), users=users)
            for _ in range(runs)
        ]
        low, high = stats.chi2.ppf([1e-10, 1 - 1e-10], runs - 1) / (runs - 1)
        for found in (np.array(reported), np.array(simulated)):
            for at in range(cells):
                variance = randomizer.variance(users=users, frequency=counts[at] / users)
                assert abs(found[:, at].mean() - counts[at] / users) < 6.5 * np.sqrt(
                    variance / runs
                )
                assert low * 0.97 < found[:, at].var(ddof=1) / variance < high * 1.03

    def test_simulated_counts_vary_together_as_reports_do(self) -> None:
        """Not each count alone: the covariances of all pairs, where there are any."""
        randomizer = self._make(3, epsilon=1.0)
        counts, runs = np.array([40, 25, 10]), 6000
        told = _reports(randomizer, np.tile(np.repeat(np.arange(3), counts), runs)).reshape(
            runs, 75, -1
        )
        generator = np.random.default_rng(5)
        one = np.array([randomizer.support(own) for own in told])
        other = np.array([randomizer.simulate(counts, generator) for _ in range(runs)])
        scale = np.sqrt(np.outer(one.var(axis=0), one.var(axis=0)))
        assert np.abs(np.cov(one.T) - np.cov(other.T)).max() < 7 * scale.max() * np.sqrt(
            2 * 2 / runs
        )
        assert np.abs(one.mean(axis=0) - other.mean(axis=0)).max() < 7 * np.sqrt(
            2 * scale.max() / runs
        )

    @pytest.mark.parametrize("cells", [2, 5, 64, 100])
    def test_reports_travel(self, cells: int) -> None:
        """Packed without gaps, as many bits as are said, and back; what is cut or has something
        after it is refused.
        """
        randomizer = self._make(cells, epsilon=1.0)
        told = _reports(randomizer, np.arange(997) % cells)
        travelled = pack(told, bits=randomizer.bits)
        assert (
            travelled.nbytes
            == packed_size(997, bits=randomizer.bits)
            == -(-997 * randomizer.bits // 8)
        )
        assert np.array_equal(unpack(travelled, bits=randomizer.bits, reports=997), told)
        with pytest.raises(ValueError, match="expected 997 reports"):
            unpack(travelled[:-1], bits=randomizer.bits, reports=997)
        with pytest.raises(ValueError, match="expected reports of"):
            randomizer.support(np.zeros((3, randomizer.size + 1), np.uint8))

    def test_reports_do_not_depend_on_who_else_reports(self) -> None:
        randomizer = self._make(20, epsilon=1.0)
        values, users = np.arange(5000) % 20, np.arange(5000)[::-1].copy()
        together = report(randomizer, values, users=users, words=UserWords(b"k" * 16))
        some = np.random.default_rng(4).permutation(5000)[:700]
        assert np.array_equal(
            together[some],
            report(randomizer, values[some], users=users[some], words=UserWords(b"k" * 16)),
        )
        other = report(randomizer, values, users=users, words=UserWords(None))
        assert not np.array_equal(together, other)

    def test_what_is_wrong(self) -> None:
        with pytest.raises(ValueError, match="at least 2 cells, found 1"):
            self._make(1, epsilon=1.0)
        for epsilon in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="finite epsilon above 0"):
                self._make(4, epsilon=epsilon)


def _line(told: bytes) -> Reports:
    return np.frombuffer(told, np.uint8).reshape(1, -1)


def _reports(
    randomizer: Randomizer, values: np.ndarray[tuple[int], np.dtype[np.int64]], *, stage: int = 0
) -> Reports:
    return report(
        randomizer, values, users=np.arange(len(values)), words=UserWords(bytes([stage]) * 16)
    )
