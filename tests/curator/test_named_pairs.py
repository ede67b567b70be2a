"""Pairs that parties name: which are asked about, and what their distances change in a plan."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.curator.marginal import Marginal
from sottovoce.curator.pairs import (
    Evidence,
    NamedPair,
    Pair,
    PairEstimate,
    batches_of,
    doubtful_pairs,
    nested_groups,
    remaining_distances,
)
from sottovoce.curator.pairs.error_curves import ErrorCurves, scales_by_distance
from sottovoce.curator.pairs.spreads import MAX_DISTANCE

Numbers = npt.NDArray[np.float64]


def estimate_of(tables: Mapping[tuple[str, str], Numbers], *, measured: str = "") -> PairEstimate:
    """Make an estimate of these tables; pairs of measured attributes have a finest table."""
    sizes: dict[str, int] = {}
    for names, table in tables.items():
        sizes |= dict(zip(names, table.shape, strict=True))
    groups = {name: nested_groups(np.full(size, 1 / size), first=1) for name, size in sizes.items()}
    evidence = [Evidence.none(batch) for batch in batches_of(groups)]
    for part in evidence:
        for place, pair in enumerate(part.batch.pairs):
            if {*pair} <= {*measured}:
                part.precisions[-1][place] = 1.0
    marginals: dict[Pair, Marginal] = {pair: Marginal(pair, t) for pair, t in tables.items()}
    return PairEstimate({}, evidence, [], [], marginals)


def even(rows: int, columns: int) -> Numbers:
    return np.full((rows, columns), 1 / (rows * columns))


def test_pairs_with_few_cells_and_measured_or_planned_ones_are_not_asked_about() -> None:
    sizes = {"a": 6, "b": 5, "c": 4, "d": 3}
    tables = {(x, y): even(sizes[x], sizes[y]) for x, y in combinations(sizes, 2)}
    estimate = estimate_of(tables, measured="ab")
    asked = doubtful_pairs(estimate, frozenset([("a", "c")]), max_cells=1000)
    assert [*asked] == [("a", "d"), ("b", "c")]  # c, d has 12 cells and b, d has 15
    assert asked["b", "c"] is tables["b", "c"]


def test_of_too_many_cells_the_strongest_pairs_are_asked_about() -> None:
    tables = {pair: even(5, 5) for pair in combinations("abc", 2)}
    tables["b", "c"] = 0.5 * even(5, 5) + 0.5 * np.eye(5) / 5
    tables["a", "b"] = 0.9 * even(5, 5) + 0.1 * np.eye(5) / 5
    estimate = estimate_of(tables)
    for most, pairs in ((75, [*tables]), (74, ["bc", "ab"]), (49, ["bc"]), (24, [])):
        asked = doubtful_pairs(estimate, frozenset(), max_cells=most)
        assert [*asked] == [tuple(pair) for pair in pairs]


def test_what_an_estimate_moved_since_is_subtracted_in_squares() -> None:
    before, after = even(2, 2), np.array([[0.4, 0.1], [0.1, 0.4]])  # .3 apart
    estimate = estimate_of({("a", "b"): after})
    for distance, rest in ((0.5, 0.4), (0.3, 0.0), (0.2, 0.0)):
        named: dict[Pair, NamedPair] = {("a", "b"): NamedPair(distance, before)}
        assert remaining_distances(named, estimate)["a", "b"] == pytest.approx(rest, abs=1e-7)


class FixedErrors(ErrorCurves):
    """Error curves whose present errors are stated."""

    errors: Numbers

    def current(self) -> Numbers:
        return self.errors


def test_a_named_distance_scales_what_was_not_measured_yet() -> None:
    """By hand: two levels of four pairs, of which the coarse one was measured."""
    tables = {pair: even(20, 20) for pair in pairwise("abcde")}
    part = estimate_of(tables).evidence[0]
    curves = FixedErrors(part, [np.array([1.0, 1.0, 1.0, 1.0]), np.zeros(4)], [])
    object.__setattr__(curves, "errors", np.array([[0.03] * 4, [0.04, 0.04, 0.04, 1e-5]]))
    distances = np.array([np.nan, sqrt(0.03**2 + 0.12**2), 0.02, 1.5])
    scales = scales_by_distance(curves, distances)
    assert scales[0].tolist() == [1] * 4
    assert scales[1] == pytest.approx([1, 3, 1, MAX_DISTANCE / 1e-5])
