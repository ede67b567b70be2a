"""Refusals and answers of small functions that no run comes to: each one is shown once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.messages import MisuseError, SottovoceError
from sottovoce.privacy import Accountant, Domain
from sottovoce.privacy.answers import changed
from sottovoce.privacy.binary import BinaryEncoding
from sottovoce.privacy.disclosure import Disclosure
from sottovoce.privacy.likelihood import log_ratio
from sottovoce.privacy.local.belief import realised_epsilon
from sottovoce.privacy.local.direct import DirectEncoding
from sottovoce.privacy.local.hashing import LocalHashing
from sottovoce.privacy.real_values import real_mean
from sottovoce.privacy.sensitivity import mutual_information_sensitivity

ENCODING = BinaryEncoding(Domain({"a": ("x", "y", "z"), "b": ("u", "v")}))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: mutual_information_sensitivity(1, binary=True, base=2), "at least 2 rows"),
        (lambda: mutual_information_sensitivity(1, binary=False, base=2), "at least 2 rows"),
        (lambda: ENCODING.decode([np.zeros(1, np.uint8)] * 2), "expected 3 bits, found 2"),
        (lambda: ENCODING.decode([np.zeros(1, np.uint8)] * 4), "expected 3 bits, found 4"),
        (lambda: LocalHashing(8, epsilon=1.0, prime=7), "at most 7 cells"),
        (
            lambda: real_mean([], bounds=(0, 1), neighbours="replace-one", epsilon=1.0),
            "at least one record",
        ),
    ],
)
def test_what_is_refused(act: Callable[[], object], words: str) -> None:
    with pytest.raises((SottovoceError, ValueError), match=words):
        act()


def test_the_last_values_that_pass() -> None:
    assert mutual_information_sensitivity(2, binary=True, base=2) > 0
    assert LocalHashing(7, epsilon=1.0, prime=7).cells == 7
    columns, valid = ENCODING.decode(
        [np.array([1, 1], np.uint8), *[np.array([0, 1], np.uint8)] * 2]
    )
    assert [column.tolist()[0] for column in columns] == [2, 0]
    assert valid.tolist() == [True, False]
    assert repr(DirectEncoding(5, epsilon=0.5)).endswith(" of 5 cells at epsilon 0.5")


@pytest.mark.parametrize(("believed", "true"), [(0.3, 0.6), (0.5, 0.5), (0.2, 1.0)])
def test_a_wrong_belief_costs_what_footnote_4_says(believed: float, true: float) -> None:
    """exp(epsilon) - 1 grows by true / believed."""
    cost = realised_epsilon(epsilon=1.0, believed=believed, true=true)
    assert (exp(cost) - 1) * believed == pytest.approx((exp(1) - 1) * true)
    assert cost == pytest.approx(log(1 + true / believed * (exp(1) - 1)))


def test_what_is_disclosed_tells_two_tables_apart() -> None:
    first, other = (Disclosure(np.array(counts), 2.0) for counts in ([1, 2], [2, 1]))
    assert log_ratio(first, first, None) == 0
    assert log_ratio(first, other, None) == inf


@dataclass(frozen=True)
class Pair:
    number: int
    numbers: tuple[int, ...]


def test_an_answer_of_several_fields_is_changed_in_each() -> None:
    def plus_one(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values + 1

    assert changed(Pair(3, (4, 5)), plus_one) == Pair(4, (5, 6))
    assert [changed(answer, plus_one) for answer in (True, "a", b"a", None, 2**60)] == [
        False,
        "a?",
        b"`",
        None,
        2**60 + 1,
    ]
    with pytest.raises(TypeError, match="expected numbers and texts"):
        changed(object(), plus_one)


def test_nothing_is_withdrawn_before_a_release() -> None:
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    with pytest.raises(MisuseError, match="expected a release to withdraw, found none"):
        accountant.withdraw(readers=["curator"])
