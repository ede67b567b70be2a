"""The demo table: what is written down is what comes out."""

import numpy as np
import pandas as pd
import pytest

from sottovoce.parties.demo import (
    BLOCK,
    DEMO_ATTRIBUTES,
    DEMO_CATEGORIES,
    DEMO_RANGES,
    EDUCATION,
    RACE,
    demo_table,
)

SIZES = {"workclass": 7, "education": 16, "marital-status": 7, "occupation": 14, "relationship": 6, "race": 5, "sex": 2,
         "native-country": 41, "income": 2}  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return demo_table(60_000, seed=3)


def test_domains(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == DEMO_ATTRIBUTES
    assert {name: len(set(values)) for name, values in DEMO_CATEGORIES.items()} == SIZES
    for name, values in DEMO_CATEGORIES.items():
        assert set(table[name]) <= set(values)
    for name, (low, high) in DEMO_RANGES.items():
        assert table[name].between(low, high).all()


def test_the_seed_decides() -> None:
    assert demo_table(100, seed=1).equals(demo_table(100, seed=1))
    assert not demo_table(100, seed=1).equals(demo_table(100, seed=2))


def test_the_first_rows_do_not_depend_on_how_many() -> None:
    long = demo_table(BLOCK + 10, seed=1)
    assert long.iloc[:500].equals(demo_table(500, seed=1))
    assert long.iloc[: BLOCK + 1].equals(demo_table(BLOCK + 1, seed=1))
    assert len(long) == BLOCK + 10


def test_what_follows_from_what(table: pd.DataFrame) -> None:
    assert len(set(zip(table["education"], table["education-num"], strict=True))) == 16
    assert set(table.loc[table["relationship"] == "Husband", "sex"]) == {"Male"}
    assert set(table.loc[table["relationship"] == "Wife", "sex"]) == {"Female"}


def test_marginals_are_those_written_down(table: pd.DataFrame) -> None:
    races = table["race"].value_counts(normalize=True)
    for name, share in RACE.items():
        # Six standard deviations: fails with probability below 1e-8 for a wrong seed.
        expected = share / sum(RACE.values())
        assert abs(races[name] - expected) < 6 * np.sqrt(expected / len(table))
    grown = table[table["age"] >= 22]
    expected = EDUCATION["HS-grad"] / sum(EDUCATION.values())
    assert abs((grown["education"] == "HS-grad").mean() - expected) < 6 * np.sqrt(expected / len(grown))
    assert 0.2 < (table["income"] == ">50K").mean() < 0.3
    assert 0.88 < (table["capital-gain"] == 0).mean() < 0.95


@pytest.mark.parametrize(
    ("one", "other"),
    [("marital-status", "relationship"), ("sex", "occupation"), ("education", "occupation"), ("education", "income"),
     ("marital-status", "income"), ("race", "native-country"), ("workclass", "occupation")],
)  # fmt: skip
def test_dependencies_are_there(table: pd.DataFrame, one: str, other: str) -> None:
    joint = pd.crosstab(table[one], table[other], normalize="all").to_numpy()
    alone = joint.sum(axis=1, keepdims=True) @ joint.sum(axis=0, keepdims=True)
    inside = joint > 0
    assert float((joint[inside] * np.log(joint[inside] / alone[inside])).sum()) > 0.01


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 row, found 0"):
        demo_table(0)
