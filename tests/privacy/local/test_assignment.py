"""The assignment of users to questions, and packed reports."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.crypto import UserWords
from sottovoce.privacy.local import Assignment, DirectEncoding, OptimisedUnary, Randomizer, report
from sottovoce.privacy.local.assignment import share_out

GRR, OUE = DirectEncoding(5, epsilon=1.0), OptimisedUnary(13, epsilon=1.0)


def assignment(users: int = 1000, sizes: tuple[int, ...] = (100, 250, 0, 600)) -> Assignment:
    randomizers: tuple[Randomizer, ...] = (GRR, GRR, OUE, OUE)
    return Assignment(users, b"key", randomizers, np.array(sizes))


def test_sizes_are_exact_and_no_user_is_asked_twice() -> None:
    plan = assignment()
    questions = plan.questions(np.arange(1000))
    # The last 50 users are not asked.
    assert np.bincount(questions, minlength=5).tolist() == [100, 250, 0, 600, 50]
    assert (plan.asked, plan.bits, plan.epsilon) == (950, 350 * 3 + 600 * 13, 1.0)
    some = np.array([3, 999, 77])
    assert np.array_equal(plan.questions(some), questions[some])


def test_rounds_ask_everybody_once() -> None:
    """Each of four rounds continues where the last one stopped."""
    asked, first = np.zeros(1000, np.int64), 0
    for sizes in ((100, 250), (30, 0), (1, 1), (300, 318)):
        plan = Assignment(1000, b"key", (GRR, OUE), np.array(sizes), first)
        questions = plan.questions(np.arange(1000))
        assert np.bincount(questions, minlength=3)[:2].tolist() == list(sizes)
        asked += questions < 2
        first = plan.after
    assert (first, asked.tolist()) == (1000, [1] * 1000)
    with pytest.raises(ValueError, match="found place 1000: all have answered"):
        Assignment(1000, b"key", (GRR, OUE), np.array([1, 0]), first)
    with pytest.raises(
        ValueError, match="expected groups of 1 to 10 users together, none negative, found 11"
    ):
        Assignment(1000, b"key", (GRR, OUE), np.array([11, 0]), 990)


def test_packed_reports_are_counted() -> None:
    plan, users = assignment(), np.array([7, 3, 0, 12])
    values = np.random.default_rng(1).integers(0, 5, users.sum())
    words = UserWords(b"k" * 16)
    reports = [
        report(GRR, values[:10], users=np.arange(10), words=words),
        report(OUE, values[10:], users=np.arange(10, 22), words=words),
    ]
    packed, bits = plan.pack(reports)
    assert (bits, packed.nbytes) == (10 * 3 + 12 * 13, 4 + 20)
    supports = plan.unpack(packed, users)
    expected = [
        GRR.support(reports[0][:7]),
        GRR.support(reports[0][7:]),
        np.zeros(13),
        OUE.support(reports[1]),
    ]
    for support, expected_support in zip(supports, expected, strict=True):
        assert support.tolist() == expected_support.tolist()


@pytest.mark.parametrize(
    ("packed", "users", "match"),
    [
        (
            np.zeros(23, np.uint8),
            [7, 3, 0, 12],
            "expected 12 reports of 13 bits in 20 bytes, found 19",
        ),
        (np.zeros(25, np.uint8), [7, 3, 0, 12], "expected 24 bytes of reports, found 25"),
        (np.zeros(24, np.uint8), [7, 3, 12], "a number of users for each of 4 questions"),
        (np.full(24, 255, np.uint8), [7, 3, 0, 12], "zeros after the last report"),
        (np.full(3, 255, np.uint8), [8, 0, 0, 0], "expected values below 5, found 7"),
    ],
)
def test_malformed_reports_are_refused(packed: np.ndarray, users: list[int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        assignment().unpack(packed, np.array(users))


def test_impossible_assignments_are_refused() -> None:
    with pytest.raises(
        ValueError, match="groups of 1 to 10 users together, none negative, found 950"
    ):
        assignment(users=10)
    with pytest.raises(ValueError, match="groups of 1 to 1000 users"):
        assignment(sizes=(100, -1, 0, 0))
    with pytest.raises(ValueError, match="a size for each of 4 questions"):
        assignment(sizes=(1, 2))
    with pytest.raises(ValueError, match="found 0"):
        assignment(sizes=(0, 0, 0, 0))
    # The sum of these sizes would be small in 64 bits.
    with pytest.raises(ValueError, match="none negative"):
        assignment(sizes=(2**63 - 1, 2**63 - 1, 2, 50))


def test_users_are_shared_out_by_largest_remainder() -> None:
    """The numbers are those of specification 7, 15."""
    assert share_out(100, [1, 1, 1]) == [34, 33, 33]
    assert share_out(1000, [4, 32, 256]) == [14, 109, 877]
    assert share_out(1000, [4 ** (2 / 3), 32 ** (2 / 3), 256 ** (2 / 3)]) == [48, 190, 762]
    assert sum(share_out(12_345, list(np.random.default_rng(2).random(50)))) == 12_345
