"""The demo table: fictitious people, similar to a census.

It has Adult's 15 attributes and their domain sizes, with the dependences that one expects: age and
sex with marriage, marriage with relationship, education with occupation, and all of them with
income. The figures are in `demo_figures`. No file is read, and no record is anybody's. The table is
for trying protocols out. It teaches nothing about people.

Rows are made in blocks, each from its own generator. So the first n rows are the same however many
are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from .bins import Bins
from .categories import Categories
from .demo_figures import (
    BORN_ABROAD,
    COUNTRIES,
    DEMO_ATTRIBUTES,
    DEMO_CATEGORIES,
    DEMO_RANGES,
    EDUCATION,
    MARITAL_BY_AGE,
    OCCUPATION_BY_EDUCATION,
    PAY_OF_OCCUPATION,
    RACE,
    SEX,
    WORKCLASS,
)
from .raw import NumberColumn, RawColumn, RawTable, TextColumn, join_tables
from .schema import Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEMO_ROWS", "DEMO_SCHEMA", "demo_blocks", "demo_table"]

Codes: TypeAlias = npt.NDArray[np.int64]

DEMO_ROWS: Final = 45_222
"""Number of Adult's complete rows."""
DEMO_BINS: Final = 16
BLOCK: Final = 1 << 16

DEMO_SCHEMA: Final = Schema(
    {
        name: Categories(categories=DEMO_CATEGORIES[name])
        if name in DEMO_CATEGORIES
        else msgspec.structs.replace(
            Bins.equal(*DEMO_RANGES[name], bins=DEMO_BINS), kind="integers"
        )
        for name in DEMO_ATTRIBUTES
    }
)
"""The schema of the demo table. It is public, because it was made from nobody's data."""


def demo_table(rows: int = DEMO_ROWS, *, seed: int = 0) -> pd.DataFrame:
    """Make the demo table."""
    return join_tables(list(demo_blocks(rows, seed=seed))).frame()


def demo_blocks(rows: int = DEMO_ROWS, *, seed: int = 0) -> Iterator[RawTable]:
    """Make the demo table block by block, in bounded memory."""
    # This function is no generator, so that the error does not wait for the first block.
    if rows < 1:
        raise ValueError(f"expected at least 1 row, found {rows}")
    return (
        _block(seed, number).take(slice(rows - start))
        for number, start in enumerate(range(0, rows, BLOCK))
    )


@lru_cache(maxsize=1)
def _block(seed: int, number: int) -> RawTable:
    """Make a block. In a run on threads every party reads the same blocks."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, number])))
    sex = _pick(generator, [*SEX.values()])
    age = np.clip(17 + np.rint(73 * generator.beta(1.6, 3.6, BLOCK)), *DEMO_RANGES["age"]).astype(
        np.int64
    )
    race = _pick(generator, [*RACE.values()])
    education = _pick(generator, [*EDUCATION.values()])
    # Nobody has a degree that takes more years than they have lived.
    education = np.where(
        age < 18, np.minimum(education, 7), np.where(age < 22, np.minimum(education, 9), education)
    )
    band = np.searchsorted(list(MARITAL_BY_AGE), age, side="right") - 1
    marital = _pick(
        generator, [pair[s] for pair in MARITAL_BY_AGE.values() for s in (0, 1)], 2 * band + sex
    )
    relationship = _relationship(generator, marital=marital, sex=sex, age=age)
    schooling = np.searchsorted([8, 9, 12, 13], education, side="right")
    occupation = _pick(
        generator, [row for pair in OCCUPATION_BY_EDUCATION for row in pair], 2 * schooling + sex
    )
    workclass = _workclass(generator, occupation=occupation, age=age)
    abroad = generator.random(BLOCK) < np.array(BORN_ABROAD)[race]
    country = np.where(abroad, 1 + _pick(generator, np.array([*COUNTRIES.values()]).T, race), 0)
    hours = _hours(generator, sex=sex, age=age, workclass=workclass)
    rich = _income(
        generator,
        age=age,
        education=education,
        marital=marital,
        sex=sex,
        hours=hours,
        occupation=occupation,
    )
    gain, loss = _capital(generator, rich=rich)
    weight = np.clip(
        np.rint(generator.lognormal(12.03, 0.58, BLOCK)), *DEMO_RANGES["fnlwgt"]
    ).astype(np.int64)
    codes = {
        "workclass": workclass,
        "education": education,
        "marital-status": marital,
        "occupation": occupation,
        "relationship": relationship,
        "race": race,
        "sex": sex,
        "native-country": country,
        "income": rich,
    }
    numbers = {
        "age": age,
        "fnlwgt": weight,
        "education-num": education + 1,
        "capital-gain": gain,
        "capital-loss": loss,
        "hours-per-week": hours,
    }
    columns: dict[str, RawColumn] = {
        name: TextColumn(codes[name], DEMO_CATEGORIES[name])
        if name in codes
        else NumberColumn(numbers[name])
        for name in DEMO_ATTRIBUTES
    }
    return RawTable(columns, BLOCK)


def _pick(
    generator: np.random.Generator, shares: npt.ArrayLike, groups: Codes | None = None
) -> Codes:
    """Draw a code for each person from the row of shares of the person's group."""
    table = np.atleast_2d(np.asarray(shares, dtype=np.float64))
    borders = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    draws = generator.random(BLOCK)
    if groups is None:
        return _reached(draws, borders[0])
    codes = np.empty(BLOCK, np.int64)
    for group, row in enumerate(borders):
        members = np.flatnonzero(groups == group)
        codes[members] = _reached(draws[members], row)
    return codes


def _reached(draws: npt.NDArray[np.float64], borders: npt.NDArray[np.float64]) -> Codes:
    """Count for each draw the borders that it has reached, without the last one, which is 1."""
    codes = np.zeros(len(draws), np.uint8)
    for border in borders[:-1]:
        codes += draws >= border
    return codes.astype(np.int64)


def _relationship(
    generator: np.random.Generator, *, marital: Codes, sex: Codes, age: Codes
) -> Codes:
    """Draw relationships: spouses by sex, the others by a row of shares.

    The rows are for singles under 25, who mostly live with their parents, for other singles, and
    for those who were married.
    """
    shares = np.array(
        [(0, 0, 800, 130, 20, 50), (0, 0, 250, 610, 90, 50), (0, 0, 60, 570, 330, 40)]
    )
    group = np.where((marital == 0) & (age < 25), 0, np.where(marital == 0, 1, 2))
    without_spouse = _pick(generator, shares, group)
    is_spouse = (marital == 1) | (marital == 6)
    return np.where(is_spouse, np.where(sex == 0, 0, 1), without_spouse)


def _workclass(generator: np.random.Generator, *, occupation: Codes, age: Codes) -> Codes:
    group = np.where(occupation == 9, 1, np.where((occupation == 1) | (occupation == 11), 2, 0))
    return _pick(
        generator, np.array([*WORKCLASS.values()]).T, np.where((age > 60) & (group == 0), 1, group)
    )


def _hours(generator: np.random.Generator, *, sex: Codes, age: Codes, workclass: Codes) -> Codes:
    """Draw hours: half of all work exactly 40; men, the self-employed and mid-life work longer."""
    self_employed = np.isin(workclass, (1, 2))
    mean = 46.0 - 11.0 * sex + 5.0 * self_employed - 12.0 * (age < 22) - 14.0 * (age > 65)
    free = np.clip(np.rint(generator.normal(mean, 11.0)), *DEMO_RANGES["hours-per-week"]).astype(
        np.int64
    )
    return np.where(
        generator.random(BLOCK) < np.where((age < 22) | (age > 65) | self_employed, 0.25, 0.56),
        40,
        free,
    )


def _income(
    generator: np.random.Generator,
    *,
    age: Codes,
    education: Codes,
    marital: Codes,
    sex: Codes,
    hours: Codes,
    occupation: Codes,
) -> Codes:
    """Draw incomes. Schooling, mid-life, marriage, hours and occupation raise the odds of 50K."""
    odds = (
        -2.66
        + 0.30 * (education - 8)
        - 0.0018 * (age - 50.0) ** 2
        + 2.3 * ((marital == 1) | (marital == 6))
        - 0.50 * sex
        + 0.035 * (hours - 40)
        + PAY_OF_OCCUPATION[occupation]
    )
    rich: Codes = (generator.random(BLOCK) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    return rich


def _capital(generator: np.random.Generator, *, rich: Codes) -> tuple[Codes, Codes]:
    """Draw gains and losses. Most people have neither; gains depend on income."""
    has_gain = generator.random(BLOCK) < np.where(rich == 1, 0.21, 0.042)
    size = np.rint(generator.lognormal(np.where(rich == 1, 9.3, 8.0), 0.7))
    gain = np.where(has_gain, np.clip(size, 100, DEMO_RANGES["capital-gain"][1]), 0).astype(
        np.int64
    )
    has_loss = ~has_gain & (generator.random(BLOCK) < np.where(rich == 1, 0.10, 0.032))
    lost = np.clip(np.rint(generator.normal(1900, 300, BLOCK)), 150, DEMO_RANGES["capital-loss"][1])
    return gain, np.where(has_loss, lost, 0).astype(np.int64)
