"""Balanced samples, against random ones and against tables that are counted anew."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.curator import Marginal
from sottovoce.curator.balanced_sampling import balance
from sottovoce.curator.raking import rake, systematic_sample
from sottovoce.messages import WorkKind, WorkMeter, metered
from sottovoce.privacy import Domain

Codes = list[npt.NDArray[np.uint8]]
Whole = npt.NDArray[np.int64]


def population(
    sizes: tuple[int, ...], *, rows: int, seed: int
) -> tuple[Domain, Codes, npt.NDArray[np.float64], np.random.Generator]:
    """Make up rows whose attributes depend on a hidden class, and weights of all sizes."""
    generator = np.random.default_rng(seed)
    hidden = generator.integers(0, 3, rows)
    codes = []
    for size in sizes:
        shares = generator.dirichlet(np.full(size, 0.7), size=3)
        draws = (shares[hidden].cumsum(axis=1) < generator.random(rows)[:, None]).sum(axis=1)
        codes.append(np.minimum(draws, size - 1).astype(np.uint8))
    domain = Domain({f"a{place}": tuple(map(str, range(size))) for place, size in enumerate(sizes)})
    return domain, codes, generator.dirichlet(np.full(rows, 0.5)), generator


def squares(
    domain: Domain,
    codes: Codes,
    weights: npt.NDArray[np.float64],
    tables: Sequence[tuple[str, ...]],
    chosen: Whole,
) -> float:
    """Add up the squared residuals of all cells, each table counted by a dictionary."""
    total = 0.0
    for table in tables:
        columns = [codes[domain.attributes.index(name)].tolist() for name in table]
        residuals: dict[tuple[int, ...], float] = {}
        for row, weight in zip(zip(*columns, strict=True), weights.tolist(), strict=True):
            residuals[row] = residuals.get(row, 0.0) + weight * len(chosen)
        for place in chosen.tolist():
            row = tuple(column[place] for column in columns)
            residuals[row] -= 1
        total += sum(value**2 for value in residuals.values())
    return total


@pytest.mark.parametrize(
    ("sizes", "rows", "taken"),
    [
        ((2, 3, 4, 5), 3000, 800),
        ((2,) * 14, 5000, 2500),
        ((9, 9, 9, 9), 2000, 5000),  # rows are taken several times
        ((40, 30), 4000, 1500),  # most cells have less than a row
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_tables_are_nearer_and_rows_come_as_often_as_their_weights_say(
    sizes: tuple[int, ...], rows: int, taken: int, seed: int
) -> None:
    domain, codes, weights, generator = population(sizes, rows=rows, seed=seed)
    tables = [*combinations(domain.attributes, 2)]
    random = systematic_sample(codes, weights, rows=taken, generator=generator)
    chosen = balance(domain, codes, weights, tables, random, generator=generator)
    counts = np.bincount(chosen, minlength=rows)
    assert counts.sum() == taken
    assert np.abs(counts - taken * weights).max() < 1 + 1e-9
    before, after = (squares(domain, codes, weights, tables, sample) for sample in (random, chosen))
    assert after < (0.9 if max(sizes) == 40 else 0.4) * before


def test_tables_of_one_and_of_three_attributes_are_kept_as_well() -> None:
    domain, codes, weights, generator = population((3, 4, 5, 2), rows=4000, seed=3)
    tables: list[tuple[str, ...]] = [("a1",), ("a2", "a0", "a3"), ("a1", "a2")]
    random = systematic_sample(codes[::-1], weights, rows=1000, generator=generator)
    chosen = balance(domain, codes, weights, tables, random, generator=generator)
    before, after = (squares(domain, codes, weights, tables, sample) for sample in (random, chosen))
    assert after < 0.2 * before


def test_three_way_tables_are_no_farther_than_those_of_random_samples() -> None:
    """Rows are exchanged within what a random sample may take, so nothing else gets worse.

    Of four attributes alone, a systematic sample would have nearly all cells right by itself.
    """
    distances: list[tuple[float, float]] = []
    for seed in range(10):
        domain, codes, weights, generator = population((3,) * 8, rows=4000, seed=seed)
        pairs = [*combinations(domain.attributes, 2)]
        triples = [*combinations(domain.attributes, 3)]
        random = systematic_sample(codes, weights, rows=500, generator=generator)
        chosen = balance(domain, codes, weights, pairs, random, generator=generator)
        before, after = (
            squares(domain, codes, weights, triples, sample) for sample in (random, chosen)
        )
        distances.append((before, after))
    mean = np.mean(distances, axis=0)
    assert mean[1] < mean[0]


def test_rows_of_hardly_any_weight_do_not_join() -> None:
    """They would be in cells that shall be empty, such as impossible ones."""
    domain, codes, weights, generator = population((2, 4, 4), rows=3000, seed=5)
    empty = codes[1] == 3
    weights = np.where(empty, weights.mean() * 1e-4, weights)
    weights /= weights.sum()
    pairs = [*combinations(domain.attributes, 2)]
    random = systematic_sample(codes, weights, rows=700, generator=generator)
    chosen = balance(domain, codes, weights, pairs, random, generator=generator)
    assert np.count_nonzero(empty[chosen]) <= np.count_nonzero(empty[random])


def test_a_sample_without_rows_or_tables_stays_as_it_is() -> None:
    domain, codes, weights, generator = population((2, 3), rows=50, seed=6)
    chosen = systematic_sample(codes, weights, rows=20, generator=generator)
    assert balance(domain, codes, weights, [], chosen, generator=generator) is chosen
    none = np.zeros(0, np.int64)
    assert not len(balance(domain, codes, weights, [("a0",)], none, generator=generator))


def test_the_same_generator_makes_the_same_sample() -> None:
    samples = []
    for _ in range(2):
        domain, codes, weights, generator = population((3, 4, 2), rows=2500, seed=7)
        pairs = [*combinations(domain.attributes, 2)]
        random = systematic_sample(codes, weights, rows=600, generator=generator)
        samples.append(balance(domain, codes, weights, pairs, random, generator=generator))
    assert np.array_equal(samples[0], samples[1])


def test_raked_rows_have_the_tables_to_within_a_row_of_a_cell() -> None:
    """Random rows would be off by the root of a cell's rows: here by 13 on average."""
    domain, codes, weights, generator = population((3, 4, 3), rows=50_000, seed=8)
    columns = [column.astype(np.int64) for column in codes]
    tables: dict[tuple[str, ...], Marginal] = {}
    for first, second in combinations(range(3), 2):
        pair = (domain.attributes[first], domain.attributes[second])
        cells = np.zeros(domain.shape(pair))
        np.add.at(cells, (columns[first], columns[second]), weights)
        tables[pair] = Marginal(pair, cells)
    meter = WorkMeter()
    with metered(meter):
        drawn = rake(domain, codes, tables, rows=10_000, generator=generator)
    rows = dict(zip(domain.attributes, drawn, strict=True))
    for names, table in tables.items():
        counts = np.zeros(table.values.shape)
        np.add.at(counts, tuple(rows[name] for name in names), 1)
        assert np.abs(counts - 10_000 * table.values).mean() < 2
    assert meter.units[WorkKind.RAKED, 0] > 9 * 50_000 * 9
