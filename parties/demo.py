"""The demo table: census-like people, made up.

Adult's 15 attributes and their domain sizes, with the dependencies that one expects: age and sex
with marriage, marriage with relationship, education with occupation, all of them with income. Every
figure below is written down here, rounded, from general knowledge of the United States' labour
force in the 1990s, such as the Census Bureau and the Bureau of Labor Statistics publish it:
attainment, marital status by age and sex, occupation by schooling, class of worker, hours,
birthplace. No file is read and no record is anybody's. It is for trying protocols out, not for
learning anything about people.

Rows are made in blocks, each from a generator of its own, so the first n rows are the same however
many are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DEMO_ATTRIBUTES",
    "DEMO_CATEGORIES",
    "DEMO_RANGES",
    "DEMO_ROWS",
    "demo_blocks",
    "demo_table",
]

Codes = npt.NDArray[np.int64]
Table = npt.NDArray[np.float64]

DEMO_ROWS: Final = 45_222
"""As many as Adult has complete rows."""
BLOCK: Final = 1 << 16

DEMO_ATTRIBUTES: Final = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
DEMO_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "age": (17, 90),
    "fnlwgt": (12_000, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_400),
    "hours-per-week": (1, 99),
}

# Each line: a category and its share in per mille; lines need not add up to 1000 exactly, they are
# normalised.
EDUCATION: Final = {
    "Preschool": 2,
    "1st-4th": 5,
    "5th-6th": 10,
    "7th-8th": 18,
    "9th": 15,
    "10th": 27,
    "11th": 36,
    "12th": 13,
    "HS-grad": 325,
    "Some-college": 220,
    "Assoc-voc": 43,
    "Assoc-acdm": 33,
    "Bachelors": 167,
    "Masters": 55,
    "Prof-school": 17,
    "Doctorate": 12,
}
"""In the order of education-num, 1 to 16; of those aged 22 and over, as the younger are still at
school.
"""
WORKCLASS: Final = {  # farmers and those past 60 are often their own masters, professionals and guards the government's
    # most, farmers and over 60, professionals and protective services
    "Private": (795, 535, 590),
    "Self-emp-not-inc": (60, 270, 80),
    "Self-emp-inc": (33, 85, 33),
    "Federal-gov": (28, 24, 46),
    "Local-gov": (50, 48, 160),
    "State-gov": (33, 35, 90),
    "Without-pay": (1, 3, 1),
}
RACE: Final = {
    "White": 860,
    "Black": 93,
    "Asian-Pac-Islander": 29,
    "Amer-Indian-Eskimo": 10,
    "Other": 8,
}
SEX: Final = {"Male": 675, "Female": 325}
MARITAL: Final = (
    "Never-married",
    "Married-civ-spouse",
    "Divorced",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
)
MARITAL_BY_AGE: Final = {  # per mille for men, then for women, by age from this year on
    17: ((955, 35, 4, 3, 0, 3, 0), (900, 62, 12, 15, 1, 9, 1)),
    25: ((470, 430, 65, 20, 1, 13, 1), (400, 350, 150, 65, 7, 25, 3)),
    35: ((180, 640, 130, 28, 3, 19, 0), (200, 370, 290, 85, 25, 29, 1)),
    50: ((70, 770, 110, 22, 12, 16, 0), (110, 400, 290, 55, 120, 25, 0)),
    65: ((55, 790, 65, 12, 60, 18, 0), (90, 250, 160, 30, 450, 20, 0)),
}
RELATIONSHIP: Final = (
    "Husband",
    "Wife",
    "Own-child",
    "Not-in-family",
    "Unmarried",
    "Other-relative",
)
OCCUPATION: Final = (
    "Craft-repair",
    "Prof-specialty",
    "Exec-managerial",
    "Adm-clerical",
    "Sales",
    "Other-service",
    "Machine-op-inspct",
    "Transport-moving",
    "Handlers-cleaners",
    "Farming-fishing",
    "Tech-support",
    "Protective-serv",
    "Priv-house-serv",
    "Armed-Forces",
)
OCCUPATION_BY_EDUCATION: Final = (  # per mille, men then women: no diploma, high school, some college, bachelor, more
    (
        (240, 8, 40, 25, 60, 110, 160, 120, 130, 85, 3, 12, 2, 1),
        (40, 10, 30, 130, 130, 370, 150, 15, 45, 20, 4, 6, 50, 0),
    ),
    (
        (265, 15, 85, 55, 95, 70, 120, 110, 85, 60, 12, 26, 1, 1),
        (30, 25, 90, 330, 130, 230, 90, 15, 25, 10, 15, 9, 11, 0),
    ),
    (
        (190, 60, 145, 90, 130, 60, 60, 60, 60, 35, 50, 55, 1, 2),
        (15, 90, 120, 390, 120, 150, 25, 8, 12, 5, 50, 12, 3, 0),
    ),
    (
        (60, 250, 290, 65, 180, 25, 15, 15, 12, 25, 35, 27, 0, 1),
        (8, 360, 210, 210, 110, 50, 8, 3, 4, 4, 28, 5, 0, 0),
    ),
    (
        (15, 610, 240, 20, 60, 8, 5, 4, 3, 12, 13, 9, 0, 1),
        (3, 700, 160, 75, 30, 15, 2, 1, 1, 2, 10, 1, 0, 0),
    ),
)
COUNTRIES: Final = {  # where those born abroad come from, by race in the order of RACE
    "Mexico": (330, 30, 0, 60, 350),
    "Canada": (65, 8, 4, 30, 2),
    "Germany": (65, 25, 2, 10, 5),
    "Cuba": (55, 18, 0, 0, 5),
    "England": (48, 20, 2, 0, 3),
    "El-Salvador": (45, 8, 0, 0, 60),
    "Puerto-Rico": (45, 40, 2, 0, 130),
    "Italy": (40, 0, 0, 0, 2),
    "Poland": (35, 0, 0, 0, 1),
    "Guatemala": (28, 4, 0, 10, 40),
    "Columbia": (24, 10, 0, 0, 40),
    "Dominican-Republic": (20, 60, 0, 0, 140),
    "Portugal": (20, 2, 0, 0, 8),
    "Nicaragua": (17, 8, 0, 0, 15),
    "Greece": (17, 0, 0, 0, 1),
    "Ireland": (16, 0, 0, 0, 1),
    "France": (16, 3, 3, 0, 1),
    "Ecuador": (13, 3, 0, 20, 40),
    "Peru": (13, 3, 0, 10, 25),
    "Iran": (24, 0, 18, 0, 15),
    "Yugoslavia": (9, 0, 0, 0, 1),
    "Hungary": (8, 0, 0, 0, 0),
    "Scotland": (8, 0, 0, 0, 0),
    "Holand-Netherlands": (2, 0, 0, 0, 0),
    "Jamaica": (4, 260, 3, 0, 20),
    "Haiti": (2, 200, 0, 0, 8),
    "Trinadad&Tobago": (2, 70, 8, 0, 20),
    "Honduras": (6, 8, 0, 5, 8),
    "South": (5, 5, 210, 0, 5),
    "China": (3, 0, 190, 0, 2),
    "India": (7, 6, 220, 0, 20),
    "Philippines": (8, 8, 430, 20, 10),
    "Vietnam": (2, 0, 140, 0, 3),
    "Japan": (14, 8, 95, 0, 3),
    "Taiwan": (1, 0, 100, 0, 2),
    "Hong": (1, 0, 48, 0, 2),
    "Cambodia": (0, 0, 45, 0, 2),
    "Thailand": (1, 4, 40, 0, 2),
    "Laos": (0, 0, 42, 0, 2),
    "Outlying-US(Guam-USVI-etc)": (2, 45, 20, 5, 3),
}
BORN_ABROAD: Final = (0.07, 0.08, 0.68, 0.03, 0.55)
DEMO_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "workclass": tuple(WORKCLASS),
    "education": tuple(EDUCATION),
    "marital-status": MARITAL,
    "occupation": OCCUPATION,
    "relationship": RELATIONSHIP,
    "race": tuple(RACE),
    "sex": tuple(SEX),
    "native-country": ("United-States", *COUNTRIES),
    "income": ("<=50K", ">50K"),
}
PAY_OF_OCCUPATION: Final = np.array(
    [0.2, 0.6, 0.9, 0.0, 0.3, -0.9, -0.3, -0.1, -0.7, -1.1, 0.6, 0.5, -2.0, 0.0]
)


def demo_table(rows: int = DEMO_ROWS, *, seed: int = 0) -> pd.DataFrame:
    """Make so many people."""
    import pandas as pd

    return pd.concat(list(demo_blocks(rows, seed=seed)), ignore_index=True)


def demo_blocks(rows: int = DEMO_ROWS, *, seed: int = 0) -> Iterator[pd.DataFrame]:
    """Make people block by block, in bounded memory."""
    if (
        rows < 1
    ):  # not in a generator's body, where it would wait for the first block to be asked for
        raise ValueError(f"expected at least 1 row, found {rows}")
    return (
        _block(seed, number).iloc[: rows - start].copy()
        for number, start in enumerate(range(0, rows, BLOCK))
    )


@lru_cache(
    maxsize=1
)  # in a run on threads every party reads the same blocks, to keep its own rows; callers get a copy
def _block(seed: int, number: int) -> pd.DataFrame:
    import pandas as pd

    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, number])))
    sex = _pick(generator, [*SEX.values()])
    age = np.clip(17 + np.rint(73 * generator.beta(1.6, 3.6, BLOCK)), *DEMO_RANGES["age"]).astype(
        np.int64
    )
    race = _pick(generator, [*RACE.values()])
    education = _pick(generator, [*EDUCATION.values()])
    # Nobody has a degree before the age at which one can have it.
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
    columns: dict[str, npt.NDArray[np.object_] | Codes] = {
        name: np.array(DEMO_CATEGORIES[name], dtype=object)[code] for name, code in codes.items()
    }
    columns |= {
        "age": age,
        "fnlwgt": weight,
        "education-num": education + 1,
        "capital-gain": gain,
        "capital-loss": loss,
        "hours-per-week": hours,
    }
    return pd.DataFrame({name: columns[name] for name in DEMO_ATTRIBUTES})


def _pick(
    generator: np.random.Generator, shares: npt.ArrayLike, given: Codes | None = None
) -> Codes:
    """Draw a code for each person from the line of shares that `given` names (the only line without
    it).
    """
    table = np.atleast_2d(np.asarray(shares, dtype=np.float64))
    borders: Table = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    drawn = generator.random(BLOCK)
    lines = borders[np.zeros(BLOCK, np.int64) if given is None else given]
    codes: Codes = (drawn[:, None] >= lines[:, :-1]).sum(axis=1)
    return codes


def _relationship(
    generator: np.random.Generator, *, marital: Codes, sex: Codes, age: Codes
) -> Codes:
    """Spouses are husbands and wives; the young and single live with their parents, the divorced
    with children or alone.
    """
    lines = np.array([(0, 0, 800, 130, 20, 50), (0, 0, 250, 610, 90, 50), (0, 0, 60, 570, 330, 40)])
    single = np.where((marital == 0) & (age < 25), 0, np.where(marital == 0, 1, 2))
    alone = _pick(generator, lines, single)
    return np.where((marital == 1) | (marital == 6), np.where(sex == 0, 0, 1), alone)


def _workclass(generator: np.random.Generator, *, occupation: Codes, age: Codes) -> Codes:
    group = np.where(occupation == 9, 1, np.where((occupation == 1) | (occupation == 11), 2, 0))
    return _pick(
        generator, np.array([*WORKCLASS.values()]).T, np.where((age > 60) & (group == 0), 1, group)
    )


def _hours(generator: np.random.Generator, *, sex: Codes, age: Codes, workclass: Codes) -> Codes:
    """Half of all work exactly 40 hours; men, the self-employed and those in mid-life work
    longer.
    """
    own_master = np.isin(workclass, (1, 2))
    mean = 46.0 - 11.0 * sex + 5.0 * own_master - 12.0 * (age < 22) - 14.0 * (age > 65)
    free = np.clip(np.rint(generator.normal(mean, 11.0)), *DEMO_RANGES["hours-per-week"]).astype(
        np.int64
    )
    return np.where(
        generator.random(BLOCK) < np.where((age < 22) | (age > 65) | own_master, 0.25, 0.56),
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
    """Log-odds of more than 50K: schooling, mid-life, marriage, hours and occupation raise them."""
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
    """Most have neither gains nor losses; gains go with income."""
    has_gain = generator.random(BLOCK) < np.where(rich == 1, 0.21, 0.042)
    size = np.rint(generator.lognormal(np.where(rich == 1, 9.3, 8.0), 0.7))
    gain = np.where(has_gain, np.clip(size, 100, DEMO_RANGES["capital-gain"][1]), 0).astype(
        np.int64
    )
    has_loss = ~has_gain & (generator.random(BLOCK) < np.where(rich == 1, 0.10, 0.032))
    lost = np.clip(np.rint(generator.normal(1900, 300, BLOCK)), 150, DEMO_RANGES["capital-loss"][1])
    return gain, np.where(has_loss, lost, 0).astype(np.int64)
