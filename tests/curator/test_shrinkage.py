"""Shrinkage of noisy pairs, latent classes, least squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sottovoce.curator import Marginal
from sottovoce.curator.latent_classes import latent_classes
from sottovoce.curator.least_squares import least_squares
from sottovoce.curator.marginal import Numbers
from sottovoce.curator.maximum_entropy import fit
from sottovoce.curator.shrinkage import NoisyTable, _shifts, pooled_marginals, shrink, with_margins
from sottovoce.privacy import Domain

DOMAIN = Domain({"a": ("0", "1", "2"), "b": ("0", "1", "2", "3"), "c": ("0", "1")})
GENERATOR = np.random.default_rng(4)
TRUTH = GENERATOR.dirichlet(np.full(24, 0.4)).reshape(3, 4, 2)
WHOLE = Marginal(("a", "b", "c"), TRUTH)


Pairs = dict[tuple[str, ...], NoisyTable]
Centres = dict[tuple[str, ...], list[Numbers]]


def product(pair: tuple[str, ...]) -> np.ndarray:
    return np.outer(WHOLE.project(pair[:1]).values, WHOLE.project(pair[1:]).values)


def test_without_noise_pairs_stay_as_measured() -> None:
    pairs: Pairs = {
        pair: NoisyTable(WHOLE.project(pair), 1e-14, 0.0)
        for pair in combinations(("a", "b", "c"), 2)
    }
    for pair, posterior in shrink(pairs, {pair: [product(pair)] for pair in pairs}).items():
        assert posterior.mean == pytest.approx(pairs[pair].table.values, abs=1e-9)


def test_pure_noise_shrinks_to_the_centre() -> None:
    """Many independent pairs with noise a hundred times the frequencies shrink to the product."""
    pairs: Pairs = {}
    centres: Centres = {}
    generator = np.random.default_rng(5)
    for index in range(40):
        names = (f"x{index}", f"y{index}")
        centre = np.outer(generator.dirichlet(np.ones(6)), generator.dirichlet(np.ones(8)))
        pairs[names] = NoisyTable(
            Marginal(names, centre + generator.normal(0, 0.1, centre.shape)), 0.01, 0.0
        )
        centres[names] = [centre]
    posteriors = shrink(pairs, centres)
    before = np.mean(
        [np.abs(noisy.table.values - centres[pair][0]).sum() / 2 for pair, noisy in pairs.items()]
    )
    after = np.mean([np.abs(posteriors[pair].mean - centres[pair][0]).sum() / 2 for pair in pairs])
    assert before > 1.5
    assert after < 0.1


def test_the_better_centre_is_found() -> None:
    """Half of all pairs are their first centre, half their second.

    Noise hides which one from a single pair, but not from all together.
    """
    generator = np.random.default_rng(6)
    pairs: Pairs = {}
    centres: Centres = {}
    truth: dict[tuple[str, ...], Numbers] = {}
    for index in range(60):
        names = (f"x{index}", f"y{index}")
        candidates = [generator.dirichlet(np.full(30, 0.3)).reshape(5, 6) for _ in range(2)]
        truth[names] = candidates[index % 2]
        pairs[names] = NoisyTable(
            Marginal(names, truth[names] + generator.normal(0, 0.02, (5, 6))), 4e-4, 0.0
        )
        centres[names] = candidates
    posteriors = shrink(pairs, centres)
    remaining = np.mean([np.abs(posteriors[pair].mean - truth[pair]).sum() / 2 for pair in pairs])
    noise = np.mean(
        [np.abs(noisy.table.values - truth[pair]).sum() / 2 for pair, noisy in pairs.items()]
    )
    assert remaining < noise / 10


def test_margins_are_exact_and_nothing_is_negative() -> None:
    generator = np.random.default_rng(7)
    for _ in range(50):
        rows, columns = generator.dirichlet(np.full(5, 0.3)), generator.dirichlet(np.full(7, 0.3))
        rows[generator.random(5) < 0.2] = 0
        rows = rows / rows.sum() if rows.sum() else np.full(5, 0.2)
        mean = np.outer(rows, columns) + generator.normal(0, 0.05, (5, 7))
        table = with_margins(mean, np.full((5, 7), 0.0025), rows, columns)
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1)
        assert table.sum(axis=1) == pytest.approx(rows, abs=1e-4)
        assert table.sum(axis=0) == pytest.approx(columns, abs=1e-4)


def test_with_margins_is_the_conditional_mean_where_nothing_is_clipped() -> None:
    """Against the normal equations of the constrained problem, written out."""
    generator = np.random.default_rng(8)
    rows, columns = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.35, 0.25])
    variance = generator.uniform(1e-6, 4e-6, (3, 3))
    mean = np.outer(rows, columns) + generator.normal(0, 1e-3, (3, 3))
    sums = np.array(
        [np.eye(3)[i][:, None] * np.ones((1, 3)) for i in range(3)]
        + [np.ones((3, 1)) * np.eye(3)[i] for i in range(3)]
    )
    a = sums.reshape(6, 9)
    differences = np.concatenate([rows, columns]) - a @ mean.reshape(-1)
    d = np.diag(variance.reshape(-1))
    expected = mean.reshape(-1) + d @ a.T @ np.linalg.pinv(a @ d @ a.T) @ differences
    assert with_margins(mean, variance, rows, columns).reshape(-1) == pytest.approx(
        expected, abs=2e-7
    )


def test_tables_are_weighted_by_their_noise() -> None:
    """Sums of 16 cells and of 1 cell, with 4000 and 1000 users, weigh .2 and .8 (spec 7, 14)."""
    wide = Domain({"a": ("0", "1"), "z": tuple(map(str, range(16)))})
    coarse = NoisyTable(
        Marginal.of(wide, ("a", "z"), np.full(32, 1 / 32) + np.repeat([0.01, -0.01], 16)),
        1 / 4000,
        0.0,
    )
    fine = NoisyTable(Marginal.of(wide, ("a",), [0.5, 0.5]), 1 / 1000, 0.0)
    pooled = pooled_marginals([coarse, fine], ways=1)["a",]
    assert pooled.table.values[0] == pytest.approx(0.2 * 0.66 + 0.8 * 0.5)
    assert pooled.base == pytest.approx(1 / (4000 / 16 + 1000))
    assert set(pooled_marginals([coarse, fine], ways=2)) == {("a", "z")}


def test_latent_classes_find_a_mixture() -> None:
    generator = np.random.default_rng(9)
    names = [f"x{index}" for index in range(6)]
    domain = Domain(dict.fromkeys(names, ("0", "1", "2")))
    weights = np.array([0.5, 0.3, 0.2])
    tables = {name: generator.dirichlet(np.full(3, 0.3), 3).T for name in names}
    pairs: dict[tuple[str, ...], Marginal] = {
        pair: Marginal(pair, (tables[pair[0]] * weights) @ tables[pair[1]].T)
        for pair in combinations(names, 2)
    }
    model = latent_classes(domain, pairs, generator=generator, classes=4, rounds=2000)
    for pair, table in pairs.items():
        assert np.abs(model.pair(*pair) - table.values).sum() / 2 < 0.02
    assert model.weights.sum() == pytest.approx(1)
    for conditional in model.tables.values():
        assert conditional.sum(axis=0) == pytest.approx(np.ones(4))


def test_least_squares_keeps_the_margins() -> None:
    """Against a second solver, with margins for which the unclipped solution is negative."""
    from scipy.optimize import minimize

    names = ("a", "b", "c")
    domain = Domain({name: tuple("012") for name in names})
    margins = [Marginal((name,), np.array([0.9, 0.06, 0.04])) for name in names]
    fitted = least_squares(domain, names, margins, sweeps=3000)
    for margin in margins:
        assert fitted.project(margin.attributes).distance(margin) < 1e-6
    rows = [
        np.moveaxis(np.tile(np.eye(3)[label][:, None, None], (1, 3, 3)), 0, axis)
        for axis in range(3)
        for label in range(3)
    ]
    independent = [0, 1, 2, 4, 5, 7, 8]
    equations = np.array(rows).reshape(9, 27)[independent]
    targets = np.concatenate([margin.values for margin in margins])[independent]
    solved = minimize(
        lambda x: x @ x,
        np.full(27, 1 / 27),
        jac=lambda x: 2 * x,
        bounds=[(0, 1)] * 27,
        method="SLSQP",
        constraints={
            "type": "eq",
            "fun": lambda x: equations @ x - targets,
            "jac": lambda _: equations,
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert fitted.values.reshape(-1) == pytest.approx(solved.x, abs=1e-4)


def test_reconstructions_have_the_marginals_of_their_parts() -> None:
    mild = Marginal(("a", "b", "c"), 1 / 24 + (TRUTH - 1 / 24) * 0.05)
    parts = [mild.project(names) for names in (("a", "b"), ("b", "c"), ("a", "c"))]
    uniform = [Marginal.uniform(DOMAIN, names) for names in (("a", "b"), ("b", "c"))]
    assert least_squares(DOMAIN, ("a", "b", "c"), uniform).values == pytest.approx(
        np.full((3, 4, 2), 1 / 24)
    )
    for method in (least_squares, fit):
        fitted = method(DOMAIN, ("a", "b", "c"), parts)
        for part in parts:
            assert fitted.project(part.attributes).distance(part) < 1e-5


def test_no_noise_at_all() -> None:
    pairs: Pairs = {
        pair: NoisyTable(WHOLE.project(pair), 0.0, 0.0) for pair in combinations(("a", "b", "c"), 2)
    }
    for pair, posterior in shrink(pairs, {pair: [product(pair)] for pair in pairs}).items():
        assert posterior.mean == pytest.approx(pairs[pair].table.values, abs=1e-6)


@pytest.mark.parametrize("shape", [(2, 40), (40, 2), (7, 7), (3, 5, 9)])
def test_shifts_solve_the_system_of_both_margins(shape: tuple[int, ...]) -> None:
    """The referee solves the system of all rows and columns, whose rank is one less than full."""
    generator = np.random.default_rng(2)
    free = generator.random(shape) + 0.01
    table = generator.random(shape) - 0.5
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    row_shifts, column_shifts = _shifts(free, rows, columns)
    change = free * (row_shifts[..., :, None] + column_shifts[..., None, :])
    assert np.allclose(change.sum(axis=-1), rows, atol=1e-6)
    assert np.allclose(change.sum(axis=-2), columns, atol=1e-6)
    for place in np.ndindex(shape[:-2]):
        height, width = shape[-2:]
        system = np.block(
            [
                [np.diag(free[place].sum(axis=1)), free[place]],
                [free[place].T, np.diag(free[place].sum(axis=0))],
            ]
        )
        errors = np.concatenate([rows[place], columns[place]])
        shifts = np.linalg.lstsq(system, errors, rcond=1e-10)[0]
        referee = free[place] * (shifts[:height, None] + shifts[None, height:])
        assert np.allclose(change[place], referee, atol=1e-6)
        assert len(shifts) == height + width


@pytest.mark.parametrize("wide", [2, 4, 6])
def test_wide_attributes_by_themselves_change_no_fit(
    wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks are those of the whole matrix, without the squares of wide attributes."""
    domain = Domain({f"a{size}": tuple(map(str, range(size))) for size in (2, 3, 5, 7)})
    generator = np.random.default_rng(3)
    joint = generator.random((2, 3, 5, 7))
    joint /= joint.sum()
    pairs: dict[tuple[str, ...], Marginal] = {}
    for first, second in combinations(range(4), 2):
        others = tuple({0, 1, 2, 3} - {first, second})
        names = (domain.attributes[first], domain.attributes[second])
        pairs[names] = Marginal(names, joint.sum(axis=others))
    whole = latent_classes(domain, pairs, generator=np.random.default_rng(1), classes=3)
    monkeypatch.setattr("sottovoce.curator.latent_classes.WIDE", wide)
    blocks = latent_classes(domain, pairs, generator=np.random.default_rng(1), classes=3)
    for pair in pairs:
        assert np.allclose(blocks.pair(*pair), whole.pair(*pair), atol=1e-9)
