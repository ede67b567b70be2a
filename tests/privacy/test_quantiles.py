"""Quantiles: the exact law by enumeration of the grid, sensitivities over all small tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Neighbours
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.quantile_mechanisms import Quantiles
from sottovoce.privacy.quantiles import median, quantile, quantiles

RELATIONS: list[Neighbours] = ["replace-one", "add-or-remove-one"]
EPSILON = 1.5


def distance(values: list[int], y: int, q: Fraction) -> Fraction:
    """Compute the distance of a grid point by its definition."""
    below, up_to = sum(x < y for x in values), sum(x <= y for x in values)
    return max(below - q * len(values), q * len(values) - up_to, Fraction(0))


def neighbouring(values: list[int], points: range, relation: Neighbours) -> list[list[int]]:
    """List all neighbours of a table."""
    if relation == "add-or-remove-one":
        return [[*values, x] for x in points]
    return [[*values[:i], x, *values[i + 1 :]] for i in range(len(values)) for x in points]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("values", [[], [3], [0, 0, 7], [2, 2, 2, 5, 6, 6], [7] * 4])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(1), Fraction(0)])
def test_a_grid_point_has_its_exact_probability(
    values: list[int], q: Fraction, relation: Neighbours
) -> None:
    mechanism = quantile(
        values, q, bounds=(0, 7), resolution=1, neighbours=relation, epsilon=EPSILON
    )
    change = 1 if relation == "replace-one" else max(q, 1 - q)
    weights = [math.exp(-EPSILON * float(distance(values, y, q) / change) / 2) for y in range(8)]
    for y in range(8):
        expected = math.log(weights[y] / sum(weights))
        assert mechanism.log_likelihood(float(y)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("fractions", [[0.5], [0.1], [0.25, 0.75], [i / 8 for i in range(1, 8)]])
def test_no_answer_tells_neighbours_further_apart_than_epsilon(
    fractions: list[float], relation: Neighbours
) -> None:
    """All answers of all tables of three records on a grid of four points.

    Seven quantiles are chosen by splitting, fewer ones one by one.
    """
    points = range(4)

    def of(values: list[int]) -> Quantiles:
        return quantiles(
            values, fractions, bounds=(0, 3), resolution=1, neighbours=relation, epsilon=EPSILON
        )

    many = len(fractions) > 2
    answers = list(itertools.combinations_with_replacement(points, len(fractions)))
    tables = [[0, 1, 3], [2, 2, 2]]
    if not many:
        tables = [list(t) for t in itertools.combinations_with_replacement(points, 3)]
    worst, total = 0.0, 0.0
    for table in tables:
        first = of(table)
        assert first.splits == many
        logs = {a: first.log_likelihood(np.array(a, float)) for a in answers}
        if many:
            total = math.fsum(math.exp(log) for log in logs.values())
            assert total == pytest.approx(1.0)
        for other in neighbouring(table, points, relation):
            second = of(other)
            assert first.exact_value().change(second.exact_value()) <= first.sensitivity
            for answer in answers:
                difference = logs[answer] - second.log_likelihood(np.array(answer, float))
                worst = max(worst, abs(difference))
    assert worst <= EPSILON + 1e-9
    assert worst > EPSILON / 4


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stated_change_of_a_distance_is_reached(relation: Neighbours) -> None:
    for q in (Fraction(1, 2), Fraction(1, 5)):
        changes = []
        for table in itertools.product(range(4), repeat=3):
            first = quantile(
                table, q, bounds=(0, 3), resolution=1, neighbours=relation, epsilon=1.0
            )
            for other in neighbouring(list(table), range(4), relation):
                second = quantile(
                    other, q, bounds=(0, 3), resolution=1, neighbours=relation, epsilon=1.0
                )
                stated = first.exact_value().change(second.exact_value())
                direct = max(
                    abs(distance(list(table), y, q) - distance(other, y, q)) for y in range(4)
                )
                assert stated >= float(direct) - 1e-12
                changes.append(stated)
        assert max(changes) == pytest.approx(first.sensitivity)


@pytest.mark.parametrize(
    ("values", "fractions"),
    [([1, 1, 4, 6, 6, 6], [0.5]), ([1, 2, 5], [0.25, 0.75]), ([1, 2, 5, 5], [0.2, 0.5, 0.7, 0.9])],
)
def test_draws_have_the_declared_law(values: list[int], fractions: list[float]) -> None:
    """Chi-squared over all answers that are expected five times or more; fails with 1e-7."""
    mechanism = quantiles(
        values, fractions, bounds=(0, 7), resolution=1, neighbours="add-or-remove-one", epsilon=3.0
    )
    draws = 4000
    stream = RandomStream(b"l" * 32)
    counts = Counter(tuple(mechanism.draw(stream).tolist()) for _ in range(draws))
    answers = itertools.combinations_with_replacement(range(8), len(fractions))
    # Answers that no order tells apart share their permanent: divide by equal ones.
    expected = {
        tuple(map(float, answer)): draws
        * math.exp(mechanism.log_likelihood(np.array(answer, float)))
        / (1 if mechanism.splits else math.prod(map(math.factorial, Counter(answer).values())))
        for answer in answers
    }
    assert sum(expected.values()) == pytest.approx(draws)
    common = {answer: number for answer, number in expected.items() if number >= 5}
    rare = draws - sum(common.values()) + 1e-9
    rare_drawn = draws - sum(counts[answer] for answer in common)
    statistic = sum((counts[a] - n) ** 2 / n for a, n in common.items())
    statistic += (rare_drawn - rare) ** 2 / rare if rare > 1 else 0.0
    cells = len(common)
    bound = cells * (1 - 2 / (9 * cells) + 5.2 * math.sqrt(2 / (9 * cells))) ** 3
    assert statistic < bound


def test_a_large_table_has_its_quantiles() -> None:
    """A rank is off by more than 60 with a probability below 4096 e^-30 for each quantile."""
    values = np.random.default_rng(3).permutation(20_000) / 200
    fractions = [i / 10 for i in range(1, 10)]
    mechanism = quantiles(
        values, fractions, bounds=(0, 100), neighbours="add-or-remove-one", epsilon=4.0
    )
    assert mechanism.splits
    answer = mechanism.draw(RandomStream(b"t" * 32))
    # Ranks of four levels add up, and the grid has five records between its points.
    assert np.abs(answer - np.array(fractions) * 100).max() < 4 * 65 / 200
    assert (np.diff(answer) > 0).all()


def test_a_budget_in_rho_pays_for_more() -> None:
    values = [1.0, 2.0]
    spent = median(values, bounds=(0, 9), neighbours="replace-one", budget=Budget("rho", 0.02))
    assert spent.among.each == pytest.approx(0.4)
    assert spent.loss.rho == pytest.approx(0.02)
    three = quantiles(values, [0.2, 0.5, 0.6], bounds=(0, 9), neighbours="replace-one", epsilon=0.9)
    assert (three.choices, three.splits) == (3, False)
    assert three.loss.epsilon == pytest.approx(0.9)
    assert three.loss.rho == pytest.approx(3 * 0.3**2 / 8)


WRONG: list[tuple[Any, ...]] = [
    ([1.0], [1.5], {}, "expected quantiles from 0 to 1 in quantiles, found 1.5"),
    ([1.0], [], {}, "found none"),
    ([1.0], [math.nan], {}, "found something else"),
    ([1.0], [0.5, 0.2], {}, "in rising order"),
    ([math.nan], [0.5], {}, "found NaN or infinity: leave those values out"),
    ([["a"]], [0.5], {}, "turn texts into numbers first"),
    ([[1.0]], [0.5], {}, "take one column at a time"),
    ([1.0], [0.5], {"bounds": (1, 1)}, "expected finite bounds with low < high, found 1 and 1"),
    ([1.0], [0.5], {"bounds": 3}, r"expected bounds=\(low, high\), found something else"),
    ([1.0], [0.5], {"resolution": 20}, "at most the range of the bounds, 9, and at least"),
    ([1.0], [0.5], {"epsilon": None}, "expected epsilon= or budget= in quantiles, found neither"),
    ([1.0], [0.5], {"budget": Budget("epsilon", 1.0)}, "found both"),
    ([1.0], [0.5], {"epsilon": -1}, "expected an epsilon above 0 and finite, found -1"),
    ([1.0], [0.5], {"neighbours": "label-alone"}, "found label-alone"),
]


@pytest.mark.parametrize(("values", "q", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    values: Any, q: Any, options: dict[str, Any], text: str
) -> None:
    usual = {"bounds": (0, 9), "neighbours": "replace-one", "epsilon": 1.0}
    with pytest.raises(ValueError, match=text):
        quantiles(values, q, **{**usual, **options})
