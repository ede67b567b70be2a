"""Bloom filters and other reports of several attributes: privacy by enumeration, and likelihoods by
the law.
"""

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


def apart(*, epsilon: float) -> BloomFilters:
    """Two attributes, whose labels' signatures have no bit in common."""
    for key in range(1000):
        found = BloomFilters((2, 2), epsilon=epsilon, key=bytes([key]), hashes=2, bits_per_value=2)
        if all(found.signatures(at).sum(axis=1).max() == 1 for at in (0, 1)):
            return found
    raise AssertionError


def test_epsilon_and_f() -> None:
    """Specification 7, 21: the paper's table 2 has them reversed (E6)."""
    for f, epsilon in ((0.9, 30.1006), (0.5, 164.7918), (0.1, 441.6658)):
        assert epsilon_of(f, attributes=15, hashes=5) == pytest.approx(epsilon, abs=5e-5)
        assert share_of_coins(epsilon, attributes=15, hashes=5) == pytest.approx(f, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 20.0])
def test_no_report_tells_more_than_epsilon(epsilon: float) -> None:
    """By enumeration, exactly, over all pairs of records and all 256 reports; and all of it is
    used.
    """
    filters = apart(epsilon=epsilon)
    laws = [filters.law(values) for values in product((0, 1), repeat=2)]
    assert {sum(law.values()) for law in laws} == {1}
    worst = max(max(law[told] for law in laws) / min(law[told] for law in laws) for told in laws[0])
    assert worst <= below_exp(epsilon)
    assert log(worst) == pytest.approx(filters.spent)
    assert filters.spent >= epsilon * (1 - 0.003)
    assert filters.epsilon == epsilon


def test_signatures_that_overlap_tell_less() -> None:
    for key in range(5):
        filters = BloomFilters((2, 3), epsilon=2.0, key=bytes([key]), hashes=2, bits_per_value=2)
        laws = [filters.law(values) for values in product(range(2), range(3))]
        worst = max(
            max(law[told] for law in laws) / min(law[told] for law in laws) for told in laws[0]
        )
        assert worst <= below_exp(2.0)


def test_reports_have_the_law() -> None:
    filters = BloomFilters((2, 2), epsilon=4.0, key=b"key", hashes=2, bits_per_value=2)
    for number, values in enumerate(product((0, 1), repeat=2)):
        columns = [np.full(60_000, value) for value in values]
        words = UserWords(bytes([number]) * 16)
        told = Counter(map(bytes, filters.report(columns, users=np.arange(60_000), words=words)))
        law = filters.law(values)
        assert set(told) <= set(law)
        expected = np.array([float(likely) for likely in law.values()]) * 60_000
        assert expected.min() > 5
        assert stats.chisquare(np.array([told[one] for one in law]), expected).pvalue > 1e-8


def test_the_likelihood_is_the_laws() -> None:
    """Whatever the report, ratios between labels are those of the law."""
    filters = BloomFilters((3, 2), epsilon=5.0, key=b"k", hashes=2, bits_per_value=2)
    first = filters.law((0, 0))
    every = [*first]
    reports = np.frombuffer(b"".join(every), np.uint8).reshape(len(every), -1)
    one, other = (filters.likelihood(own, kind=np.float64) for own in filters.matches(reports))
    for values in product(range(3), range(2)):
        law = filters.law(values)
        expected = np.array([float(law[told] / first[told]) for told in every])
        assert one[values[0]] / one[0] * other[values[1]] / other[0] == pytest.approx(expected)
    assert one.max() == 1


def test_signatures() -> None:
    filters = BloomFilters((16, 41, 2), epsilon=8.0, key=b"k")
    assert filters.bits == 8 * 59
    for at, size in enumerate(filters.sizes):
        own = filters.signatures(at)
        assert (own.sum(axis=0) == 5).all()
        assert len(np.unique(own, axis=1).T) == size
    again, another = (BloomFilters((16, 41, 2), epsilon=8.0, key=key) for key in (b"k", b"l"))
    assert np.array_equal(again.signatures(1), filters.signatures(1))
    assert not np.array_equal(another.signatures(1), filters.signatures(1))
    # Not all can differ: 3 labels in one bit.
    assert (
        BloomFilters((3, 3), epsilon=8.0, key=b"k", hashes=3, bits_per_value=1).signatures(0).all()
    )


def test_how_many_have_a_bit_is_estimated_without_bias() -> None:
    filters = BloomFilters((4, 3), epsilon=6.0, key=b"k", hashes=2, bits_per_value=4)
    generator = np.random.default_rng(1)
    values = [generator.integers(0, 4, 100_000), generator.choice(3, 100_000, p=[0.7, 0.2, 0.1])]
    reports = filters.report(values, users=np.arange(100_000), words=UserWords(b"w" * 16))
    q = float(filters.flips)
    deviation = np.sqrt(100_000 * q * (1 - q)) / (1 - 2 * q)
    estimates = filters.frequencies(filters.ones(reports), users=100_000)
    for at, (own, found) in enumerate(zip(values, estimates, strict=True)):
        truth = filters.signatures(at) @ np.bincount(own, minlength=filters.sizes[at])
        assert np.abs(found - truth).max() < 6 * deviation
        assert np.abs(found - truth).max() > deviation / 10


def test_reports_do_not_depend_on_who_else_reports() -> None:
    filters = BloomFilters((4, 9), epsilon=3.0, key=b"k")
    values, users = [np.arange(9000) % 4, np.arange(9000) % 9], np.arange(9000)[::-1].copy()
    together = filters.report(values, users=users, words=UserWords(b"k" * 16))
    some = np.random.default_rng(4).permutation(9000)[:700]
    alone = filters.report(
        [own[some] for own in values], users=users[some], words=UserWords(b"k" * 16)
    )
    assert np.array_equal(together[some], alone)


def test_what_cannot_be() -> None:
    for more, match in (
        ({"sizes": (3, 1)}, "attributes of at least 2 labels"),
        ({"sizes": ()}, "attributes of at least 2 labels"),
        ({"epsilon": 0.0}, "finite epsilon above 0"),
        ({"epsilon": float("inf")}, "finite epsilon above 0"),
        ({"epsilon": 1e-12}, "too small"),
        ({"hashes": 17}, "1 to 16 hashes"),
        ({"hashes": 0}, "1 to 16 hashes"),
        ({"sizes": (2, 1 << 20)}, "filters of at most 2\\^22 bits"),
    ):
        with pytest.raises(ValueError, match=match):
            BloomFilters(**{"sizes": (2, 3), "epsilon": 1.0, "key": b"k", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [OptimisedUnary, SymmetricUnary])
def test_several_attributes_each_by_itself(kind: type[OptimisedUnary]) -> None:
    """At epsilon / |A| each, by the law; the likelihoods of all reports are the law's, and the
    joint comes out.
    """
    several = UnaryPerAttribute((2, 3), kind=kind, epsilon=3.0)
    assert [own.epsilon for own in several.randomizers] == [1.5, 1.5]
    assert several.bits == 5
    laws = [[own.law(value) for value in range(own.cells)] for own in several.randomizers]
    product_of_worst = 1.0
    for law in laws:
        product_of_worst *= float(
            max(max(one[told] for one in law) / min(one[told] for one in law) for told in law[0])
        )
    assert product_of_worst <= exp(3.0)
    every = [np.frombuffer(b"".join(law[0]), np.uint8).reshape(-1, 1) for law in laws]
    for law, found in zip(laws, several.likelihoods(every, kind=np.float64), strict=True):
        ratios = [[float(one[told] / law[0][told]) for told in law[0]] for one in law]
        assert found / found[0] == pytest.approx(np.array(ratios))
    generator = np.random.default_rng(5)
    table = np.array([[0.5, 0.1, 0.0], [0.1, 0.1, 0.2]])
    values = np.unravel_index(generator.choice(6, 200_000, p=table.reshape(-1)), table.shape)
    told = several.report([*values], users=np.arange(200_000), words=UserWords(b"s" * 16))
    # The first bits of the two reports would be alike if they shared words.
    assert (
        abs(np.corrcoef(told[0][values[0] == 1, 0] & 1, told[1][values[0] == 1, 0] >> 2 & 1)[0, 1])
        < 0.3
    )
    assert most_likely(several.likelihoods(told)).table == pytest.approx(table, abs=0.03)
