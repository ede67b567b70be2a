"""The algebra of marginals, against loops over cells."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sottovoce.curator import Marginal
from sottovoce.privacy import Domain

if TYPE_CHECKING:
    from conftest import Random

DOMAIN = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1", "2", "3")})


def cells(table: Marginal) -> list[tuple[dict[str, int], float]]:
    return [
        (dict(zip(table.attributes, place, strict=True)), float(table.values[place]))
        for place in product(*map(range, table.values.shape))
    ]


def test_project_sums_out_in_any_order(random: Random) -> None:
    domain = random.domain(attributes=5)
    joint = random.joint(domain)
    for attributes in random.sets(domain, sets=5, most=4):
        projected = joint.project(attributes)
        assert projected.attributes == attributes
        for place, value in cells(projected):
            expected = sum(
                number
                for cell, number in cells(joint)
                if all(cell[name] == place[name] for name in attributes)
            )
            assert value == pytest.approx(expected, abs=1e-12)
    assert float(joint.project([]).values) == pytest.approx(1)


def test_operations_line_up_by_name(random: Random) -> None:
    domain = random.domain(attributes=4)
    first, second = (
        random.joint(domain).project(attributes) for attributes in random.sets(domain, sets=2)
    )
    for result, operation in (
        (first + second, np.add),
        (first - second, np.subtract),
        (first * second, np.multiply),
        (first / second, np.divide),
    ):
        assert set(result.attributes) == {*first.attributes, *second.attributes}
        for place, value in cells(result):
            left = first.values[tuple(place[name] for name in first.attributes)]
            right = second.values[tuple(place[name] for name in second.attributes)]
            assert value == pytest.approx(operation(left, right), rel=1e-12)


def test_numbers_and_scalars() -> None:
    table = Marginal.of(DOMAIN, ["b", "a"], range(6))
    assert table.values.shape == (3, 2)
    assert (table * 2 + 1).values.tolist() == [[1, 3], [5, 7], [9, 11]]
    assert ((table - 1) / 2).total == 4.5
    assert table.expand(DOMAIN, ["a", "c", "b"]).values.shape == (2, 4, 3)
    assert (
        table.expand(DOMAIN, ["a", "c", "b"]).project(["b", "a"]).values.tolist()
        == (table * 4).values.tolist()
    )
    assert Marginal.uniform(DOMAIN, ["c"]).values.tolist() == [0.25] * 4
    assert table.normalise().total == pytest.approx(1)


def test_zero_divided_by_zero_is_zero() -> None:
    table = Marginal(("a", "b"), np.array([[0.0, 0.0], [1.0, 3.0]]))
    assert (table / table.project(["a"])).values.tolist() == [[0, 0], [0.25, 0.75]]


def test_total_variation() -> None:
    uniform = Marginal(("x",), np.full(4, 0.25))
    assert Marginal(("x",), np.array([0.5, 0.5, 0, 0])).distance(uniform) == 0.5
    assert uniform.distance(uniform) == 0


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Marginal(("a",), np.ones((2, 2))), "an axis for each of a, found an array of 2x2"),
        (lambda: Marginal(("a", "a"), np.ones((2, 2))), "an axis for each"),
        (lambda: Marginal(("a",), np.ones(2)).project(["b"]), "attributes among a, found b"),
        (
            lambda: Marginal(("a", "b"), np.ones((2, 2))).expand(DOMAIN, ["a"]),
            "attributes that include b, found a",
        ),
        (lambda: Marginal(("a",), np.array([1.0, -0.1])).normalise(), "none is negative"),
        (lambda: Marginal(("a",), np.zeros(2)).normalise(), "not all are 0"),
    ],
)
def test_invalid_marginals_are_refused(attempt: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()  # type: ignore[operator]
