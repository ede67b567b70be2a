"""KHR and the basic solution: laws, Theorems 1 to 3 by enumeration, and the numbers of spec D."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import comb, exp, log, sqrt
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import UserWords
from sottovoce.evaluation.label_sets import LABEL_SETS, conditional_of
from sottovoce.privacy.local import DirectEncoding, SymmetricUnary, report
from sottovoce.privacy.local.belief import beliefs, largest_ratio
from sottovoce.privacy.local.conformance import RandomizerConformance
from sottovoce.privacy.local.heads import (
    HeadsResponse,
    choose_heads,
    heads_error,
    heads_variance,
    variance_of_set,
)
from sottovoce.privacy.local.randomizer import below_exp


class TestHeads(RandomizerConformance):
    """With omega = 1 kHR is subset selection, which has its randomizer tests."""

    randomizer = partial(HeadsResponse, belief=0.4)


class TestFewOfMany(RandomizerConformance):
    """Sets that are drawn value by value, as they are where there are many values."""

    randomizer = partial(HeadsResponse, chosen=2)

    @pytest.fixture(autouse=True)
    def _always(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sottovoce.privacy.local.subset.MIN_SPARSITY", 0)

    def _make(self, cells: int, *, epsilon: float) -> HeadsResponse:
        return HeadsResponse(cells, epsilon=epsilon, chosen=max(1, min(4, cells // 2)))

    def _small(self, cells: int, *, epsilon: float) -> HeadsResponse:
        return self._make(cells, epsilon=epsilon)


class TestOneHead(RandomizerConformance):
    randomizer = partial(HeadsResponse, belief=0.7, chosen=1)


SHAPES = [(2, 2), (3, 2), (5, 2), (3, 3), (2, 4)]


@pytest.mark.parametrize(("values", "labels"), SHAPES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_theorem_2_holds_and_is_tight(values: int, labels: int, epsilon: float) -> None:
    """D9: for every Pr[s | l] within omega, no ratio of two labels is above e^epsilon."""
    rng = np.random.default_rng(values * labels)
    cells = values * labels
    for chosen in range(1, cells // 2 + 1):
        conditional = rng.dirichlet(np.full(values, 0.5), size=labels)
        omega = float(beliefs(conditional)[min(chosen, values) - 1])
        randomizer = HeadsResponse(cells, epsilon=epsilon, belief=omega, chosen=chosen)
        worst = largest_ratio([randomizer.law(value) for value in range(cells)], conditional)
        assert worst <= exp(epsilon) * (1 + 1e-12)
        assert worst == pytest.approx(exp(epsilon), rel=1e-7)  # Coins have 32 bits.


@pytest.mark.parametrize("belief", [0.0, -0.5, 1.0001, float("nan")])
def test_a_belief_is_a_chance(belief: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1, found"):
        HeadsResponse(8, epsilon=1.0, belief=belief, chosen=1)


def test_a_belief_that_is_too_small_reveals_more() -> None:
    """Footnote 4 and D8: with omega .3 where the truth is .6, epsilon 1 becomes 1.48988."""
    conditional = np.array([[0.6, 0.2, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    randomizer = HeadsResponse(8, epsilon=1.0, belief=0.3, chosen=1)
    worst = largest_ratio([randomizer.law(value) for value in range(8)], conditional)
    assert log(worst) == pytest.approx(1.4898801256, rel=1e-7)


def test_theorem_1_needs_omega_of_one() -> None:
    """Spec A2: with omega = .636 as printed, the ratio is 1.36 e, as any cell may be reported."""
    conditional = np.array([[0.636, 0.2, 0.164], [0.636, 0.3, 0.064]])
    omega, excess = 0.636, exp(1) - 1
    root = sqrt(excess + omega)
    printed = root / (root + sqrt(omega))
    basic = SymmetricUnary(6, epsilon=2 * log(printed / (1 - printed)))
    laws = [basic.law(value) for value in range(6)]
    assert largest_ratio(laws, conditional) > 1.2 * exp(1)
    honest = SymmetricUnary(6, epsilon=1.0)
    assert largest_ratio([honest.law(value) for value in range(6)], conditional) <= exp(1) * (
        1 + 1e-9
    )


def test_known_numbers() -> None:
    """The numbers are D3 to D7."""
    strong = HeadsResponse(250, epsilon=1.0, belief=0.383, chosen=1)
    assert float(strong.p) == pytest.approx(0.021558621831, rel=1e-6)
    assert float(strong.q) == pytest.approx(0.003929483447, rel=1e-6)
    assert heads_variance(250, 1, epsilon=1.0, belief=0.383) == pytest.approx(12.5939909)
    assert sqrt(heads_error(250, 1, epsilon=1.0, belief=0.383) / 100_000) == pytest.approx(
        0.178990955
    )
    assert float(HeadsResponse(250, epsilon=3.0, belief=1.0, chosen=12).p) == pytest.approx(
        0.503158951997, rel=1e-7
    )
    assert heads_variance(250, 12, epsilon=3.0, belief=1.0) == pytest.approx(0.210883073)
    weak = HeadsResponse(250, epsilon=1.0, belief=0.02, chosen=1)
    assert float(weak.p) == pytest.approx(0.258739046, rel=1e-7)
    assert heads_variance(250, 1, epsilon=1.0, belief=0.02) == pytest.approx(0.045373744)
    assert sqrt(heads_error(250, 1, epsilon=1.0, belief=0.02) / 100_000) == pytest.approx(
        0.011928973
    )
    basic = SymmetricUnary(250, epsilon=1.0)
    # The probability of a flip has few digits, and is rounded up.
    assert 0.6224 < float(basic.p) < 0.622459331
    assert 3.917698089 < basic.variance() < 3.92
    assert float(weak.ratio) == pytest.approx(86.91409142)
    assert weak.local_epsilon == pytest.approx(4.464920176)
    # A2: these are the losses against an adversary that knows the attributes.
    for omega, loss in {0.02: 4.465, 0.1: 2.900, 0.383: 1.702, 0.638: 1.307}.items():
        randomizer = HeadsResponse(250, epsilon=1.0, belief=omega, chosen=1)
        assert randomizer.local_epsilon == pytest.approx(loss, abs=5e-4)


def test_closed_forms_equal_the_randomizers_variance() -> None:
    for cells, chosen, epsilon, belief in (
        (20, 3, 1.0, 0.7),
        (250, 68, 1.0, 1.0),
        (9, 4, 3.0, 0.5),
    ):
        randomizer = HeadsResponse(cells, epsilon=epsilon, belief=belief, chosen=chosen)
        assert heads_variance(cells, chosen, epsilon=epsilon, belief=belief) == pytest.approx(
            randomizer.variance(), rel=1e-5
        )
        assert heads_error(cells, chosen, epsilon=epsilon, belief=belief) == pytest.approx(
            randomizer.total_variance, rel=1e-5
        )


def test_ratio_is_never_rounded_up() -> None:
    """Theta is at most (e^epsilon - 1 + omega) / omega, so the threshold of p keeps the bound."""
    randomizer = HeadsResponse(12, epsilon=0.7, belief=0.3, chosen=2)
    assert (randomizer.ratio - 1) * 3 / 10 <= below_exp(0.7) - 1 or float(
        randomizer.ratio
    ) == pytest.approx((exp(0.7) - 1) / 0.3 + 1, rel=1e-15)
    p = randomizer.p
    assert p * (12 - 2) / (2 * (1 - p)) <= randomizer.ratio


def test_estimates_add_up_to_one() -> None:
    """D10: every report has k cells, so estimates sum to 1 for any reports."""
    randomizer = HeadsResponse(40, epsilon=1.0, belief=0.8, chosen=4)
    reports = report(
        randomizer, np.arange(500) % 40, users=np.arange(500), words=UserWords(bytes(16))
    )
    assert randomizer.estimate(randomizer.support(reports), users=500).sum() == pytest.approx(
        1.0, abs=1e-9
    )


def test_variance_of_sets_of_cells() -> None:
    """D16; of one cell it is equation 7, of all cells 0, and between them it is simulated."""
    randomizer = HeadsResponse(40, epsilon=1.0, belief=0.8, chosen=4)
    variance = partial(variance_of_set, cells=40, chosen=4, p=float(randomizer.p))
    assert variance(size=5, users=500, frequency=0.1) == pytest.approx(0.029947436, rel=1e-6)
    assert variance(size=1, users=1) == pytest.approx(randomizer.variance(), rel=1e-9)
    assert variance(size=40, users=1) == 0
    generator = np.random.Generator(np.random.Philox(5))
    counts = np.bincount(np.repeat(np.arange(40), 50), minlength=40)
    sums = [
        randomizer.estimate(randomizer.simulate(counts, generator), users=2000)[:8].sum()
        for _ in range(500)
    ]
    # Chi-squared with 500 degrees of freedom deviates by 6.3 per cent, and the seed is fixed.
    assert np.var(sums) == pytest.approx(variance(size=8, users=2000, frequency=0.2), rel=0.25)


def test_one_cell_of_many_is_uniform() -> None:
    """For k = 1 all other cells are equally likely, and the user's is not drawn among them."""
    randomizer = HeadsResponse(7, epsilon=0.5, belief=1.0, chosen=1)
    reports = report(
        randomizer, np.full(70_000, 3), users=np.arange(70_000), words=UserWords(b"k" * 16)
    )
    support = randomizer.support(reports)
    p, q = float(randomizer.p), float(randomizer.q)
    expected = np.where(np.arange(7) == 3, p, q) * 70_000
    assert (np.abs(support - expected) < 6 * np.sqrt(expected)).all()


class TestChoiceOfK:
    """C3 to C6: Theorem 3 is false, and equation 8 does not find the best k."""

    def test_the_variance_falls_while_omega_rises(self) -> None:
        """For N(25, 1) it falls at 9 of the 11 steps below omega = 1, and at 8 at epsilon 3."""
        curve = beliefs(conditional_of("N(25,1)"))
        steps = [k for k in range(1, 13) if curve[k - 1] < 1]
        for epsilon, falls in ((1.0, 9), (2.0, 9), (3.0, 8)):
            variances = [
                heads_variance(250, k, epsilon=epsilon, belief=float(curve[k - 1]))
                for k in steps[:12]
            ]
            assert sum(after < before for before, after in pairwise(variances)) == falls

    def test_p_always_rises(self) -> None:
        """The paper's proof lets it fall (C4)."""
        for name in LABEL_SETS:
            curve = beliefs(conditional_of(name))
            for epsilon in (0.5, 2.0, 4.0):
                p = [
                    float(
                        HeadsResponse(
                            250,
                            epsilon=epsilon,
                            belief=float(curve[k - 1]) if k <= 50 else 1.0,
                            chosen=k,
                        ).p
                    )
                    for k in range(1, 126, 4)
                ]
                assert all(before < after for before, after in pairwise(p))

    def test_the_scan_finds_the_least_error(self) -> None:
        """Exact errors of all k are compared; D11 and D12."""
        for name, epsilon in (
            ("N(25,1)", 3.0),
            ("D(25)", 4.0),
            ("U(1,50)", 1.0),
            ("N(25,0.3)", 2.0),
        ):
            curve = [*beliefs(conditional_of(name)).tolist(), *[1.0] * 75]
            errors = [
                heads_error(250, k, epsilon=epsilon, belief=curve[k - 1]) for k in range(1, 126)
            ]
            assert choose_heads(250, epsilon=epsilon, beliefs=curve) == int(np.argmin(errors)) + 1
        assert (
            choose_heads(250, epsilon=3.0, beliefs=beliefs(conditional_of("N(25,1)")).tolist()) == 1
        )
        assert (
            choose_heads(250, epsilon=4.0, beliefs=beliefs(conditional_of("D(25)")).tolist()) == 5
        )
        assert round(heads_variance(250, 4, epsilon=4.0, belief=1.0), 5) == 0.06718
        assert round(heads_variance(250, 5, epsilon=4.0, belief=1.0), 5) == 0.06808

    def test_equation_8_misses_the_best_k(self) -> None:
        """With one likely value over an even rest it takes k = 30 instead of 6 or 7."""
        spike = [min(1.0, 0.3 + (k - 1) * 0.7 / 49) for k in range(1, 51)]
        printed = choose_heads(250, epsilon=2.0, beliefs=spike, rule="paper")
        by_variance = min(
            range(1, 51), key=lambda k: heads_variance(250, k, epsilon=2.0, belief=spike[k - 1])
        )
        assert (printed, by_variance) == (30, 6)
        printed_variance = heads_variance(250, 30, epsilon=2.0, belief=spike[29])
        best_variance = heads_variance(250, 6, epsilon=2.0, belief=spike[5])
        assert printed_variance / best_variance == pytest.approx(1.83, abs=0.01)

    def test_the_printed_k_is_limited_to_half_of_the_cells(self) -> None:
        """This matters for an odd number of cells and a small epsilon."""
        assert choose_heads(7, epsilon=0.01, beliefs=[1.0], rule="paper") == 3
        assert choose_heads(4, epsilon=5.0, beliefs=[1.0], rule="paper") == 1


def test_impossible_sets_and_beliefs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected an adversarial belief above 0"):
        HeadsResponse(6, epsilon=1.0, belief=0.0)
    with pytest.raises(ValueError, match=r"expected sets of 1 to 5 values"):
        HeadsResponse(6, epsilon=1.0, chosen=6)
    assert comb(6, 3) == len(HeadsResponse(6, epsilon=1.0, chosen=3).law(0))


class ScriptedWords:
    """Words that were written down beforehand, in place of random ones."""

    def __init__(self, *words: int) -> None:
        self._words = iter(words)

    def take(self, *, lines: int = 1, words: int = 1) -> np.ndarray:
        assert (lines, words) == (1, 1)
        return np.array([[[next(self._words)]]], np.uint64)


@pytest.mark.parametrize(("value", "expected"), [(0, 2), (1, 2), (2, 1), (3, 1)])
def test_uneven_numbers_are_drawn_again(value: int, expected: int) -> None:
    """With one head a user reports another cell with one of three numbers.

    2^32 - 1 is the one number below 2^32 that would make the first of them likelier.
    """
    randomizer = HeadsResponse(4, epsilon=1.0, chosen=1)
    tails, uneven, second = 0xFFFFFFFF << 32, 0xFFFFFFFF, 1
    words: Any = ScriptedWords(tails | uneven, uneven << 32, second << 32)
    assert randomizer.randomize(np.array([value]), words)[0, 0] == expected
    words = ScriptedWords(tails | (uneven - 1), second << 32)  # the largest even number is used
    others = [cell for cell in range(4) if cell != value]
    assert randomizer.randomize(np.array([value]), words)[0, 0] == others[(uneven - 1) % 3]


@pytest.mark.parametrize(
    ("cells", "epsilon", "belief"), [(30, 0.1, 1.0), (30, 0.3, 0.5), (12, 1.0, 0.2), (7, 3.0, 0.9)]
)
def test_the_number_of_heads_is_the_best_one(cells: int, epsilon: float, belief: float) -> None:
    """With one omega for every k; the referee tries all of them."""
    errors = {
        k: heads_error(cells, k, epsilon=epsilon, belief=belief) for k in range(1, cells // 2 + 1)
    }
    best = min(errors, key=lambda k: errors[k])
    assert HeadsResponse(cells, epsilon=epsilon, belief=belief).chosen == best


@pytest.mark.parametrize(
    "randomizer", [DirectEncoding(8, epsilon=1.0), HeadsResponse(8, epsilon=1.0, chosen=1)]
)
def test_the_coin_and_the_value_share_no_bit(randomizer: Any) -> None:
    """Two coins that differ in their last bit, both tails, leave the reported value as it is."""
    for number in (0, 1, 12345, 2**31 - 1, 2**31 + 7, 2**32 - 9):
        reports = [
            randomizer.randomize(np.array([3]), ScriptedWords(coin << 32 | number))
            for coin in (0xFFFFFFFE, 0xFFFFFFFF)
        ]
        assert np.array_equal(*reports)
