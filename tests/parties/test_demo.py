"""The demo table has the shares and dependences of its figures."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sottovoce.parties.demo import BLOCK, DEMO_ROWS, demo_blocks, demo_table
from sottovoce.parties.demo_figures import (
    DEMO_ATTRIBUTES,
    DEMO_CATEGORIES,
    DEMO_RANGES,
    EDUCATION,
    MARITAL,
    MARITAL_BY_AGE,
    OCCUPATION,
    OCCUPATION_BY_EDUCATION,
    RACE,
    SEX,
    WORKCLASS,
)

SIZES = {
    "workclass": 7,
    "education": 16,
    "marital-status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 41,
    "income": 2,
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return demo_table(60_000, seed=3)


def assert_shares(drawn: "pd.Series[str]", written: dict[str, float]) -> None:
    """Compare within six standard deviations and one row.

    With another seed each comparison fails with probability below 1e-7.
    """
    assert len(drawn) > 500
    for name, share in written.items():
        expected = share / sum(written.values())
        allowed = 6 * np.sqrt(expected * (1 - expected) / len(drawn)) + 6 / len(drawn)
        assert abs((drawn == name).mean() - expected) < allowed, name


def information(first: "pd.Series[str]", second: "pd.Series[str]") -> float:
    """Mutual information in nats; numbers in 16 bins."""
    binned = [
        pd.cut(column, 16, labels=False) if pd.api.types.is_numeric_dtype(column) else column
        for column in (first, second)
    ]
    joint = pd.crosstab(binned[0], binned[1], normalize="all").to_numpy()
    alone = joint.sum(axis=1, keepdims=True) @ joint.sum(axis=0, keepdims=True)
    support = joint > 0
    return float((joint[support] * np.log(joint[support] / alone[support])).sum())


def test_domains(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == DEMO_ATTRIBUTES
    assert {*DEMO_CATEGORIES, *DEMO_RANGES} == set(DEMO_ATTRIBUTES)
    assert {name: len(set(values)) for name, values in DEMO_CATEGORIES.items()} == SIZES
    for name, values in DEMO_CATEGORIES.items():
        assert set(table[name]) <= set(values)
        assert {type(value) for value in table[name]} == {str}
    for name, (low, high) in DEMO_RANGES.items():
        assert table[name].between(low, high).all()
        assert table[name].dtype == np.int64


def test_every_category_occurs_in_enough_rows() -> None:
    table = demo_table(4 * BLOCK, seed=3)
    assert {name: set(table[name]) for name in DEMO_CATEGORIES} == {
        name: set(categories) for name, categories in DEMO_CATEGORIES.items()
    }


def test_the_seed_decides() -> None:
    assert demo_table(100, seed=1).equals(demo_table(100, seed=1))
    assert not demo_table(100, seed=1).equals(demo_table(100, seed=2))
    assert demo_table(100).equals(demo_table(100, seed=0))


def test_the_global_random_state_is_not_used() -> None:
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    demo_table(10)
    assert np.random.random() == expected  # noqa: NPY002


def test_the_first_rows_do_not_depend_on_how_many() -> None:
    long = demo_table(2 * BLOCK + 10, seed=1)
    assert len(long) == 2 * BLOCK + 10
    for rows in (1, 500, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK):
        assert long.iloc[:rows].equals(demo_table(rows, seed=1)), rows
    assert not long.iloc[:BLOCK].equals(long.iloc[BLOCK : 2 * BLOCK].reset_index(drop=True))


def test_blocks_make_up_the_table() -> None:
    blocks = [block.frame() for block in demo_blocks(2 * BLOCK + 10, seed=1)]
    assert [len(block) for block in blocks] == [BLOCK, BLOCK, 10]
    assert pd.concat(blocks, ignore_index=True).equals(demo_table(2 * BLOCK + 10, seed=1))


def test_the_default_has_as_many_rows_as_adult() -> None:
    assert len(demo_table()) == sum(map(len, demo_blocks())) == DEMO_ROWS == 45_222


def test_attributes_that_determine_others(table: pd.DataFrame) -> None:
    years = {name: number for number, name in enumerate(EDUCATION, 1)}
    assert years["HS-grad"] == 9
    assert years["Bachelors"] == 13
    assert (table["education"].map(years) == table["education-num"]).all()
    assert set(table.loc[table["relationship"] == "Husband", "sex"]) == {"Male"}
    assert set(table.loc[table["relationship"] == "Wife", "sex"]) == {"Female"}
    spouse = table["relationship"].isin(["Husband", "Wife"])
    assert (
        spouse == table["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    ).all()
    assert table.loc[table["age"] < 22, "education-num"].max() <= 10
    assert not ((table["capital-gain"] > 0) & (table["capital-loss"] > 0)).any()


def test_marginals_are_those_written_down(table: pd.DataFrame) -> None:
    assert_shares(table["race"], dict(RACE))
    assert_shares(table["sex"], dict(SEX))
    assert_shares(table.loc[table["age"] >= 22, "education"], dict(EDUCATION))
    assert 0.2 < (table["income"] == ">50K").mean() < 0.3
    assert 0.90 < (table["capital-gain"] == 0).mean() < 0.94


def test_conditionals_are_those_written_down(table: pd.DataFrame) -> None:
    ages = [*MARITAL_BY_AGE, DEMO_RANGES["age"][1] + 1]
    for (low, high), pair in zip(pairwise(ages), MARITAL_BY_AGE.values(), strict=True):
        for sex, married in zip(SEX, pair, strict=True):
            chosen = table["age"].between(low, high - 1) & (table["sex"] == sex)
            assert_shares(
                table.loc[chosen, "marital-status"], dict(zip(MARITAL, married, strict=True))
            )
    years = [1, 9, 10, 13, 14, 17]  # no diploma, high school, some college, bachelor, more
    for (low, high), lines in zip(pairwise(years), OCCUPATION_BY_EDUCATION, strict=True):
        for sex, shares in zip(SEX, lines, strict=True):
            chosen = table["education-num"].between(low, high - 1) & (table["sex"] == sex)
            assert_shares(
                table.loc[chosen, "occupation"], dict(zip(OCCUPATION, shares, strict=True))
            )
    in_service = table["occupation"].isin(["Prof-specialty", "Protective-serv"])
    often_self_employed = ~in_service & (
        (table["occupation"] == "Farming-fishing") | (table["age"] > 60)
    )
    for group, chosen in enumerate(
        (~in_service & ~often_self_employed, often_self_employed, in_service)
    ):
        assert_shares(
            table.loc[chosen, "workclass"],
            {name: shares[group] for name, shares in WORKCLASS.items()},
        )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("age", "marital-status"),
        ("marital-status", "relationship"),
        ("sex", "relationship"),
        ("education", "occupation"),
        ("sex", "occupation"),
        ("occupation", "income"),
        ("education", "income"),
        ("age", "income"),
        ("sex", "income"),
        ("hours-per-week", "income"),
        ("marital-status", "income"),
        ("capital-gain", "income"),
        ("race", "native-country"),
        ("workclass", "occupation"),
        ("sex", "hours-per-week"),
        ("workclass", "hours-per-week"),
    ],
)
def test_dependent_attributes(table: pd.DataFrame, first: str, second: str) -> None:
    assert information(table[first], table[second]) > 0.01


def test_what_is_independent_stays_so(table: pd.DataFrame) -> None:
    # The bias of the estimate is (rows - 1)(columns - 1) / 2n, below 0.0001 here.
    assert information(table["race"], table["sex"]) < 0.001


@pytest.mark.parametrize("rows", [0, -1])
def test_no_rows_are_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=f"^expected at least 1 row, found {rows}$"):
        demo_table(rows)
    with pytest.raises(ValueError, match=f"^expected at least 1 row, found {rows}$"):
        demo_blocks(rows)  # at the call, before any block is asked for


def test_importing_does_not_import_pandas() -> None:
    code = "import sys, sottovoce.parties.demo; sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_a_party_with_the_demo_does_not_import_pandas() -> None:
    """Importing pandas takes half a second in every process."""
    code = """
import sys
from sottovoce.parties import DEMO, DEMO_SCHEMA, load, read_split
for schema in (None, DEMO_SCHEMA):
    assert len(load(DEMO, schema=schema, rows=300, split=read_split("even", parties=3))) == 100
assert not {"pandas", "scipy", "networkx", "sklearn", "matplotlib"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
