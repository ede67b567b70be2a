"""Losses in rho: random compositions against the exact loss, and against dp-accounting.

The exact delta at an epsilon is the sum over all answers of max(0, P - e^epsilon Q). The answers of
a composition are all combinations, so their log-ratios are sums of independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError
from sottovoce.privacy import Accountant, Loss, laplace, losses_by_view
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.composition import Bearer, PartStep, total
from sottovoce.privacy.conversion import epsilon_at, epsilon_of, rho_of
from sottovoce.privacy.loss import NO_LOSS, UNBOUNDED, SummedLoss, largest
from sottovoce.privacy.releases import PrivacyLoss

Numbers = npt.NDArray[np.float64]
STEP = 1 / 512
"""Losses are rounded up to multiples of this, so the exact epsilon is not below what is computed
by more than a step for each release."""


def law_of(weights: Numbers) -> Numbers:
    return np.asarray(weights / weights.sum())


def loss_law(first: Numbers, second: Numbers) -> dict[int, float]:
    """The law of the log-ratio under the first dataset, rounded down to steps."""
    steps = np.floor(np.log(first / second) / STEP).astype(int)
    law: dict[int, float] = {}
    for step, probability in zip(steps.tolist(), first.tolist(), strict=True):
        law[step] = law.get(step, 0.0) + probability
    return law


def discrete_laplace(epsilon: float) -> tuple[Numbers, Numbers, Loss]:
    x = np.arange(-200, 201)
    first, second = (law_of(np.exp(-epsilon * np.abs(x - shift))) for shift in (0, 1))
    return first, second, Loss.pure(epsilon)


def discrete_gaussian(deviation: float) -> tuple[Numbers, Numbers, Loss]:
    x = np.arange(-math.ceil(9 * deviation), math.ceil(9 * deviation) + 2)
    first, second = (law_of(np.exp(-((x - shift) ** 2) / (2 * deviation**2))) for shift in (0, 1))
    return first, second, Loss.concentrated(1 / (2 * deviation**2))


def exponential(epsilon: float) -> tuple[Numbers, Numbers, Loss]:
    """Seven candidates whose scores move apart by as much as they may."""
    scores = np.array([0.0, 0.3, 0.5, 0.9, 1.0, 0.2, 0.6])
    other = scores + np.array([1, 1, -1, -1, -1, 1, -1])
    first, second = (law_of(np.exp(epsilon * values / 2)) for values in (scores, other))
    return first, second, Loss.bounded_range(epsilon)


def convolve(first: dict[int, float], second: dict[int, float]) -> dict[int, float]:
    low, high = min(first) + min(second), max(first) + max(second)
    tables: list[Numbers] = []
    for law in (first, second):
        table = np.zeros(max(law) - min(law) + 1)
        table[np.array([*law]) - min(law)] = [*law.values()]
        tables.append(table)
    values = np.convolve(tables[0], tables[1])
    assert len(values) == high - low + 1
    return {low + int(index): float(values[index]) for index in np.flatnonzero(values)}


def exact_epsilon(law: dict[int, float], *, delta: float) -> float:
    losses, chances = np.array([*law]) * STEP, np.array([*law.values()])
    low, high = 0.0, 60.0
    for _ in range(60):
        epsilon = (low + high) / 2
        above = losses > epsilon
        spent = (chances[above] * -np.expm1(epsilon - losses[above])).sum()
        low, high = (epsilon, high) if spent > delta else (low, epsilon)
    return high


MAKERS: dict[Callable[[float], tuple[Numbers, Numbers, Loss]], tuple[float, float]] = {
    discrete_laplace: (0.05, 0.4),
    discrete_gaussian: (3.0, 12.0),
    exponential: (0.1, 0.6),
}


@pytest.mark.parametrize("seed", range(8))
def test_random_compositions_lose_no_more_than_is_added_up(seed: int) -> None:
    """The conversion holds for every composition, and is not more than 1.7 times too large."""
    generator = np.random.default_rng(seed)
    parts = []
    for _ in range(int(generator.integers(8, 20))):
        make = [*MAKERS][int(generator.integers(len(MAKERS)))]
        parts.append(make(float(generator.uniform(*MAKERS[make]))))
    law = {0: 1.0}
    for first, second, _ in parts:
        law = convolve(law, loss_law(first, second))
    together = total((loss, Bearer()) for _, _, loss in parts)
    for delta in (1e-3, 1e-5, 1e-7):
        exact = exact_epsilon(law, delta=delta)
        ours = epsilon_at(together, delta=delta)
        assert exact <= ours + len(parts) * STEP
        if seed % 2:  # the others may be pure for the most part
            assert ours <= 2.5 * exact + 0.1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_each_measure_of_one_release_holds(epsilon: float) -> None:
    """Renyi divergences of every order stay below order times rho, up to rounding."""
    made = discrete_laplace(epsilon), discrete_gaussian(2 / epsilon), exponential(epsilon)
    for first, second, loss in made:
        logs = np.log(first) - np.log(second)
        assert logs.max() <= loss.epsilon * (1 + 1e-9)
        for order in (1.01, 1.5, 2, 4, 16, 64):
            exponents = np.log(first) + (order - 1) * logs
            top = exponents.max()
            divergence = (top + np.log(np.exp(exponents - top).sum())) / (order - 1)
            assert divergence <= order * loss.rho * (1 + 1e-6) + 1e-9


def test_dp_accounting_adds_up_the_same_epsilon() -> None:
    """Random Gaussian compositions by its accountant of Renyi divergences, on a finer grid."""
    accounting = pytest.importorskip("dp_accounting")
    generator = np.random.default_rng(3)
    orders = (1 + np.geomspace(1e-3, 1e4, 4000)).tolist()
    for delta in (1e-5, 1e-9):
        accountant = accounting.rdp.RdpAccountant(orders)
        losses = []
        for _ in range(12):
            deviation = float(generator.uniform(3, 40))
            accountant.compose(accounting.GaussianDpEvent(deviation))
            losses.append((Loss.concentrated(1 / (2 * deviation**2)), Bearer()))
        ours = epsilon_at(total(losses), delta=delta)
        assert ours == pytest.approx(accountant.get_epsilon(delta), rel=1e-4)


def test_a_conversion_is_the_best_order_of_the_closed_form() -> None:
    from scipy.optimize import minimize_scalar

    def epsilon(log_gap: float, rho: float, delta: float) -> float:
        order = 1 + math.exp(log_gap)
        return order * rho + (
            -math.log(delta) + (order - 1) * math.log1p(-1 / order) - math.log(order)
        ) / (order - 1)

    for rho in (1e-5, 0.01, 0.3, 4.0):
        for delta in (1e-4, 1e-9, 1e-15):
            best = minimize_scalar(epsilon, bounds=(-6, 12), args=(rho, delta), method="bounded")
            assert epsilon_of(rho, delta=delta) == pytest.approx(max(best.fun, 0.0), rel=1e-5)
            assert epsilon_of(rho, delta=delta) >= best.fun * (1 - 1e-9)


def test_losses_of_disjoint_parts_do_not_add_up_in_any_measure() -> None:
    parts = [(PartStep(1, index, f"{index}", 1),) for index in range(2)]
    losses = [
        (Loss(1.0, 0.3, 1e-6, 2.0, 0.5), Bearer(part=parts[0])),
        (Loss(0.5, 0.4, 0.0, 3.0, 0.75), Bearer(part=parts[1])),
        (Loss(0.25, 0.1, 1e-7, gaussian=0.125), Bearer()),
    ]
    assert total(losses) == SummedLoss(
        1.25, 0.5, 1.1e-6, 3.25, 0.875, pure_part=1.25, other_rho=0.0, other_gaussian=0.0
    )
    pair = largest([losses[0][0], losses[1][0]])
    assert pair == SummedLoss(
        1.0, 0.4, 1e-6, 3.0, 0.75, pure_part=1.0, other_rho=0.0, other_gaussian=0.0
    )
    assert total([]) == SummedLoss(
        0.0, 0.0, 0.0, 0.0, 0.0, pure_part=0.0, other_rho=0.0, other_gaussian=0.0
    )


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_chances_to_fail_add_up_to_1_at_most(count: int) -> None:
    """A chance above 1 is none: rounds that fail in half of all cases fail in all, at worst."""
    losses = [(Loss.pure(0.1, delta=0.5), Bearer())] * count
    assert total(losses).delta == min(1.0, 0.5 * count)


def test_a_large_pure_release_beside_gaussian_ones_adds_its_epsilon() -> None:
    """Epsilon 1.2 counts .72 in rho, which would imply more than 1.2 together with the others."""
    gaussian = Loss.concentrated(0.01)
    both = total([(Loss.pure(1.2), Bearer()), (gaussian, Bearer())])
    expected = 1.2 + epsilon_of(0.01, delta=1e-9)
    assert epsilon_at(both, delta=1e-9) == pytest.approx(expected)
    assert expected < epsilon_of(0.72 + 0.01, delta=1e-9)
    assert total([(both, Bearer()), (gaussian, Bearer())]).other_rho == pytest.approx(0.02)
    assert largest([both, gaussian]).pure_part == 1.2


def test_comparisons_of_losses() -> None:
    losses = [(Loss(1.0, 0.3, 1e-6, 2.0), Bearer())]
    assert NO_LOSS.is_within(losses[0][0])
    assert not UNBOUNDED.is_within(losses[0][0])


def test_the_own_delta_of_a_release_is_taken_from_the_runs() -> None:
    loss = Loss(math.inf, 0.01, 4e-7)
    assert epsilon_at(loss, delta=1e-6) == epsilon_of(0.01, delta=1e-6 - 4e-7)
    assert epsilon_at(loss, delta=1e-7) == math.inf
    assert epsilon_at(Loss(0.2, 0.02, 1e-6), delta=1e-6) == 0.2  # none is left for rho


def test_many_small_releases_fit_into_a_budget_that_pure_epsilon_exceeds() -> None:
    """A hundred releases of 0.02 cost epsilon 2, or rho 0.02: epsilon 1.25 at delta 1e-9."""
    pure = Accountant(party=1, parties=2, budget=1.3, neighbours="replace-one")
    both = Accountant(party=1, parties=2, budget=1.3, delta=1e-9, neighbours="replace-one")
    mechanism = laplace(5, sensitivity=1, epsilon=0.02)
    for accountant, most in ((pure, 65), (both, 100)):
        for _ in range(most):
            accountant.release(mechanism, to=0, phase="p", randomness=RandomStream(bytes(32)))
    with pytest.raises(BudgetError):
        pure.release(mechanism, to=0, phase="p", randomness=RandomStream(bytes(32)))
    losses = losses_by_view(both.releases, parties=2)
    assert losses.delta_needed(claimed=1.3, delta=1e-9) == 1e-9
    assert losses.epsilons(delta=1e-9)[1]["public"] == pytest.approx(epsilon_of(0.02, delta=1e-9))
    assert losses.epsilons(delta=0.0)[1]["public"] == pytest.approx(2.0)


def test_budgets_are_shared_in_their_measure() -> None:
    whole = Budget.of(1.0, delta=1e-9)
    assert whole.amount == rho_of(1.0, delta=1e-9)
    parts = [whole.share(part) for part in (0.2, 0.3, 0.5)]
    assert math.fsum(part.amount for part in parts) == pytest.approx(whole.amount)
    assert Loss.bounded_range(parts[0].of_choice).rho == pytest.approx(parts[0].amount)
    assert Loss.pure(parts[1].of_pure).rho == pytest.approx(parts[1].amount)
    # Laplace noise of this epsilon has the deviation of Gaussian noise: sqrt(M / rho).
    epsilon = parts[2].laplace_epsilon(tables=7)
    assert math.sqrt(2) * 14 / epsilon == pytest.approx(math.sqrt(7 / parts[2].amount))
    assert Budget.pure(0.5).share(0.5).of_choice == float(Fraction(1, 4))


def test_a_run_has_a_delta_only_where_a_figure_rests_on_it() -> None:
    pure = Loss(1.0, 0.5)
    shares = {"public": pure, "curator": Loss(1.0, 0.01)}
    assert PrivacyLoss(by_party={1: {"public": pure}}, whole_record=None).delta_of(1e-9) == 0
    assert epsilon_at(shares["curator"], delta=1e-9) < 1
    assert PrivacyLoss(by_party={1: shares}, whole_record=None).delta_of(1e-9) == 1e-9
    own = {"public": Loss(1.0, 0.5, 4e-7)}
    assert PrivacyLoss(by_party={1: own}, whole_record=None).delta_of(1e-6) == 4e-7
