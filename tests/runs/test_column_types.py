"""Types that come back as they came in, from a DataFrame, an Arrow table and a Parquet file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator.within_bins import narrow_numbers
from sottovoce.parties import column_types, load, read_schema
from sottovoce.runs.value_types import with_type

ROWS = 300
ZONE = "Europe/Berlin"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Make a table with a column of every width, with and without missing values."""
    generator = np.random.default_rng(5)
    missing = generator.random(ROWS) < 0.1
    grades = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    days = pd.to_timedelta(generator.integers(0, 600, ROWS), unit="D")
    hours = pd.to_timedelta(generator.integers(0, 14_000, ROWS), unit="h")
    two_days = np.array(["2023-01-01", "2023-03-01"], "datetime64[us]")
    return pd.DataFrame(
        {
            "int8": generator.integers(-100, 100, ROWS).astype(np.int8),
            "uint16": generator.integers(0, 4, ROWS).astype(np.uint16),
            "Int64": pd.Series(generator.integers(0, 100, ROWS), dtype="Int64"),
            "Int32": pd.Series(generator.integers(0, 4, ROWS), dtype="Int32").mask(missing),
            "float32": generator.normal(size=ROWS).astype(np.float32),
            "few_float32": generator.choice([0.1, 0.7], ROWS).astype(np.float32),
            "Float32": pd.Series(generator.normal(size=ROWS), dtype="Float32").mask(missing),
            "boolean": pd.Series(generator.random(ROWS) < 0.5, dtype="boolean").mask(missing),
            "category": pd.Series(generator.choice(["b", "a"], ROWS), dtype="category"),
            "integers": pd.Series(generator.choice([30, 4], ROWS)).astype("category"),
            "ordered": pd.Series(generator.choice(["low", "high"], ROWS)).astype(grades),
            "ns": pd.Series(pd.Timestamp("2023-01-01") + days).astype("datetime64[ns]"),
            "zone": pd.Series(pd.Timestamp("2023-01-01", tz=ZONE) + hours).dt.as_unit("ns"),
            "two_days": pd.Series(generator.choice(two_days, ROWS)),
            "span": pd.Series(pd.to_timedelta(generator.integers(1, 4, ROWS), unit="h")),
            "string": pd.Series(generator.choice(["x", "y"], ROWS), dtype="string"),
            "digits": pd.Series(generator.choice(["01", "1"], ROWS), dtype="string"),
        }
    )  # fmt: skip


def synthetic(data: Any, **options: Any) -> pd.DataFrame:
    run = sottovoce.run(
        "one-way", data, parties=2, aggregator="masks", epsilon=30.0, seed=1, judge=False, **options
    )
    assert run.synthetic is not None
    return run.synthetic


def test_a_frame_has_its_types_again(table: pd.DataFrame) -> None:
    published = synthetic(table)
    assert dict(published.dtypes) == dict(table.dtypes)
    assert {*published["two_days"]} <= {*table["two_days"]}
    assert {*published["span"]} <= {*table["span"]}
    assert {*published["digits"]} <= {"01", "1"}
    for name in ("Int32", "Float32", "boolean"):
        assert published[name].isna().any()
    assert (published["zone"] == published["zone"].dt.normalize()).all()


def test_a_parquet_file_and_an_arrow_table_have_their_types_again(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    table = table.drop(columns="integers")  # Parquet has no categories that are numbers
    table.to_parquet(path := tmp_path / "table.parquet", index=False)
    for source in (path, pa.Table.from_pandas(table, preserve_index=False)):
        assert dict(synthetic(source).dtypes) == dict(table.dtypes)


def test_an_arrow_table_without_notes_of_pandas() -> None:
    """Whole numbers and booleans have a type with missing values where they have some."""
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table(
        {
            "whole": pa.array([1, None, 3] * 100, pa.int16()),
            "full": pa.array([1, 2, 3] * 100, pa.int16()),
            "yes": pa.array([True, None, False] * 100),
            "time": pa.array([0, 86_400, 172_800] * 100, pa.timestamp("s", tz="UTC")),
        }
    )
    types = synthetic(arrow).dtypes.astype(str).to_dict()
    assert types == {
        "whole": "Int16",
        "full": "int16",
        "yes": "boolean",
        "time": "datetime64[s, UTC]",
    }


def test_files_and_a_saved_synthesizer_have_the_types(table: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    columns = table[["int8", "float32", "zone", "ordered"]]
    run = sottovoce.run(
        "one-way", columns, parties=2, aggregator="masks", seed=1, judge=False, parquet=True
    )
    read = pd.read_parquet(io.BytesIO(run.files["synthetic.parquet"]))
    assert dict(read.dtypes) == dict(columns.dtypes)
    text = run.files["synthetic.csv"].decode().splitlines()[1]
    assert run.synthetic is not None
    assert text.split(",")[1] == str(run.synthetic["float32"].iloc[0])
    fitted = sottovoce.Synthesizer("one-way", parties=2, parameters={"aggregator": "masks"})
    fitted.fit(columns).save(tmp_path / "saved")
    sampled = sottovoce.Synthesizer.load(tmp_path / "saved").sample(20)
    assert dict(sampled.dtypes) == dict(columns.dtypes)


def test_a_sparse_column_is_dense_in_a_parquet_file() -> None:
    """Parquet has no sparse columns; pandas refuses to write one."""
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": ["x", "y"] * 50, "v": pd.arrays.SparseArray([0, 1] * 50)})
    run = sottovoce.run(
        "one-way", table, parties=2, aggregator="masks", seed=1, judge=False, parquet=True
    )
    assert run.synthetic is not None
    assert dict(run.synthetic.dtypes) == dict(table.dtypes)
    read = pd.read_parquet(io.BytesIO(run.files["synthetic.parquet"]))
    assert read["v"].dtype == np.int64
    assert read["v"].tolist() == run.synthetic["v"].tolist()


def test_narrow_numbers_keep_their_labels(table: pd.DataFrame) -> None:
    columns = table[["float32", "Float32"]]
    run = sottovoce.run("one-way", columns, parties=2, aggregator="masks", seed=2, judge=False)
    schema = read_schema({**_entries(run)})
    file = pd.read_csv(io.BytesIO(run.files["synthetic.csv"]))
    assert run.labels is not None
    labels = load(run.labels, schema=schema)
    for source in (run.synthetic, file):
        assert source is not None
        for name in map(str, columns):
            assert load(source, schema=schema).codes(name).tolist() == labels.codes(name).tolist()


def _entries(run: sottovoce.Run) -> dict[str, Any]:
    import json

    entries: dict[str, Any] = json.loads(run.files["schema.json"])
    return entries


def test_every_narrow_number_lies_in_its_bin() -> None:
    """Edges that no narrow number hits, and bins in which there is none."""
    edges = [0.1, 0.2, 0.3, 1e-9 + 0.3]
    codes = np.arange(2).repeat(2)
    numbers = np.array([0.1, 0.2, np.nextafter(0.2, 1), 0.3])
    narrow = narrow_numbers(edges, codes, numbers, dtype=np.float32)
    assert narrow is not None
    for value, code in zip(narrow, codes, strict=True):
        for read in (float(value), float(str(value))):
            assert edges[code] < read <= edges[code + 1] or (code == 0 and read == edges[0])
    assert narrow_numbers(edges, np.array([2]), np.array([0.3 + 5e-10]), dtype=np.float32) is None


def test_a_schema_comes_before_the_type() -> None:
    """What the type cannot hold, and what the schema says to be something else, stays."""
    table = pd.DataFrame(
        {
            "age": np.array([3, 70] * 100, np.int8),
            "code": np.array([1, 2] * 100, np.int8),
            "share": np.array([0.5, 1.0] * 100, np.float32),
            "day": np.array(["1900-01-01", "2020-01-01"] * 100, "datetime64[ns]"),
        }
    )
    schema = {
        "age": {"edges": [0, 50, 100_000]},
        "code": ["1", "2"],
        "share": {"edges": [0, 1], "kind": "numbers"},
        "day": {"by": "decade", "range": ["1500-01-01", "2020-12-31"]},
    }
    published = synthetic(table, schema=schema)
    assert published["age"].dtype == np.int64
    assert {*published["code"]} == {"1", "2"}
    assert published["share"].dtype == np.float32
    assert published["day"].dtype.kind == "M"


def test_tables_that_differ_state_no_type() -> None:
    narrow = pd.DataFrame({"age": np.array([1, 2], np.int8), "sex": [True, False]})
    wide = narrow.astype({"age": np.int64})
    assert column_types([narrow, narrow])["age"] == "int8"
    assert "age" not in column_types([narrow, wide])
    assert "sex" in column_types([narrow, wide])
    assert column_types(["people.csv", "elsewhere.parquet"]) == {}
    assert column_types(["people.csv", narrow])["age"] == "int8"


@pytest.mark.parametrize(
    ("day", "zone", "midnight"),
    [
        ("2018-11-04", "America/Sao_Paulo", "2018-11-04 01:00:00-02:00"),  # clocks skip midnight
        ("2018-02-18", "America/Sao_Paulo", "2018-02-18 00:00:00-03:00"),
        ("2023-11-05", "America/Havana", "2023-11-05 00:00:00-04:00"),  # clocks repeat it
    ],
)
def test_midnights_that_clocks_skip_or_repeat_stay_on_their_day(
    day: str, zone: str, midnight: str
) -> None:
    column = with_type(pd.Series(np.array([day], "datetime64[s]")), f"datetime64[ns, {zone}]")
    assert str(column.dtype) == f"datetime64[ns, {zone}]"
    assert str(column.iloc[0]) == midnight


@pytest.mark.parametrize(
    "name", ["", "no-such-type", "float32", "datetime64[ns]", "category[int64]"]
)
def test_types_of_another_family_change_nothing(name: str) -> None:
    column = pd.Series([True, False])
    assert with_type(column, name).equals(column)


@pytest.mark.parametrize(
    "name", ["float64", "Int64", "string", "datetime64[ns]", "category[object]"]
)
def test_a_column_without_values_has_its_type(name: str) -> None:
    column = pd.Series([None, None], dtype=object)
    typed = with_type(column, name)
    assert str(typed.dtype) == name.removesuffix("[object]")
    assert typed.isna().all()


@pytest.mark.parametrize("name", ["bool", "int64"])
def test_a_type_without_missing_values_invents_none(name: str) -> None:
    column = pd.Series([None, None], dtype=object)
    assert with_type(column, name).equals(column)


def test_no_number_becomes_infinite() -> None:
    column = pd.Series([0.5, 1e6])
    assert with_type(column, "float16").equals(column)
    assert str(with_type(column, "float32").dtype) == "float32"


def test_periods_come_back() -> None:
    months = pd.Series(pd.PeriodIndex(["2020-01", "2020-02"] * 100, freq="M"))
    table = pd.DataFrame({"month": months, "sex": ["f", "m"] * 100})
    published = synthetic(table)
    assert published["month"].dtype == months.dtype
    assert {*published["month"]} == {*months}


def test_one_value_of_another_type_changes_no_type() -> None:
    """Pandas makes a column one of objects if one value is no text. Neighbours must look alike."""
    texts = pd.Series(["u", "v"] * 50, dtype="str")
    mixed = pd.Series(["u", "v"] * 49 + ["u", 7], dtype=object)
    schema = {"code": {"categories": ["u", "v"], "other": "rest"}}
    kinds = {synthetic(pd.DataFrame({"code": c}), schema=schema)["code"].dtype
             for c in (texts, mixed)}  # fmt: skip
    assert len(kinds) == 1
    assert "code" not in column_types([pd.DataFrame({"code": mixed})])
