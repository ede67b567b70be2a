"""Models of noisy marginals, against sums over the whole domain."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sottovoce.curator import Estimate, Marginal
from sottovoce.curator.graphical_model import GraphicalModel, model_of
from sottovoce.curator.marginal import Numbers
from sottovoce.curator.model_fitting import RIDGE, fit_model
from sottovoce.privacy import Domain

if TYPE_CHECKING:
    from conftest import Random

ROWS = 5000
NAMES = "abcdef"
DOMAIN = Domain(
    {
        name: tuple(map(str, range(size)))
        for name, size in zip(NAMES, (2, 3, 4, 2, 3, 1), strict=True)
    }
)
CYCLE = [("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("d", "c"), ("a", "d")]
"""Four attributes in a cycle; the others have no edge."""


def joint_of(domain: Domain, *, seed: int = 1) -> Marginal:
    generator = np.random.default_rng(seed)
    cells = generator.dirichlet(np.full(domain.cells(domain.attributes), 0.3))
    return Marginal.of(domain, domain.attributes, cells)


def noisy(joint: Marginal, families: list[tuple[str, ...]], *, deviation: float) -> list[Estimate]:
    generator = np.random.default_rng(2)
    estimates = []
    for family in families:
        table = joint.project(family) * ROWS
        noise = generator.normal(0, deviation, table.values.shape)
        estimates.append(Estimate(table.map(lambda v, n=noise: v + n), deviation**2))  # type: ignore[misc]
    return estimates


def whole(model: GraphicalModel) -> Marginal:
    """Multiply out the potentials over the whole domain: what propagation must agree with."""
    logarithms = Marginal((), np.zeros(()))
    for family, table in model.parameters.items():
        logarithms = logarithms + Marginal(family, table)
    logarithms = logarithms.expand(model.domain, model.domain.attributes)
    return logarithms.map(np.exp) / float(np.exp(logarithms.values).sum())


def test_marginals_are_those_of_the_whole_table() -> None:
    """Whether in a clique, across cliques or across components."""
    model = fit_model(DOMAIN, noisy(joint_of(DOMAIN), CYCLE, deviation=20.0), total=ROWS)
    joint = whole(model)
    assert model.tree.home(("b", "c")) is not None
    assert model.tree.home(("a", "e")) is None
    for family in chain.from_iterable(combinations(NAMES, size) for size in (1, 2, 3, 6)):
        assert model.marginal(family).distance(joint.project(family)) < 1e-12, family
    assert model.marginal(("d", "a")).attributes == ("d", "a")
    tables = model.pairs()
    assert list(tables) == list(combinations(NAMES, 2))
    assert max(tables[pair].distance(joint.project(pair)) for pair in tables) < 1e-12
    assert model.chain().distribution().distance(joint) < 1e-12


def test_random_models_have_the_marginals_of_their_potentials(random: Random) -> None:
    domain = random.domain(attributes=6)
    generator = random.generator
    pairs = [pair for pair in combinations(domain.attributes, 2) if generator.random() < 0.4]
    parameters: dict[tuple[str, ...], Numbers] = {
        pair: generator.normal(0, 2, domain.shape(pair)) for pair in pairs
    }
    model = model_of(domain, parameters)
    joint = whole(model)
    assert model.chain().distribution().distance(joint) < 1e-12
    for pair, table in model.pairs().items():
        assert table.distance(joint.project(pair)) < 1e-12
    assert model.cells == sum(belief.cells for belief in model.beliefs)


def test_the_fit_is_the_minimum_of_its_objective() -> None:
    """At the minimum N p - y + ridge v theta is 0, where y sums to the number of rows."""
    estimates = noisy(joint_of(DOMAIN), CYCLE, deviation=20.0)
    model = fit_model(DOMAIN, estimates, total=ROWS, iterations=1000, tolerance=1e-9)
    joint = whole(model)
    for estimate in estimates:
        family = tuple(sorted(estimate.attributes))
        counts = estimate.table.project(family).values
        counts = counts + (ROWS - counts.sum()) / counts.size
        penalty = RIDGE / ROWS * estimate.variance * model.parameters[family]
        gradient = ROWS * joint.project(family).values - counts + penalty
        assert np.abs(gradient).max() < 1e-3


def test_exact_tables_are_met_and_nothing_else_is_assumed() -> None:
    """With precise tables of a chain the model is the chain, as its entropy is largest."""
    domain = Domain(dict.fromkeys("abc", ("0", "1", "2")))
    joint = joint_of(domain)
    pairs = [("a", "b"), ("b", "c")]
    estimates = [Estimate(joint.project(pair) * ROWS, 1e-6) for pair in pairs]
    model = fit_model(domain, estimates, total=ROWS, iterations=2000, tolerance=1e-2)
    expected = joint.project(pairs[0]) * (joint.project(pairs[1]) / joint.project(("b",)))
    assert whole(model).distance(expected.project(domain.attributes)) < 1e-5


def test_several_tables_of_the_same_attributes_count_by_their_variance() -> None:
    domain = Domain({"a": ("0", "1")})
    precise = Estimate(Marginal(("a",), np.array([600.0, 400.0])), 1.0)
    vague = Estimate(Marginal(("a",), np.array([200.0, 800.0])), 3.0)
    model = fit_model(
        domain, [precise, vague], total=1000.0, iterations=500, tolerance=1e-9, ridge=1e-9
    )
    assert model.marginal(("a",)).values == pytest.approx([0.5, 0.5], abs=1e-6)


def test_a_start_saves_steps_and_changes_nothing() -> None:
    estimates = noisy(joint_of(DOMAIN), CYCLE, deviation=20.0)
    first = fit_model(DOMAIN, estimates, total=ROWS, iterations=1000, tolerance=1e-9)
    again = fit_model(DOMAIN, estimates, total=ROWS, start=first, iterations=1, tolerance=1e-9)
    cold = fit_model(DOMAIN, estimates, total=ROWS, iterations=1, tolerance=1e-9)
    assert whole(again).distance(whole(first)) < 1e-6 < whole(cold).distance(whole(first))


def test_parameters_make_the_same_model_again() -> None:
    model = fit_model(DOMAIN, noisy(joint_of(DOMAIN), CYCLE, deviation=20.0), total=ROWS)
    again = model_of(DOMAIN, model.parameters)
    assert whole(again).distance(whole(model)) == 0
    assert all(
        (first.values == second.values).all()
        for first, second in zip(again.beliefs, model.beliefs, strict=True)
    )
    with pytest.raises(ValueError, match=r"at most 10 cells, found 40"):
        model_of(DOMAIN, model.parameters, max_cells=10)


def test_without_tables_all_rows_are_alike() -> None:
    model = fit_model(DOMAIN, [], total=ROWS)
    assert whole(model).distance(Marginal.uniform(DOMAIN, DOMAIN.attributes)) < 1e-12
    assert model.pairs()["a", "b"].values == pytest.approx(np.full((2, 3), 1 / 6))
    assert model_of(DOMAIN, {}).marginal(("f",)).values.tolist() == [1.0]


def test_potentials_far_apart_do_not_overflow() -> None:
    """A cell may be 10^1000 times as likely as another; its marginals stay distributions."""
    domain = Domain(dict.fromkeys("abc", ("0", "1")))
    steep = np.array([[0.0, -2400.0], [-2400.0, 3.0]])
    model = model_of(domain, {("a", "b"): steep, ("b", "c"): steep[::-1]})
    for pair in (("a", "b"), ("b", "c"), ("a", "c")):
        values = model.marginal(pair).values
        assert np.isfinite(values).all()
        assert values.sum() == pytest.approx(1.0)
