"""What `sottovoce schema` would make better of the schema that a run inferred."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.parties import blocks, infer, merge, read_schema
from sottovoce.parties.inferred_doubts import inferred_doubts

ROWS = 2000


def doubts_of(values: object, *, name: str = "column") -> str:
    table = pd.DataFrame({name: values})
    return "; ".join(inferred_doubts(merge([infer(blocks(table))])))


def drawn(values: list[str]) -> np.ndarray:
    return np.random.default_rng(1).choice(np.array(values, dtype=object), ROWS)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([str(age) for age in range(20, 80)], "has 60 categories, and would have 12 bins"),
        ([f"2024-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 28)], "would have"),
        ([f"{day}.{month}.2024" for month in (1, 2) for day in range(1, 28)], "54 categories"),
        (["yes", "no", "Yes"], "spellings that would be one category: 'Yes' and 'yes'"),
        (["1", "2", "3", "-999"], "has '-999', which would be missing"),
        (["a", "b", "--"], "has '--', which would be missing"),
        ([f"name {number}" for number in range(90)], "has 90 categories; those of few rows"),
    ],
)
def test_a_doubt_names_column_and_reason(values: list[str], match: str) -> None:
    text = doubts_of(drawn(values))
    assert text.startswith("column ")
    assert match in text


def test_bins_have_doubts_too() -> None:
    numbers = np.random.default_rng(2).integers(0, 100, ROWS)
    assert doubts_of(numbers) == ""
    numbers[::50] = -999
    assert "-999, which may stand for missing" in doubts_of(numbers)
    assert "its name says that it identifies" in doubts_of(numbers, name="patient_id")
    days = pd.Series(pd.date_range("2015-01-01", periods=ROWS).strftime("%Y-%m-%d"))
    assert "bins by quarter" in doubts_of(days) or "bins by year" in doubts_of(days)


def test_plain_columns_have_none() -> None:
    assert doubts_of(drawn(["F", "M"])) == ""
    assert doubts_of(pd.Categorical(drawn(["yes", "Yes", "--"]))) == ""
    assert doubts_of(drawn(["0", "1", "2"])) == ""


def test_they_follow_from_the_schema_alone() -> None:
    """Other rows with the same labels say the same, so nothing further is revealed."""
    labels = ["yes", "no", "Yes", "--"]
    once, often = (doubts_of(np.array(labels * n, dtype=object)) for n in (5, 400))
    assert once == often


def test_the_report_warns_where_nothing_was_given() -> None:
    table = pd.DataFrame({"answer": drawn(["yes", "no", "Yes"]), "sex": drawn(["F", "M"])})
    run = sottovoce.run("one-way", table, aggregator="masks", seed=1)
    assert any("`sottovoce schema` would read" in text for text in run.report["warnings"])
    proposal = sottovoce.propose_schema(table)
    given = sottovoce.run("one-way", table, aggregator="masks", seed=1, schema=proposal.schema)
    assert not any("sottovoce schema" in text for text in given.report["warnings"])


def test_a_proposed_schema_leaves_no_doubt() -> None:
    """What is proposed for a column is not improved by proposing it again."""
    table = pd.DataFrame({"answer": drawn(["yes", "no", "Yes"]), "age": drawn(["20", "21", "90"])})
    assert inferred_doubts(read_schema(sottovoce.propose_schema(table).schema)) == []
