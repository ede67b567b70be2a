"""Reports of several attributes: privacy by enumeration, and likelihoods equal to the law."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, log

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import UserWords
from sottovoce.curator.expectation import most_likely
from sottovoce.privacy.local import OptimisedUnary, SymmetricUnary
from sottovoce.privacy.local.bloom import BloomFilters, epsilon_of, share_of_coins
from sottovoce.privacy.local.per_attribute import UnaryPerAttribute
from sottovoce.privacy.local.randomizer import below_exp


def filters_without_overlap(*, epsilon: float) -> BloomFilters:
    """Make filters of two attributes, whose labels' signatures have no bit in common."""
    for key in range(1000):
        filters = BloomFilters(
            (2, 2), epsilon=epsilon, key=bytes([key]), hashes=2, bits_per_value=2
        )
        if all(filters.signatures(index).sum(axis=1).max() == 1 for index in (0, 1)):
            return filters
    raise AssertionError


def test_known_pairs_of_epsilon_and_f() -> None:
    """Specification 7, 21; the paper's table 2 reverses them (E6)."""
    for f, epsilon in ((0.9, 30.1006), (0.5, 164.7918), (0.1, 441.6658)):
        assert epsilon_of(f, attributes=15, hashes=5) == pytest.approx(epsilon, abs=5e-5)
        assert share_of_coins(epsilon, attributes=15, hashes=5) == pytest.approx(f, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 20.0])
def test_no_report_reveals_more_than_epsilon(epsilon: float) -> None:
    """All pairs of records and all 256 reports are enumerated; all of epsilon is used."""
    filters = filters_without_overlap(epsilon=epsilon)
    laws = [filters.law(values) for values in product((0, 1), repeat=2)]
    assert {sum(law.values()) for law in laws} == {1}
    worst = max(max(law[r] for law in laws) / min(law[r] for law in laws) for r in laws[0])
    assert worst <= below_exp(epsilon)
    assert log(worst) == pytest.approx(filters.spent)
    assert filters.spent >= epsilon * (1 - 0.003)
    assert filters.epsilon == epsilon


def test_overlapping_signatures_reveal_less() -> None:
    for key in range(5):
        filters = BloomFilters((2, 3), epsilon=2.0, key=bytes([key]), hashes=2, bits_per_value=2)
        laws = [filters.law(values) for values in product(range(2), range(3))]
        worst = max(max(law[r] for law in laws) / min(law[r] for law in laws) for r in laws[0])
        assert worst <= below_exp(2.0)


def test_reports_have_the_law() -> None:
    filters = BloomFilters((2, 2), epsilon=4.0, key=b"key", hashes=2, bits_per_value=2)
    for number, values in enumerate(product((0, 1), repeat=2)):
        columns = [np.full(60_000, value) for value in values]
        words = UserWords(bytes([number]) * 16)
        reports = filters.report(columns, users=np.arange(60_000), words=words)
        counts = Counter(map(bytes, reports))
        law = filters.law(values)
        assert set(counts) <= set(law)
        expected = np.array([float(probability) for probability in law.values()]) * 60_000
        assert expected.min() > 5
        assert stats.chisquare(np.array([counts[r] for r in law]), expected).pvalue > 1e-8


def test_likelihoods_equal_the_law() -> None:
    """For every report, ratios between labels are those of the law."""
    filters = BloomFilters((3, 2), epsilon=5.0, key=b"k", hashes=2, bits_per_value=2)
    law_of_first = filters.law((0, 0))
    reports = np.frombuffer(b"".join(law_of_first), np.uint8).reshape(len(law_of_first), -1)
    first, second = (
        filters.likelihood(matches, kind=np.float64) for matches in filters.matches(reports)
    )
    for values in product(range(3), range(2)):
        law = filters.law(values)
        expected = np.array([float(law[r] / law_of_first[r]) for r in law_of_first])
        ratios = first[values[0]] / first[0] * second[values[1]] / second[0]
        assert ratios == pytest.approx(expected)
    assert first.max() == 1


def test_signatures_differ_and_follow_from_the_key() -> None:
    filters = BloomFilters((16, 41, 2), epsilon=8.0, key=b"k")
    assert filters.bits == 8 * 59
    for attribute, size in enumerate(filters.sizes):
        signatures = filters.signatures(attribute)
        assert (signatures.sum(axis=0) == 5).all()
        assert len(np.unique(signatures, axis=1).T) == size
    again, another = (BloomFilters((16, 41, 2), epsilon=8.0, key=key) for key in (b"k", b"l"))
    assert np.array_equal(again.signatures(1), filters.signatures(1))
    assert not np.array_equal(another.signatures(1), filters.signatures(1))
    # The signatures of 3 labels in one bit cannot all differ.
    assert (
        BloomFilters((3, 3), epsilon=8.0, key=b"k", hashes=3, bits_per_value=1).signatures(0).all()
    )


def test_estimates_of_bits_are_unbiased() -> None:
    filters = BloomFilters((4, 3), epsilon=6.0, key=b"k", hashes=2, bits_per_value=4)
    generator = np.random.default_rng(1)
    values = [generator.integers(0, 4, 100_000), generator.choice(3, 100_000, p=[0.7, 0.2, 0.1])]
    reports = filters.report(values, users=np.arange(100_000), words=UserWords(b"w" * 16))
    q = float(filters.flips)
    deviation = np.sqrt(100_000 * q * (1 - q)) / (1 - 2 * q)
    estimates = filters.frequencies(filters.ones(reports), users=100_000)
    for attribute, (codes, estimate) in enumerate(zip(values, estimates, strict=True)):
        counts = np.bincount(codes, minlength=filters.sizes[attribute])
        error = np.abs(estimate - filters.signatures(attribute) @ counts).max()
        assert deviation / 10 < error < 6 * deviation


def test_reports_do_not_depend_on_other_users() -> None:
    filters = BloomFilters((4, 9), epsilon=3.0, key=b"k")
    values, users = [np.arange(9000) % 4, np.arange(9000) % 9], np.arange(9000)[::-1].copy()
    together = filters.report(values, users=users, words=UserWords(b"k" * 16))
    some = np.random.default_rng(4).permutation(9000)[:700]
    alone = filters.report(
        [column[some] for column in values], users=users[some], words=UserWords(b"k" * 16)
    )
    assert np.array_equal(together[some], alone)


def test_impossible_parameters_are_refused() -> None:
    for more, match in (
        ({"sizes": (3, 1)}, "attributes of at least 2 labels"),
        ({"sizes": ()}, "attributes of at least 2 labels"),
        ({"epsilon": 0.0}, "finite epsilon above 0"),
        ({"epsilon": float("inf")}, "finite epsilon above 0"),
        ({"epsilon": 1e-12}, "choose a larger one"),
        ({"hashes": 17}, "1 to 16 hashes"),
        ({"hashes": 0}, "1 to 16 hashes"),
        ({"sizes": (2, 1 << 20)}, "filters of at most 2\\^22 bits"),
    ):
        with pytest.raises(ValueError, match=match):
            BloomFilters(**{"sizes": (2, 3), "epsilon": 1.0, "key": b"k", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [OptimisedUnary, SymmetricUnary])
def test_unary_reports_of_each_attribute(kind: type[OptimisedUnary]) -> None:
    """Each has epsilon / |A|; likelihoods equal the law, and the joint table is recovered."""
    unary = UnaryPerAttribute((2, 3), kind=kind, epsilon=3.0)
    assert [randomizer.epsilon for randomizer in unary.randomizers] == [1.5, 1.5]
    assert unary.bits == 5
    laws = [
        [randomizer.law(value) for value in range(randomizer.cells)]
        for randomizer in unary.randomizers
    ]
    product_of_worst = 1.0
    for by_value in laws:
        product_of_worst *= float(
            max(
                max(law[r] for law in by_value) / min(law[r] for law in by_value)
                for r in by_value[0]
            )
        )
    assert product_of_worst <= exp(3.0)
    reports = [np.frombuffer(b"".join(by_value[0]), np.uint8).reshape(-1, 1) for by_value in laws]
    likelihoods = unary.likelihoods(reports, kind=np.float64)
    for by_value, likelihood in zip(laws, likelihoods, strict=True):
        ratios = [[float(law[r] / by_value[0][r]) for r in by_value[0]] for law in by_value]
        assert likelihood / likelihood[0] == pytest.approx(np.array(ratios))
    generator = np.random.default_rng(5)
    table = np.array([[0.5, 0.1, 0.0], [0.1, 0.1, 0.2]])
    values = np.unravel_index(generator.choice(6, 200_000, p=table.reshape(-1)), table.shape)
    first, second = unary.report([*values], users=np.arange(200_000), words=UserWords(b"s" * 16))
    # The first bits of the two reports would be equal if they shared words.
    bits = first[values[0] == 1, 0] & 1, second[values[0] == 1, 0] >> 2 & 1
    assert abs(np.corrcoef(*bits)[0, 1]) < 0.3
    estimate = most_likely(unary.likelihoods([first, second])).table
    assert estimate == pytest.approx(table, abs=0.03)
