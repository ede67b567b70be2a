"""Neighbouring tables in which columns do not go together, on made-up statistics that need them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from sottovoce.parties import Records
from sottovoce.parties.crossed import WAYS, CrossedTables, two_counts

Statistic = Callable[[Records], object]
ROWS = 60


def records() -> Records:
    chance = np.random.default_rng(1)
    return Records(
        pd.DataFrame(
            {
                "town": chance.choice(["Bern", "Oslo", "Rome"], ROWS),
                "age": np.arange(ROWS) + 20,
                "wage": chance.permutation(ROWS),
            }
        )
    )


def columns(of: Records) -> pd.DataFrame:
    table = pd.DataFrame({name: np.asarray(of.column(name)) for name in of.attributes})
    return table.astype({"age": int, "wage": int})


def pairs(count: int) -> list[tuple[Records, Records]]:
    generator = np.random.default_rng(2)
    tables = CrossedTables(records(), generator)
    return [
        tables.pair(row=int(generator.integers(ROWS)) if way % 3 else 0, way=way)[:2]
        for way in range(count)
    ]


def test_two_tables_differ_in_one_row_at_most_and_have_the_same_values() -> None:
    before = columns(records())
    for number, (first, second) in enumerate(pairs(40 * len(WAYS))):
        one, other = columns(first), columns(second)
        differs = np.flatnonzero((one != other).any(axis=1))
        assert len(differs) <= 1, number
        for name in before.columns:
            assert set(one[name]) | set(other[name]) <= set(before[name])


def largest_in_each_town(of: Records) -> object:
    return columns(of).groupby("town")["wage"].max().reindex(["Bern", "Oslo", "Rome"]).fillna(0)


def by_third_of_age(of: Records) -> object:
    table = columns(of)
    third = table["age"].rank(method="first").to_numpy() * 3 // (ROWS + 1)
    return table["wage"].groupby(third).sum()


def next_to_each_other(of: Records) -> object:
    table = columns(of)
    rises = (table["town"].to_numpy()[:-1] == "Bern") & (table["town"].to_numpy()[1:] == "Rome")
    return np.array([(rises * np.diff(table["wage"])).sum()])


@pytest.mark.parametrize(
    ("statistic", "believed"),
    [
        (largest_in_each_town, ROWS - 1),
        (by_third_of_age, 2 * (ROWS - 1)),
        (next_to_each_other, ROWS - 1),
    ],
)
def test_some_pair_changes_what_takes_several_columns_at_once(
    statistic: Statistic, believed: float
) -> None:
    """The largest change is about twice what somebody might believe, and tables find more."""
    largest = max(
        float(np.abs(np.asarray(statistic(first)) - np.asarray(statistic(second))).sum())
        for first, second in pairs(300 * len(WAYS))
    )
    assert largest > believed


def test_in_two_counts_two_labels_cross_a_number_at_once() -> None:
    first, second = (
        columns(table)["town"].value_counts() for table in two_counts(records(), count=9)
    )
    assert (first["Bern"], first["Rome"]) == (9, 8)
    assert (second["Bern"], second["Rome"]) == (8, 9)
    assert first["Oslo"] == second["Oslo"] == ROWS - 17
