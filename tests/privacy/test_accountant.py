"""The accountant checks and records before it draws, and losses add up by party, view and user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError, MisuseError
from sottovoce.privacy import Accountant, Loss, Release, UserCost, laplace, losses_by_view, views
from sottovoce.privacy.above_threshold import above_threshold
from sottovoce.privacy.loss import NO_LOSS, SummedLoss


@dataclass(frozen=True)
class FixedAnswer:
    epsilon: float
    by_users: tuple[UserCost, ...] = ()
    seen: Mapping[str, float] = field(default_factory=dict)

    name = "grr"
    sensitivity = 1.0
    scale = 1.0
    delta = 0.0
    whole_record = None

    def draw(self, randomness: RandomStream) -> int:
        return 7


class CountingStream(RandomStream):
    draws = 0

    def draw(self, length: int) -> bytes:
        self.draws += 1
        return super().draw(length)


def accountant_of(party: int = 1, *, budget: float = 1.0) -> Accountant:
    return Accountant(
        party=party, parties=2, budget=budget, neighbours="replace-one", budget_of="user"
    )


def release(accountant: Accountant, epsilon: float, users: tuple[int, int] | None) -> int:
    return release_mechanism(accountant, FixedAnswer(epsilon), users)


def release_mechanism(
    accountant: Accountant, mechanism: FixedAnswer, users: tuple[int, int] | None
) -> int:
    stream = RandomStream(b"k" * 32)
    return accountant.release(mechanism, to=0, phase="p", randomness=stream, users=users)


def test_nothing_is_drawn_beyond_the_budget() -> None:
    accountant = Accountant(party=2, parties=3, budget=1.0, neighbours="add-or-remove-one")
    stream = CountingStream(bytes(32))
    for _ in range(3):
        accountant.release(
            laplace(0, sensitivity=1, epsilon=1 / 3), to=0, phase="p", randomness=stream
        )
    drawn, spent = stream.draws, accountant.spent
    with pytest.raises(BudgetError, match=r"at most epsilon 1 on party 2's records, found 1\.01"):
        accountant.release(
            laplace(0, sensitivity=1, epsilon=0.01), to=0, phase="p", randomness=stream
        )
    assert (stream.draws, accountant.spent, len(accountant.releases)) == (drawn, spent, 3)


def test_a_withdrawn_release_costs_its_readers_as_before_and_all_others_nothing() -> None:
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    stream = RandomStream(bytes(32))
    accountant.release(laplace(0, sensitivity=1, epsilon=0.5), to=0, phase="p", randomness=stream)
    before = accountant.releases[-1].seen
    accountant.withdraw(readers=["curator"])
    after = accountant.releases[-1].seen
    assert after.keys() == before.keys()
    assert after["curator"] == before["curator"] == Loss.pure(0.5)
    assert {loss for view, loss in after.items() if view != "curator"} == {NO_LOSS}


@pytest.mark.parametrize(
    "loss",
    [
        Loss.pure(0.25, delta=1e-12),
        Loss.concentrated(1e-4, laplace_epsilon=0.1, gaussian=1e-4),
        Loss.concentrated(1e-4),
    ],
)
def test_a_withdrawn_release_leaves_the_budget_as_it_was(loss: Loss) -> None:
    """Each component is 0, and no less: a negative one would pay for later releases."""
    accountant = Accountant(party=1, parties=2, budget=1.0, delta=1e-9, neighbours="replace-one")
    stream = RandomStream(bytes(32))
    accountant.release(StatedLoss(loss), to=0, phase="p", randomness=stream)
    before = accountant.total
    accountant.release(StatedLoss(loss), to=0, phase="p", randomness=stream)
    assert accountant.total != before
    accountant.withdraw(readers=["curator"])
    assert accountant.releases[-1].loss == Loss(0.0, 0.0, 0.0, 0.0, 0.0)
    assert accountant.total == before


def test_losses_add_up_by_view_and_the_worst_party_counts() -> None:
    def released(party: int, epsilon: float, *seers: str) -> Release:
        seen = dict.fromkeys(views(2), NO_LOSS) | dict.fromkeys(seers, Loss.pure(epsilon))
        return Release(party, "p", "m", 1, 1, epsilon, 0.1, 0.0, epsilon, 0, seen, None, None)

    everybody = ("public", "curator", "other_party")
    losses = losses_by_view(
        [
            released(1, 0.5, *everybody),
            released(1, 0.25, "other_party"),
            released(2, 0.6, *everybody),
        ],
        parties=2,
    )
    assert losses.epsilons(delta=0)[1] == {
        "curator": 0.5,
        "public": 0.5,
        "other_party": 0.75,
        "curator_and_1": 0,
    }
    worst = {view: loss.epsilon for view, loss in losses.worst.items()}
    assert worst == {"curator": 0.6, "public": 0.6, "other_party": 0.75, "curator_and_1": 0}


def test_a_release_says_what_it_costs_in_every_view() -> None:
    release = Release(1, "p", "m", 1, 1, 0.5, 0.1, 0, 0.5, 0, {"public": NO_LOSS}, None, None)
    with pytest.raises(KeyError, match="curator"):
        losses_by_view([release], parties=2)


def test_different_users_cost_one_another_nothing() -> None:
    accountant = accountant_of()
    for start in range(0, 100, 10):
        assert release(accountant, 1.0, (start, start + 10)) == 7
    assert accountant.spent == 1.0
    assert losses_by_view(accountant.releases, parties=2).worst["public"].epsilon == 1.0


@pytest.mark.parametrize("again", [(0, 10), (9, 10), (9, 50), (3, 4), (0, 1000)])
def test_a_second_report_is_refused(again: tuple[int, int]) -> None:
    accountant = accountant_of()
    release(accountant, 1.0, (0, 10))
    with pytest.raises(
        BudgetError, match=r"on each of the users .* found 2 after .*: some of them have reported"
    ):
        release(accountant, 1.0, again)
    assert len(accountant.releases) == 1
    release(accountant, 1.0, (10, 20))


def test_a_release_about_all_records_costs_every_user() -> None:
    accountant = accountant_of()
    release(accountant, 0.25, None)
    release(accountant, 0.75, (0, 10))
    with pytest.raises(BudgetError):
        release(accountant, 0.1, (5, 6))
    release(accountant, 0.5, (10, 20))
    with pytest.raises(BudgetError):
        release(accountant, 0.1, None)
    assert accountant.spent == 1.0


def test_a_first_report_above_the_budget_is_refused() -> None:
    with pytest.raises(
        BudgetError, match=r"each of the users 0 to 9, found 1.5 after this grr release$"
    ):
        release(accountant_of(), 1.5, (0, 10))


@pytest.mark.parametrize("users", [(5, 5), (20, 5), (-5, 3)])
def test_impossible_ranges_of_users_are_refused(users: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a range of users from 0 on, and not an empty one"):
        release(accountant_of(), 1.0, users)


@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="a loss of at least 0"):
        release(accountant_of(), epsilon, None)


@dataclass(frozen=True)
class StatedLoss:
    """A mechanism that states whatever its author wrote."""

    loss: Loss
    seen: Mapping[str, Loss] = field(default_factory=dict)

    name = "own"
    sensitivity = 1.0
    scale = 1.0
    by_users = ()
    whole_record = None

    def draw(self, randomness: RandomStream) -> int:
        return 7


def state(loss: Loss, **seen: Loss) -> Accountant:
    accountant = Accountant(party=1, parties=2, budget=1.0, delta=1e-9, neighbours="replace-one")
    stream = RandomStream(b"k" * 32)
    accountant.release(StatedLoss(loss, seen), to=0, phase="p", randomness=stream)
    return accountant


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, math.inf])
def test_a_rho_of_0_is_refused_beside_an_epsilon(epsilon: float) -> None:
    """A thousand such releases would cost nothing, as rho is what adds up."""
    with pytest.raises(ValueError, match="expected a rho above 0"):
        state(Loss(epsilon, 0.0))
    with pytest.raises(ValueError, match="expected a rho above 0"):
        state(Loss.pure(0.5), curator=Loss(epsilon, 0.0))


@pytest.mark.parametrize(
    "loss",
    [Loss(math.nan, 1.0), Loss(math.inf, math.nan), Loss(-1.0, 0.5), Loss(1.0, 0.5, math.nan)],
)
def test_impossible_losses_in_a_view_are_refused(loss: Loss) -> None:
    with pytest.raises(ValueError, match="a loss of at least 0"):
        state(Loss.pure(0.5), public=loss)


def test_sums_that_a_mechanism_states_beside_its_loss_do_not_count() -> None:
    hiding = SummedLoss(0.5, 0.125, pure_part=0.0, other_rho=0.0, other_gaussian=0.0)
    for accountant in (state(hiding), state(Loss.pure(0.5), public=hiding)):
        losses = losses_by_view(accountant.releases, parties=2)
        assert losses.epsilons(delta=0.0)[1]["public"] == 0.5


@pytest.mark.parametrize("delta", [-0.1, 1.0, 5.0, math.nan])
def test_impossible_deltas_are_refused(delta: float) -> None:
    with pytest.raises(MisuseError, match="expected a delta of at least 0 and below 1"):
        Accountant(party=1, parties=2, budget=1.0, delta=delta, neighbours="replace-one")


def test_own_deltas_are_bounded_also_where_the_run_has_more() -> None:
    accountant = Accountant(
        party=1, parties=2, budget=1.0, delta=1e-3, max_delta=1e-6, neighbours="replace-one"
    )
    stream = RandomStream(b"k" * 32)
    accountant.release(StatedLoss(Loss.pure(0.1, delta=1e-6)), to=0, phase="p", randomness=stream)
    with pytest.raises(BudgetError, match="at most delta 1e-06"):
        accountant.release(
            StatedLoss(Loss.pure(0.1, delta=1e-6)), to=0, phase="p", randomness=stream
        )


def test_questions_about_a_threshold_are_about_the_same_records() -> None:
    """The first question is charged for all, so another part would bear its loss for nothing."""
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    first, second = accountant.partition(["a", "b"], by_value=False)
    questions = above_threshold(500, sensitivity=1, epsilon=1.0)
    stream = RandomStream(b"k" * 32)
    for _ in range(2):
        question = questions.question(0)
        accountant.release(question, to=0, phase="p", randomness=stream, part=first)
    with pytest.raises(MisuseError, match="about the same records"):
        accountant.release(questions.question(0), to=0, phase="p", randomness=stream, part=second)
    assert len(accountant.releases) == 2


@dataclass(frozen=True)
class Answers(FixedAnswer):
    """A release of a series, which notes for whom it was held to the series."""

    bearers: list[object] = field(default_factory=list)
    refuses: bool = False

    def bind(self, bearer: object) -> None:
        self.bearers.append(bearer)
        if self.refuses:
            raise MisuseError("expected the same records")


def test_a_series_is_bound_to_its_bearer_after_all_checks_and_before_the_record() -> None:
    """A refused release binds nothing, and a series that refuses its bearer releases nothing."""
    accountant = accountant_of(party=2)
    assert release_mechanism(accountant, series := Answers(1.0), (0, 5)) == 7
    assert release_mechanism(accountant, series, (5, 9)) == 7
    assert series.bearers == [(2, (0, 5), ()), (2, (5, 9), ())]
    before = [*accountant.releases]
    with pytest.raises(BudgetError):
        release_mechanism(accountant, over := Answers(0.5), (0, 1))
    assert over.bearers == []
    stream = CountingStream(b"k" * 32)
    with pytest.raises(MisuseError, match="expected the same records"):
        accountant.release(
            Answers(0.0, refuses=True), to=0, phase="p", randomness=stream, users=(0, 1)
        )
    assert accountant.releases == before
    assert not stream.draws


@pytest.mark.parametrize("other", ["party", "fewer users", "all records"])
def test_questions_about_a_threshold_belong_to_one_party_and_its_users(other: str) -> None:
    questions = above_threshold(500, sensitivity=1, epsilon=1.0)
    stream = RandomStream(b"k" * 32)
    first = accountant_of(1)
    first.release(questions.question(0), to=0, phase="p", randomness=stream, users=(0, 5))
    accountant = accountant_of(2) if other == "party" else first
    users = {"party": (0, 5), "fewer users": (0, 4), "all records": None}[other]
    second = questions.question(0)
    with pytest.raises(MisuseError, match="about the same records"):
        accountant.release(second, to=0, phase="p", randomness=stream, users=users)
    assert len(first.releases) == 1
    # A refused release is not drawn, so its question is still the next one for the right users.
    first.release(second, to=0, phase="p", randomness=stream, users=(0, 5))


def test_a_series_whose_first_release_exceeds_the_budget_is_never_answered() -> None:
    """The first question pays for all; without it the free ones that follow are refused."""
    questions = above_threshold(500, sensitivity=1, epsilon=2.0)
    stream, accountant = RandomStream(b"k" * 32), accountant_of(budget=1.0)
    first, second = questions.question(0), questions.question(0)
    with pytest.raises(BudgetError):
        accountant.release(first, to=0, phase="p", randomness=stream, users=(0, 5))
    with pytest.raises(MisuseError, match="expected question 1"):
        accountant.release(second, to=0, phase="p", randomness=stream, users=(0, 5))


def test_unknown_views_are_refused_before_anything_is_recorded() -> None:
    accountant = accountant_of()
    with pytest.raises(ValueError, match=r"expected views among public, .*, found 9_parties"):
        release_mechanism(accountant, FixedAnswer(1.0, seen={"9_parties": 2.0}), None)
    assert not accountant.releases


def test_the_largest_loss_equals_brute_force() -> None:
    """Ranges overlap in any way, and epsilons do not add up exactly."""
    generator = np.random.default_rng(8)
    for _ in range(60):
        accountant, spent = accountant_of(budget=1e9), np.zeros(30)
        for _ in range(8):
            start, stop = sorted(generator.choice(31, 2, replace=False).tolist())
            epsilon = float(generator.choice([0.1, 0.2, 1 / 3, 0.7]))
            everybody = generator.random() < 0.1
            release(accountant, epsilon, None if everybody else (start, stop))
            spent[slice(None) if everybody else slice(start, stop)] += epsilon
            assert accountant.spent == pytest.approx(spent.max(), abs=1e-12)
        losses = losses_by_view(accountant.releases, parties=2)
        assert losses.by_party[1]["public"].epsilon == pytest.approx(spent.max())


def test_users_of_different_parties_are_different() -> None:
    first, second = accountant_of(1), accountant_of(2)
    for accountant in (first, second):
        release(accountant, 1.0, (0, 100))
    losses = losses_by_view([*first.releases, *second.releases], parties=2)
    assert losses.worst["curator"].epsilon == 1.0


def test_each_range_of_users_bears_its_own_cost() -> None:
    """Losses add up for the users of each range; those of whole records add up beside them."""
    accountant = accountant_of()
    first = (UserCost((0, 5), 0.4, 1.5), UserCost((5, 10), 0.7, None))
    second = (UserCost((0, 5), 0.6, 1.0), UserCost((5, 8), 0.3, 0.9))
    for costs in (first, second):
        release_mechanism(accountant, FixedAnswer(1.0, by_users=costs), (0, 10))
    losses = losses_by_view(accountant.releases, parties=2)
    assert losses.worst["curator"].epsilon == 1.0
    assert losses.whole_record == 2.5
    third = (UserCost((8, 10), 0.2, None), UserCost((10, 12), 1.1, None))
    with pytest.raises(BudgetError, match=r"each of the users 10 to 11, found 1.1"):
        release_mechanism(accountant, FixedAnswer(1.0, by_users=third), (8, 12))
    assert len(accountant.releases) == 4


@pytest.mark.parametrize("ranges", [((0, 6), (5, 10)), ((5, 10), (0, 5)), ((0, 11),), ((3, 3),)])
def test_ranges_of_one_release_do_not_overlap(ranges: tuple[tuple[int, int], ...]) -> None:
    """Otherwise each would be checked without what the other adds."""
    accountant = accountant_of()
    costs = tuple(UserCost(users, 0.6, None) for users in ranges)
    with pytest.raises(
        ValueError, match=r"expected ranges of the users \(0, 10\) one after another"
    ):
        release_mechanism(accountant, FixedAnswer(0.6, by_users=costs), (0, 10))
    assert not accountant.releases


def test_users_have_a_budget_only_where_the_protocol_says_so() -> None:
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    for index in range(15):
        with pytest.raises(MisuseError, match=r"users=\(.*party\.partition.*budget_of"):
            release(accountant, 1.0, (index, index + 1))
    assert not accountant.releases
    release(accountant, 1.0, None)


@pytest.mark.parametrize("beyond", [1e-4, 1e-6, 3e-9])
def test_the_tolerance_is_for_rounding_alone(beyond: float) -> None:
    accountant = accountant_of()
    with pytest.raises(BudgetError):
        release(accountant, 1.0 + beyond, None)
    assert not accountant.releases
    for _ in range(10):
        release(accountant, 0.1, None)  # ten tenths sum up to a little less or more than 1
    with pytest.raises(BudgetError):
        release(accountant, beyond, None)


@pytest.mark.parametrize("beyond", [1e-4, 1e-6, 3e-9])
def test_the_tolerance_for_deltas_is_for_rounding_alone(beyond: float) -> None:
    accountant = Accountant(
        party=1, parties=2, budget=1.0, delta=1e-3, max_delta=1e-6, neighbours="replace-one"
    )
    stream = RandomStream(b"k" * 32)

    def spend(delta: float) -> None:
        mechanism = StatedLoss(Loss.pure(0.01, delta=delta))
        accountant.release(mechanism, to=0, phase="p", randomness=stream)

    with pytest.raises(BudgetError, match="at most delta 1e-06"):
        spend(1e-6 * (1 + beyond))
    assert not accountant.releases
    for _ in range(10):
        spend(1e-7)
    with pytest.raises(BudgetError, match="at most delta 1e-06"):
        spend(1e-6 * beyond)
    assert len(accountant.releases) == 10


def test_losses_are_listed_by_party() -> None:
    loss = losses_by_view([], parties=2)
    assert list(loss.by_party) == [1, 2]
