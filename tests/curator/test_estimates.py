"""Combination and consistency, against least squares."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sottovoce.curator import Estimate, Marginal, agree, combine, make_consistent
from sottovoce.curator.estimates import intersections
from sottovoce.curator.projections import threshold
from sottovoce.privacy import Domain

if TYPE_CHECKING:
    from conftest import Random


def noisy(
    random: Random, domain: Domain, sets: list[tuple[str, ...]], *, scale: float = 1.0
) -> list[Estimate]:
    joint = random.joint(domain) * 1000
    estimates = []
    for attributes in sets:
        variance = float(random.generator.uniform(0.5, 4) * scale)
        table = joint.project(attributes)
        noise = random.generator.normal(0, variance**0.5, table.values.shape)
        estimates.append(Estimate(Marginal(attributes, table.values + noise), variance))
    return estimates


def test_known_weights() -> None:
    coarse = Estimate(Marginal(("a", "b"), np.zeros((1, 16))), 1 / 4000)
    fine = Estimate(Marginal(("a",), np.ones(1)), 1 / 1000)
    combined = combine([coarse, fine], ["a"])
    assert combined.table.values == pytest.approx([0.8])  # n / C: 250 and 1000
    assert combined.variance == pytest.approx(1 / 1250)


def test_the_combination_has_the_least_variance(random: Random) -> None:
    """Against weighted least squares on the cells of all views at once."""
    domain = random.domain(attributes=3, least=2)
    views = noisy(random, domain, [("x0", "x1"), ("x2", "x0"), ("x0",)])
    combined = combine(views, ["x0"])
    rows, values, weights = [], [], []
    for view in (view.project(["x0"]) for view in views):
        for index, value in enumerate(view.table.values):
            rows.append(np.eye(len(view.table.values))[index])
            values.append(value)
            weights.append(view.variance**-0.5)
    solved = np.linalg.lstsq(
        np.array(rows) * np.array(weights)[:, None], np.array(values) * weights, rcond=None
    )[0]
    assert combined.table.values == pytest.approx(solved)
    assert 1 / combined.variance == pytest.approx(
        sum(1 / view.project(["x0"]).variance for view in views)
    )


def test_intersections_are_closed() -> None:
    shared = intersections([("a", "b", "c"), ("d", "c", "b"), ("c", "e"), ("c", "e"), ("b", "e")])
    assert shared == [(), ("b",), ("c",), ("e",), ("b", "c"), ("c", "e")]
    assert intersections([("a", "b")]) == [()]
    assert intersections([("a", "b"), ("b", "a")]) == [(), ("a", "b")]


@pytest.mark.parametrize("total", [None, 1000.0])
def test_tables_agree_on_all_they_share(random: Random, total: float | None) -> None:
    domain = random.domain(attributes=5)
    views = noisy(random, domain, random.sets(domain, sets=7, most=4))
    agreed = make_consistent(views, total=total)
    for first, second in product(agreed, agreed):
        shared = sorted({*first.attributes} & {*second.attributes})
        assert first.table.project(shared).values == pytest.approx(
            second.table.project(shared).values, abs=1e-8
        )
    if total is not None:
        assert all(view.table.total == pytest.approx(total) for view in agreed)
    again = make_consistent(agreed, total=total)
    assert all(
        first.table.values == pytest.approx(second.table.values, abs=1e-8)
        for first, second in zip(agreed, again, strict=True)
    )


def test_two_tables_agree_by_the_least_change(random: Random) -> None:
    """Against the projection onto tables that agree, weighted by the inverse of the variance."""
    domain = random.domain(attributes=3, least=2)
    views = noisy(random, domain, [("x0", "x1"), ("x1", "x2")])
    agreed = make_consistent(views)
    shapes = [view.table.values.shape for view in views]
    sizes = [int(np.prod(shape)) for shape in shapes]
    rows = []
    for code in range(shapes[0][1]):
        row = np.zeros(sum(sizes))
        row[: sizes[0]].reshape(shapes[0])[:, code] = 1
        row[sizes[0] :].reshape(shapes[1])[code, :] = -1
        rows.append(row)
    x = np.concatenate([view.table.values.ravel() for view in views])
    cover = np.concatenate(
        [np.full(size, view.variance) for size, view in zip(sizes, views, strict=True)]
    )
    a = np.array(rows)
    nearest = x - cover * (a.T @ np.linalg.pinv(a * cover @ a.T) @ (a @ x))
    assert np.concatenate([view.table.values.ravel() for view in agreed]) == pytest.approx(
        nearest, abs=1e-8
    )


@pytest.mark.parametrize("project", [None, threshold])
def test_agreeing_distributions(random: Random, project: object) -> None:
    domain = random.domain(attributes=4)
    views = noisy(random, domain, random.sets(domain, sets=5), scale=900)
    options = {} if project is None else {"project": project}
    distributions = agree(views, total=1000, **options)  # type: ignore[arg-type]
    assert all(
        view.table.values.min() >= 0 and view.table.total == pytest.approx(1000)
        for view in distributions
    )
    consistent = agree(views, total=1000, end="consistent", **options)  # type: ignore[arg-type]
    for first, second in product(consistent, consistent):
        shared = sorted({*first.attributes} & {*second.attributes})
        assert first.table.project(shared).values == pytest.approx(
            second.table.project(shared).values, abs=1e-6
        )


def test_invalid_estimates_are_refused() -> None:
    table = Marginal(("a",), np.ones(2))
    with pytest.raises(ValueError, match="a variance above 0, found 0"):
        Estimate(table, 0)
    with pytest.raises(ValueError, match="an estimate that covers b, found none"):
        combine([Estimate(table, 1)], ["b"])
    with pytest.raises(ValueError, match="distributions or consistent, found 'both'"):
        agree([Estimate(table, 1)], total=1, end="both")  # type: ignore[arg-type]
