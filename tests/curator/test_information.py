"""Mutual information and its sensitivity, against sums over cells and over all small tables."""

from __future__ import annotations

from itertools import combinations
from math import e, log, log2
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sottovoce.curator import (
    Marginal,
    correlation_threshold,
    dependence,
    entropy,
    mutual_information,
)
from sottovoce.privacy import Domain
from sottovoce.privacy.sensitivity import mutual_information_sensitivity

if TYPE_CHECKING:
    from conftest import Random


def pair(cells: Any) -> Marginal:
    return Marginal(("x", "y"), np.array(cells, dtype=float))


def plain(table: Any, base: float) -> float:
    p = np.array(table, dtype=float) / np.sum(table)
    product = np.outer(p.sum(axis=1), p.sum(axis=0))
    return sum(
        float(share) * log(share / expected, base)
        for share, expected in zip(p.ravel(), product.ravel(), strict=True)
        if share > 0
    )


@pytest.mark.parametrize(
    ("cells", "base", "expected"),
    [
        ([[10, 5], [5, 10]], 2, 0.08170416594551039),
        ([[8, 0], [0, 8]], 2, 1.0),
        ([[0.4, 0.1], [0.1, 0.4]], 2, 0.278071905112638),
        ([[0.4, 0.1], [0.1, 0.4]], e, 0.192744757),
        ([[0.3, 0.1, 0.05], [0.05, 0.2, 0.3]], 2, 0.303114759),
        ([[0.25, 0.25], [0.25, 0.25]], 2, 0.0),
    ],
)
def test_known_answers(cells: Any, base: float, expected: float) -> None:
    assert mutual_information(pair(cells), ["x"], base=base) == pytest.approx(expected, abs=5e-10)


def test_it_is_the_sum_over_cells(random: Random) -> None:
    table = random.generator.poisson(2, (3, 4)) + np.eye(3, 4)
    assert mutual_information(pair(table), ["y"], base=2) == pytest.approx(
        plain(table, 2), abs=1e-12
    )
    h = [entropy(pair(table).project(names), base=2) for names in (["x"], ["y"], ["x", "y"])]
    assert mutual_information(pair(table), ["x"], base=2) == pytest.approx(
        h[0] + h[1] - h[2], abs=1e-12
    )


def test_sides_of_several_attributes(random: Random) -> None:
    domain = random.domain(attributes=4, least=2)
    joint = random.joint(domain)
    shape = domain.shape(["x0", "x2", "x1", "x3"])
    flat = joint.project(["x0", "x2", "x1", "x3"]).values.reshape(shape[0] * shape[1], -1)
    assert mutual_information(joint, ["x2", "x0"], base=2) == pytest.approx(
        plain(flat, 2), abs=1e-12
    )


def test_own_marginals() -> None:
    table = pair([[0.4, 0.1], [0.1, 0.4]])
    margins = (Marginal(("x",), np.array([0.6, 0.4])), Marginal(("y",), np.array([0.5, 0.5])))
    expected = sum(
        p * log2(p / (a * 0.5)) for p, a in ((0.4, 0.6), (0.1, 0.6), (0.1, 0.4), (0.4, 0.4))
    )
    assert mutual_information(table, ["x"], base=2, margins=margins) == pytest.approx(
        expected, abs=1e-12
    )
    assert mutual_information(
        table, ["x"], base=2, margins=(table.project(["x"]), table.project(["y"]))
    ) == pytest.approx(0.278071905, abs=1e-9)


def test_own_marginals_that_exclude_what_there_is() -> None:
    table = pair([[0.4, 0.1], [0.1, 0.4]])
    assert (
        mutual_information(
            table,
            ["x"],
            base=2,
            margins=(Marginal(("x",), np.array([1.0, 0])), table.project(["y"])),
        )
        == np.inf
    )


def test_dependence(random: Random) -> None:
    table = random.generator.poisson(2, (3, 4)) + np.eye(3, 4)
    p = table / table.sum()
    expected = np.abs(p - np.outer(p.sum(axis=1), p.sum(axis=0))).sum() / 2
    assert dependence(pair(table), ["x"]) == pytest.approx(expected, abs=1e-12)


def test_the_threshold_of_correlation() -> None:
    domain = Domain(
        {
            name: tuple(map(str, range(size)))
            for name, size in (("a", 2), ("b", 16), ("c", 7), ("d", 6), ("e", 41))
        }
    )
    thresholds = [
        correlation_threshold(domain, *names, phi=0.3)
        for names in (("a", "b"), ("c", "d"), ("b", "e"))
    ]
    assert thresholds == pytest.approx([0.045, 0.225, 0.675])
    assert correlation_threshold(domain, "a", "b", phi=0.2) == pytest.approx(0.02)


def tables_of(rows: int, cells: int) -> list[tuple[int, ...]]:
    if cells == 1:
        return [(rows,)]
    return [
        (first, *rest) for first in range(rows + 1) for rest in tables_of(rows - first, cells - 1)
    ]


@pytest.mark.parametrize(("shape", "rows"), [((2, 2), 5), ((2, 2), 8), ((2, 3), 5), ((3, 3), 5)])
def test_sensitivity_is_reached_by_some_table_and_passed_by_none(
    shape: tuple[int, int], rows: int
) -> None:
    worst = 0.0
    size = shape[0] * shape[1]
    values = {table: plain(np.reshape(table, shape), 2) for table in tables_of(rows, size)}
    for table, information in values.items():
        for off in (cell for cell in range(size) if table[cell]):
            for on in range(size):
                other = list(table)
                other[off] -= 1
                other[on] += 1
                worst = max(worst, abs(information - values[tuple(other)]))
    bound = mutual_information_sensitivity(rows, binary=2 in shape, base=2)
    assert worst == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize(
    ("rows", "binary", "base", "expected"),
    [
        (15074, True, 2, 0.00101648016),
        (100, True, 2, 0.08079313590),
        (5, True, 2, 0.72193),
        (5, False, 2, 1.10196),
        (7, False, 2, 0.92717),
        (5, False, e, 0.7638170),
        (45222, False, e, 4.8764724e-4),
        (1000, True, e, 0.0079072551),
        (45222, True, e, 2.5915103e-4),
    ],
)
def test_sensitivities(rows: int, binary: bool, base: float, expected: float) -> None:
    assert mutual_information_sensitivity(rows, binary=binary, base=base) == pytest.approx(
        expected, rel=1e-5
    )
    with pytest.raises(ValueError, match="at least 2 rows"):
        mutual_information_sensitivity(1, binary=binary, base=base)


def test_adult(adult: Any) -> None:
    """Specification ldp.md, 7.17 and 7.18; clldp-jtree.md, D21."""
    domain = adult.domain
    pairs = list(combinations(domain.attributes, 2))
    tables = [
        Marginal.of(domain, names, cells)
        for names, cells in zip(pairs, adult.marginals(pairs), strict=True)
    ]
    bits = {
        names: mutual_information(table, names[:1], base=2)
        for names, table in zip(pairs, tables, strict=True)
    }
    assert domain.shape(domain.attributes) == (16, 7, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2)
    for names, expected in (
        (("education", "education-num"), 2.915928650),
        (("marital-status", "relationship"), 1.045866902),
        (("age", "income"), 0.091814534),
        (
            ("sex", "hours-per-week"),
            0.050941908,
        ),  # the specification's 0.051345055 has bins that are closed on the left
        (("age", "marital-status"), 0.324494420),
    ):
        assert bits[names] == pytest.approx(expected, abs=1e-9)
    for phi, unit, edges in (
        (0.3, 1, 16),
        (0.3, log(2), 12),
        (0.2, log(2), 18),
        (0.1, log(2), 38),
        (0.4, log(2), 7),
    ):
        assert (
            sum(
                bits[names] * unit >= correlation_threshold(domain, *names, phi=phi)
                for names in pairs
            )
            == edges
        )
    assert sum(domain.cells(names) for names in pairs) == 17290
