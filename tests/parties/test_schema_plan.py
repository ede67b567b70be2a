"""Plans of schemas: what is public, what is learnt, and rules that refuse nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.parties import (
    LEARN_ALL,
    Bins,
    Categories,
    ColumnChoice,
    Learnt,
    Records,
    Schema,
    SchemaPlan,
    read_plan,
    read_schema,
    write_schema,
)
from sottovoce.parties.raw import RawTable
from sottovoce.parties.rules import Missing
from sottovoce.parties.tallies import count_texts, tally_numbers


def codes(rule: Categories | Bins, values: list[object]) -> list[int]:
    (column,) = Schema({"a": rule}).encode(RawTable.of(pd.DataFrame({"a": values})))
    return [int(code) for code in column]


@pytest.mark.parametrize(
    ("missing", "expected"), [("refuse", [0, 2, 2, 2]), ("category", [0, 2, 3, 3])]
)
def test_other_takes_what_is_not_listed(missing: Missing, expected: list[int]) -> None:
    rule = Categories(categories=("x", "y"), other="rest", missing=missing)
    assert codes(rule, ["x", "z", "?", None]) == expected
    assert rule.labels[2] == "rest"


@pytest.mark.parametrize("as_text", [False, True])
def test_clip_takes_every_number_and_every_text(as_text: bool) -> None:
    rule = Bins(edges=(0.0, 1.0, 2.0, 3.0), clip=True)
    values: list[object] = [-5.0, 0.5, 1.5, 99.0, np.inf, None]
    expected = [0, 0, 1, 2, 2, 1]
    if as_text:
        values = [*("-5", "0.5", "1.5", "99", "inf", "?"), "twelve"]
        expected = [*expected, 1]
    assert codes(rule, values) == expected
    with pytest.raises(UsageError, match="expected a number from 0 to 3"):
        codes(Bins(edges=rule.edges), [99.0])


def test_a_published_table_is_read_by_its_schema() -> None:
    """Labels of learnt rules are read as the codes that they stand for."""
    rule = Categories(categories=("x",), other="(other)", missing="category")
    assert codes(rule, [*rule.labels]) == [0, 1, 2]
    bins = Bins(edges=(0.0, 1.0, 2.0), clip=True, missing="category")
    assert codes(bins, [*bins.labels]) == [0, 1, 2]


@pytest.mark.parametrize(
    "entries",
    [
        {"a": {"categories": ["x"], "other": "(other)"}},
        {"a": {"edges": [0, 1, 5], "clip": True}},
        {"a": {"edges": [0, 1, 5], "clip": True, "missing": "category"}},
        {"a": {"bins": 3, "range": [0, 9], "clip": True}},
        {"a": {"categories": [], "other": "all"}},
    ],
)
def test_rules_that_refuse_nothing_are_written_and_read(entries: dict[str, Any]) -> None:
    schema = read_schema(entries)
    assert schema.attributes["a"].fallback is not None
    path = write_schema(schema)
    import json

    assert read_schema(json.loads(path)) == schema


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"categories": ["x"], "other": "x"}, "a label that is no category"),
        ({"categories": ["x"], "clip": True}, "clip beside bins"),
        ({"edges": [0, 1], "other": "x"}, "other beside categories"),
        ({"private": "numbers", "edges": [0, 1]}, "nothing but bins beside private"),
        ({"private": "numbers", "bins": 1}, "2 to 256 bins"),
        ({"private": "categories", "bins": 4}, "of categories"),
        ({"private": "secret"}, "expected one of 'any', .* for private, found 'secret'"),
        ("public", "Expected `object`"),
    ],
)
def test_mistakes_in_a_plan(entry: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_plan({"a": entry})


def test_plans() -> None:
    assert read_plan("private") is LEARN_ALL
    plan = read_plan({"sex": ["f", "m"], "age": "private", "*": {"private": "numbers", "bins": 4}})
    assert isinstance(plan, SchemaPlan)
    whole = plan.of(["income", "age", "sex"])
    assert [*whole.attributes] == ["income", "age", "sex"]
    assert whole.learnt == {"income": Learnt(kind="numbers", bins=4), "age": Learnt()}
    assert whole.public == {"sex": Categories(categories=("f", "m"))}
    named = read_plan({"sex": ["f", "m"], "age": "private"})
    assert isinstance(named, SchemaPlan)
    assert [*named.select(ColumnChoice(drop=("sex",))).attributes] == ["age"]
    with pytest.raises(UsageError, match="expected a column 'sex'"):
        named.of(["age"])
    with pytest.raises(UsageError, match="only a run can learn"):
        read_schema({"age": "private"})
    with pytest.raises(UsageError, match='"drop"'):
        read_plan({"sex": {"categories": ["f"], "missing": "drop"}, "age": "private"})


def test_public_rules_of_a_plan_refuse_values_before_the_run() -> None:
    plan = read_plan({"sex": ["f", "m"], "age": "private"})
    assert isinstance(plan, SchemaPlan)
    table = pd.DataFrame({"sex": ["f", "m", "x"], "age": [1, 2, 3]})
    with pytest.raises(UsageError, match="expected a category of sex"):
        Records(table).with_plan(plan)
    kept = Records(table[:2]).with_plan(plan)
    assert kept.plan == plan
    assert kept.take(np.array([0])).plan == plan


def test_tallies_count_every_row_once() -> None:
    bins = Bins(edges=(0.0, 1.0, 2.0), clip=True)
    numbers = RawTable.of(pd.DataFrame({"a": [0.5, 2.0, 9.0, np.nan]})).columns["a"]
    assert tally_numbers(numbers, bins).tolist() == [1, 2, 0, 1]
    texts = RawTable.of(pd.DataFrame({"a": ["0.5", "x", "x", "?", None, "2"]})).columns["a"]
    assert tally_numbers(texts, bins).tolist() == [1, 1, 2, 2]
    assert count_texts(texts) == {"0.5": 1, "x": 2, "2": 1}
    assert count_texts(numbers) == {"0.5": 1, "2.0": 1, "9.0": 1}
