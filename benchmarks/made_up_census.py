"""A made-up census table: single ages, labels without an order, and combinations nobody has.

Its attributes are like those of an excerpt of the American Community Survey, as NIST publishes
them: an age of 100 labels, and labels that follow from it, such as the schooling of a child under
three, which is "none". All figures are made up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["made_up_census"]


def made_up_census(rows: int, *, seed: int = 0) -> pd.DataFrame:
    """Make up people; each column is one of texts."""
    generator = np.random.default_rng(seed)
    age = _ages(rows, generator)
    sex = generator.integers(2, size=rows)
    origin = generator.choice(8, rows, p=[0.66, 0.13, 0.08, 0.05, 0.04, 0.02, 0.01, 0.01])
    is_adult = age >= 15
    married = _chosen(
        generator,
        np.where(is_adult, 1 / (1 + np.exp(-(age - 28) / 5)), 0.0) * np.where(age > 75, 0.6, 0.8),
    )
    was = generator.random(rows)
    status = np.select(
        [~is_adult, married, (was < (age - 55) / 45) & (age > 55), was < (age - 25) / 120],
        ["N", "1", "2", "3"],
        default="4",
    )
    schooling = np.clip(age - 2, 0, 9) + generator.integers(0, 2, rows) * (age > 18)
    talent = generator.normal(size=rows) + 0.3 * (origin == 0)
    schooling = np.where(
        age > 20, np.clip(6 + np.round(2 * talent), 1, 12), np.minimum(schooling, 9)
    )
    earning = talent + 0.12 * schooling + 0.4 * (sex == 0) + generator.normal(size=rows)
    earning += np.where((age > 30) & (age < 66), 0.6, -0.4)
    decile = np.searchsorted(np.quantile(earning[is_adult], np.arange(0.1, 1, 0.1)), earning)
    is_housed = generator.random(rows) > np.select(
        [age > 80, (age > 17) & (age < 23)], [0.12, 0.2], 0.01
    )
    owns = _chosen(generator, 1 / (1 + np.exp(-(0.6 * earning + (age - 45) / 25))))
    served = _chosen(generator, np.where(age > 17, 0.02 + 0.2 * (sex == 0) * (age > 65), 0.0))
    sight = _chosen(generator, 0.01 + 0.12 * (age / 100) ** 3)
    columns: dict[str, npt.NDArray[np.str_]] = {
        "age": age.astype(str),
        "sex": sex.astype(str),
        "status": status,
        "origin": origin.astype(str),
        "schooling": np.where(age < 3, "N", schooling.astype(int).astype(str)),
        "income": np.where(is_adult, decile.astype(str), "N"),
        "housing": np.where(is_housed, "1", np.where(age > 60, "2", "3")),
        "tenure": np.where(is_housed, np.where(owns, "1", "2"), "0"),
        "veteran": np.where(age > 17, np.where(served, "1", "0"), "N"),
        "sight": np.where(sight, "1", "2"),
    }
    return pd.DataFrame(columns)


def _ages(rows: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw ages from a pyramid of a census, with two larger generations."""
    years = np.arange(100)
    pyramid = np.clip(1.2 - years / 95, 0.01, None)
    pyramid += 0.35 * np.exp(-(((years - 27) / 8) ** 2)) + 0.4 * np.exp(-(((years - 58) / 8) ** 2))
    return generator.choice(years, rows, p=pyramid / pyramid.sum())


def _chosen(
    generator: np.random.Generator, chances: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    return np.asarray(generator.random(len(chances)) < chances)
