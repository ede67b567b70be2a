"""Figures of DP-SUBN and DP-CCBN by brute force: degrees, plans, designs, costs, releases."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, product
from math import comb, log, log2, prod, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import BayesianNetwork, Estimate, Marginal
from sottovoce.messages import MessageError, UsageError, encoded_size
from sottovoce.parties import Records, read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.privacy.sensitivity import dependence_sensitivity, mutual_information_sensitivity
from sottovoce.protocols.cost import Public
from sottovoce.protocols.dp_ccbn import cost as ccbn_cost
from sottovoce.protocols.dp_ccbn.plan import MAX_TABLES, CandidatePlan
from sottovoce.protocols.dp_ccbn.scores import choose_all, scores_of
from sottovoce.protocols.dp_subn import cost
from sottovoce.protocols.dp_subn.bits_plan import families_of, pick_design, plan_bits
from sottovoce.protocols.dp_subn.budget import PhaseBudgets
from sottovoce.protocols.dp_subn.covering import covering
from sottovoce.protocols.dp_subn.designs import (
    _front,
    best_design,
    blocks_of,
    pair_error,
    pairs_missed,
    plane,
)
from sottovoce.protocols.dp_subn.forest_plan import forest_budget, plan_forest
from sottovoce.protocols.dp_subn.frontier import search_frontier, spanning_tree
from sottovoce.protocols.dp_subn.galois import field, is_prime, prime_power
from sottovoce.protocols.dp_subn.in_turn import InTurn, add_tables
from sottovoce.protocols.dp_subn.messages import Messages
from sottovoce.protocols.dp_subn.on_bits import OnBits
from sottovoce.protocols.dp_subn.options import DPSUBNParameters
from sottovoce.protocols.dp_subn.scores import score_families, sensitivity_of
from sottovoce.protocols.dp_subn.single_party import (
    read_tables,
    release_tables,
    single_party_batch,
)
from sottovoce.protocols.dp_subn.usefulness import (
    Sizes,
    binary_degree,
    inflation_of,
    max_cells,
    useful_sizes,
)
from sottovoce.protocols.secure_sum import SumOptions
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job


def domain_of(*sizes: int) -> Domain:
    names = "abcdefghijklmnop"
    return Domain(
        {name: tuple(map(str, range(size))) for name, size in zip(names, sizes, strict=False)}
    )


def bits(attributes: int) -> Domain:
    return Domain({f"x{number:02}": ("0", "1") for number in range(attributes)})


def records_of(domain: Domain, codes: Any) -> Records:
    schema = read_schema({name: list(labels) for name, labels in domain.labels.items()})
    table = pd.DataFrame(codes, columns=list(domain.attributes)).astype(str)
    return Records(table, schema=schema)


def random_records(domain: Domain, *, rows: int, seed: int) -> Records:
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, size, rows) for size in domain.shape(domain.attributes)]
    return records_of(domain, np.column_stack(columns))


# ---- Usefulness


@pytest.mark.parametrize("theta", [1.0, 4.0, 6.0])
@pytest.mark.parametrize(("rows", "attributes"), [(1000, 2), (1000, 5), (64, 4), (10**6, 8)])
@pytest.mark.parametrize("inflation", [1.0, 2.0])
def test_the_degree_is_the_largest_useful_one(
    rows: int, attributes: int, theta: float, inflation: float
) -> None:
    """An average cell of d - k tables has n / 2^(k + 1) rows; the noise scale is 2 (d - k) / eps.

    With noise of more variance the scale is larger by the root.
    """
    useful = [0]
    for k in range(attributes):
        scale = 2 * (attributes - k) / 0.5 * sqrt(inflation)
        if rows / 2 ** (k + 1) / scale >= theta:
            useful.append(k)
    degree = binary_degree(
        rows=rows, attributes=attributes, epsilon=0.5, theta=theta, inflation=inflation
    )
    assert degree == useful[-1]


def test_a_table_is_useful_at_the_boundary() -> None:
    """2 * 2^3 * 4 = 64 rows at epsilon 1 and theta 4 pay for one of three attributes' parent."""
    figures: dict[str, Any] = {"attributes": 3, "epsilon": 1.0, "theta": 4.0, "inflation": 1.0}
    assert [binary_degree(rows=rows, **figures) for rows in (63, 64)] == [0, 2]
    assert [max_cells(rows=rows, **figures) for rows in (71, 72)] == [2, 3]
    assert max_cells(rows=72, attributes=3, epsilon=1.0, theta=4.0, inflation=4.0) == 1


@pytest.mark.parametrize(
    ("parties", "colluding", "shares", "selected"),
    [(3, 1, 1.5, 1.0), (4, 2, 2.0, 1.0), (1, 1, 1.0, 1.0), (2, 9, 2.0, 1.0), (3, 0, 1.0, 1.0)],
)
def test_the_inflation_of_shares(
    parties: int, colluding: int, shares: float, selected: float
) -> None:
    options = SumOptions(colluding=colluding, aggregator="masks")
    assert inflation_of(options, noise="shares", parties=parties) == pytest.approx(shares)
    assert inflation_of(options, noise="selected", parties=parties) == selected


def test_sizes_on_bits_may_be_required() -> None:
    """A wanted number of parents is bounded by what is allowed and by the other attributes."""
    figures: dict[str, Any] = {"epsilon": 1.0, "theta": 4.0}
    sizes, degree = useful_sizes(bits(5), rows=10, max_parents=3, min_parents=1, **figures)
    assert (sizes.max_cells, degree) == (4, 1)
    sizes, degree = useful_sizes(bits(5), rows=10, max_parents=3, **figures)
    assert (sizes.max_cells, degree) == (2, 0)
    sizes, degree = useful_sizes(bits(5), rows=10**6, max_parents=3, **figures)
    assert (sizes.max_cells, degree) == (16, 3)
    sizes, degree = useful_sizes(bits(3), rows=10**6, max_parents=4, **figures)
    assert (sizes.max_cells, degree) == (8, 2)
    sizes, degree = useful_sizes(bits(2), rows=10, max_parents=4, min_parents=2, **figures)
    assert (sizes.max_cells, degree) == (4, 1)
    mixed = domain_of(2, 3, 4)
    sizes, degree = useful_sizes(mixed, rows=720, max_parents=1, **figures)
    assert (sizes.max_cells, degree) == (30, 1)
    sizes, degree = useful_sizes(mixed, rows=720, max_parents=4, inflation=4.0, **figures)
    assert (sizes.max_cells, degree) == (15, 2)
    with pytest.raises(UsageError, match="attributes with two or more labels"):
        useful_sizes(Domain({}), rows=10, max_parents=1, **figures)


@pytest.mark.parametrize("most", [1, 3, 5, 6, 12, 24, 30, 60, 119, 120, 240])
def test_the_degree_of_an_average_attribute(most: int) -> None:
    """The geometric mean of 2, 3, 4 and 5 labels is 3.31; constants do not count."""
    sizes = Sizes(domain_of(2, 3, 1, 4, 5), most)
    if most < 2 * 3:
        assert sizes.degree == 0
    else:
        mean = prod([2, 3, 4, 5]) ** (1 / 4)
        assert sizes.degree == max(1, round(log(most, mean)) - 1)
    assert Sizes(domain_of(2, 1, 1), most).degree == 0


@pytest.mark.parametrize("seed", range(12))
def test_parent_sets_by_enumeration(seed: int) -> None:
    """The largest sets: they fit, and no further parent fits or is allowed."""
    generator = np.random.default_rng(seed)
    domain = domain_of(*generator.integers(1, 6, 6).tolist())
    most, degree = int(generator.integers(2, 80)), int(generator.integers(0, 5))
    sizes = Sizes(domain, most)
    child, *others = domain.attributes
    fitting = [
        set(subset)
        for size in range(degree + 1)
        for subset in combinations(others, size)
        if domain.cells((child, *subset)) <= most
    ]
    largest = {
        frozenset(subset) for subset in fitting if not any(subset < other for other in fitting)
    }
    found = sizes.parent_sets(child, others, degree=degree)
    assert {frozenset(subset) for subset in found} == (largest or {frozenset()})
    assert len(set(found)) == len(found)
    for subset in combinations(others, 2):
        assert sizes.fits(child, subset) == (domain.cells((child, *subset)) <= most)
    placed = [others[2], others[0]]
    expected = [
        (*parents, name)
        for name in domain.attributes
        if name not in placed
        for parents in sizes.parent_sets(name, [others[0], others[2]], degree=degree)
    ]
    assert sizes.extensions(placed, degree=degree) == expected


# ---- Plans on bits

PROFILE = replace(OnBits.usual, theta=4.0, theta_frontier=2.0)
BUDGET = PhaseBudgets.of(Budget.pure(1.0), 0.3, 0.0, 0.1, 0.6)
BEST = partial(best_design, largest=12)


def plan_of(attributes: int, *, rows: int, **more: Any) -> Any:
    options: dict[str, Any] = {"budget": BUDGET, "inflation": 1.0, "design": BEST, **more}
    return plan_bits(bits(attributes), PROFILE, whole=Budget.pure(1.0), rows=rows, **options)


@pytest.mark.parametrize("updates", [1, 2, 5])
def test_a_plan_on_bits_by_hand(updates: int) -> None:
    """The network's k follows from eps4, the frontier's k' from its share of eps3."""
    rows, attributes = 8000, 6
    plan = plan_of(attributes, rows=rows, updates=updates)

    def degree(epsilon: float, theta: float) -> int:
        return binary_degree(
            rows=rows, attributes=attributes, epsilon=epsilon, theta=theta, inflation=1.0
        )

    assert plan.degree == min(degree(0.6, 4.0), 4) == 4
    assert plan.wide_degree == min(max(5, degree(0.1 / updates, 2.0)), 6)
    assert plan.budget == BUDGET
    assert (plan.sizes.max_cells, plan.wide_sizes.max_cells) == (32, 2 ** (plan.wide_degree + 1))
    assert plan.correlations.budget == Budget.pure(0.3)
    assert plan.frontier([("x00",)]).budget.amount == pytest.approx(0.1 / updates)
    assert plan.parameters([("x00", "x01")]).budget == Budget.pure(0.6)
    assert plan.updates == updates


def test_where_no_network_is_worth_its_noise() -> None:
    """All of epsilon then goes to single bits, unless a network is required."""
    plan = plan_of(6, rows=20)
    assert (plan.degree, plan.wide_degree) == (0, 1)
    assert plan.budget == PhaseBudgets.of(Budget.pure(1.0), 1.0, 0.0, 0.0, 0.0)
    assert plan.views == tuple((name,) for name in bits(6).attributes)
    required = plan_of(6, rows=20, min_parents=1)
    assert (required.degree, required.wide_degree, required.budget) == (1, 2, BUDGET)
    assert pairs_missed([tuple(int(name[1:]) for name in view) for view in required.views], 6) == (
        0,
        0,
    )
    with pytest.raises(UsageError, match="attributes with two or more labels"):
        plan_bits(
            Domain({}),
            PROFILE,
            whole=Budget.pure(1.0),
            budget=BUDGET,
            design=BEST,
            rows=5,
            inflation=1.0,
        )


def test_degrees_are_bounded() -> None:
    """With any number of rows a network has four parents at most, and a frontier six."""
    plan = plan_of(12, rows=10**9)
    assert (plan.degree, plan.wide_degree) == (4, 6)


def test_the_design_is_the_named_one() -> None:
    parameters = DPSUBNParameters(largest_view=3, block=4)
    blocks = {
        name: pick_design(parameters, replace(PROFILE, views=name))(13)
        for name in ("nocd", "algorithm-2", "priview", "pairs")
    }
    assert blocks["pairs"] == list(combinations(range(13), 2))
    assert blocks["nocd"] == best_design(13, largest=3)
    assert max(map(len, blocks["nocd"])) <= 3
    assert blocks["priview"] == covering(13, size=4)
    assert {len(block) for block in blocks["priview"]} == {4}
    for design in blocks.values():
        assert pairs_missed(design, 13)[0] == 0
    assert families_of(bits(1), BEST) == (("x00",),)
    with pytest.raises(AssertionError, match="1 pairs of 3 attributes are in no block"):
        families_of(bits(3), lambda _: [(0, 1), (1, 2)])


def test_a_forest_may_have_a_single_attribute() -> None:
    """Without a pair there is no edge, and all of epsilon goes to phase 1."""
    budget, edges = forest_budget(
        domain_of(4), rows=10**6, whole=Budget.pure(0.5), inflation=1.0, theta=3.5
    )
    assert (budget, edges) == (PhaseBudgets.of(Budget.pure(0.5), 1.0, 0.0, 0.0, 0.0), 0)


def test_what_a_forest_counts() -> None:
    """Phase 1 shares its budget by sizes; phase 4 counts the edges, or all attributes again."""
    domain = domain_of(2, 8, 3)
    plan = plan_forest(
        domain, whole=Budget.pure(2.0), budget=None, theta=3.5, rows=10**6, inflation=1.0
    )
    assert plan.single_attributes.families == (("a",), ("b",), ("c",))
    assert plan.single_attributes.budget == plan.budget.correlations
    # 8 times the root of 4/8, 1 and 3/8: one of two cells is counted, so this size counts twice.
    assert plan.single_attributes.weights == [6, 8, 5]
    assert plan.parameters([("a", "b"), ("a", "c")]).budget == plan.budget.parameters
    assert plan.parameters([("a", "b"), ("a", "c")]).weights == [8, 5]
    some = BayesianNetwork(domain, {"a": (), "b": ("a",), "c": ()})
    assert plan.to_count(some) == (("a", "b"),)
    none = BayesianNetwork(domain, {"a": (), "b": (), "c": ()})
    assert set(plan.to_count(none)) == {("a",), ("b",), ("c",)}
    with pytest.raises(UsageError, match="at least one attribute"):
        plan_forest(
            Domain({}), whole=Budget.pure(2.0), budget=None, theta=3.5, rows=10, inflation=1.0
        )


@pytest.mark.parametrize("shares", ["0.25,0.25,0.25,0.25", "0.25,0.25,0.25,0.2500000009"])
def test_shares_become_parts_of_epsilon(shares: str) -> None:
    phases = ("correlations", "initialisation", "update", "parameters")
    budget = PhaseBudgets.split(Budget.pure(2.0), shares, phases=phases)
    parts = (budget.correlations, budget.initialisation, budget.update, budget.parameters)
    assert [part.amount for part in parts] == pytest.approx([0.5] * 4)
    with pytest.raises(UsageError, match="sum to 1"):
        PhaseBudgets.split(Budget.pure(2.0), "0.25,0.25,0.25,0.250001", phases=phases)
    assert PhaseBudgets.split(
        Budget.pure(2.0), "0.3,0,0.1,0.6", phases=("correlations", "update", "parameters")
    ) == (PhaseBudgets(*map(Budget.pure, (0.6, 0.0, 0.2, 1.2))))


# ---- Finite fields and designs


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27])
def test_a_field_has_the_laws_of_a_field(order: int) -> None:
    """Both tables are commutative groups, without 0 for products, and products distribute."""
    numbers = field(order)
    plus, times = np.array(numbers.plus), np.array(numbers.times)
    elements = np.arange(order)
    assert numbers.order == order
    for table, unit, members in ((plus, 0, elements), (times, 1, elements[1:])):
        assert (table == table.T).all()
        assert (table[unit] == elements).all()
        for row in table[np.ix_(members, members)]:
            assert sorted(row) == members.tolist()
        left = table[table[:, :, None], elements]
        right = table[elements[:, None, None], table]
        assert (left == right).all()
    assert (times[0] == 0).all()
    sums = times[elements[:, None, None], plus]
    assert (sums == plus[times[:, :, None], times[:, None, :]]).all()


def test_primes_and_their_powers_by_enumeration() -> None:
    for number in range(130):
        divisors = [d for d in range(2, number) if number % d == 0]
        assert is_prime(number) == (number > 1 and not divisors)
    for order in range(1, 130):
        powers = [
            (p, k) for p in range(2, 130) for k in range(1, 8) if is_prime(p) and p**k == order
        ]
        assert prime_power(order) == (powers[0] if powers else None)
    with pytest.raises(ValueError, match="expected a prime power, found 12"):
        field(12)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_a_plane_meets_every_pair_once(order: int) -> None:
    points = order**2 + order + 1
    lines = plane(points, order=order)
    assert len(lines) == points
    assert {len(line) for line in lines} == {order + 1}
    for attributes in range(2, points + 1):
        lines = plane(attributes, order=order)
        assert pairs_missed(lines, attributes) == (0, 0)
        assert min(map(len, lines)) > 1
    # Points off one line stand first: with order^2 of them no line is larger than the order.
    assert max(map(len, plane(order**2, order=order))) == order
    with pytest.raises(ValueError, match=f"at most {points} attributes"):
        plane(points + 1, order=order)


def test_pairs_missed_and_doubled_are_counted() -> None:
    assert pairs_missed([(0, 1, 2), (1, 2, 3)], 4) == (1, 1)
    assert pairs_missed([(2, 0), (0, 2), (0, 2)], 3) == (2, 1)
    assert pairs_missed([], 4) == (6, 0)


@pytest.mark.parametrize("sizes", [None, (2, 3, 4, 5)])
def test_the_error_of_a_pair_by_hand(sizes: Any) -> None:
    """Noise of scale 2 M has the variance 8 M^2; a pair's table adds up all cells of a block."""
    blocks = [(0, 1, 2), (1, 2, 3), (0, 3)]
    labels = sizes or (2, 2, 2, 2)
    variances = []
    for x, y in combinations(range(4), 2):
        cells = [prod(labels[place] for place in block) for block in blocks if {x, y} <= set(block)]
        variances.append(8 * 9 / sum(1 / count for count in cells))
    error = pair_error(blocks, attributes=4, sizes=sizes)
    assert error == pytest.approx(sum(variances) / 6)
    assert pair_error(blocks[:2], attributes=4, sizes=sizes) == float("inf")


@pytest.mark.parametrize("attributes", range(2, 32))
def test_the_best_design_beats_planes_blocks_and_pairs(attributes: int) -> None:
    best = best_design(attributes, largest=8)
    error = pair_error(best, attributes=attributes)
    assert pairs_missed(best, attributes)[0] == 0
    assert max(map(len, best)) <= 8
    orders = [order for order in (2, 3, 4, 5, 7) if order**2 + order + 1 >= attributes]
    others: list[list[tuple[int, ...]]] = [
        list(combinations(range(attributes), 2)),
        [tuple(range(attributes))],
        *(plane(attributes, order=order) for order in orders),
    ]
    for blocks in others:
        if max(map(len, blocks)) <= 8:
            assert error <= pair_error(blocks, attributes=attributes) * (1 + 1e-12)
    primes = best_design(attributes, largest=8, primes_only=True)
    assert pairs_missed(primes, attributes) == (0, 0)
    assert error <= pair_error(primes, attributes=attributes) * (1 + 1e-12)


@pytest.mark.parametrize("primes_only", [True, False])
def test_a_grid_is_as_large_as_its_blocks(primes_only: bool) -> None:
    """The search adds up blocks and weights; they are those of the blocks that are listed."""
    for attributes in range(1, 30):
        for size in _front(attributes, 9, primes_only):
            blocks = blocks_of(size.grid, attributes)
            assert pairs_missed(blocks, attributes) == (0, 0)
            assert size.blocks == len(blocks)
            assert size.weight == sum(comb(len(block), 2) * 2 ** len(block) for block in blocks)
            assert max(map(len, blocks), default=0) <= 9


def test_the_grids_that_are_kept_beat_each_other() -> None:
    """Of two grids one has fewer blocks and the other less weight; nothing else is kept."""
    for attributes in range(2, 30):
        front = _front(attributes, 9, False)
        assert front
        for left, right in combinations(front, 2):
            assert left.blocks < right.blocks
            assert left.weight > right.weight


def test_designs_of_many_and_of_few_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 80 attributes planes are searched; where their blocks are too large, all pairs."""
    assert best_design(1, largest=9) == best_design(0, largest=9) == []
    assert len(best_design(13, largest=9)) == len(plane(13, order=3)) == 13
    assert len(best_design(13, largest=9, primes_only=True)) != 13
    assert best_design(81, largest=3) == list(combinations(range(81), 2))
    wide = best_design(82, largest=10)
    assert pairs_missed(wide, 82) == (0, 0)
    assert max(map(len, wide)) == 10
    assert len(wide) == 90  # one of the 91 lines has a single attribute left
    assert best_design(82, largest=10, primes_only=True) == list(combinations(range(82), 2))
    monkeypatch.setattr("sottovoce.protocols.dp_subn.designs.MAX_ATTRIBUTES", 20)
    assert len(best_design(20, largest=3)) < comb(20, 2)
    assert len(best_design(21, largest=3)) == comb(21, 2)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_covering_covers_all_pairs(size: int) -> None:
    for attributes in range(2, 14):
        blocks = covering(attributes, size=size)
        assert pairs_missed(blocks, attributes)[0] == 0
        assert {len(set(block)) for block in blocks} == {min(size, attributes)}
        assert all(list(block) == sorted(block) for block in blocks)
        if size == 2:
            assert len(blocks) == comb(attributes, 2)
    assert covering(1, size=3) == []
    with pytest.raises(ValueError, match="at least 2 attributes, found 1"):
        covering(4, size=1)


# ---- Costs

SIX = bits(6)


def public_of(domain: Domain, *, parties: int = 3, model: Any = None) -> Public:
    return Public(parties=parties, rows=4000, key_bits=1023, domain=domain, model=model)


def test_the_formulas_by_hand() -> None:
    """d = 5, k = 2, k' = 3, four attributes in a view, two parties, t1 = 16 bits."""
    lines = cost.printed(d=5, k=2, frontier=3, view=4, parties=2, t1=16)
    views = 10 / 6
    assert lines["correlations"] == pytest.approx((views * 32, 2 * 2 * views * 64))
    assert lines["update"] == pytest.approx((2 * 4 * 16, 2 * 2 * 4 * 32))
    assert lines["parameters"] == pytest.approx((3 * 8, 2 * 2 * 3 * 16))
    pairs = cost.printed(d=5, k=2, frontier=3, view=2, parties=2, t1=16)
    assert pairs["correlations"] == (10 * 8, 2 * 2 * 10 * 16)  # each of ten pairs is a view
    single = cost.printed(d=5, k=2, frontier=3, view=1, parties=2, t1=16)
    assert single["correlations"] == (0.0, 0.0)
    assert ccbn_cost.printed(d=5, k=2, parties=2, t1=16) == {
        "structure": (5 * 10 * 8, 5 * 2 * 2 * 10 * 16),
        "parameters": (3 * 8, 2 * 2 * 3 * 16),
    }


@pytest.mark.parametrize("senders", [1, 3])
def test_the_formulas_of_a_run_by_hand(senders: int) -> None:
    """A ciphertext under a key of 1,023 bits has 2 * 128 bytes."""
    plan = plan_of(6, rows=4000)
    model = {
        "initial": [["x00"]],
        "frontiers": [[["x00", "x01"], ["x02"]], [["x03"]]],
        "counted": [["x00", "x01", "x02"], ["x03", "x04"]],
    }
    public = public_of(SIX, model=model)
    lines = {
        line.phase: line
        for line in cost.evaluate_formulas(plan, public, parties_of_a_frontier=senders)
    }
    view = sum(map(len, plan.views)) / len(plan.views)
    printed = cost.printed(
        d=6, k=plan.degree, frontier=plan.wide_degree, view=view, parties=3, t1=8 * 256
    )
    for phase, cells, parties in (
        ("correlations", sum(2 ** len(view) for view in plan.views), 3),
        ("update", 4 + 2 + 2, senders),
        ("parameters", 8 + 4, 3),
    ):
        line = lines[phase]
        assert (line.printed_rounds, line.printed_bytes) == pytest.approx(printed[phase])
        assert line.corrected_rounds == cells
        assert line.corrected_bytes == 2 * parties * 256 * cells
    assert cost.evaluate_formulas(plan, public_of(SIX), parties_of_a_frontier=1) == []


def test_the_formulas_of_dp_ccbn_by_hand() -> None:
    cells = {"structure": 40, "parameters": 12}
    lines = ccbn_cost.evaluate_formulas(cells, public_of(SIX), attributes=6, degree=2)
    printed = ccbn_cost.printed(d=6, k=2, parties=3, t1=8 * 256)
    assert [line.phase for line in lines] == ["structure", "parameters"]
    for line in lines:
        assert (line.printed_rounds, line.printed_bytes) == printed[line.phase]
        assert line.corrected_rounds == cells[line.phase]
        assert line.corrected_bytes == 2 * 3 * 256 * cells[line.phase]


@pytest.mark.parametrize("parties", [1, 2, 3, 7])
def test_the_way_of_the_choices_is_predicted(parties: int) -> None:
    """Each message has the choices so far."""
    initial = [("a",), ("a", "b"), ("a", "c"), ("b", "d"), ("a", "b", "e")]
    picks = [4 // parties + (number < 4 % parties) for number in range(parties)]
    chosen, size = 1, 0
    for quota in picks:
        chosen += quota
        size += encoded_size(Messages.Chosen(tuple(initial[:chosen])))
    (line,) = cost.predict_turns(initial, parties=parties)
    assert (line.phase, line.kind) == ("initialisation", "Chosen")
    assert (line.messages, line.payload_bytes) == (parties, size)


def test_messages_with_a_frontier_are_predicted() -> None:
    line = cost.predict_candidates([("a", "b"), ("c",)], receivers=3)
    size = encoded_size(Messages.Candidates((("a", "b"), ("c",))))
    assert (line.messages, line.payload_bytes) == (3, 3 * size)
    assert size > 0


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "paper", "noise": "laplace", "key_bits": 256, "insecure_test_keys": True},
        {"aggregator": "masks", "attributes": "binary", "update": "joint"},
        {"aggregator": "masks", "attributes": "binary", "update": "sequential"},
    ],
)
def test_a_run_reports_its_formulas(options: dict[str, Any]) -> None:
    """Corrected bytes are those of the cells that were counted, by the parties that counted."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 300)
    table = pd.DataFrame({"a": a, "b": a ^ (generator.random(300) < 0.1), "c": a})
    result = sottovoce.run(
        "dp-subn", table, parties=2, epsilon=100.0, seed=1, judge=False, **options
    )
    lines = {line["phase"]: line for line in result.report["communication"]["formulas"]}
    assert set(lines) == {"correlations", "update", "parameters"}
    single = lines["parameters"]["corrected_bytes"] / lines["parameters"]["corrected_rounds"]
    for phase, line in lines.items():
        one_party = phase == "update" and options.get("update", "replace") != "joint"
        per_cell = line["corrected_bytes"] / line["corrected_rounds"]
        assert per_cell == pytest.approx(single / 2 if one_party else single)


# ---- One party's own tables, and sequential updates


def test_one_party_pays_for_all_its_tables() -> None:
    """A replaced record changes each of three tables by 2, whatever is known of the others."""
    domain = domain_of(2, 3, 2)
    families = [("a", "b"), ("c",), ("b",)]
    batch = single_party_batch(domain, families, rows=77, budget=Budget.pure(0.7))
    assert (batch.cells, batch.sensitivity, batch.epsilon) == (11, 6, 0.7)
    assert (batch.rows, batch.parties, batch.colluding) == (77, 1, 0)
    records = random_records(domain, rows=30, seed=1)
    released: list[Any] = []

    def release(mechanism: Any, **_: Any) -> Any:
        released.append(mechanism)
        return iter(mechanism.pages)

    me: Any = SimpleNamespace(release=release)
    cells = release_tables(me, records, families, rows=77, budget=Budget.pure(0.7))
    assert cells.tolist() == [
        count for family in families for count in records.marginal(family).tolist()
    ]
    assert released[0].batch == batch
    assert released[0].seen == {}
    tables = read_tables(domain, families, cells, party=1, where=None)  # type: ignore[arg-type]
    for table, family in zip(tables, families, strict=True):
        assert table.attributes == family
        exact = Marginal.of(domain, family, records.marginal(family))
        assert table.distance(exact) == 0
    for wrong in (cells[:-1], np.append(cells, 0)):
        with pytest.raises(MessageError, match="expected 11 cells from party 1"):
            read_tables(domain, families, wrong, party=1, where=None)  # type: ignore[arg-type]


def test_a_new_family_continues_the_smallest_total_that_has_it() -> None:
    domain = domain_of(2, 3, 2)
    first, second, third = (random_records(domain, rows=40, seed=seed) for seed in range(3))

    def table(records: Records, *family: str) -> Marginal:
        return Marginal.of(domain, family, records.marginal(family))

    totals = add_tables({}, [table(first, "a", "b", "c"), table(second, "a", "b")])
    assert totals["a", "b"].distance(table(second, "a", "b")) == 0
    more = add_tables(totals, [table(third, "b"), table(third, "b", "c")])
    smallest = table(second, "b") + table(third, "b")
    assert more[("b",)].distance(smallest) == 0
    assert more["b", "c"].distance(table(first, "b", "c") + table(third, "b", "c")) == 0
    assert set(more) == {("a", "b", "c"), ("a", "b"), ("b",), ("b", "c")}


def test_sequential_updates_have_one_turn_for_each_party() -> None:
    parameters = DPSUBNParameters(attributes="binary", update="sequential", updates=2)
    with pytest.raises(UsageError, match="expected updates=1 for update=sequential"):
        InTurn(parameters, mode="rigorous")


# ---- Scores


@pytest.mark.parametrize("rows", [1, 2, 9, 60])
def test_the_sensitivity_of_a_score_by_hand(rows: int) -> None:
    """Half of the change of a difference: the mean of the two families' largest bounds.

    The smaller bound holds where one of a family's two sides has two values.
    """
    domain = domain_of(2, 3, 4, 1)
    records = random_records(domain, rows=rows, seed=1)
    n = max(2, rows)
    bounds: dict[Any, Any] = {
        "I": [mutual_information_sensitivity(n, binary=binary, base=2) for binary in (True, False)],
        "R": [dependence_sensitivity(n, binary=binary) for binary in (True, False)],
    }
    for score, (narrow, wide) in bounds.items():
        for families, expected in (
            ([("b", "a")], narrow / 2),
            ([("a", "b"), ("c", "a"), ("d", "a")], narrow),
            ([("b", "c"), ()], wide / 2),
            ([("b", "a"), ("b", "c"), ("c", "a")], (narrow + wide) / 2),
            ([("b", "a"), ("b", "c"), ("a", "b", "c")], wide),
            ([("a", "d", "c"), ("c", "b")], (narrow + wide) / 2),
            ([("b",), ("a", "b")], narrow / 2),
            ([()], narrow / 2),  # the choice is certain, and the sensitivity above 0
        ):
            assert sensitivity_of(records, families, score=score) == pytest.approx(expected)
        two = random_records(domain_of(2, 2, 1, 2), rows=rows, seed=1)
        # Three of four bits have four values together, but the child has two.
        families = [("a", "b", "d"), ("a", "b")]
        assert sensitivity_of(two, families, score=score) == pytest.approx(narrow)


@pytest.mark.parametrize("score", ["I", "R"])
def test_scores_in_blocks_are_scores(score: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each family is scored by a loop over its cells, also where families come in blocks."""
    domain = domain_of(2, 3, 2, 2)
    records = random_records(domain, rows=25, seed=3)
    families = [("a",), ("a", "b"), ("a", "b", "c"), (), ("c", "d"), ("d", "b"), ("b", "a")]
    expected = []
    for family in families:
        if len(family) < 2:
            expected.append(0.0)
            continue
        cells = records.marginal(family).reshape(-1, domain.cells(family[-1:])) / 25
        rows, columns = cells.sum(axis=1), cells.sum(axis=0)
        total = 0.0
        for i, j in product(range(len(rows)), range(len(columns))):
            both, alone = float(cells[i, j]), float(rows[i] * columns[j])
            if score == "R":
                total += abs(both - alone) / 2
            elif both:
                total += both * log2(both / alone)
        expected.append(total)
    for block in (1, 2, 3, 100):
        monkeypatch.setattr("sottovoce.protocols.dp_subn.scores.BLOCK", block)
        assert score_families(records, families, score=score) == pytest.approx(expected)


# ---- Frontiers of two and three attributes


def at_most(degree: int) -> Any:
    return lambda _, parents: len(parents) <= degree


def test_small_frontiers_by_hand() -> None:
    """Of two attributes the first becomes the child on a tie; the room decides otherwise."""
    two = np.array([[0.0, 0.5], [0.5, 0.0]])
    assert search_frontier({}, two, fits=at_most(1), degree=1, extended=True) == {0: [1], 1: []}
    three = np.zeros((3, 3))
    three[0, 1] = three[1, 0] = 0.9
    three[1, 2] = three[2, 1] = 0.5
    three[0, 2] = three[2, 0] = 0.1
    tree = spanning_tree(three, root=0, fits=at_most(1))
    assert tree == {0: [], 1: [0], 2: [1]}
    assert search_frontier(tree, three, fits=at_most(1), degree=1, extended=True) == tree
    wide = search_frontier(tree, three, fits=at_most(2), degree=2, extended=True)
    assert wide == {0: [], 1: [0], 2: [1, 0]}
    closed = search_frontier(
        {2: [0]}, three, fits=lambda x, p: x == 0 and len(p) <= 1, degree=1, extended=True
    )
    assert closed == {0: [1], 1: [], 2: [0]}


# ---- DP-CCBN


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("most", [3, 6, 8, 12, 24])
def test_candidate_sets_by_enumeration(degree: int, most: int) -> None:
    """The maximal sets of at most k + 1 attributes that fit; single attributes always do."""
    domain = domain_of(2, 3, 4, 2)
    plan = CandidatePlan(
        domain=domain,
        sizes=Sizes(domain, most),
        degree=degree,
        budget=Budget.pure(1.0),
        weighted=False,
    )
    fitting = [
        frozenset(family)
        for size in range(1, degree + 2)
        for family in combinations(domain.attributes, size)
        if size == 1 or domain.cells(family) <= most
    ]
    maximal = {family for family in fitting if not any(family < other for other in fitting)}
    found = plan.candidate_sets()
    assert set(map(frozenset, found)) == maximal
    assert len(found) == len(maximal)


@pytest.mark.parametrize("weighted", [True, False])
def test_half_of_epsilon_pays_for_the_structure(weighted: bool) -> None:
    domain = domain_of(2, 3, 4, 2)
    network = BayesianNetwork(domain, {"a": (), "b": ("a",), "c": (), "d": ()})
    for degree, parameters in ((1, 0.4), (0, 0.8)):
        plan = CandidatePlan(
            domain=domain,
            sizes=Sizes(domain, 8),
            degree=degree,
            budget=Budget.pure(0.8),
            weighted=weighted,
        )
        assert plan.iteration([("a", "b")]).budget.amount == pytest.approx(0.4 / 3)
        assert plan.only_batch([("a", "b")]).budget.amount == pytest.approx(0.4)
        assert plan.parameters(network).budget.amount == pytest.approx(parameters)
        for tables in (plan.only_batch([("a", "b")]), plan.parameters(network)):
            assert tables.weighted == weighted
        assert plan.only_batch([("a",)] * MAX_TABLES).budget.amount == pytest.approx(0.4)
        with pytest.raises(UsageError, match="at most 1,000,000 candidates"):
            plan.only_batch([("a",)] * (MAX_TABLES + 1))


def test_a_candidate_is_scored_less_its_noise() -> None:
    """The distance from independence, less 0.4 standard deviations of each of six cells."""
    domain = domain_of(2, 3)
    values = np.array([[30.0, 0, 0], [0, 30, 40]])
    counted = [
        Estimate(Marginal(("a", "b"), values), 25.0),
        Estimate(Marginal(("a",), values[:, 0]), 1.0),
    ]
    shares = values / 100
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    expected = np.abs(shares - alone).sum() / 2 - 0.4 * 6 * 5 / 100
    scores = scores_of(counted, [("a", "b"), ("a",)], domain, rows=100)
    assert scores == pytest.approx([expected, 0.0])


def test_a_network_is_chosen_from_one_batch() -> None:
    """Without noise the best candidate is the next one; tables come from the smallest cover."""
    generator = np.random.default_rng(2)
    a = generator.integers(0, 2, 400)
    c = np.where(generator.random(400) < 0.9, a, 1 - a)
    b = np.where(generator.random(400) < 0.7, a, generator.integers(0, 3, 400))
    domain = domain_of(2, 3, 2)
    records = records_of(domain, np.column_stack([a, b, c]))
    plan = CandidatePlan(
        domain=domain, sizes=Sizes(domain, 6), degree=1, budget=Budget.pure(1.0), weighted=False
    )
    exact = [
        Estimate(Marginal.of(domain, family, records.marginal(family)), 1e-9)
        for family in plan.candidate_sets()
    ]
    uniform = Estimate(Marginal.uniform(domain, ("a", "b", "c")) * 400, 1e-9)
    for counted in (exact, [uniform, *exact], [*exact, uniform]):
        chosen = choose_all(counted, ("b",), plan=plan, rows=400)
        assert chosen == [("b",), ("b", "a"), ("a", "c")]


@pytest.mark.parametrize(
    ("mode", "parameters", "is_weighted"),
    [
        ("rigorous", {}, True),
        ("rigorous", {"attributes": "binary"}, False),
        ("paper", {}, False),
        ("rigorous", {"search": "oneshot"}, True),
    ],
)
def test_tables_of_several_sizes_are_weighted(
    mode: Any, parameters: dict[str, Any], is_weighted: bool
) -> None:
    """Half of epsilon decides how large a table may be."""
    job = Job(protocol="dp-ccbn", mode=mode, parameters=parameters, parties=2)
    made: Any = instantiate(job)
    assert made.weighted == is_weighted
    plan = made.plan(bits(4), rows=3000, parties=2)
    inflation = inflation_of(made.parameters, noise=made.noise, parties=2)
    least = binary_degree(rows=3000, attributes=4, epsilon=0.5, theta=6.0, inflation=inflation)
    assert plan.degree == min(max(least, int(mode == "paper")), 2)
    mixed = made.plan(domain_of(2, 3, 4), rows=3000, parties=2)
    assert mixed.sizes.max_cells == max_cells(
        rows=3000, attributes=3, epsilon=0.5, theta=6.0, inflation=inflation
    )


def test_a_run_describes_its_network() -> None:
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 400)
    table = pd.DataFrame({"a": a, "b": a, "c": generator.integers(0, 2, 400)})
    table["d"] = a ^ table["c"]
    options: dict[str, Any] = {"parties": 1, "aggregator": "clear", "seed": 1, "judge": False}
    forest = sottovoce.run("dp-subn", table, epsilon=100.0, **options)
    assert str(forest.report["outcome"]["network"]).endswith("edges, at most 1 parent")
    wide = sottovoce.run("dp-subn", table, epsilon=1000.0, attributes="binary", **options)
    assert str(wide.report["outcome"]["network"]).endswith("parents")
    assert "rejected" not in forest.report["outcome"]
    none = sottovoce.run("dp-subn", table, epsilon=0.01, **options)
    assert none.report["outcome"]["network"] == "none worth its noise: one-way tables"
