"""Packed reports, groups of users and shares, against whole numbers of Python."""

from __future__ import annotations

import random
from math import log, log1p

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.crypto import UserWords
from sottovoce.messages import UsageError
from sottovoce.privacy.local.assignment import Assignment, share_out
from sottovoce.privacy.local.belief import PastReport, excess
from sottovoce.privacy.local.choice import best, printed_choice
from sottovoce.privacy.local.clear import ClearAttributes
from sottovoce.privacy.local.direct import DirectEncoding
from sottovoce.privacy.local.groups import GroupBook, UserGroup
from sottovoce.privacy.local.hashing import PRIME
from sottovoce.privacy.local.packing import (
    pack,
    packed_size,
    read_integers,
    unpack,
    write_integers,
)

WIDTHS = [1, 2, 3, 7, 8, 9, 13, 16, 17, 24, 31]


def rows_of(numbers: list[int], *, bits: int) -> npt.NDArray[np.uint8]:
    octets = [list(number.to_bytes(-(-bits // 8), "little")) for number in numbers]
    return np.array(octets, np.uint8).reshape(len(numbers), -(-bits // 8))


def joined(numbers: list[int], *, bits: int) -> int:
    return sum(number << place * bits for place, number in enumerate(numbers))


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 9])
def test_reports_stand_one_after_another_without_gaps(bits: int, count: int) -> None:
    generator = random.Random(bits * 100 + count)
    numbers = [generator.getrandbits(bits) for _ in range(count)]
    reports = rows_of(numbers, bits=bits)
    packed = pack(reports, bits=bits)
    assert packed.size == packed_size(count, bits=bits) == (count * bits + 7) // 8
    assert int.from_bytes(packed.tobytes(), "little") == joined(numbers, bits=bits)
    assert unpack(packed, bits=bits, reports=count).tolist() == reports.tolist()
    for wrong in (np.append(packed, np.uint8(0)), packed[:-1]) if packed.size else ():
        with pytest.raises(ValueError, match=f"expected {count} reports of {bits} bits"):
            unpack(wrong, bits=bits, reports=count)
    used = count * bits % 8
    if used:
        for bit in (used, 7):
            dirty = packed.copy()
            dirty[-1] |= 1 << bit
            with pytest.raises(ValueError, match="zeros after the last report"):
                unpack(dirty, bits=bits, reports=count)
        full = unpack(
            np.full_like(packed, 255) & _mask(packed.size, used), bits=bits, reports=count
        )
        assert int.from_bytes(full[-1].tobytes(), "little") == (1 << bits) - 1


def _mask(size: int, used: int) -> npt.NDArray[np.uint8]:
    mask = np.full(size, 255, np.uint8)
    mask[-1] = (1 << used) - 1
    return mask


@pytest.mark.parametrize("bits", [*WIDTHS, 47, 62])
@pytest.mark.parametrize("numbers", [1, 2, 3])
def test_integers_of_a_user_stand_one_after_another(bits: int, numbers: int) -> None:
    generator = random.Random(bits * 10 + numbers)
    most = (1 << bits) - 1
    values = [[generator.getrandbits(bits) for _ in range(numbers)] for _ in range(4)]
    values += [[0] * numbers, [most] * numbers]
    reports = write_integers(np.array(values, np.uint64), bits=bits)
    assert reports.shape == (6, (bits * numbers + 7) // 8)
    for row, expected in zip(reports, values, strict=True):
        assert int.from_bytes(row.tobytes(), "little") == joined(expected, bits=bits)
    assert read_integers(reports, bits=bits, numbers=numbers).tolist() == values
    empty = np.zeros((0, reports.shape[1]), np.uint8)
    assert read_integers(empty, bits=bits, numbers=numbers).shape == (0, numbers)
    for wrong in (reports[:, :-1], np.hstack([reports, reports[:, :1]]), reports.reshape(-1)):
        with pytest.raises(ValueError, match=f"expected reports of {reports.shape[1]} bytes"):
            read_integers(wrong, bits=bits, numbers=numbers)
    if used := bits * numbers % 8:
        dirty = reports.copy()
        dirty[2, -1] |= 1 << used
        with pytest.raises(ValueError, match=f"expected reports of {bits * numbers} bits"):
            read_integers(dirty, bits=bits, numbers=numbers)


def test_hash_functions_are_over_a_prime_field() -> None:
    """Functions a x + b modulo P are pairwise independent for a prime P alone."""
    assert gmpy2.is_prime(PRIME)
    assert PRIME == 2**31 - 1  # products of two residues stay below 2^62


# Groups


REPORT = PastReport(belief=0.25, ratio=3.0)


def test_users_are_found_within_their_group_alone() -> None:
    book = GroupBook([UserGroup(20, 30), UserGroup(0, 10, frozenset({1}), (REPORT,))])
    assert book.of(0, 10).reports == (REPORT,)
    assert book.of(3, 4) == UserGroup(3, 4, frozenset({1}), (REPORT,))
    assert book.of(10, 20) == UserGroup(10, 20)
    assert book.of(30, 99) == UserGroup(30, 99)
    for start, end in ((9, 11), (0, 11), (19, 21), (10, 21), (15, 35), (29, 31)):
        with pytest.raises(ValueError, match=f"found places {start} to {end} across groups"):
            book.of(start, end)


@pytest.mark.parametrize(("start", "end"), [(0, 10), (0, 4), (4, 10), (3, 7)])
def test_a_report_divides_its_group(start: int, end: int) -> None:
    book = GroupBook()
    book.record(0, 10, attributes=frozenset({1}), report=REPORT)
    earlier = book.copy()
    cost = book.record(start, end, attributes=frozenset({1, 2}), report=REPORT)
    for user in range(10):
        expected = (REPORT, REPORT) if start <= user < end else (REPORT,)
        assert book.of(user, user + 1).reports == expected
        assert earlier.of(user, user + 1).reports == (REPORT,)
    both = log1p(excess((REPORT, REPORT))) - log1p(excess((REPORT,)))
    assert cost.users == (start, end)
    assert cost.epsilon == pytest.approx(both)
    assert cost.whole_record == pytest.approx(log(REPORT.ratio))
    with pytest.raises(ValueError, match="a set with the attributes"):
        book.record(start, end, attributes=frozenset({2, 3}), report=REPORT)


def test_a_report_of_the_whole_record_has_one_loss() -> None:
    """Where omega is 1 the label's loss is that of the record, and is stated once."""
    report = PastReport(belief=1.0, ratio=3.0)
    cost = GroupBook().record(0, 5, attributes=frozenset({0}), report=report)
    assert cost.epsilon == pytest.approx(log(report.ratio))
    assert cost.whole_record is None


def test_attributes_in_clear_are_counted_as_they_are() -> None:
    """At a large epsilon labels are, too; each report has as many bits as its values need."""
    generator = np.random.default_rng(5)
    sizes, labels = (3, 2, 9), 4
    encoding = ClearAttributes(sizes, labels=labels, epsilon=20.0)
    assert encoding.bits == 2 + 1 + 4 + 2
    columns = [generator.integers(0, size, 50) for size in sizes]
    label = generator.integers(0, labels, 50)
    reports = encoding.report(columns, label, users=np.arange(50), words=UserWords(bytes(32)))
    assert reports.shape == (50, 2)
    for size, column, counts in zip(sizes, columns, encoding.counts(reports), strict=True):
        expected = np.zeros((labels, size), int)
        np.add.at(expected, (label, column), 1)
        assert counts.tolist() == expected.tolist()
        assert encoding.joint(counts) == pytest.approx(expected / 50, abs=1e-6)


# Shares and choices


@pytest.mark.parametrize("users", [0, 1, 7, 100, 1001])
@pytest.mark.parametrize("weights", [[1.0], [1, 1, 1], [4, 32, 256], [0.5, 0.25, 0.25], [1, 0, 2]])
def test_users_are_shared_out_by_largest_remainder(users: int, weights: list[float]) -> None:
    sizes = share_out(users, weights)
    assert sum(sizes) == users
    exact = [users * weight / sum(weights) for weight in weights]
    assert all(abs(size - part) < 1 for size, part in zip(sizes, exact, strict=True))
    remainders = [part - int(part) for part in exact]
    more = [
        place for place, (size, part) in enumerate(zip(sizes, exact, strict=True)) if size > part
    ]
    fewer = [place for place in range(len(sizes)) if place not in more]
    for large in more:
        for small in fewer:
            larger = (remainders[large], -large) > (remainders[small], -small)
            assert larger or not remainders[small]


def test_groups_of_users_stand_one_after_another() -> None:
    randomizer = DirectEncoding(3, epsilon=1.0)

    def assignment(
        sizes: list[int], *, first: int = 0, starts: list[int] | None = None
    ) -> Assignment:
        return Assignment(
            users=10,
            key=bytes(32),
            randomizers=(randomizer,) * len(sizes),
            sizes=np.array(sizes),
            first=first,
            starts=None if starts is None else np.array(starts),
        )

    assert assignment([4, 6]).runs == [(0, 4), (4, 10)]
    assert assignment([1, 2], first=9 - 2).after == 10
    assert assignment([2, 3], first=1, starts=[1, 7]).runs == [(1, 3), (7, 10)]
    assert assignment([2, 3], first=1, starts=[1, 3]).asked == 5
    wrong: list[tuple[list[int], int, list[int] | None]] = [
        ([4, 7], 0, None),
        ([0, 0], 0, None),
        ([5, -1], 0, None),
        ([1], 10, None),
        ([1], -1, None),
        ([], 0, None),
        ([2, 3], 1, [1, 8]),
        ([2, 3], 1, [1, 2]),
        ([2, 3], 1, [2, 5]),
        ([2, 3], 1, [1]),
        ([2, 3], 1, [1, 0]),
    ]
    for sizes, first, starts in wrong:
        with pytest.raises(ValueError, match="expected"):
            assignment(sizes, first=first, starts=starts)
    questions = assignment([2, 3], first=1, starts=[1, 7]).questions(np.arange(10))
    assert np.bincount(questions, minlength=3).tolist() == [2, 3, 5]


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 10), (2.0, 24), (4.0, 165)])
def test_the_printed_rule_takes_grr_up_to_its_bound(epsilon: float, most: int) -> None:
    names = [printed_choice(cells, epsilon=epsilon).name for cells in (2, most, most + 1)]
    assert names == ["grr", "grr", "oue"]


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 9), (2.0, 20), (4.0, 133)])
def test_the_exact_rule_takes_the_least_total_variance(epsilon: float, most: int) -> None:
    """At epsilon 4 the formulas have 134; the digits of OUE's probabilities make it one less."""
    names = [best(cells, epsilon=epsilon).name for cells in (2, most, most + 1)]
    assert names == ["grr", "grr", "oue"]
    assert best(5, epsilon=epsilon, among=[DirectEncoding]).name == "grr"
    with pytest.raises(UsageError, match="at least one randomizer"):
        best(5, epsilon=epsilon, among=[])
