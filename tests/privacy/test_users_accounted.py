"""A user reports once: the accountant keeps a budget for each, by places in a public order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError
from sottovoce.privacy import Accountant, Share, epsilon_by_view


@dataclass(frozen=True)
class Told:
    epsilon: float
    name: str = "grr"
    sensitivity: float = 1.0
    scale: float = 1.0
    seen: Mapping[str, float] = field(default_factory=dict)

    by_users: tuple[Share, ...] = ()

    def draw(self, randomness: RandomStream) -> int:
        return 7


def release(accountant: Accountant, epsilon: float, users: tuple[int, int] | None) -> int:
    return accountant.release(
        Told(epsilon), to=0, phase="p", randomness=RandomStream(b"k" * 32), users=users
    )


def accountant(budget: float = 1.0) -> Accountant:
    return Accountant(party=1, parties=2, budget=budget, neighbours="replace-one")


def test_different_users_cost_one_another_nothing() -> None:
    own = accountant()
    for start in range(0, 100, 10):
        assert release(own, 1.0, (start, start + 10)) == 7
    assert own.spent == 1.0
    assert epsilon_by_view(own.releases, parties=2)["epsilon"]["public"] == 1.0


@pytest.mark.parametrize("again", [(0, 10), (9, 10), (9, 50), (3, 4), (0, 1000)])
def test_a_second_report_is_refused(again: tuple[int, int]) -> None:
    own = accountant()
    release(own, 1.0, (0, 10))
    with pytest.raises(
        BudgetError, match=r"on each of the users .* found 2 after .*: some of them have reported"
    ):
        release(own, 1.0, again)
    assert len(own.releases) == 1
    release(own, 1.0, (10, 20))


def test_what_is_about_all_records_is_about_every_user() -> None:
    own = accountant()
    release(own, 0.25, None)
    release(own, 0.75, (0, 10))
    with pytest.raises(BudgetError):
        release(own, 0.1, (5, 6))
    release(own, 0.5, (10, 20))
    with pytest.raises(BudgetError):
        release(own, 0.1, None)
    assert own.spent == 1.0


def test_too_much_at_once() -> None:
    with pytest.raises(
        BudgetError, match=r"each of the users 0 to 9, found 1.5 after this grr release$"
    ):
        release(accountant(), 1.5, (0, 10))


@pytest.mark.parametrize("users", [(5, 5), (20, 5), (-5, 3)])
def test_runs_of_users_that_cannot_be(users: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a run of users from 0 on, and not an empty one"):
        release(accountant(), 1.0, users)
    for epsilon in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="an epsilon of at least 0"):
            release(accountant(), epsilon, None)


def test_the_worst_user_by_brute_force() -> None:
    """Runs that overlap in any way, user by user; infinity and what does not add up exactly
    included.
    """
    generator = np.random.default_rng(8)
    for _ in range(60):
        own, spent = accountant(budget=1e9), np.zeros(30)
        for _ in range(8):
            start, stop = sorted(generator.choice(31, 2, replace=False).tolist())
            epsilon = float(generator.choice([0.1, 0.2, 1 / 3, 0.7]))
            everybody = generator.random() < 0.1
            release(own, epsilon, None if everybody else (start, stop))
            spent[slice(None) if everybody else slice(start, stop)] += epsilon
            assert own.spent == pytest.approx(spent.max(), abs=1e-12)
        assert epsilon_by_view(own.releases, parties=2)["by_party"]["1"]["public"] == pytest.approx(
            spent.max()
        )


def test_users_of_different_cohorts_are_different() -> None:
    both = [accountant(), Accountant(party=2, parties=2, budget=1.0, neighbours="replace-one")]
    for own, _ in product(both, range(1)):
        release(own, 1.0, (0, 100))
    assert (
        epsilon_by_view([*both[0].releases, *both[1].releases], parties=2)["epsilon"]["curator"]
        == 1.0
    )


def test_groups_that_are_asked_again_have_a_book_each() -> None:
    """What is added counts for whom it is added, and the whole record beside."""
    own = accountant()
    first = Told(1.0, by_users=(Share((0, 5), 0.4, 1.5), Share((5, 10), 0.7)))
    second = Told(1.0, by_users=(Share((0, 5), 0.6, 1.0), Share((5, 8), 0.3, 0.9)))
    for told in (first, second):
        own.release(told, to=0, phase="p", randomness=RandomStream(b"k" * 32), users=(0, 10))
    found = epsilon_by_view(own.releases, parties=2)
    assert found["epsilon"]["curator"] == 1.0
    assert found["whole_record"] == 2.5
    more = Told(1.0, by_users=(Share((8, 10), 0.2), Share((10, 12), 1.1)))
    with pytest.raises(BudgetError, match=r"each of the users 10 to 11, found 1.1"):
        own.release(more, to=0, phase="p", randomness=RandomStream(b"k" * 32), users=(8, 12))
    assert len(own.releases) == 4


@pytest.mark.parametrize("shares", [((0, 6), (5, 10)), ((5, 10), (0, 5)), ((0, 11),), ((3, 3),)])
def test_groups_of_one_release_do_not_overlap(shares: tuple[tuple[int, int], ...]) -> None:
    """Else each would be checked without what the other adds."""
    own = accountant()
    told = Told(0.6, by_users=tuple(Share(users, 0.6) for users in shares))
    with pytest.raises(ValueError, match=r"expected runs of the users \(0, 10\) one after another"):
        own.release(told, to=0, phase="p", randomness=RandomStream(b"k" * 32), users=(0, 10))
    assert not own.releases
