"""Every local randomizer of this package keeps the laws, and has the known numbers."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import comb, exp, log2
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sottovoce.crypto.user_words import UserWords
from sottovoce.messages import UsageError
from sottovoce.privacy.local import (
    RANDOMIZERS,
    DirectEncoding,
    HadamardBit,
    HadamardResponse,
    LocalHashing,
    OptimisedUnary,
    Randomizer,
    SubsetSelection,
    SymmetricUnary,
    best,
    printed_choice,
    report,
)
from sottovoce.privacy.local.bits import column_sums
from sottovoce.privacy.local.conformance import RandomizerConformance
from sottovoce.privacy.local.packing import write_integers
from sottovoce.privacy.local.randomizer import below_exp, threshold
from sottovoce.privacy.local.unary import MAX_VARIANCE_LOSS


def _example() -> ModuleType:
    path = Path(__file__).parents[3] / "docs" / "examples" / "my_randomizer.py"
    spec = importlib.util.spec_from_file_location("my_randomizer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


my_randomizer = _example()


class TestDirectEncoding(RandomizerConformance):
    randomizer = DirectEncoding


class TestOptimisedUnary(RandomizerConformance):
    randomizer = OptimisedUnary


class TestSymmetricUnary(RandomizerConformance):
    randomizer = SymmetricUnary
    tight = False  # Both bits are flipped with the same q, which has few digits.


class TestSymmetricUnaryToTheLastDigit(RandomizerConformance):
    randomizer = partial(SymmetricUnary, digits=32)


class TestLocalHashing(RandomizerConformance):
    randomizer = LocalHashing
    enumerated = partial(LocalHashing, prime=11)


class TestSubsetSelection(RandomizerConformance):
    randomizer = SubsetSelection


class TestSubsetsOfTwo(RandomizerConformance):
    randomizer = lambda cells, *, epsilon: SubsetSelection(  # noqa: E731
        cells, epsilon=epsilon, chosen=min(2, cells - 1)
    )


class TestHadamardResponse(RandomizerConformance):
    randomizer = HadamardResponse


class TestHadamardBit(RandomizerConformance):
    randomizer = HadamardBit


class TestTheExampleOfTheDocumentation(RandomizerConformance):
    randomizer = my_randomizer.Otherwise


KINDS = sorted(RANDOMIZERS)


@pytest.mark.parametrize("name", KINDS)
def test_epsilons_that_coins_cannot_express_are_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match="that coins of 32 bits can express, found 1e-12: choose a larger"
    ):
        RANDOMIZERS[name](4, epsilon=1e-12)
    large = RANDOMIZERS[name](4, epsilon=60.0)
    assert large.p > large.q  # An epsilon that coins cannot express is rounded down.
    assert report(large, np.array([1, 2]), users=np.arange(2), words=UserWords(None)).shape == (
        2,
        large.size,
    )


@pytest.mark.parametrize("name", KINDS)
def test_reports_that_nobody_can_have_made(name: str) -> None:
    randomizer = RANDOMIZERS[name](5, epsilon=1.0)
    full = np.full((1, randomizer.size), 255, np.uint8)
    with pytest.raises(ValueError, match="expected"):
        randomizer.support(full)


def hashed_report(**changed: int) -> tuple[LocalHashing, np.ndarray]:
    """Make a report of local hashing whose fields are all possible, but for the changed ones."""
    randomizer = LocalHashing(40, epsilon=1.4)
    fields = dict(zip("abcy", (3, 5, 7, 2), strict=True)) | changed
    return randomizer, randomizer._write(np.array([[*fields.values()]], np.uint64))


@pytest.mark.parametrize("field", "abcy")
def test_a_hashed_report_with_one_impossible_field(field: str) -> None:
    randomizer, _ = hashed_report()
    limit = randomizer.hashes if field == "y" else randomizer.prime
    # Both limits can be written, so only the check refuses them.
    assert limit < 1 << (limit - 1).bit_length()
    randomizer, possible = hashed_report(**{field: limit - 1})
    assert randomizer.support(possible).max() <= 1
    _, impossible = hashed_report(**{field: limit})
    with pytest.raises(ValueError, match="expected coefficients below"):
        randomizer.support(impossible)
    with pytest.raises(ValueError, match="expected coefficients below"):
        randomizer.support(np.concatenate([possible, impossible, possible]))


@pytest.mark.parametrize("cells", [5, 6, 9])
def test_a_value_just_out_of_range(cells: int) -> None:
    randomizer = DirectEncoding(cells, epsilon=1.0)

    def written(value: int) -> np.ndarray:
        return write_integers(np.array([[1], [value]], np.uint64), bits=randomizer.bits)

    assert randomizer.support(written(cells - 1))[cells - 1] == 1
    with pytest.raises(ValueError, match=f"expected values below {cells}, found {cells}"):
        randomizer.support(written(cells))


@pytest.mark.parametrize("name", KINDS)
def test_a_group_without_reports(name: str) -> None:
    """Groups are counted apart, and one may be empty: the first, one within, or the last."""
    randomizer = RANDOMIZERS[name](5, epsilon=1.0)
    reports = report(
        randomizer, np.array([0, 1, 4, 4, 2]), users=np.arange(5), words=UserWords(bytes(16))
    )
    whole = randomizer.support(reports)
    for sizes in ([0, 2, 3], [2, 0, 3], [2, 3, 0], [0, 0, 5]):
        groups = randomizer.supports(reports, np.array(sizes))
        assert len(groups) == 3
        for size, group in zip(sizes, groups, strict=True):
            assert group.shape == (5,)
            assert size or not group.any()
        assert np.array_equal(np.sum(groups, axis=0), whole)
        ends = np.cumsum(sizes)
        for group, size, end in zip(groups, sizes, ends.tolist(), strict=True):
            if size:
                assert np.array_equal(group, randomizer.support(reports[end - size : end]))


def test_known_answers() -> None:
    """Specification 7: 1 to 7, and 22."""
    exact = partial(OptimisedUnary, 9, digits=32)
    assert [float(exact(epsilon=e).q) for e in (1, 2, 4, 8)] == pytest.approx(
        [0.268941421, 0.119202922, 0.017986210, 0.000335350], abs=1e-9
    )
    assert [exact(epsilon=e).variance() for e in (1, 2, 4, 8)] == pytest.approx(
        [3.68269438, 0.724061661, 0.0760218298, 0.00134275125], rel=2e-6
    )
    symmetric = partial(SymmetricUnary, 9, digits=32)
    assert float(symmetric(epsilon=1).p) == pytest.approx(0.622459331, abs=1e-9)
    assert [symmetric(epsilon=e).variance() for e in (1, 8)] == pytest.approx(
        [3.91769809, 0.0190054575], rel=1e-6
    )
    assert symmetric(epsilon=1).variance(frequency=0.7) == pytest.approx(3.91769809, rel=1e-6)
    grr = DirectEncoding(16, epsilon=2)
    assert (float(grr.p), float(grr.q), grr.variance()) == pytest.approx(
        (0.330029818, 0.044664679, 0.52398423), rel=1e-6
    )
    assert DirectEncoding(16, epsilon=8).variance() == pytest.approx(3.37264362e-4, rel=1e-5)
    for kind in (HadamardResponse, HadamardBit):
        assert [kind(16, epsilon=e).variance() for e in (1, 2, 4)] == pytest.approx(
            [4.68269438, 1.72406166, 1.07602183], rel=1e-6
        )
    subset = SubsetSelection(20, epsilon=1.5)
    assert subset.chosen == 4
    assert (float(subset.p), float(subset.q), subset.variance()) == pytest.approx(
        (0.528395822, 0.182716009, 1.24968788)
    )
    hashing = LocalHashing(20, epsilon=1.5)
    assert hashing.hashes == 5
    assert (float(hashing.p), float(hashing.q)) == pytest.approx((0.528395822, 0.2))
    assert exact(epsilon=4).variance(users=10_000, frequency=0.9) * 1e8 == pytest.approx(
        9760.2, abs=0.1
    )
    q = float(OptimisedUnary(256, epsilon=1, digits=32).q)
    entropy = 1 + 255 * -(q * np.log2(q) + (1 - q) * np.log2(1 - q))
    assert entropy == pytest.approx(215.19, abs=0.01)
    assert log2(comb(256, SubsetSelection(256, epsilon=1).chosen)) == pytest.approx(
        211.09, abs=0.01
    )


def test_bits_of_a_report() -> None:
    sizes = {name: RANDOMIZERS[name](256, epsilon=1.5).bits for name in KINDS}
    assert sizes == {
        "grr": 8,
        "oue": 256,
        "sue": 256,
        "olh": 3 * 31 + 3,
        "subset": 256,
        "hr": 9,
        "hadamard-bit": 10,
    }
    assert (
        SubsetSelection(256, epsilon=5).bits == 2 * 8
    )  # The values are listed, as this is shorter.


@pytest.mark.parametrize("kind", [OptimisedUnary, SymmetricUnary])
def test_few_digits_cost_little(kind: type[OptimisedUnary]) -> None:
    for epsilon in np.geomspace(0.05, 12, 60):
        few, exact = kind(16, epsilon=epsilon), kind(16, epsilon=epsilon, digits=32)
        assert few.digits <= exact.digits
        assert few.variance() <= exact.variance() * (1 + MAX_VARIANCE_LOSS)
    assert OptimisedUnary(16, epsilon=1.0).digits == 2
    assert OptimisedUnary(16, epsilon=1.0).variance() == pytest.approx(3.6917, abs=1e-4)


def test_adaptive_choice() -> None:
    """Specification 7, 6: the largest domains for GRR, by the printed and by the exact rule."""
    for epsilon, last in ((1.0, 10), (2.0, 24), (4.0, 165), (8.0, 8944)):
        assert [printed_choice(cells, epsilon=epsilon).name for cells in (last, last + 1)] == [
            "grr",
            "oue",
        ]
    exact = partial(OptimisedUnary, digits=32)
    two = (DirectEncoding, exact)
    for epsilon, last in ((1.0, 9), (2.0, 20), (4.0, 134)):
        assert [best(cells, epsilon=epsilon, among=two).name for cells in (last, last + 1)] == [
            "grr",
            "oue",
        ]
    assert best(5999, epsilon=8.0, among=two).name == "grr"  # E5: GRR wins for every K up to 5999.
    unary = (exact, partial(SymmetricUnary, digits=32))
    assert [best(cells, epsilon=8.0, among=unary).name for cells in (56, 57)] == ["sue", "oue"]
    with pytest.raises(UsageError, match="at least one randomizer"):
        best(4, epsilon=1.0, among=())


def test_the_exact_rule_equals_brute_force() -> None:
    for epsilon in (0.5, 1.0, 3.0):
        for cells in (2, 7, 30):
            kinds: list[type[Randomizer]] = [
                DirectEncoding,
                OptimisedUnary,
                SymmetricUnary,
                SubsetSelection,
            ]
            chosen = best(cells, epsilon=epsilon, among=kinds)
            for kind in kinds:
                frequencies = np.random.default_rng(cells).dirichlet(np.ones(cells))
                other = kind(cells, epsilon=epsilon)
                total = sum(other.variance(frequency=float(f)) for f in frequencies)
                # The total does not depend on the frequencies.
                assert total == pytest.approx(other.total_variance)
                assert chosen.total_variance <= other.total_variance


def test_hashes_of_three_values_are_independent() -> None:
    """Over all 11^3 functions, the joint distribution of three hashes is a product."""
    hashing = LocalHashing(7, epsilon=0.5, prime=11)
    points = np.arange(11)
    a, b, c = (axis.reshape(-1) for axis in np.meshgrid(points, points, points, indexing="ij"))
    hashed = [((a * v + b) * v + c) % 11 * hashing.hashes // 11 for v in range(7)]
    sizes = np.bincount(hashed[0], minlength=hashing.hashes) / 11**3
    for trio in ((0, 1, 2), (1, 3, 6), (2, 4, 5)):
        joint = np.zeros((hashing.hashes,) * 3)
        np.add.at(joint, tuple(hashed[v] for v in trio), 1 / 11**3)
        assert joint == pytest.approx(np.einsum("i,j,k->ijk", sizes, sizes, sizes))


def test_words_do_not_depend_on_other_users() -> None:
    def draw(users: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        stream = UserWords(b"k" * 16).of(np.array(users))
        return np.concatenate([stream.take(lines=2, words=3).copy(), stream.take(words=3).copy()])

    words = draw(list(range(40)))
    assert np.array_equal(words[:, [3, 17, 4]], draw([3, 17, 4]))
    assert len(np.unique(words)) == words.size
    assert draw([1 << 60, 7]).shape == (3, 2, 3)
    assert not np.array_equal(
        UserWords(None).of(np.arange(4)).take(), UserWords(None).of(np.arange(4)).take()
    )
    with pytest.raises(ValueError, match="a key of at least 16 bytes"):
        UserWords(b"short")


def test_column_sums_equal_numpys() -> None:
    generator = np.random.default_rng(6)
    for lines, columns in ((0, 5), (1, 1), (63, 8), (700, 13), (5000, 70), (40_000, 24)):
        bits = generator.random((lines, columns)) < generator.random(columns)
        packed = np.packbits(bits, axis=1, bitorder="little")
        assert column_sums(packed, columns=columns).tolist() == bits.sum(axis=0).tolist()


def test_thresholds_round_to_the_safe_side() -> None:
    third = Fraction(1, 3)
    assert threshold(third) < third * 2**32 < threshold(third, up=True) == threshold(third) + 1
    for epsilon in (0.3, 1.0, 5.0):
        assert below_exp(epsilon) < below_exp(epsilon) + Fraction(1, 10**17)
        assert float(below_exp(epsilon)) == pytest.approx(exp(epsilon), rel=1e-15)
    assert all(below_exp(low) < below_exp(high) for low, high in pairwise((0.1, 0.2, 1.0, 2.0)))
