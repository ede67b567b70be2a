"""Tables of two cells are counted as one, and the other cell is the rest of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sottovoce.curator import Curator, Estimate, make_consistent
from sottovoce.messages import MisuseError
from sottovoce.parties import Party, Records, read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumOptions, Tables

SCHEMA = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"]}
DOMAIN = Domain({name: tuple(labels) for name, labels in SCHEMA.items()})
FAMILIES = (("a",), ("b",), ("c",), ("a", "b"))
PURE = Budget.pure(1.0)
GAUSSIAN = Budget("rho", 0.1)
BOUND = 1000


def counts_of(rows: Sequence[tuple[int, ...]], tables: Tables) -> npt.NDArray[np.int64]:
    """Return what a party with these rows adds to the batch."""
    frame = pd.DataFrame(np.array(rows).astype(str), columns=list(SCHEMA))
    summed: list[npt.NDArray[np.int64]] = []
    sums: Any = SimpleNamespace(counts_rows=True, contribute=lambda parts, _: summed.extend(parts))
    tables.contribute(Records(frame, schema=read_schema(SCHEMA)), sums)
    return np.concatenate(summed)


def received(
    cells: npt.NDArray[Any],
    tables: Tables,
    *,
    rows: int,
    counts_rows: bool = True,
    variance: float = 1.0,
) -> Any:
    """Return the estimates of a curator who receives these cells."""
    sums: Any = SimpleNamespace(
        rows=rows,
        counts_rows=counts_rows,
        variance=lambda _: variance,
        total=lambda batch: cells[: batch.cells],
    )
    return tables.receive(sums)


def cells_of(estimate: Estimate) -> npt.NDArray[np.float64]:
    return np.asarray(estimate.table.values).reshape(-1)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("as_printed", [True, False])
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_a_replaced_record_changes_all_tables_by_the_sensitivity_and_not_more(
    weighted: bool, as_printed: bool, budget: Budget
) -> None:
    tables = Tables(DOMAIN, FAMILIES, budget, weighted=weighted, as_printed=as_printed)
    people = list(product(range(2), range(3), range(2)))
    vectors = [counts_of([(0, 0, 0), person], tables) for person in people]
    assert {len(vector) for vector in vectors} == {tables.batch.cells}
    changes = [one - other for one, other in product(vectors, vectors)]
    assert max(np.abs(change).sum() for change in changes) == tables.batch.sensitivity
    if budget.concentrated:
        assert max((change**2).sum() for change in changes) == tables.batch.squares


@pytest.mark.parametrize(
    ("as_printed", "budget", "cells"),
    [
        (False, PURE, 1 + 3 + 1 + 6),
        (True, PURE, 2 + 3 + 2 + 6),
        (False, GAUSSIAN, 2 + 3 + 2 + 6),
    ],
)
def test_one_cell_is_counted_where_that_makes_less_noise(
    as_printed: bool, budget: Budget, cells: int
) -> None:
    tables = Tables(DOMAIN, FAMILIES, budget, weighted=True, as_printed=as_printed)
    assert tables.batch.cells == cells


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_weights_make_the_sum_of_all_noise_as_small_as_any(budget: Budget) -> None:
    """The least error has a closed form; rounded weights stay within a hundredth of it.

    A table of n cells with weight w has noise of total size n / w, times the sum of the weights for
    Laplace noise and the root of the sum of their squares for Gaussian noise.
    """
    sizes = {"a": 4, "b": 40, "c": 400}
    domain = Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})
    tables = Tables(domain, (("a",), ("b",), ("c",)), budget, weighted=True)
    norm, power = (2, 2 / 3) if budget.concentrated else (1, 1 / 2)
    weights, cells = np.array(tables.weights, float), np.array([*sizes.values()], float)
    error = (cells / weights).sum() * (weights**norm).sum() ** (1 / norm)
    least = (cells**power).sum() ** (1 / power)  # by Cauchy and Schwarz, or by Hoelder
    assert least * (1 - 1e-12) <= error <= 1.01 * least


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_a_small_table_beside_a_large_one_is_counted(budget: Budget) -> None:
    """By the root of their sizes the small one would have a 27th of the large one's weight."""
    domain = Domain({name: tuple(map(str, range(size))) for name, size in (("s", 3), ("l", 50))})
    tables = Tables(domain.project(("s",)), (("s",),), budget, weighted=True)
    large = Domain({**domain.labels, "m": tuple(map(str, range(50)))})
    beside = Tables(large, (("s",), ("l", "m")), budget, weighted=True)
    assert tables.weights == [8 if budget.of_gaussian else 1]
    small, wide = beside.weights
    assert wide == 8
    assert small == max(1, round(8 * (3 / 2500) ** (1 / 3 if budget.concentrated else 1 / 2)))
    found = received(np.arange(2503), beside, rows=7)
    assert cells_of(found[0]).tolist() == [0, 1, 2]
    assert np.isfinite([estimate.variance for estimate in found]).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_the_other_cell_is_the_rest_of_all_rows(weighted: bool) -> None:
    rows = [(0, 2, 1), (1, 1, 1), (1, 0, 1), (1, 2, 0), (1, 2, 1)]
    tables = Tables(DOMAIN, FAMILIES, PURE, weighted=weighted)
    exact = received(counts_of(rows, tables), tables, rows=len(rows))
    for estimate in exact:
        index = ["abc".index(name) for name in estimate.attributes]
        expected = np.zeros(DOMAIN.shape(estimate.attributes))
        for row in rows:
            expected[tuple(row[place] for place in index)] += 1
        assert cells_of(estimate) == pytest.approx(expected.reshape(-1))


@pytest.mark.parametrize("weighted", [True, False])
def test_a_binary_attribute_has_half_of_the_variance_and_others_are_as_before(
    weighted: bool,
) -> None:
    """The deviation of a cell once the sum of its table is corrected to the number of rows.

    Weighted tables share what is gained, so that all of them have less noise.
    """
    generator = np.random.default_rng(5)
    deviations = {}
    for as_printed in (True, False):
        tables = Tables(
            DOMAIN, (("a",), ("b",), ("c",)), PURE, weighted=weighted, as_printed=as_printed
        )
        scale = tables.batch.sensitivity / tables.budget.amount
        drawn = []
        for _ in range(4000):
            noise = generator.laplace(scale=scale, size=tables.batch.cells)
            estimates = received(noise, tables, rows=0, variance=2 * scale**2)
            corrected = make_consistent(estimates, total=0.0)
            drawn.append(np.concatenate([*map(cells_of, corrected)]))
        deviations[as_printed] = np.std(drawn, axis=0)
        # Of n independent cells with the right sum each has 1 - 1 / n of the stated variance.
        stated = [
            np.sqrt(estimate.variance * (1 - 1 / estimate.table.cells))
            for estimate in estimates
            for _ in range(estimate.table.cells)
        ]
        assert deviations[as_printed] == pytest.approx(stated, rel=0.12)
        assert deviations[as_printed].sum() == pytest.approx(tables.error, rel=0.05)
    ratios = deviations[False] / deviations[True]
    if weighted:
        assert ratios.max() < 0.9
    else:
        assert ratios == pytest.approx(np.sqrt([0.5, 0.5, 1, 1, 1, 0.5, 0.5]), rel=0.15)


def test_a_batch_of_binary_attributes_has_half_of_the_sensitivity() -> None:
    tables = Tables(DOMAIN, (("a",), ("c",)), PURE)
    assert (tables.weights, tables.batch.sensitivity, tables.batch.cells) == ([1, 1], 2, 2)


def count_among_two(
    converse: Callable[..., Any], tables: Tables, *, bound: int | None
) -> list[list[float]]:
    """Count the tables of two parties, with 3 and 2 rows, in a secure sum."""
    columns = list(SCHEMA)
    frames = [
        pd.DataFrame([("0", "2", "1"), ("1", "1", "1"), ("1", "0", "1")], columns=columns),
        pd.DataFrame([("1", "2", "0"), ("1", "2", "1")], columns=columns),
    ]

    def party(me: Party) -> None:
        with me.phase("sum"):
            tables.contribute(me.records, PartySums(me, SumOptions(aggregator="masks"), rows=bound))

    def curator(desk: Curator) -> list[list[float]]:
        with desk.phase("sum"):
            sums = CuratorSums(desk, SumOptions(aggregator="masks"), rows=bound)
            return [cells_of(estimate).tolist() for estimate in tables.receive(sums)]

    talk = converse(party, curator, parties=2, tables=frames, schema=read_schema(SCHEMA))
    return list(talk.curator)


@pytest.mark.parametrize(
    ("as_printed", "budget", "bound"),
    [
        (False, Budget.pure(400), None),
        (True, Budget.pure(400), BOUND),
        (False, Budget("rho", 1000), BOUND),
    ],
)
def test_both_cells_are_right_by_the_number_of_rows_or_where_both_are_counted(
    converse: Callable[..., Any], as_printed: bool, budget: Budget, bound: int | None
) -> None:
    """The noise is 0 but for a chance below 1e-20."""
    tables = Tables(DOMAIN, FAMILIES, budget, as_printed=as_printed)
    expected = [[1, 4], [1, 1, 3], [1, 4], [0, 0, 1, 1, 1, 2]]
    assert count_among_two(converse, tables, bound=bound) == expected


def test_a_bound_on_the_rows_is_not_taken_for_their_number(converse: Callable[..., Any]) -> None:
    """Otherwise the other cell would be the rest of the bound, 999 instead of 4."""
    tables = Tables(DOMAIN, FAMILIES, PURE)
    with pytest.raises(MisuseError, match="found a bound: say as_printed=True"):
        count_among_two(converse, tables, bound=BOUND)
    with pytest.raises(MisuseError, match="found a bound: say as_printed=True"):
        received(np.zeros(tables.batch.cells), tables, rows=BOUND, counts_rows=False)


def test_tables_of_more_cells_are_counted_with_a_bound_on_the_rows(
    converse: Callable[..., Any],
) -> None:
    tables = Tables(DOMAIN, (("b",), ("a", "b")), Budget.pure(400))
    expected = [[1, 1, 3], [0, 0, 1, 1, 1, 2]]
    assert count_among_two(converse, tables, bound=BOUND) == expected
