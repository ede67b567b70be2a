"""Schemas: codes, errors that name attribute and row, inference and its union over parties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.parties import DEMO_SCHEMA, Records, Schema, infer, merge, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.parties.schema import Bins

SCHEMA = read_schema({"colour": ["red", "blue"], "size": {"edges": [0, 1, 2.5, 9]}, "age": {"bins": 4, "range": [0, 8]}})


def test_codes() -> None:
    table = pd.DataFrame(
        {"size": [0, 1, 1.1, 2.5, 9], "colour": ["red", "blue", "red", "red", "blue"], "age": [0, 2, 2.01, 6, 8]}
    )
    assert SCHEMA.encode(table).tolist() == [[0, 1, 0, 0, 1], [0, 0, 1, 1, 2], [0, 0, 1, 2, 3]]
    assert SCHEMA.domain.labels["size"] == ("[0, 1]", "(1, 2.5]", "(2.5, 9]")
    assert SCHEMA.domain.shape(["age", "colour"]) == (4, 2)


def test_marginals_are_pandas_own() -> None:
    table = demo_table(3000, seed=4)
    records = Records(table, schema=DEMO_SCHEMA)
    labels = DEMO_SCHEMA.domain.labels
    found = records.marginal(("race", "sex")).reshape(len(labels["race"]), len(labels["sex"]))
    exact = pd.crosstab(table["race"], table["sex"]).reindex(index=labels["race"], columns=labels["sex"], fill_value=0)
    assert np.array_equal(found, exact.to_numpy())
    assert records.marginal(("age",)).sum() == 3000


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"colour": "green"}, r"a category of colour \(red, blue\), found 'green' in row 8"),
        ({"size": -0.1}, "a number from 0 to 9 for size, found '-0.1' in row 8"),
        ({"size": float("nan")}, "found 'nan' in row 8"),
        ({"size": "big"}, "found 'big' in row 8"),
        ({"age": 8.5}, "from 0 to 8 for age"),
    ],
)
def test_values_outside_are_named(row: dict[str, object], message: str) -> None:
    table = pd.DataFrame([{"colour": "red", "size": 1, "age": 1}, {"colour": "red", "size": 1, "age": 1} | row], index=[3, 7])
    with pytest.raises(UsageError, match=message):
        SCHEMA.encode(table)


def test_a_column_that_is_missing() -> None:
    with pytest.raises(UsageError, match="expected a column 'size', as the schema says, found colour"):
        SCHEMA.encode(pd.DataFrame({"colour": ["red"]}))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{", "expected a schema, a JSON object"),
        ("[]", "expected a schema, a JSON object"),
        ("{}", "at least one attribute"),
        ('{"a": []}', "attribute 'a' in .*1 to 65536 different categories"),
        ('{"a": ["x", "x"]}', "different categories"),
        ('{"a": [1]}', "attribute 'a'"),
        ('{"a": {"edges": [1]}}', "finite bin edges that rise"),
        ('{"a": {"edges": [2, 1]}}', "finite bin edges that rise"),
        ('{"a": {"bins": 4}}', "either edges, or bins and range"),
        ('{"a": {"bins": 0, "range": [0, 1]}}', "attribute 'a'"),
        ('{"a": {"bins": 2, "range": [1, 1]}}', "rise"),
        ('{"a": {"bin": 4}}', "attribute 'a'"),
    ],
)
def test_bad_schemas(written: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(written)
    with pytest.raises(UsageError, match=message):
        read_schema(path)


def test_inference() -> None:
    table = pd.DataFrame({"kind": ["b", "a", "b"] * 30, "few": [2, 10, 1] * 30, "many": range(90)})
    schema = merge([infer(table)])
    assert schema.inferred
    assert schema.attributes["kind"] == ("a", "b")
    assert schema.attributes["few"] == ("1", "2", "10")
    assert schema.attributes["many"] == Bins.equal(0, 89, bins=16)
    assert schema.encode(table).shape == (3, 90)


def test_parties_unite_what_they_infer() -> None:
    one = pd.DataFrame({"kind": ["a", "b"], "size": ["1", "2"], "many": [1, 2]})
    other = pd.DataFrame({"kind": ["c"] * 90, "size": ["7"] * 90, "many": range(10, 100)})
    schema = merge([infer(one), infer(other)])
    assert schema.attributes == {"kind": ("a", "b", "c"), "size": ("1", "2", "7"), "many": Bins.equal(1, 99, bins=16)}
    with pytest.raises(UsageError, match="the same columns in every party's data"):
        merge([infer(one), infer(other[["kind"]])])
    with pytest.raises(UsageError, match="texts at another"):
        merge([infer(other), infer(one.assign(many=["x", "y"]))])


def test_too_many_texts_are_no_categories() -> None:
    with pytest.raises(UsageError, match="70000 different texts in 'id': give --schema"):
        infer(pd.DataFrame({"id": [f"p{i}" for i in range(70_000)]}))


def test_a_schema_travels() -> None:
    import msgspec

    for schema in (SCHEMA, DEMO_SCHEMA):
        assert msgspec.json.decode(msgspec.json.encode(schema), type=Schema) == schema


def test_every_role_infers_the_same_order() -> None:
    """A text that reads as NaN has no place among numbers; the order must not depend on how a set is walked through."""
    tables = [
        pd.DataFrame({"a": order})
        for order in (["1", "2", "nan", "10", "3"], ["nan", "3", "2", "10", "1"], ["inf", "NaN", "1"])
    ]
    assert merge([infer(tables[0])]) == merge([infer(tables[1])])
    assert merge([infer(tables[0])]).attributes["a"] == ("1", "2", "3", "10", "nan")
    assert merge([infer(table) for table in tables]).attributes["a"] == ("1", "2", "3", "10", "NaN", "inf", "nan")


def test_missing_values_of_a_data_frame_are_a_category() -> None:
    for values in (["x", None, "y"], [1.5, float("nan"), 2.5], pd.array([1, None, 2], dtype="Int64")):
        table = pd.DataFrame({"t": values})
        schema = merge([infer(table)])
        assert "nan" in schema.domain.labels["t"]
        assert schema.encode(table).shape == (1, 3)
    with pytest.raises(UsageError, match="numbers in 't', found 1 missing"):
        infer(pd.DataFrame({"t": [*map(float, range(100)), None]}))


def test_labels_of_narrow_bins_stay_apart() -> None:
    labels = Bins((1_000_000, 1_000_001, 1_000_002)).labels
    assert labels == ("[1000000, 1000001]", "(1000001, 1000002]")
    assert Bins.equal(0, 1, bins=3).labels == ("[0, 0.333333]", "(0.333333, 0.666667]", "(0.666667, 1]")


def test_codes_do_not_wrap() -> None:
    with pytest.raises(UsageError, match="2 to 65536 finite bin edges"):
        read_schema({"a": {"edges": list(range(70_001))}})


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_numbers_at_one_party_and_no_number_at_another(text: str) -> None:
    numbers, other = pd.DataFrame({"a": range(90)}), pd.DataFrame({"a": [text, "1"]})
    with pytest.raises(UsageError, match="texts at another"):
        merge([infer(numbers), infer(other)])


def test_one_number_spelt_in_many_ways_is_categories() -> None:
    assert len(infer(pd.DataFrame({"a": ["0" * n + "7" for n in range(80)]})).attributes["a"]) == 80  # type: ignore[arg-type]


def test_names_of_columns() -> None:
    from sottovoce.parties import load

    assert list(load(pd.DataFrame({0: [1], "b": [2]}), rows=None, seed=0).columns) == ["0", "b"]
    with pytest.raises(UsageError, match="found b twice"):
        load(pd.DataFrame([[1, 2]], columns=["b", "b"]), rows=None, seed=0)
