"""Raking: weights against proportional fitting of whole tables, and rows drawn by weights."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.curator import Marginal
from sottovoce.curator.raking import COUNTED_ROWS, _numbered, rake, row_weights, systematic_sample
from sottovoce.messages import WorkKind, WorkMeter, metered
from sottovoce.privacy import Domain

DOMAIN = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1", "2", "3")})
SHAPE = (2, 3, 4)


def tables_of(joint: np.ndarray) -> dict[tuple[str, ...], Marginal]:
    whole = Marginal(("a", "b", "c"), joint)
    return {pair: whole.project(pair) for pair in combinations(("a", "b", "c"), 2)}


def every_cell() -> list[np.ndarray]:
    return [codes.reshape(-1).astype(np.uint8) for codes in np.indices(SHAPE)]


def test_weights_are_those_of_proportional_fitting() -> None:
    """With a row for each cell the weights are the distribution of largest entropy."""
    generator = np.random.default_rng(1)
    targets = tables_of(generator.dirichlet(np.full(24, 2.0)).reshape(SHAPE))
    weights = row_weights(DOMAIN, every_cell(), targets, generator=generator, sweeps=400).reshape(
        SHAPE
    )
    expected = np.full(SHAPE, 1 / 24)
    for _ in range(2000):
        for pair, table in targets.items():
            axes = tuple(axis for axis, name in enumerate("abc") if name not in pair)
            expected = expected * np.expand_dims(table.values / expected.sum(axis=axes), axes)
    assert weights == pytest.approx(expected, abs=1e-3)
    assert weights.sum() == pytest.approx(1)


def test_rows_have_the_tables() -> None:
    """Rows of another distribution, whose tables are 5 per cent off, come within 1 per cent."""
    generator = np.random.default_rng(2)
    target_shares, sampled_shares = (generator.dirichlet(np.full(24, 3.0)) for _ in range(2))
    rows = np.unravel_index(generator.choice(24, 20_000, p=sampled_shares), SHAPE)
    codes = [column.astype(np.uint8) for column in rows]
    targets = tables_of(target_shares.reshape(SHAPE))
    shares: list[float] = []
    drawn = rake(
        DOMAIN,
        codes,
        targets,
        rows=10_000,
        generator=generator,
        progress=lambda done, *, of: shares.append(done / of),
    )
    assert {len(column) for column in drawn} == {10_000}
    for pair, table in targets.items():

        def distance(
            codes_of_rows: list[np.ndarray], pair: tuple[str, ...] = pair, table: Marginal = table
        ) -> float:
            places = ["abc".index(name) for name in pair]
            counts = np.zeros(table.values.shape)
            np.add.at(
                counts, tuple(codes_of_rows[place] for place in places), 1 / len(codes_of_rows[0])
            )
            return Marginal(pair, counts).distance(table)

        assert distance(drawn) < 0.01
        assert distance(codes) > 0.05
    assert shares[-1] == 1.0


def test_what_no_row_has_stays_empty() -> None:
    codes = [
        np.array([0, 0, 1, 1], np.uint8),
        np.array([0, 1, 0, 1], np.uint8),
        np.zeros(4, np.uint8),
    ]
    targets: dict[tuple[str, ...], Marginal] = {
        ("a", "c"): Marginal(("a", "c"), np.full((2, 4), 1 / 8))
    }
    weights = row_weights(DOMAIN, codes, targets, generator=np.random.default_rng(3))
    assert weights == pytest.approx(np.full(4, 0.25))


def test_rows_come_as_often_as_their_weights_say() -> None:
    """Each row is drawn as often as expected, to within one."""
    generator = np.random.default_rng(4)
    codes = [generator.integers(0, size, 500).astype(np.uint8) for size in SHAPE]
    weights = generator.dirichlet(np.full(500, 0.3))
    chosen = systematic_sample(codes, weights, rows=2000, generator=generator)
    assert len(chosen) == 2000
    assert np.abs(np.bincount(chosen, minlength=500) - 2000 * weights).max() < 1 + 1e-9
    assert not np.array_equal(chosen, np.sort(chosen))


@pytest.mark.parametrize("rows", [50, 100, 300])
def test_few_rows_of_independent_attributes_have_all_labels(rows: int) -> None:
    """They are nearer to the distribution of each attribute than independent draws are.

    Chosen at equal steps along rows in one order of labels, they were farther from it. The law of
    independent draws is simulated; the mean of 20 samples is below it by many deviations.
    """
    generator = np.random.default_rng(6)
    codes = [generator.integers(0, 10, 50_000).astype(np.uint8) for _ in range(6)]
    weights = np.full(50_000, 1 / 50_000)

    def distance(chosen: npt.NDArray[np.int64]) -> float:
        counts = [np.bincount(column[chosen], minlength=10) / rows for column in codes]
        return float(np.mean([np.abs(shares - 0.1).sum() / 2 for shares in counts]))

    systematic, independent = [], []
    for _ in range(20):
        chosen = systematic_sample(codes, weights, rows=rows, generator=generator)
        systematic.append(distance(chosen))
        independent.append(distance(generator.integers(0, 50_000, rows)))
    assert np.mean(systematic) < 0.85 * np.mean(independent)


def test_rows_alike_in_the_first_attributes_come_as_often_as_expected() -> None:
    generator = np.random.default_rng(7)
    codes = [generator.integers(0, size, 3000).astype(np.uint8) for size in SHAPE]
    weights = generator.dirichlet(np.full(3000, 0.3))
    chosen = systematic_sample(codes, weights, rows=700, generator=generator)
    cells = np.zeros(3000, np.int64)
    for column, size in zip(codes, SHAPE, strict=True):
        cells = cells * size + column
        expected = 700 * np.bincount(cells, weights)
        drawn = np.bincount(cells[chosen], minlength=len(expected))
        assert np.abs(drawn - expected).max() < 1 + 1e-9


def test_few_rows_stand_for_all_where_work_is_only_counted() -> None:
    """As much work is counted, up to a sweep of exchanges, and as many rows are drawn."""
    domain = Domain({name: tuple("abcd") for name in "xyz"})
    generator = np.random.default_rng(1)
    codes = [generator.integers(4, size=5 * COUNTED_ROWS).astype(np.uint16) for _ in range(3)]
    pairs: list[tuple[str, ...]] = [*combinations("xyz", 2)]
    tables = {pair: Marginal.uniform(domain, pair) for pair in pairs}
    meters, drawn = [], []
    for only_counts in (False, True):
        meter = WorkMeter(only_counts=only_counts)
        with metered(meter):
            drawn.append(rake(domain, codes, tables, rows=500, generator=generator))
        meters.append(meter)
    assert [len(column) for column in drawn[0]] == [len(column) for column in drawn[1]]
    for kind, tolerance in ((WorkKind.SORTED, 0.0), (WorkKind.RAKED, 0.2)):
        done, counted = (meter.units[kind, 0] for meter in meters)
        assert counted == pytest.approx(done, rel=tolerance or 1e-9)
    assert meters[1].factor == 1


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 65_535, 65_536])
@pytest.mark.parametrize("spread", [1, 16, 17])
def test_numbers_are_numbered_as_by_unique(size: int, spread: int) -> None:
    """Both ways, and where places need another byte: all numbers differ in the first half."""
    generator = np.random.default_rng(size)
    for numbers in (np.arange(size), generator.integers(0, spread * size, size)):
        cells, places = _numbered(numbers)
        expected, expected_places = np.unique(numbers, return_inverse=True)
        assert cells.tolist() == expected.tolist()
        assert places.tolist() == expected_places.tolist()
        assert places.dtype == np.int64  # it is multiplied by numbers of labels


def test_numbering_takes_little_memory() -> None:
    numbers = np.arange(0, 16 * 100_000, 16)
    tracemalloc.start()
    _numbered(numbers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * numbers.nbytes
