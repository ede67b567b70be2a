"""Tables that nobody has seen: made up by a number, each with a structure, a size and a setting.

The structures are those that tables of people, things and measurements have: a network of causes,
a mixture of kinds, numbers that share factors, numbers that depend on each other in curves, codes
within codes, baskets of items, a series, and no dependence at all. Some tables have a column with
a single label, and some have one that nearly tells records apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["STRUCTURES", "MadeUpTable", "made_up_table"]

Codes = npt.NDArray[np.int64]

PARTIES: Final = (1, 3, 10)
EPSILONS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
ROWS: Final = (200, 1_000, 5_000, 20_000, 100_000)
COLUMNS: Final = (2, 4, 8, 15, 30, 60)
MAX_ROWS_OF_WIDE: Final = 20_000
"""Most rows of a table of more than 15 columns, so that forty tables take minutes."""
MAX_KEYS: Final = 400
"""Most labels of a column that nearly tells records apart."""


@dataclass(frozen=True)
class MadeUpTable:
    """A table, and the setting in which it is published."""

    structure: str
    frame: pd.DataFrame
    schema: Mapping[str, list[str]]
    parties: int
    epsilon: float


def made_up_table(number: int) -> MadeUpTable:
    """Make up the table of a number; equal numbers give equal tables.

    Structures go round, so that any eight numbers in a row have all of them. The other properties
    are drawn.
    """
    generator = np.random.default_rng([22, number])
    structure = list(STRUCTURES)[number % len(STRUCTURES)]
    columns, rows = int(generator.choice(COLUMNS)), int(generator.choice(ROWS))
    if columns > 15:
        rows = min(rows, MAX_ROWS_OF_WIDE)
    drawn = STRUCTURES[structure](generator, rows, columns)
    if generator.random() < 1 / 3:
        drawn.append(np.zeros(rows, np.int64))
    if generator.random() < 1 / 4:
        drawn.append(generator.integers(min(MAX_KEYS, rows), size=rows))
    schema = {
        f"c{place}": [f"v{label:03}" for label in range(int(codes.max()) + 1)]
        for place, codes in enumerate(drawn)
    }
    texts = {
        name: np.array(labels)[codes]
        for (name, labels), codes in zip(schema.items(), drawn, strict=True)
    }
    return MadeUpTable(
        structure,
        pd.DataFrame(texts),
        schema,
        parties=int(generator.choice(PARTIES)),
        epsilon=float(generator.choice(EPSILONS)),
    )


def _network(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw a network of causes: each column depends on at most two before it."""
    drawn: list[Codes] = []
    for place in range(columns):
        size = int(generator.integers(2, 10))
        count = min(place, int(generator.integers(3)))
        state = np.zeros(rows, np.int64)
        for parent in generator.choice(place, count, replace=False).tolist() if count else []:
            state = state * (int(drawn[parent].max()) + 1) + drawn[parent]
        chances = generator.dirichlet(np.full(size, 0.5), int(state.max()) + 1)
        drawn.append(_labels_of(generator, chances[state]))
    return drawn


def _mixture(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw records of a few kinds, within which columns are independent."""
    kinds = int(generator.integers(2, 12))
    kind = generator.choice(kinds, rows, p=generator.dirichlet(np.ones(kinds)))
    drawn = []
    for _ in range(columns):
        chances = generator.dirichlet(np.ones(int(generator.integers(2, 16))), kinds)
        drawn.append(_labels_of(generator, chances[kind]))
    return drawn


def _factors(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw numbers with common factors and heavy tails, cut at even steps or at quantiles."""
    factors = generator.normal(size=(rows, max(1, columns // 4)))
    drawn = []
    for _ in range(columns):
        loads = generator.normal(size=factors.shape[1]) * (generator.random() < 0.8)
        values = factors @ loads + generator.standard_t(3, size=rows)
        if generator.random() < 0.3:
            values = np.exp(values)  # incomes, sizes of towns
        drawn.append(_cut(generator, values))
    return drawn


def _curves(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw numbers that depend on an earlier one in a curve, up and down again."""
    values = [generator.normal(size=rows)]
    for _ in range(columns - 1):
        cause = values[int(generator.integers(len(values)))]
        curve = (np.square, np.sin, np.abs, np.negative)[int(generator.integers(4))]
        value = curve(generator.uniform(0.5, 3) * cause) + generator.normal(size=rows) / 3
        values.append((value - value.mean()) / value.std())
    return [_cut(generator, value) for value in values]


def _hierarchy(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw codes within codes, as of regions and towns, whose order says nothing."""
    towns = int(generator.integers(20, 120))
    masses = generator.dirichlet(1 / np.arange(1, towns + 1) * 3)
    town = generator.choice(towns, rows, p=masses)
    drawn: list[Codes] = [town]
    for _ in range(columns - 1):
        if generator.random() < 0.4:  # a coarser code, exactly
            of_town = generator.integers(int(generator.integers(2, 12)), size=towns)
            drawn.append(of_town[town])
        else:
            size = int(generator.integers(2, 12))
            drawn.append(_labels_of(generator, generator.dirichlet(np.ones(size), towns)[town]))
    return drawn


def _baskets(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw items that few people buy, some of them together."""
    tastes = generator.random((rows, 4)) < 0.1
    drawn = []
    for _ in range(columns):
        chance = generator.uniform(0.002, 0.1) + 0.3 * tastes[:, int(generator.integers(4))]
        drawn.append((generator.random(rows) < chance).astype(np.int64))
    return drawn


def _series(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw a series: a column repeats the one before, or else moves to a random label."""
    size = int(generator.integers(2, 20))
    codes = generator.integers(size, size=rows)
    drawn = [codes]
    for _ in range(columns - 1):
        moves = generator.random(rows) < generator.uniform(0.02, 0.6)
        codes = np.where(moves, generator.integers(size, size=rows), codes)
        drawn.append(codes)
    return drawn


def _unrelated(generator: np.random.Generator, rows: int, columns: int) -> list[Codes]:
    """Draw independent columns, in which few labels have most of the records."""
    drawn = []
    for _ in range(columns):
        size = int(generator.choice([2, 5, 20, 100]))
        masses = 1.0 / np.arange(1, size + 1) ** generator.uniform(0, 2)
        drawn.append(generator.choice(size, rows, p=masses / masses.sum()))
    return drawn


def _labels_of(generator: np.random.Generator, chances: npt.NDArray[np.float64]) -> Codes:
    """Draw a label for each row of chances."""
    bounds = chances.cumsum(axis=1)
    return np.asarray((generator.random((len(chances), 1)) > bounds[:, :-1]).sum(axis=1))


def _cut(generator: np.random.Generator, values: npt.NDArray[np.float64]) -> Codes:
    """Cut numbers at quantiles, or at steps of equal width, which leaves most labels rare."""
    size = int(generator.choice([4, 10, 16, 40]))
    if generator.random() < 0.5:
        inner = np.quantile(values, np.linspace(0, 1, size + 1)[1:-1])
    else:
        inner = np.linspace(*np.quantile(values, (0.001, 0.999)), size + 1)[1:-1]
    return np.searchsorted(inner, values)


STRUCTURES: Final[Mapping[str, Callable[[np.random.Generator, int, int], list[Codes]]]] = {
    "network": _network,
    "mixture": _mixture,
    "factors": _factors,
    "curves": _curves,
    "hierarchy": _hierarchy,
    "baskets": _baskets,
    "series": _series,
    "unrelated": _unrelated,
}
"""How the codes of a table's columns are drawn, given the numbers of rows and columns."""
