"""Plans with a budget in rho: weights, splits, edges and choices, each against brute force."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce import UsageError
from sottovoce.parties import read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.gaussian_loss import gaussian_of
from sottovoce.protocols.cost import Public
from sottovoce.protocols.dp_subn.bits_plan import plan_bits
from sottovoce.protocols.dp_subn.budget import PhaseBudgets
from sottovoce.protocols.dp_subn.designs import best_design
from sottovoce.protocols.dp_subn.forest_plan import edges_worth, forest_budget, plan_forest
from sottovoce.protocols.dp_subn.on_bits import OnBits
from sottovoce.protocols.dp_subn.usefulness import binary_degree
from sottovoce.protocols.jtree.budget import Parts, corrected_budget, is_low, tree_budget
from sottovoce.protocols.jtree.parameters import JTreeParameters
from sottovoce.protocols.jtree.score_sums import ScoreSum
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumBatch, SumOptions, Tables
from sottovoce.protocols.secure_sum.options import choose_noise
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

DELTA = 1e-9


def rho(amount: float) -> Budget:
    return Budget("rho", amount)


def domain_of(*sizes: int) -> Domain:
    names = [f"x{index:02}" for index in range(len(sizes))]
    return Domain(
        {name: tuple(map(str, range(size))) for name, size in zip(names, sizes, strict=True)}
    )


def tables_of(sizes: Sequence[int], budget: Budget, *, weighted: bool) -> Tables:
    domain = domain_of(*sizes)
    families = tuple((name,) for name in domain.attributes)
    return Tables(domain, families, budget, weighted=weighted)


# ---- Tables


def test_a_batch_has_the_noise_of_its_budget() -> None:
    """Laplace noise has the deviation sqrt(2) S / epsilon, Gaussian noise sqrt(squares / 2 rho)."""
    figures: dict[str, Any] = {"cells": 5, "sensitivity": 6, "squares": 10, "weight": 3}
    pure = SumBatch.of(Budget.pure(0.5), **figures)
    assert (pure.unit, pure.epsilon, pure.rho, pure.weight) == ("epsilon", 0.5, None, 3)
    assert pure.deviation == pytest.approx(sqrt(2) * 12)
    gaussian = SumBatch.of(rho(0.02), **figures)
    assert (gaussian.unit, gaussian.epsilon, gaussian.rho) == ("rho", inf, 0.02)
    assert (gaussian.squares, gaussian.weight) == (10, 3)
    assert gaussian.deviation == pytest.approx(sqrt(10 / 0.04))
    noise = gaussian.among(parties=4, rows=100, colluding=1)
    # Three of four shares are full noise. The variance of a share is rounded up.
    assert noise.variance(shares=True) == pytest.approx(10 / 0.04 * 4 / 3, rel=1e-3)
    assert noise.loss.rho <= 0.02


def test_the_weights_of_gaussian_tables_by_hand() -> None:
    """8 times the cube root of 2/20, 12/20 and 1: 3.71, 6.75 and 8."""
    tables = tables_of((2, 12, 20), rho(0.1), weighted=True)
    assert tables.weights == [4, 7, 8]
    assert tables.batch == SumBatch(
        cells=34, sensitivity=2 * 19, rho=0.1, squares=2 * (16 + 49 + 64), weight=8
    )
    # Of two cells one has Laplace noise, so this size counts twice: 8 times the root of 4/20.
    assert tables_of((2, 12, 20), Budget.pure(0.1), weighted=True).weights == [2, 3, 4]
    alike = tables_of((2, 12, 20), rho(0.1), weighted=False)
    assert alike.weights == [1, 1, 1]
    assert alike.batch == SumBatch(cells=34, sensitivity=6, rho=0.1, squares=6)


@pytest.mark.parametrize("budget", [Budget.pure(0.3), rho(0.01)])
@pytest.mark.parametrize("sizes", [(2, 12, 20), (2, 2, 40), (3, 100, 7), (5, 5, 5), (2, 300, 4)])
def test_weights_have_the_least_error(budget: Budget, sizes: tuple[int, ...]) -> None:
    """No weights up to 24 make the sum of all cells' deviations more than 3 % smaller.

    Of two cells one has Laplace noise, and changes by 1 only. The plan's error is that of tables
    with the right sum, whose n cells have n - 1 degrees of freedom.
    """
    ones = [size == 2 and not budget.concentrated for size in sizes]

    def error(weights: Sequence[int], *, corrected: bool = False) -> float:
        changes = [weight if one else 2 * weight for weight, one in zip(weights, ones, strict=True)]
        noise = (
            sqrt(2 * sum(weight**2 for weight in weights) / 2 / budget.amount)
            if budget.concentrated
            else sqrt(2) * sum(changes) / budget.amount
        )
        return sum(
            size * noise / weight * (sqrt((size - 1) / size) if corrected and not one else 1)
            for size, weight, one in zip(sizes, weights, ones, strict=True)
        )

    tables = tables_of(sizes, budget, weighted=True)
    assert tables.error == pytest.approx(error(tables.weights, corrected=True))
    assert error(tables.weights) <= 1.03 * min(map(error, product(range(1, 25), repeat=3)))
    assert tables.error <= tables_of(sizes, budget, weighted=False).error * (1 + 1e-9)


def test_weighted_gaussian_tables_have_the_noise_of_their_weights(converse: Any) -> None:
    """The noise of 342 cells, in deviations, has a sum of squares as chi-squared noise has it.

    The bounds hold except with a probability of 1e-7, by the normal approximation at 5.5
    deviations, and the seed is fixed.
    """
    sizes = (2, 100, 240)
    domain, tables = domain_of(*sizes), tables_of(sizes, rho(0.01), weighted=True)
    options = SumOptions(aggregator="masks")

    def party(me: Any) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        with me.phase("count"):
            tables.contribute(me.records, sums)

    def curator(desk: Any) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("count"):
            return tables.receive(sums)

    own = pd.DataFrame({name: ["1"] * 20 for name in domain.attributes})
    schema = read_schema({name: list(labels) for name, labels in domain.labels.items()})
    talk = converse(party, curator, tables=[own] * 3, schema=schema)
    squares = 2 * sum(weight**2 for weight in tables.weights)
    total = 0.0
    for estimate, size, weight in zip(talk.curator, sizes, tables.weights, strict=True):
        # Two of three shares are full noise.
        assert estimate.variance == pytest.approx(squares / 0.02 * 3 / 2 / weight**2, rel=1e-3)
        exact = np.zeros(size)
        exact[1] = 60
        values = estimate.table.values.ravel()  # noqa: PD011
        total += float(((values - exact) ** 2).sum() / estimate.variance)
    cells = sum(sizes)
    assert abs(total - cells) < 5.5 * sqrt(2 * cells)
    for number in (1, 2, 3):
        (release,) = talk.party(number).accountant.releases
        assert (release.epsilon, release.loss.rho) == (inf, pytest.approx(0.01, rel=1e-3))
        assert release.loss.rho <= 0.01


# ---- The choice between the two laws


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_auto_takes_the_law_that_makes_less_noise(epsilon: float) -> None:
    """Of M tables: 2 sqrt(2) M / epsilon, and sqrt(M / rho) or that of the Gaussian loss."""
    domain = domain_of(*[2] * 40)
    public = Public(parties=3, rows=1000, key_bits=2048, domain=domain)
    laws = {"epsilon": "laplace", "rho": "gaussian"}
    found = set()
    for count in range(1, 41):
        named = ", ".join(domain.attributes[:count])
        parameters = {"epsilon": epsilon, "marginals": named}
        protocol: Any = instantiate(Job(protocol="noisy-marginals", parameters=parameters))
        unit = protocol.unit_of_budget(public)
        laplace = 2 * sqrt(2) * count / epsilon
        of_rho = sqrt(count / rho_of(epsilon, delta=DELTA))
        loss = gaussian_of(epsilon, delta=DELTA)
        gaussian = min(of_rho, max(20.0, sqrt(count / loss)))  # nothing is proved of less
        assert unit == ("rho" if gaussian < laplace else "epsilon")
        assert protocol.chosen(public)["noise"] == laws[unit]
        found.add(unit)
        deviations = [
            instantiate_with(parameters, noise=noise).batch(domain, parties=3).deviation
            for noise in ("laplace", "gaussian")
        ]
        assert protocol.batch(domain, parties=3).deviation == min(deviations)
        assert deviations == pytest.approx([laplace, gaussian], rel=1e-3)
    assert found == {"epsilon", "rho"}


def instantiate_with(parameters: dict[str, Any], **more: Any) -> Any:
    return instantiate(Job(protocol="noisy-marginals", parameters={**parameters, **more}))


PLANNED: list[tuple[str, dict[str, Any]]] = [
    ("one-way", {}),
    ("dp-subn", {}),
    ("dp-subn", {"attributes": "binary"}),
    ("jtree", {}),
    ("jtree", {"structure": "top"}),
    ("jtree", {"structure": "svt"}),
    ("jtree", {"structure": "laplace"}),
    ("dp-ccbn", {}),
    ("dp-ccbn", {"search": "oneshot"}),
    ("adaptive-pairs", {}),
]


@pytest.mark.parametrize(("name", "parameters"), PLANNED)
def test_the_law_follows_from_public_figures(name: str, parameters: dict[str, Any]) -> None:
    """At a tiny epsilon many tables have Gaussian noise; delta = 0 and noise= decide otherwise."""
    domain = domain_of(*[3] * 15)
    public = Public(parties=3, rows=45_222, key_bits=2048, domain=domain)

    def unit(**more: Any) -> str:
        job = Job(protocol=name, parameters={**parameters, "epsilon": 0.8, **more})
        protocol: Any = instantiate(job)
        return str(protocol.unit_of_budget(public))

    assert unit() == "rho"
    assert unit(delta=0.0) == unit(noise="laplace") == "epsilon"
    assert unit(noise="gaussian") == "rho"


@pytest.mark.parametrize(("name", "parameters"), PLANNED[:3])
def test_few_tables_have_laplace_noise(name: str, parameters: dict[str, Any]) -> None:
    """Two attributes make three tables at most."""
    public = Public(parties=3, rows=45_222, key_bits=2048, domain=domain_of(2, 2))
    protocol: Any = instantiate(
        Job(protocol=name, parameters={**parameters, "epsilon": 0.2, "delta": 1e-12})
    )
    assert protocol.unit_of_budget(public) == "epsilon"


def test_the_noise_of_dp_subn_follows_from_tables_of_pairs() -> None:
    """Single tables of 16 binary attributes have less Laplace noise, and those of pairs more."""
    units = []
    for attributes in (2, 16, 40):
        public = Public(parties=3, rows=20_000, key_bits=2048, domain=domain_of(*[2] * attributes))
        protocol: Any = instantiate(Job(protocol="dp-subn", parameters={"epsilon": 0.8}))
        units.append(protocol.unit_of_budget(public))
    assert units == ["epsilon", "rho", "rho"]


@pytest.mark.parametrize("structure", ["tree", "top"])
def test_jtree_counts_few_clusters_of_few_attributes(structure: Any) -> None:
    """One table has less Laplace noise, and eight have less Gaussian noise."""
    units = []
    for attributes in (1, 8, 20):
        domain = domain_of(*[2] * attributes)
        public = Public(parties=3, rows=1000, key_bits=2048, domain=domain)
        protocol: Any = instantiate(Job(protocol="jtree", parameters={"structure": structure}))
        units.append(protocol.unit_of_budget(public))
    assert units == ["epsilon", "rho", "rho"]


@pytest.mark.parametrize("epsilon", [1e-6, 1e-17, 5e-324])
def test_an_epsilon_below_all_rho_has_laplace_noise(epsilon: float) -> None:
    """No order gives an epsilon below ln(1 / delta) / 10^6, so no rho is known to imply it."""
    assert Budget.candidates(epsilon, delta=DELTA) == [Budget.pure(epsilon)]
    with pytest.raises(UsageError, match="a larger epsilon for a budget in rho"):
        Budget.of(epsilon, delta=DELTA)
    assert [budget.unit for budget in Budget.candidates(0.001, delta=DELTA)] == ["epsilon", "rho"]
    for budget in (Budget.pure(0.0), rho(0.0)):
        assert SumBatch.of(budget, cells=1, sensitivity=2, squares=2).deviation == inf


def test_a_noise_that_cannot_be_is_refused() -> None:
    for options, mode, match in (
        (SumOptions(noise="gaussian", delta=0.0), "rigorous", "a delta above 0"),
        (SumOptions(noise="gaussian"), "paper", "laplace or selected in mode paper"),
        (SumOptions(noise="auto"), "paper", "laplace or selected in mode paper"),
        (SumOptions(noise="selected"), "rigorous", "laplace, gaussian or auto"),
    ):
        with pytest.raises(UsageError, match=match):
            choose_noise(options, mode=mode)  # type: ignore[arg-type]
    assert choose_noise(SumOptions(), mode="rigorous") == "auto"
    assert choose_noise(SumOptions(delta=0.0), mode="rigorous") == "laplace"
    assert choose_noise(SumOptions(noise="auto", delta=0.0), mode="rigorous") == "auto"


# ---- DP-SUBN

SIZES = (2, 3, 4, 2, 5)
PAIR = 9.9
"""Average number of cells of the ten pairs."""


def cell_noise(edges: int, amount: float, *, inflation: float) -> float:
    """Give 0.4 deviations of a cell in one of so many tables, by hand."""
    return 0.4 * sqrt(edges / amount) * sqrt(inflation)


@pytest.mark.parametrize("amount", [0.001, 0.01, 0.3])
@pytest.mark.parametrize("rows", [300, 2_000, 20_000, 200_000])
def test_the_gaussian_budget_of_a_forest_has_the_least_error(amount: float, rows: int) -> None:
    """The split between phases 1 and 4 is found on a grid, and M by trying all of them."""
    domain = domain_of(*SIZES)
    budget, edges = forest_budget(domain, rows=rows, whole=rho(amount), inflation=1.5, theta=3.5)
    grid = np.linspace(0.0005, 0.8995, 8991)  # phase 4's part of the budget

    def best_share(edges: int) -> float:
        one, four = (0.9 - grid) * amount, grid * amount
        # d tables with A cells in all have the variance d / rho1, M tables M / rho4.
        errors = sum(SIZES) * len(SIZES) / one + edges * PAIR * edges / four
        return float(grid[np.argmin(errors)])

    worth = [
        count
        for count in range(1, 5)
        if 3.5 * PAIR * cell_noise(count, best_share(count) * amount, inflation=1.5) <= rows
    ]
    assert edges == max(worth, default=0)
    parts = (budget.correlations, budget.initialisation, budget.update, budget.parameters)
    assert {part.unit for part in parts} == {"rho"}
    assert sum(part.amount for part in parts) == pytest.approx(amount)
    if edges:
        assert budget.parameters.amount == pytest.approx(best_share(edges) * amount, rel=1e-3)
        assert budget.initialisation.amount == pytest.approx(amount / 10)
    else:
        assert budget.correlations == rho(amount)


@pytest.mark.parametrize("amount", [0.0005, 0.005, 0.05])
def test_the_edges_that_are_worth_gaussian_noise(amount: float) -> None:
    domain = domain_of(*SIZES)
    found = set()
    for rows in (*range(50, 1500, 7), 10_000):
        fitting = [
            count
            for count in range(1, 5)
            if 3.5 * PAIR * cell_noise(count, amount, inflation=1.5) <= rows
        ]
        edges = edges_worth(domain, rows=rows, budget=rho(amount), inflation=1.5, theta=3.5)
        assert edges == max(fitting, default=0)
        found.add(edges)
    assert found >= {0, 4}
    one = edges_worth(domain_of(4), rows=10**9, budget=rho(1.0), inflation=1.5, theta=3.5)
    assert one == 0


def test_the_gaussian_plan_of_a_forest_by_hand() -> None:
    """Phase 1 has sqrt(16 * 5 / (9.9 * 4^2)) = 0.7107 of what phase 4 has."""
    domain = domain_of(*SIZES)
    figures: dict[str, Any] = {"budget": None, "theta": 3.5, "rows": 2000, "inflation": 1.5}
    plan = plan_forest(domain, whole=rho(0.02), **figures)
    assert plan.edges == 4
    assert plan.budget.parameters.amount == pytest.approx(0.02 * 0.9 / 1.71067, rel=1e-5)
    noise = cell_noise(4, plan.budget.parameters.amount, inflation=1.5)
    assert plan.cell_noise == pytest.approx(noise / 2000)
    assert plan.single_attributes.budget == plan.budget.correlations
    # More edges come first, then less noise.
    better = plan_forest(domain, whole=rho(0.021), **figures)
    worse = plan_forest(domain, whole=rho(0.0001), **figures)
    assert worse.edges < 4
    assert better.error < plan.error < worse.error
    shares = PhaseBudgets.split(
        rho(0.02), "0.4,0.1,0,0.5", phases=("correlations", "initialisation", "parameters")
    )
    given = plan_forest(domain, whole=rho(0.02), **{**figures, "budget": shares})
    assert (given.budget, given.edges) == (shares, 4)
    assert given.cell_noise == pytest.approx(cell_noise(4, 0.01, inflation=1.5) / 2000)


def test_a_gaussian_plan_on_bits() -> None:
    """Laplace noise in M tables is as large at epsilon = sqrt(8 M rho)."""
    profile, names = OnBits.usual, domain_of(*[2] * 9)
    budget = PhaseBudgets.split(
        rho(0.2), profile.budget, phases=("correlations", "update", "parameters")
    )
    figures: dict[str, Any] = {
        "design": partial(best_design, largest=12),
        "rows": 5000,
        "inflation": 1.5,
    }
    plan = plan_bits(names, profile, whole=rho(0.2), budget=budget, **figures)
    assert plan.budget == budget
    degree = binary_degree(
        rows=5000,
        attributes=9,
        epsilon=sqrt(8 * 9 * 0.6 * 0.2),
        theta=profile.theta,
        inflation=1.5,
    )
    assert plan.degree == min(degree, 4) > 0
    assert plan.correlations.budget == budget.correlations
    assert plan.frontier([("x00",)]).budget == budget.update
    assert plan.parameters([("x00",)]).budget == budget.parameters
    less = plan_bits(names, profile, whole=rho(0.1), budget=budget_of(0.1, profile), **figures)
    assert plan.error < less.error
    none = plan_bits(names, profile, whole=rho(1e-7), budget=budget_of(1e-7, profile), **figures)
    assert (none.degree, none.correlations.budget) == (0, rho(1e-7))


def budget_of(amount: float, profile: Any) -> PhaseBudgets:
    phases = ("correlations", "update", "parameters")
    return PhaseBudgets.split(rho(amount), profile.budget, phases=phases)


# ---- JTree


@pytest.mark.parametrize(
    ("amount", "shares"), [(0.01, (0.38, 0.1, 0.52)), (0.0009, (0.55, 0.12, 0.33))]
)
def test_the_gaussian_parts_of_a_tree(amount: float, shares: tuple[float, float, float]) -> None:
    """Eight tables at half of rho 0.01 are as Laplace tables at epsilon sqrt(8 * 8 * 0.005)."""
    low = sqrt(8 * 8 * amount / 2) < 0.35 / 2
    assert is_low(rho(amount)) == low == (amount < 0.000957)
    parts = tree_budget(JTreeParameters(), rho(amount), domain=domain_of(*[3] * 10), parties=4)
    found = (parts.single, parts.graph, parts.clusters)
    assert found == tuple(
        Budget("rho", pytest.approx(share * amount))  # type: ignore[arg-type]
        for share in shares
    )
    assert parts.low == low
    assert (parts.edges, parts.triangles) == (9, 0 if low else 4)  # a tree of all ten attributes
    # The exponential mechanism costs epsilon^2 / 8.
    assert parts.choices * parts.epsilon_of_choice**2 / 8 == pytest.approx(parts.graph.amount)
    assert parts.clusters_after(0) == parts.clusters
    assert parts.clusters_after(parts.choices).amount == pytest.approx(parts.clusters.amount)
    left = parts.clusters.amount + parts.graph.amount * (1 - 1 / parts.choices)
    assert parts.clusters_after(1) == Budget("rho", pytest.approx(left))  # type: ignore[arg-type]


def test_the_noise_scale_of_gaussian_clusters_is_that_of_eight_tables() -> None:
    """A scale is the deviation over sqrt(2), as of Laplace noise."""
    for whole in (rho(0.01), Budget.pure(0.4)):
        parts = corrected_budget(
            JTreeParameters(), whole, domain=domain_of(2, 3, 4), parties=3, graph=0.2
        )
        batch = SumBatch.of(parts.clusters, cells=1, sensitivity=16, squares=16)
        deviation = batch.deviation * sqrt(3 / 2)  # one of three parties may collude
        assert parts.noise_scale() == pytest.approx(deviation / sqrt(2))
        rows_in_a_cell = 5000 / parts.max_cells(5000)
        assert rows_in_a_cell == pytest.approx(4 * batch.deviation / sqrt(2))


@pytest.mark.parametrize("structure", ["tree", "top", "laplace"])
def test_jtree_takes_the_parts_with_less_noise(structure: Any) -> None:
    domain, laws = domain_of(*[3] * 12), set()
    for epsilon, delta in ((0.2, 1e-9), (1.0, 1e-9), (1.0, 1e-30), (1.0, 1e-100)):
        parameters = {"structure": structure, "epsilon": epsilon}
        protocol: Any = instantiate(
            Job(protocol="jtree", parameters={**parameters, "delta": delta})
        )
        scales: dict[str, float] = {}
        for noise in ("laplace", "gaussian"):
            fixed: Any = instantiate(
                Job(protocol="jtree", parameters={**parameters, "delta": delta, "noise": noise})
            )
            scales[noise] = Parts.noise_scale(fixed.budget(domain, parties=3))
        assert Parts.noise_scale(protocol.budget(domain, parties=3)) == min(scales.values())
        # Eight tables with a part p of the budget have less Gaussian noise where
        # p epsilon^2 / 8 rho is below 8.
        part = {"tree": 0.52, "top": 0.8, "laplace": 0.7}[structure]
        if structure == "tree" and epsilon < 0.35:
            continue  # the parts themselves depend on the law
        gaussian = part * epsilon**2 / 8 / rho_of(epsilon, delta=delta) < 8
        assert protocol.budget(domain, parties=3).clusters.concentrated == gaussian
        laws.add(gaussian)
    assert laws == {True, False}


@pytest.mark.parametrize(("change", "steps"), [(1.0, 65), (3.0, 193), (0.5, 33), (1.01, 66)])
def test_the_squares_of_a_sum_of_scores(change: float, steps: int) -> None:
    """The L2 bound of six scores and another one: rounding adds a step to each."""
    batch = ScoreSum(changes=[change] * 6 + [2.0], budget=rho(0.3)).batch
    assert steps == ceil(change * 64) + 1
    assert batch.squares == 6 * steps**2 + 129**2
    assert (batch.sensitivity, batch.rho, batch.weight) == (6 * steps + 129, 0.3, 64)


def test_all_pairs_of_a_ranking_have_their_own_bound() -> None:
    domain = domain_of(2, 3, 4)
    pairs = list(combinations(domain.attributes, 2))
    changes = [2.0 if min(domain.shape(pair)) <= 2 else 3.0 for pair in pairs]
    batch = ScoreSum(changes=changes, budget=rho(0.1)).batch
    assert batch.squares == 2 * 129**2 + 193**2
