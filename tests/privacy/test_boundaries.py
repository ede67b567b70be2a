"""Boundary values of views, losses, budgets, arguments, domains and grids, from both sides."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sottovoce.messages import ArgumentError, UsageError
from sottovoce.privacy import Loss, coalition_sizes, members, views
from sottovoce.privacy.adversary import losses_in
from sottovoce.privacy.answers import FAR, other_answers
from sottovoce.privacy.arguments import MAX_WHOLE, exact_fraction, one_budget, whole_numbers
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.clipping import MAX_NORM, MAX_STEPS, Sensitivities, make_clipping
from sottovoce.privacy.conversion import epsilon_at, epsilon_of, rho_of
from sottovoce.privacy.domain import (
    MAX_LABELS,
    Domain,
    intervals,
)
from sottovoce.privacy.exact import ExactArray, mark_exact, unmark
from sottovoce.privacy.loss import largest, plain_loss, require_possible
from sottovoce.privacy.marginal_table import marginal_table, read_marginal_table
from sottovoce.privacy.number_grid import MAX_GRID_STEPS, number_grid
from sottovoce.privacy.rank_choice import RankValue
from sottovoce.privacy.shuffling import shuffled_epsilon
from sottovoce.privacy.step_noise import with_count

TINY = 1e-12


# Views


@pytest.mark.parametrize("parties", [1, 2, 3, 7, 40])
def test_every_view_has_the_members_that_its_name_says(parties: int) -> None:
    expected = {"public": (0, False), "curator": (0, True), "other_party": (1, False)}
    expected |= {f"{size}_parties": (size, False) for size in range(2, parties)}
    expected |= {f"curator_and_{size}": (size, True) for size in range(1, parties)}
    assert {view: members(view) for view in expected} == expected
    assert {*views(parties)} <= {*expected}


def test_sizes_of_coalitions_of_many_parties() -> None:
    """All up to 8; from there powers of two and what is half as much again; all other parties."""
    assert coalition_sizes(33) == [*range(1, 33)]
    assert coalition_sizes(34) == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 33]
    assert coalition_sizes(65) == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64]
    assert coalition_sizes(66) == [*coalition_sizes(65), 65]
    assert coalition_sizes(40, threshold=38) == [*coalition_sizes(34)[:-1], 38, 39]
    assert 40 not in coalition_sizes(40, threshold=40)


def test_a_view_of_as_many_parties_as_there_are_others_is_the_largest() -> None:
    listed = dict.fromkeys(views(40), Loss.pure(1.0))
    seen = losses_in(listed, {"37_parties": Loss.pure(3.0)}, parties=40)
    assert [view for view, loss in seen.items() if loss.epsilon == 3.0] == ["39_parties"]
    for unknown in ("40_parties", "curator_and_40", "nobody", "0_parties"):
        with pytest.raises(ValueError, match=f"found {unknown}"):
            losses_in(listed, {unknown: Loss.pure(3.0)}, parties=40)


# Losses


@pytest.mark.parametrize("field", ["epsilon", "rho", "delta"])
def test_a_loss_is_within_another_if_each_component_is(field: str) -> None:
    whole = {"epsilon": 1.0, "rho": 0.5, "delta": 1e-6}
    larger = Loss(**whole)
    for factor, is_within in ((0.5, True), (1.0, True), (1 + 1e-10, True), (1 + 1e-6, False)):
        loss = Loss(**(whole | {field: whole[field] * factor}))
        assert loss.is_within(larger) is is_within
    above = Loss(**(whole | {field: whole[field] * 1.05}))
    assert above.is_within(larger, slack=0.1)
    assert not above.is_within(larger, slack=0.01)


@pytest.mark.parametrize(
    "loss",
    [
        Loss(0.0, 0.0),
        Loss(0.0, 0.0, 1.0),
        Loss(1e-200, 0.0),  # its square is 0 in floating point
        Loss(2e-162, 0.0),  # an eighth of its square is
        Loss(math.inf, math.inf, 0.5),
        Loss.pure(1e-3),
    ],
)
def test_losses_that_a_mechanism_may_have(loss: Loss) -> None:
    require_possible(loss)


@pytest.mark.parametrize(
    "loss",
    [
        Loss(-TINY, 0.1),
        Loss(1.0, -TINY),
        Loss(1.0, 0.5, -TINY),
        Loss(1.0, 0.5, 1 + 1e-9),
        Loss(math.nan, 0.5),
        Loss(1.0, math.nan),
        Loss(1.0, 0.5, math.nan),
        Loss(1e-3, 0.0),
        Loss(math.inf, 0.0),
    ],
)
def test_losses_that_no_mechanism_has(loss: Loss) -> None:
    with pytest.raises(ValueError, match="expected a"):
        require_possible(loss)


def test_what_no_epsilon_bounds_counts_in_rho_alone() -> None:
    pure, gaussian = Loss.pure(0.5, delta=0.25), Loss.concentrated(0.3, laplace_epsilon=0.7)
    assert (pure.pure_part, pure.other_rho, pure.of_laplace) == (0.5, 0.0, 0.5)
    assert (gaussian.pure_part, gaussian.other_rho, gaussian.of_laplace) == (0.0, 0.3, 0.7)
    assert (pure.rho, pure.delta) == (0.125, 0.25)
    assert Loss.bounded_range(0.5) == Loss(0.5, 0.03125, gaussian=math.pi / 64)
    assert Loss.pure(0.5) == Loss(0.5, 0.125, gaussian=math.pi / 16)
    assert Loss.concentrated(0.3).of_laplace == math.inf
    nothing = largest([])
    assert [nothing.epsilon, nothing.rho, nothing.delta, nothing.of_laplace] == [0.0] * 4
    assert (nothing.pure_part, nothing.other_rho) == (0.0, 0.0)
    stated = Loss(1.0, 0.25, 1e-7, 2.0)
    assert plain_loss(stated) == stated
    assert type(plain_loss(nothing)) is Loss


# Conversion and budgets


def test_conversion_at_its_ends() -> None:
    assert epsilon_of(0.0, delta=0.0) == 0.0
    assert epsilon_of(0.1, delta=0.0) == math.inf
    assert epsilon_of(math.inf, delta=0.1) == math.inf
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="a delta between 0 and 1"):
            rho_of(1.0, delta=delta)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 50.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.3])
def test_the_rho_of_an_epsilon_is_the_largest(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta=delta)
    assert epsilon_of(rho, delta=delta) <= epsilon
    assert epsilon_of(rho * (1 + 1e-9) + 1e-15, delta=delta) > epsilon


def test_the_delta_of_a_loss_may_be_that_of_the_run_but_for_rounding() -> None:
    run = 1e-6
    assert epsilon_at(Loss(0.2, 0.02, run * (1 + 1e-10)), delta=run) == 0.2
    assert epsilon_at(Loss(0.2, 0.02, run * (1 + 1e-8)), delta=run) == math.inf
    assert epsilon_at(Loss(0.2, 0.02, 0.0), delta=0.0) == 0.2


def test_a_budget_in_rho_needs_a_delta_and_an_epsilon_that_allows_it() -> None:
    with pytest.raises(UsageError, match="expected a delta above 0"):
        Budget.of(1.0, delta=0.0)
    with pytest.raises(UsageError, match="expected a larger epsilon"):
        Budget.of(0.0, delta=1e-9)
    assert Budget.candidates(1.0, delta=0.0) == [Budget.pure(1.0)]
    assert Budget.candidates(0.0, delta=1e-9) == [Budget.pure(0.0)]
    pure, rho = Budget.candidates(1.0, delta=1e-9)
    assert (pure, rho) == (Budget("epsilon", 1.0), Budget("rho", rho_of(1.0, delta=1e-9)))
    assert rho.concentrated
    assert not pure.concentrated
    assert rho.epsilon(delta=1e-9) <= 1.0
    assert (pure.epsilon(delta=1e-9), pure.laplace_epsilon(tables=9)) == (1.0, 1.0)
    assert (pure.of_choice, pure.of_pure) == (1.0, 1.0)
    with pytest.raises(ArgumentError, match="the unit epsilon or rho first"):
        Budget("zeta", 1.0)  # type: ignore[arg-type]


# Arguments


@pytest.mark.parametrize("number", [5e-324, 1, 1e308, Fraction(1, 3), np.float64(0.5), np.int8(3)])
def test_public_numbers_are_taken_as_exact_fractions(number: Any) -> None:
    assert exact_fraction(number, name="a sensitivity") == Fraction(
        number.item() if isinstance(number, np.generic) else number
    )


@pytest.mark.parametrize(
    "number", [0, 0.0, -5e-324, -1, math.inf, -math.inf, math.nan, True, "1", None, np.bool_(True)]
)
def test_other_numbers_are_refused(number: object) -> None:
    with pytest.raises(ArgumentError, match="expected a sensitivity"):
        exact_fraction(number, name="a sensitivity")


def test_whole_numbers_of_an_array_are_below_a_bound() -> None:
    ends = np.array([MAX_WHOLE - 1, 1 - MAX_WHOLE])
    assert np.array_equal(whole_numbers(ends, mechanism="laplace"), ends)
    for beyond in ([MAX_WHOLE], [-MAX_WHOLE], [0, MAX_WHOLE, 1]):
        with pytest.raises(ArgumentError, match=r"whole numbers below 2\*\*62"):
            whole_numbers(np.array(beyond), mechanism="laplace")
    with pytest.raises(ArgumentError, match=r"whole numbers below 2\*\*62"):
        whole_numbers(np.array([1 << 63], np.uint64), mechanism="laplace")
    assert whole_numbers(1 << 80, mechanism="laplace") == 1 << 80
    assert whole_numbers(np.array(7), mechanism="laplace") == 7
    assert type(whole_numbers(np.array(7), mechanism="laplace")) is int
    values: list[object] = [[], True, np.array([True]), 1.0, np.array([1.0])]
    for value in values:
        with pytest.raises(ArgumentError, match="in laplace"):
            whole_numbers(value, mechanism="laplace")


def test_one_of_three_budgets() -> None:
    assert one_budget(0.5, None, None, mechanism="sum") == Budget("epsilon", 0.5)
    assert one_budget(None, 0.25, None, mechanism="sum") == Budget("rho", 0.25)
    given = Budget("rho", 0.125)
    assert one_budget(None, None, given, mechanism="sum") is given
    for epsilon, rho, budget, count in (
        (None, None, None, "none"),
        (0.5, 0.25, None, "2"),
        (0.5, None, given, "2"),
        (0.5, 0.25, given, "3"),
    ):
        with pytest.raises(ArgumentError, match=f"found {count} of them"):
            one_budget(epsilon, rho, budget, mechanism="sum")
    with pytest.raises(ArgumentError, match="a budget above 0"):
        one_budget(None, None, Budget("rho", 0.0), mechanism="sum")


# Domains


def test_a_domain_has_codes_of_16_bits() -> None:
    labels = tuple(map(str, range(MAX_LABELS + 1)))
    assert Domain({"zip": labels[:-1]}).shape(["zip"]) == (1 << 16,)
    with pytest.raises(UsageError, match=f"labels of zip, found {(1 << 16) + 1}"):
        Domain({"zip": labels})


DOMAIN = Domain(
    {"a": ("x", "y"), "b": ("u", "v", "w"), "c": ("0", "1")},
    never=({"a": (0,), "b": (1,)}, {"b": (2,), "c": (1,)}),
)


def test_a_part_of_a_domain_keeps_the_rules_of_its_attributes() -> None:
    assert DOMAIN.project(["b", "a"]).attributes == ("b", "a")
    assert DOMAIN.project(["b", "a"]).never == DOMAIN.never[:1]
    assert DOMAIN.project(["a", "c"]).never == ()
    assert DOMAIN.project(["c", "b", "a"]).never == DOMAIN.never
    assert (DOMAIN.cells(["a", "b"]), DOMAIN.cells([])) == (6, 1)
    for wrong in (DOMAIN.shape, DOMAIN.project):
        with pytest.raises(UsageError, match=r"expected an attribute of the data \(a, b, c\)"):
            wrong(["a", "d"])


@pytest.mark.parametrize(
    ("labels", "are_bins"),
    [
        (("[1, 2]",), True),
        (("[1, 2]", "(2, 3]"), True),
        (("[1, 2]", "?"), True),
        (("[1, 2]", "?", "(2, 3]"), False),
        (("?", "[1, 2]"), False),
        (("?",), False),
        (("[1; 2]", "(2; 3]"), False),
        (("1, 2]", "2, 3]"), False),
        (("[1, 2", "(2, 3"), False),
    ],
)
def test_labels_of_bins(labels: tuple[str, ...], are_bins: bool) -> None:
    assert intervals(labels) is are_bins


def test_marginals_are_written_row_by_row_and_read_back() -> None:
    marginals = [("a",), ("a", "b"), ("c",)]
    counts = [np.array([5, 6]), np.arange(6) + 10, np.array([7.5, -1.0])]
    table = marginal_table(DOMAIN, marginals, counts).frame()
    assert list(table.columns) == ["attribute_1", "value_1", "attribute_2", "value_2", "count"]
    assert table.to_numpy().tolist() == [
        ["a", "x", "", "", 5.0],
        ["a", "y", "", "", 6.0],
        ["a", "x", "b", "u", 10.0],
        ["a", "x", "b", "v", 11.0],
        ["a", "x", "b", "w", 12.0],
        ["a", "y", "b", "u", 13.0],
        ["a", "y", "b", "v", 14.0],
        ["a", "y", "b", "w", 15.0],
        ["c", "0", "", "", 7.5],
        ["c", "1", "", "", -1.0],
    ]
    for (attributes, cells), names, expected in zip(
        read_marginal_table(DOMAIN, table), marginals, counts, strict=True
    ):
        assert attributes == names
        assert cells.tolist() == expected.tolist()
    for missing in (0, 4, 9):
        with pytest.raises(UsageError, match=r"expected \d rows for the marginal of"):
            read_marginal_table(DOMAIN, table.drop(index=missing))
    assert read_marginal_table(DOMAIN, table.iloc[:0]) == []
    read = pd.read_csv(io.StringIO(table.to_csv(index=False)))  # an empty name is missing there
    assert [names for names, _ in read_marginal_table(DOMAIN, read)] == marginals


# Grids and clipping


def test_a_grid_has_from_one_to_the_most_steps() -> None:
    assert number_grid((0, 8), None).steps == 4096
    assert number_grid((-1, 3), 4).steps == 1
    assert number_grid((0, 10), 3).steps == 3  # the last point is below the bound
    assert number_grid((0, 1), Fraction(1, MAX_GRID_STEPS)).steps == MAX_GRID_STEPS
    for bounds, resolution in (
        ((-1, 3), 4.000001),
        ((0, 1), Fraction(1, MAX_GRID_STEPS + 1)),
        ((1, 1), None),
        ((2, 1), None),
        ((0, math.inf), None),
        ((-1e308, 1e308), None),
    ):
        with pytest.raises(ArgumentError, match="expected"):
            number_grid(bounds, resolution)


def test_numbers_are_clipped_to_the_nearest_point_of_a_grid() -> None:
    grid = number_grid((10, 20), 2)
    points = grid.points([19.1, 9.0, 12.9, 1e300, 11.1, -1e300], mechanism="median")
    assert points.tolist() == [0, 0, 1, 1, 5, 5]
    assert [grid.real(point) for point in range(6)] == [10, 12, 14, 16, 18, 20]
    assert [grid.point(grid.real(point)) for point in range(6)] == [*range(6)]
    with pytest.raises(ArgumentError, match="a number for each record"):
        grid.points([[1.0]], mechanism="median")


def test_steps_and_norms_have_their_largest_values() -> None:
    assert make_clipping(columns=1, bounds=(0, MAX_STEPS), resolution=1).largest == MAX_STEPS
    with pytest.raises(ArgumentError, match=r"at most 2\*\*50 steps"):
        make_clipping(columns=1, bounds=(0, MAX_STEPS + 1), resolution=1)
    assert make_clipping(columns=2, bound=MAX_NORM, resolution=1).norm == MAX_NORM
    with pytest.raises(ArgumentError, match=r"at most 2\*\*30 steps"):
        make_clipping(columns=2, bound=MAX_NORM + 1, resolution=1)
    assert make_clipping(columns=1, bounds=(0, 1), resolution=2).largest == 1  # a half is 1
    with pytest.raises(ArgumentError, match="a resolution below the bounds"):
        make_clipping(columns=1, bounds=(0, 1), resolution=2.01)


def test_sums_have_their_largest_size() -> None:
    clipping = make_clipping(columns=1, bounds=(0, MAX_STEPS), resolution=1)
    rows = np.zeros(((1 << 11) + 1, 1))
    assert clipping.sums(rows[1:], mechanism="sum").tolist() == [[0]]
    with pytest.raises(ArgumentError, match=r"sums below 2\*\*61 steps"):
        clipping.sums(rows, mechanism="sum")


def test_groups_are_numbered_from_0() -> None:
    clipping = make_clipping(columns=1, bounds=(0, 9), resolution=1)

    def sums(groups: object) -> list[list[int]]:
        values = [[1.0], [2.0], [4.0]]
        sums = clipping.sums(values, mechanism="sum", groups=groups, number_of_groups=3)
        return [[int(number) for number in row] for row in sums]

    assert sums([0, 2, 0]) == [[5], [0], [2]]
    for wrong in ([0, 3, 0], [0, -1, 0], [0, 1], [[0], [1], [2]], [0.0, 1.0, 2.0], ["0", "1", "2"]):
        with pytest.raises(ArgumentError, match="group"):
            sums(wrong)
    nothing = clipping.sums(np.zeros((0, 1)), mechanism="sum", groups=[], number_of_groups=2)
    assert nothing.tolist() == [[0], [0]]


@pytest.mark.parametrize("columns", [2, 4, 9])
def test_a_norm_grows_by_half_the_root_of_the_columns(columns: int) -> None:
    clipping = make_clipping(columns=columns, bound=100, resolution=1)
    exact = (100 + math.sqrt(columns) / 2) ** 2
    assert clipping.squared_norm is not None
    assert math.floor(exact) <= clipping.squared_norm <= exact + 1e-3
    once = clipping.sensitivities("add-or-remove-one")
    twice = clipping.sensitivities("replace-one")
    assert once.l2_squared == clipping.squared_norm
    assert twice == Sensitivities(2 * once.l1, 4 * once.l2_squared)
    root = math.sqrt(columns * clipping.squared_norm)
    assert root <= once.l1 <= root + 1


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 16])
def test_the_largest_norm_grows_by_no_more_than_its_rounding(columns: int) -> None:
    """(B + sqrt(d) / 2)^2 is B^2 + B sqrt(d) + d / 4, and the root is off by 2^-21 at most."""
    clipping = make_clipping(columns=columns, bound=MAX_NORM, resolution=1)
    least = MAX_NORM**2 + math.isqrt(columns * MAX_NORM**2)
    assert clipping.squared_norm is not None
    assert least <= clipping.squared_norm - columns // 4 <= least + 2 * MAX_NORM // 2**21 + 2


@pytest.mark.parametrize(
    ("budget", "weight", "added"),
    [(Budget("epsilon", 1.0), 9, (9, 81)), (Budget("rho", 1.0), 9, (9, 81))],
)
def test_the_number_of_records_has_the_weight_of_the_sums(
    budget: Budget, weight: int, added: tuple[int, int]
) -> None:
    clipping = make_clipping(columns=1, bounds=(-9, 9), resolution=1)
    together, found = with_count(clipping, "add-or-remove-one", budget)
    assert found == weight
    assert together == Sensitivities(Fraction(9 + added[0]), Fraction(81 + added[1]))


@pytest.mark.parametrize("seed", range(6))
def test_the_change_of_a_choice_by_rank_is_that_of_some_distance(seed: int) -> None:
    """By the definition of the distance, at every point of a grid and beyond its ends."""
    generator = np.random.default_rng(seed)
    fractions = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 3))[: 1 + seed % 3]
    first, second = (
        np.sort(generator.integers(0, 12, size)) for size in (5 + seed, 5 + seed + seed % 2)
    )

    def distance(points: npt.NDArray[np.int64], place: int, q: Fraction) -> Fraction:
        below, up_to = int((points < place).sum()), int((points <= place).sum())
        wanted = q * len(points)
        return max(below - wanted, wanted - up_to, Fraction(0))

    expected = max(
        abs(distance(first, place, q) - distance(second, place, q))
        for q in fractions
        for place in range(-2, 15)
    )
    values = [RankValue((points.astype(float),), "max", fractions) for points in (first, second)]
    assert values[0].change(values[1]) == pytest.approx(float(expected))
    assert values[0].change(values[0]) == 0.0


# Answers and exact arrays


def test_the_three_other_answers_are_as_described() -> None:
    cells = np.array([3, -4, 0, 7])
    more, opposite, far = other_answers(cells, seed=5)
    assert {*(more - cells).tolist()} <= {1, 2}
    assert opposite.tolist() == [-3, 4, 0, -7]
    factors = far / (np.abs(cells) + 1)
    assert np.all((factors >= FAR) & (factors < 2 * FAR))
    assert len({*factors.tolist()}) == 4
    with pytest.raises(TypeError, match="an array of numbers"):
        next(other_answers(np.array(["a"]), seed=5))


def test_what_numpy_computes_of_exact_arrays_is_exact_but_for_shapes() -> None:
    exact = mark_exact(np.array([3, 1, 2]))
    for result in (np.sort(exact), exact + 1, np.concatenate([exact, exact]), exact[:2]):
        assert isinstance(result, ExactArray)
    for result in (np.zeros_like(exact), np.ones_like(exact), np.full_like(exact, 4)):
        assert type(result) is np.ndarray
    several = np.unique(exact, return_counts=True)
    assert all(isinstance(part, ExactArray) for part in several)
    assert all(isinstance(part, ExactArray) for part in np.split(exact, 3))
    assert unmark(several) is several
    assert type(unmark(exact)) is np.ndarray


def test_an_exact_number_can_be_rounded_as_any_of_numpy_and_stays_exact() -> None:
    """The advice of `laplace` is to round, and a sum of an exact array is exact."""
    several: Any = mark_exact(np.array([1.5, 2.25]))
    total = several.sum()
    assert (round(total), round(total, 1)) == (round(3.75), round(np.float64(3.75), 1))
    for rounded in (round(total), round(total, 1)):
        assert isinstance(rounded, ExactArray)
    assert whole_numbers(round(total), mechanism="laplace") == 4
    with pytest.raises(ArgumentError, match=r"in laplace, found a float: round them"):
        whole_numbers(total, mechanism="laplace")
    with pytest.raises(TypeError, match=r"found an array: use numpy.round"):
        round(several)


# Shuffling


def test_shuffling_gains_something_up_to_the_bound_of_its_theorem() -> None:
    users, delta = 10_000, 1e-6
    bound = math.log(users / (16 * math.log(2 / delta)))
    assert shuffled_epsilon(bound * (1 - 1e-9), users=users, delta=delta) < bound
    assert shuffled_epsilon(bound * (1 + 1e-9), users=users, delta=delta) == bound * (1 + 1e-9)
    assert shuffled_epsilon(1.0, users=users, delta=0.0) == 1.0
    assert shuffled_epsilon(0.0, users=1, delta=0.5) == 0.0
    for epsilon, number, chance in ((-TINY, 1, 0.5), (1.0, 0, 0.5), (1.0, 1, 1.0), (1.0, 1, -TINY)):
        with pytest.raises(ValueError, match="an epsilon of at least 0"):
            shuffled_epsilon(epsilon, users=number, delta=chance)
