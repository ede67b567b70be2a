"""Published values: numbers, whole numbers and dates within bins, and types as they came."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.parties import load, read_schema, write_schema

ROWS = 1500


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "weight": generator.normal(70, 12, ROWS).round(2),
            "age": generator.integers(17, 90, ROWS),
            "sex": generator.choice(["f", "m"], ROWS),
            "children": generator.integers(0, 5, ROWS),
            "score": generator.choice([0.5, 1.5], ROWS),
            "insured": generator.random(ROWS) < 0.3,
            "admitted": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(generator.integers(0, 900, ROWS), unit="D"),
        }
    )


def run(data: pd.DataFrame, **options: Any) -> sottovoce.Run:
    return sottovoce.run("one-way", data, parties=2, aggregator="masks", judge=False, **options)


def kinds(table: pd.DataFrame) -> str:
    return "".join(dtype.kind for dtype in table.dtypes)


def test_an_inferred_schema_gives_back_the_types_that_came_in(people: pd.DataFrame) -> None:
    result = run(people, seed=2)
    assert result.synthetic is not None
    assert kinds(result.synthetic) == kinds(people) == "fiOifbM"
    assert result.labels is not None
    assert result.labels["age"].str.match(r"[\[(].*, .*\]").all()
    # A reader of the file finds the same types and values.
    read = pd.read_csv(io.BytesIO(result.files["synthetic.csv"]), parse_dates=["admitted"])
    assert kinds(read) == kinds(people)
    for name in people:
        assert (read[name] == result.synthetic[name]).all()


def test_values_have_the_labels_that_were_published(people: pd.DataFrame) -> None:
    result = run(people, seed=2)
    schema = read_schema(json.loads(result.files["schema.json"]))
    assert result.synthetic is not None
    assert result.labels is not None
    values, labels = (load(table, schema=schema) for table in (result.synthetic, result.labels))
    for name in map(str, people):
        assert values.codes(name).tolist() == labels.codes(name).tolist()


def test_values_follow_from_the_seed(people: pd.DataFrame) -> None:
    files = [run(people, seed=seed).files["synthetic.csv"] for seed in (2, 2, 3)]
    assert files[0] == files[1] != files[2]
    result = run(people)  # without a seed the table and the file have the same values, too
    assert result.synthetic is not None
    assert result.synthetic.to_csv(index=False).encode() == result.files["synthetic.csv"]


def test_labels_on_request(people: pd.DataFrame) -> None:
    result = run(people, seed=2, labels=True)
    assert result.synthetic is not None
    assert result.labels is not None
    assert result.synthetic.equals(result.labels)
    assert b"(21.5, 26]" in result.files["synthetic.csv"]
    assert "labels=True" in result.report["command"]


SCHEMA: dict[str, Any] = {
    "age": {"edges": [0, 18, 65, 99], "missing": "category", "missing_as": ["-1"]},
    "height": {"edges": [1, 1.5, 2.5], "missing": "category"},
    "weight": {"edges": [40, 60, 80, 120], "kind": "numbers"},
    "born": {"edges": ["1920-01-01", "1970-06-30", "2020-12-31"], "missing": "category"},
    "code": ["01", "2"],
}
TABLE = pd.DataFrame(
    {
        "age": [3, -1, 70, 18] * 100,
        "height": ["1.2", "?", "2.25", "1.75"] * 100,
        "weight": [41.5, 60, 61, 100.25] * 100,
        "born": ["1950-02-28", "?", "1999-12-31 10:00:00", "2020-12-31"] * 100,
        "code": ["01", "2"] * 200,
    }
)


def test_a_schema_says_what_its_bins_hold() -> None:
    result = run(TABLE, seed=4, schema=SCHEMA, epsilon=50)
    table = result.synthetic
    assert table is not None
    assert [str(dtype) for dtype in table.dtypes[:3]] == ["Int64", "float64", "float64"]
    assert table["born"].dtype.kind == "M"
    assert table["age"].dropna().between(0, 99).all()
    assert not (table["weight"] % 1 == 0).all()
    assert table["born"].dropna().between("1920-01-01", "2020-12-31").all()
    assert set(table["code"]) == {"01", "2"}  # categories of a file are texts
    for name in ("age", "height", "born"):
        assert abs(table[name].isna().mean() - 0.25) < 0.05
    # Missing ages are written as the schema reads them, so the file can be read again.
    file = pd.read_csv(io.BytesIO(result.files["synthetic.csv"]), dtype=str, keep_default_na=False)
    assert (file["age"] == "-1").sum() == table["age"].isna().sum()
    again = load(file, schema=read_schema(SCHEMA))
    assert result.labels is not None
    assert again.count("age", "-1") == (result.labels["age"] == "-1").sum()


def test_kinds_survive_being_written() -> None:
    for entries in (
        SCHEMA,
        {"a": {"bins": 4, "range": [0, 8], "kind": "numbers"}},
        {"a": {"bins": 4, "range": [0, 8]}},
        {"a": {"bins": 4, "range": ["2024-01-01", "2024-12-31"]}},
        {"a": {"edges": [0.5, 1, 2], "kind": "integers"}},
    ):
        schema = read_schema(entries)
        assert read_schema(json.loads(write_schema(schema))) == schema


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"edges": [0, 18, 65]}, "integers"),
        ({"edges": [0.5, 18, 65]}, "numbers"),
        ({"bins": 16, "range": [17, 90]}, "integers"),
        ({"bins": 16, "range": [0, 1]}, "numbers"),
        ({"edges": [0, 18, 65], "kind": "numbers"}, "numbers"),
        ({"bins": 2, "range": ["2024-01-01", "2024-01-03"]}, "dates"),
        ({"edges": [0, 2**52, 2**53]}, "integers"),
        ({"edges": [0, 10**19, 2 * 10**19]}, "numbers"),
        ({"edges": [-(2**54), 0, 5]}, "numbers"),
    ],
)
def test_the_kind_of_bins(entry: dict[str, Any], kind: str) -> None:
    rule = read_schema({"a": entry}).attributes["a"]
    assert isinstance(rule, sottovoce.parties.Bins)
    assert rule.kind == kind


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"edges": [0, 0.2, 0.4], "kind": "integers"}, "a whole number in every bin of integers"),
        ({"edges": [0, 10**19], "kind": "integers"}, "no edge beyond"),
        ({"edges": ["2024-01-01", "2024-01-01"]}, "edges that rise"),
        ({"edges": ["2024-01-01", "soon"]}, "dates such as 2024-01-31, found 'soon'"),
        ({"edges": ["2024-01-01", 3]}, "expected"),
        ({"edges": ["2024-01-01", "2024-02-01"], "kind": "numbers"}, "found '2024-01-01'"),
        ({"edges": [1, 2], "kind": "dates"}, "expected"),
        ({"categories": ["a"], "kind": "integers"}, "categories that are integers"),
        ({"edges": [1, 2], "kind": "ordered"}, "categories of the kind ordered, found bins"),
        ({"edges": [1, 2], "kind": "ages"}, "ages"),
    ],
)
def test_wrong_kinds(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(sottovoce.UsageError, match=complaint):
        read_schema({"a": entry})


def test_dates_outside_are_refused_by_name() -> None:
    schema = read_schema({"born": {"edges": ["2020-01-01", "2020-12-31"]}})
    for wrong in ("2021-01-01", "20200105", "2020-W02-1", "soon", "5"):
        with pytest.raises(
            sottovoce.UsageError, match="a date from 2020-01-01 to 2020-12-31 for born, found"
        ):
            load(pd.DataFrame({"born": ["2020-01-01", wrong]}), schema=schema)


def test_parties_with_numbers_and_with_dates_are_refused() -> None:
    dates = pd.DataFrame({"x": pd.date_range("2020-01-01", periods=100).astype(str)})
    numbers = pd.DataFrame({"x": np.arange(0, 1000, 10) / 7})
    with pytest.raises(sottovoce.UsageError, match="found dates at one party and other texts"):
        sottovoce.run("one-way", [dates, numbers], aggregator="masks")


def test_whole_numbers_that_no_type_holds() -> None:
    """Few different ones stay texts; many have bins, and their values lie in them."""
    accounts = ["12345678901234567890", "99999999999999999999"]
    generator = np.random.default_rng(3)
    sizes = [int(size) * 10**10 for size in generator.integers(0, 2 * 10**9, 400)]
    result = run(pd.DataFrame({"account": accounts * 200, "size": sizes}), seed=5)
    table = result.synthetic
    assert table is not None
    assert set(table["account"]) <= set(accounts)
    assert table["size"].between(0, 2e19).all()


@pytest.mark.parametrize(
    "how",
    [
        {"decimal": ",", "thousands": "."},
        {"decimal": ",", "unit": "kg"},
        {"thousands": ",", "unit": "$"},
        {"formats": ["%m/%d/%Y"]},
        {"formats": ["%d.%m.%Y", "%Y-%m-%d"]},
        {"formats": ["%d %B %Y"]},
    ],
)
def test_a_published_file_is_read_with_the_schema_of_the_real_one(how: dict[str, Any]) -> None:
    """Numbers have its decimal sign and dates its first format, so every label comes back."""
    dates = {"kind": "dates", "edges": ["2021-01-01", "2021-06-30", "2021-12-31", "2023-12-31"]}
    numbers: dict[str, Any] = {"edges": [0, 1.234, 1.5, 1000, 25000.5]}
    schema = read_schema({"x": {**(dates if "formats" in how else numbers), **how}})
    if "formats" in how:
        days = pd.date_range("2021-01-01", "2023-12-31").strftime(how["formats"][0])
        real = pd.DataFrame({"x": days})
    else:
        values = np.random.default_rng(5).uniform(0, 1.5, 900).round(3)
        sign = how.get("decimal", ".")
        real = pd.DataFrame({"x": [str(value).replace(".", sign) for value in values]})
    entry = json.loads(write_schema(schema))
    result = sottovoce.run("one-way", real, parties=2, schema=entry, seed=4, judge=False)
    assert result.labels is not None
    file = io.BytesIO(result.files["synthetic.csv"])
    read = load(
        pd.read_csv(file, dtype=str), schema=read_schema(json.loads(result.files["schema.json"]))
    )
    labels = load(result.labels, schema=schema)
    assert read.codes("x").tolist() == labels.codes("x").tolist()
