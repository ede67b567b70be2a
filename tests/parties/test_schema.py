"""Schemas: codes, errors that name attribute and row, and inference by several parties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.parties import (
    DEMO_SCHEMA,
    Bins,
    Categories,
    Records,
    Schema,
    blocks,
    infer,
    load,
    merge,
    read_schema,
    write_schema,
)
from sottovoce.parties.demo import demo_table
from sottovoce.parties.raw import RawTable
from sottovoce.parties.schema import TableCodes

SCHEMA = read_schema(
    {
        "colour": ["red", "blue"],
        "size": {"edges": [0, 1, 2.5, 9]},
        "age": {"bins": 4, "range": [0, 8]},
    }
)


def inferred(*frames: pd.DataFrame) -> Schema:
    """Infer a schema from the blocks of one party's table."""
    return infer(map(RawTable.of, frames))


def encoded(schema: Schema, frame: pd.DataFrame) -> TableCodes:
    return schema.encode(RawTable.of(frame))


def test_codes() -> None:
    table = pd.DataFrame(
        {
            "size": [0, 1, 1.1, 2.5, 9],
            "colour": ["red", "blue", "red", "red", "blue"],
            "age": [0, 2, 2.01, 6, 8],
        }
    )
    assert [column.tolist() for column in encoded(SCHEMA, table)] == [
        [0, 1, 0, 0, 1],
        [0, 0, 1, 1, 2],
        [0, 0, 1, 2, 3],
    ]
    assert SCHEMA.domain.labels["size"] == ("[0, 1]", "(1, 2.5]", "(2.5, 9]")
    assert SCHEMA.domain.shape(["age", "colour"]) == (4, 2)


def test_marginals_are_pandas_own() -> None:
    table = demo_table(3000, seed=4)
    records = Records(table, schema=DEMO_SCHEMA)
    labels = DEMO_SCHEMA.domain.labels
    counts = records.marginal(("race", "sex")).reshape(len(labels["race"]), len(labels["sex"]))
    exact = pd.crosstab(table["race"], table["sex"]).reindex(
        index=labels["race"], columns=labels["sex"], fill_value=0
    )
    assert np.array_equal(counts, exact.to_numpy())
    assert records.marginal(("age",)).sum() == 3000


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"colour": "green"}, r"a category of colour \(red, blue\), found 'green' in row 2"),
        ({"size": -0.1}, "a number from 0 to 9 for size, found '-0.1' in row 2"),
        ({"size": float("nan")}, "found 'nan' in row 2"),
        ({"size": "big"}, "found 'big' in row 2"),
        ({"age": 8.5}, "from 0 to 8 for age"),
    ],
)
def test_values_outside_are_named(row: dict[str, object], message: str) -> None:
    table = pd.DataFrame(
        [{"colour": "red", "size": 1, "age": 1}, {"colour": "red", "size": 1, "age": 1} | row]
    )
    with pytest.raises(UsageError, match=message):
        encoded(SCHEMA, table)


def test_a_column_that_is_missing() -> None:
    with pytest.raises(
        UsageError, match="expected a column 'size', as the schema says, found colour"
    ):
        encoded(SCHEMA, pd.DataFrame({"colour": ["red"]}))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{", "expected a schema, a JSON object"),
        ("[]", "expected a schema, a JSON object"),
        ("{}", "at least one attribute"),
        ('{"a": []}', "attribute 'a' in .*1 to 65536 different categories"),
        ('{"a": ["y", "x", "x"]}', "attribute 'a' in .*different categories, found 'x' twice"),
        (
            '{"a": {"bins": 4, "range": [5, 1]}}',
            "attribute 'a' in .*: expected a range that rises, found 5 to 1",
        ),
        ('{"a": [1]}', "attribute 'a'"),
        ('{"a": {"edges": [1]}}', "finite bin edges that rise"),
        ('{"a": {"edges": [2, 1]}}', "finite bin edges that rise"),
        ('{"a": {"bins": 4}}', "either categories, or edges, or bins and range"),
        ('{"a": {"bins": 0, "range": [0, 1]}}', "attribute 'a'"),
        ('{"a": {"bins": 2, "range": [1, 1]}}', "rise"),
        ('{"a": {"bin": 4}}', "attribute 'a'"),
        (
            '{"a": {"categories": ["x"], "edges": [0, 1]}}',
            "either categories, or edges, or bins and range",
        ),
        ('{"a": {"categories": ["x"], "missing": "maybe"}}', "attribute 'a'"),
        (
            '{"a": {"categories": ["x"], "missing": "drop", "missing_as": []}}',
            "at least one text in missing_as",
        ),
        (
            '{"a": {"categories": ["?"], "missing": "category"}}',
            "another category for missing values than '\\?'",
        ),
    ],
)
def test_bad_schemas(written: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(written)
    with pytest.raises(UsageError, match=message):
        read_schema(path)


def whole(bins: Bins) -> Bins:
    return msgspec.structs.replace(bins, kind="integers")


def test_inference() -> None:
    table = pd.DataFrame(
        {"kind": ["b", "a", "b"] * 30, "few": [2, 10, 1] * 30, "many": range(0, 270, 3)}
    )
    schema = merge([inferred(table)])
    assert schema.inferred
    assert schema.attributes["kind"] == Categories(categories=("a", "b"))
    assert schema.attributes["few"] == Categories(categories=("1", "2", "10"), kind="integers")
    assert schema.attributes["many"] == whole(Bins.equal(0, 267, bins=16))
    assert [len(column) for column in encoded(schema, table)] == [90, 90, 90]


def test_numbers_with_texts_among_them_are_refused_with_the_way_out() -> None:
    values = [*map(str, range(0, 1000, 5)), *["N"] * 12] * 3
    with pytest.raises(
        UsageError, match="in 'age', found 200 different numbers and 'N' in 36 rows"
    ):
        inferred(pd.DataFrame({"age": values}))
    few = [*map(str, range(8)), "N"] * 20
    assert "N" in merge([inferred(pd.DataFrame({"age": few}))]).domain.labels["age"]


def test_parties_unite_what_they_infer() -> None:
    first = pd.DataFrame({"kind": ["a", "b"], "size": ["1", "2"], "many": [1, 2]})
    second = pd.DataFrame({"kind": ["c"] * 90, "size": ["7"] * 90, "many": range(10, 280, 3)})
    schema = merge([inferred(first), inferred(second)])
    assert schema.attributes == {
        "kind": Categories(categories=("a", "b", "c")),
        "size": Categories(categories=("1", "2", "7"), kind="texts"),
        "many": whole(Bins.equal(1, 277, bins=16)),
    }
    with pytest.raises(
        UsageError, match="every party's data, found many, size in some of them alone"
    ):
        merge([inferred(first), inferred(second[["kind"]])])
    with pytest.raises(UsageError, match="other texts at another"):
        merge([inferred(second), inferred(first.assign(many=["x", "y"]))])


def test_too_many_texts_are_no_categories() -> None:
    with pytest.raises(
        UsageError,
        match="more than 65536 different texts in 'id': leave it out, --drop id, or give --schema",
    ):
        inferred(pd.DataFrame({"id": [f"p{i}" for i in range(70_000)]}))


@pytest.mark.parametrize("block", [1, 7, 300])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (
            [f"p{i}" for i in range(300)],
            "found 300 different values in 300 rows, most of which occur once",
        ),
        (
            [f"p{i // 2}" for i in range(100)] + [f"q{i}" for i in range(101)],
            "found 151 different values in 201 rows, most of which occur once",
        ),
        ([*range(299), "x"], "found 300 different values in 300 rows, most of which"),
        (
            [f"{i:06}" for i in range(300)],
            "found 300 different values in 300 rows, most of which occur once",
        ),
        ([*range(7_000, 7_300), "?"], "found 300 different values in 300 rows, whole numbers"),
        ([*range(0, 598, 2)], "found 299 different values in 299 rows, whole numbers"),
    ],
)
def test_identifiers_are_no_categories(values: list[Any], what: str, block: int) -> None:
    """The attack: each identifier was published as a category of its own."""
    table = pd.DataFrame({"sex": "f", "patient id": values})
    parts = [table.iloc[start : start + block] for start in range(0, len(table), block)]
    with pytest.raises(UsageError) as caught:
        inferred(*parts)
    assert what in str(caught.value)
    assert str(caught.value).startswith("expected categories or measurements in 'patient id', ")
    assert str(caught.value).endswith(": leave it out, --drop 'patient id', or give --schema")
    assert "300" not in caught.value.public


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([f"{1000 + i:,}.25" for i in range(300)], "numbers"),
        ([f"${i}.50" for i in range(300)], "numbers"),
        ([f"{i},5" for i in range(300)], "numbers"),
        ([f"{i % 28 + 1:02}/{i % 12 + 1:02}/{1700 + i}" for i in range(300)], "dates"),
        ([f"p{i}" for i in range(300)], ""),
        ([f"{i:06}" for i in range(300)], ""),
        ([*range(299), "x"], ""),
    ],
)
def test_refused_numbers_and_dates_are_named(values: list[Any], what: str) -> None:
    with pytest.raises(UsageError) as caught:
        inferred(pd.DataFrame({"sex": "f", "paid": values}))
    hint = f"; most are {what} in another notation: `sottovoce schema` proposes bins for them"
    assert str(caught.value).endswith(f"or give --schema{hint if what else ''}")
    assert "notation" not in caught.value.public


@pytest.mark.parametrize(
    "values",
    [
        [f"p{i}" for i in range(16)],  # few values
        [f"p{i // 2}" for i in range(300)],  # each occurs twice
        [f"p{i // 2}" for i in range(200)] + [f"q{i}" for i in range(200)],  # not more than half
        [i + 0.5 for i in range(300)],  # measurements
        [*range(0, 900, 3)],  # with gaps
        [*range(299), 0],  # two rows are the same
        [*range(64)],  # in a table of few rows
    ],
)
def test_what_is_no_identifier(values: list[Any]) -> None:
    (rule,) = merge([inferred(pd.DataFrame({"a": values}))]).attributes.values()
    is_text = isinstance(values[0], str)
    assert isinstance(rule, Categories if is_text else Bins)


def test_a_schema_travels() -> None:
    import msgspec

    for schema in (SCHEMA, DEMO_SCHEMA):
        assert msgspec.json.decode(msgspec.json.encode(schema), type=Schema) == schema


def test_every_role_infers_the_same_order() -> None:
    """A text that reads as NaN has no place among numbers.

    The order must not depend on the order of a set.
    """
    tables = [
        pd.DataFrame({"a": order})
        for order in (
            ["1", "2", "-nan", "10", "3"],
            ["-nan", "3", "2", "10", "1"],
            ["inf", "NAN", "1"],
        )
    ]
    assert merge([inferred(tables[0])]) == merge([inferred(tables[1])])
    assert merge([inferred(tables[0])]).domain.labels["a"] == ("1", "2", "3", "10", "-nan")
    assert merge([inferred(table) for table in tables]).domain.labels["a"] == (
        "1",
        "2",
        "3",
        "10",
        "-nan",
        "NAN",
        "inf",
    )


def test_missing_values_get_a_category() -> None:
    for values in (
        ["x", None, "y"],
        [1.5, float("nan"), 2.5],
        pd.array([1, None, 2], dtype="Int64"),
        ["x", "?", ""],
    ):
        table = pd.DataFrame({"t": values})
        schema = merge([inferred(table)])
        assert schema.domain.labels["t"][-1] == "?"
        absent = (table["t"].isna() | table["t"].astype(str).isin(["?", ""])).sum()
        assert (
            encoded(schema, table)[0].tolist().count(len(schema.domain.labels["t"]) - 1) == absent
        )
    numbers = pd.DataFrame({"t": [*map(float, range(0, 200, 2)), 0.0, None]})
    schema = merge([inferred(numbers)])
    bins = Bins.equal(0, 198, bins=16, missing="category")
    assert schema.attributes["t"] == msgspec.structs.replace(bins, step=1.0)
    assert encoded(schema, numbers)[0][-1] == 16


@pytest.mark.parametrize("block", [1, 7, 100])
def test_inference_does_not_depend_on_blocks(block: int) -> None:
    table = pd.DataFrame(
        {
            "n": [f"{i // 2}" for i in range(99)] + ["x"],
            "m": range(0, 300, 3),
            "few": [None, 3] * 50,
        }
    )
    parts = [table.iloc[start : start + block] for start in range(0, 100, block)]
    assert inferred(*parts) == inferred(table)


def test_what_missing_values_become(tmp_path: Path) -> None:
    rules = {
        "job": {"categories": ["cook", "NA"], "missing": "category", "missing_as": ["none", ""]},
        "age": {"bins": 2, "range": [0, 10], "missing": "drop"},
    }
    (tmp_path / "schema.json").write_text(json.dumps(rules))
    schema = read_schema(tmp_path / "schema.json")
    (tmp_path / "people.csv").write_text(
        "job,age,town\ncook,1,x\nNA,?,x\nnone,10,x\n,5.5,x\nNA,nan,x\n"
    )
    records = load(str(tmp_path / "people.csv"), schema=schema)
    assert schema.domain.labels["job"] == ("cook", "NA", "none")
    assert list(records.column("job")) == ["cook", "none", "none"]
    assert list(records.column("age")) == ["[0, 5]", "(5, 10]", "(5, 10]"]
    (tmp_path / "more.csv").write_text("job,age\ncook,1\n?,1\n")
    with pytest.raises(
        UsageError, match=r"expected a category of job \(cook, NA\), found '\?' in row 2"
    ):
        load(str(tmp_path / "more.csv"), schema=schema)


def test_rows_are_named_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("n\n" + "1\n" * 70_000 + "x\n")
    schema = read_schema({"n": {"edges": [0, 2]}})
    with pytest.raises(UsageError, match="a number from 0 to 2 for n, found 'x' in row 70001"):
        load(str(path), schema=schema)
    path.write_text("n\n" + "1\n" * 70_000 + '"[0, 2]"\n')
    assert load(str(path), schema=schema).marginal(["n"]).tolist() == [70_001]


def test_published_labels_are_read_back() -> None:
    for schema in (DEMO_SCHEMA, SCHEMA):
        domain = schema.domain
        codes = [np.arange(40) % size for size in domain.shape(domain.attributes)]
        again = encoded(schema, domain.decode(codes).astype(str))
        assert all(np.array_equal(column, back) for column, back in zip(codes, again, strict=True))


def test_numbers_lie_in_the_same_bin_however_they_are_read(tmp_path: Path) -> None:
    edges = [0.1 * n for n in range(12)]
    schema = read_schema({"x": {"edges": edges}})
    texts = [repr(edge) for edge in edges] + [
        "0.30000000000000004",
        "0.3",
        "0.7000000000000001",
        "0.7",
    ]
    expected = encoded(schema, pd.DataFrame({"x": texts}))[0]
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(texts) + "\n")
    for table in (str(tmp_path / "x.csv"), pd.DataFrame({"x": [float(text) for text in texts]})):
        assert np.array_equal(load(table, schema=schema).codes("x"), expected)


@pytest.mark.parametrize("schema", [SCHEMA, DEMO_SCHEMA], ids=["own", "demo"])
def test_a_schema_is_read_as_it_was_written(schema: Schema, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(write_schema(schema))
    assert read_schema(tmp_path / "s.json") == schema
    odd = read_schema(
        {
            'é"': {"categories": ["a"], "missing": "drop", "missing_as": ["-"]},
            "b": {"edges": [0, 0.1, 9]},
        }
    )
    (tmp_path / "odd.json").write_text(write_schema(odd))
    assert read_schema(tmp_path / "odd.json") == odd


def test_labels_of_narrow_bins_stay_apart() -> None:
    labels = Bins(edges=(1_000_000, 1_000_001, 1_000_002)).labels
    assert labels == ("[1000000, 1000001]", "(1000001, 1000002]")
    assert Bins.equal(0, 1, bins=3).labels == (
        "[0, 0.333333]",
        "(0.333333, 0.666667]",
        "(0.666667, 1]",
    )


def test_codes_do_not_wrap() -> None:
    with pytest.raises(UsageError, match="2 to 65536 finite bin edges"):
        read_schema({"a": {"edges": list(range(70_001))}})


@pytest.mark.parametrize("text", ["-nan", "inf"])
def test_numbers_at_one_party_and_no_number_at_another(text: str) -> None:
    numbers, texts = pd.DataFrame({"a": range(0, 270, 3)}), pd.DataFrame({"a": [text, "1"]})
    with pytest.raises(UsageError, match="other texts at another"):
        merge([inferred(numbers), inferred(texts)])


def test_one_number_spelt_in_many_ways_is_categories() -> None:
    assert (
        len(
            inferred(pd.DataFrame({"a": ["0" * n + "7" for n in range(80)] * 2})).domain.labels["a"]
        )
        == 80
    )


def test_names_of_columns() -> None:
    assert load(pd.DataFrame({0: [1], "b": [2]})).attributes == ("0", "b")
    with pytest.raises(UsageError, match="found b twice"):
        load(pd.DataFrame([[1, 2]], columns=["b", "b"]))


@pytest.mark.parametrize(
    "labels",
    [
        ["01", "02"],
        ["01", "1"],
        ["0", "0.5", "1"],
        ["1.10", "2.20"],
        ["true", "false"],
        ["INF", "1"],
        ["+1", "-1"],
        ["1e5", "2e5"],
        ["True", "1", "1.0"],
        ["1", "x"],
        [" 1", "1 "],
        ["{q}", "{0}", "{"],
    ],
)
def test_texts_stay_texts(labels: list[str], tmp_path: Path) -> None:
    """A reader that turns texts into numbers or truth values would change some of them."""
    table = pd.DataFrame({"a": labels * 3 + labels[:1], "b": 1})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    schema = read_schema({"a": labels})
    for source in (
        str(tmp_path / "t.csv"),
        str(tmp_path / "t.parquet"),
        table,
        table.astype({"a": "category"}),
    ):
        assert load(source, schema=schema).marginal(["a"]).tolist() == [4, *[3] * (len(labels) - 1)]
        assert set(infer(blocks(source)).domain.labels["a"]) == set(labels)
    table.iloc[:1].assign(a="?").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UsageError, match=r"expected a category of a .*found '\?' in row 1"):
        load(str(tmp_path / "t.csv"), schema=schema)


def test_equal_values_of_different_types_are_different_texts() -> None:
    schema = read_schema({"a": ["0", "1", "True", "False"]})
    for values in ([1, True, 0, False], [True, 1, False, 0]):
        texts = load(pd.DataFrame({"a": values}, dtype=object), schema=schema).column("a")
        assert list(texts) == [str(value) for value in values]
    zeros = pd.DataFrame({"a": [-0.0, 0.0]})
    assert load(zeros, schema=read_schema({"a": ["0.0"]})).marginal(["a"]).tolist() == [2]


def test_integers_of_parquet_with_nulls_stay_integers(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = str(tmp_path / "t.parquet")
    large = 2**60 + 1
    for values in (
        arrow.array([1, 2, None, large], arrow.int64()),
        arrow.array([1, 2, None, large]).dictionary_encode(),
    ):
        parquet.write_table(arrow.table({"k": values}), path)
        assert merge([infer(blocks(path))]).domain.labels["k"] == ("1", "2", str(large), "?")
        schema = read_schema({"k": {"edges": [0, 1, 9], "missing": "drop"}})
        assert load(path, schema=schema, rows=3).marginal(["k"]).tolist() == [1, 1]
    parquet.write_table(arrow.table({"k": [[1], [2]]}), path)
    with pytest.raises(
        UsageError, match=r"expected texts and numbers in .*found list<.*in column 'k'"
    ):
        infer(blocks(path))


def test_blocks_do_not_depend_on_row_groups(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = str(tmp_path / "t.parquet")
    parquet.write_table(arrow.table({"k": list(range(140_000))}), path, row_group_size=777)
    assert [len(block) for block in blocks(path)] == [65_536, 65_536, 8_928]
    assert [len(block) for block in blocks(path, rows=70_000)] == [65_536, 4_464]
    assert [block.columns["k"].value(0) for block in blocks(path)] == ["0", "65536", "131072"]


def test_a_column_without_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n,1\n?,1\n")
    for source in (
        str(tmp_path / "t.csv"),
        pd.DataFrame({"a": ["", "?"], "b": 1}),
        pd.DataFrame({"a": [None, "?"], "b": 1}),
    ):
        schema = merge([infer(blocks(source))])
        assert load(source, schema=schema).marginal(["a"]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [10**18 + i for i in range(100)],
            "a range that 16 bins can divide, found 1e.18 to 1e.18 in 'a': give --schema",
        ),
        ([-1.7e308, 1.7e308, *range(100)], "a range that 16 bins can divide"),
        ([f"p{i}" for i in range(65_536)] * 2 + [""], "more than 65536 different texts in 'a'"),
    ],
)
def test_columns_that_cannot_be_inferred(values: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        merge([inferred(pd.DataFrame({"a": values}))])


def test_parties_with_too_many_texts_together() -> None:
    tables = [pd.DataFrame({"a": [f"{name}{i}" for i in range(40_000)] * 2}) for name in "pq"]
    with pytest.raises(UsageError, match="more than 65536 different texts in 'a'"):
        merge([inferred(table) for table in tables])


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b'{"a": ["\xff"]}', "expected a schema, a JSON object"),
        (b"[" * 100_000, "expected a schema, a JSON object"),
        (b'{"a": ["x"], "a": ["y"]}', "found: 'a' twice"),
        (b'{"a": {"edges": [0, NaN]}}', "finite bin edges"),
        (b'{"a": {"edges": [-1.7e308, 1e999]}}', "finite bin edges"),
    ],
)
def test_schemas_that_are_not_json(written: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(written)
    with pytest.raises(UsageError, match=message) as caught:
        read_schema(tmp_path / "s.json")
    assert len(str(caught.value)) < 500
    (tmp_path / "s.json").write_bytes(b'\xef\xbb\xbf{"a": {"edges": [-1.7e308, 1.7e308]}}')
    assert read_schema(tmp_path / "s.json").domain.shape(["a"]) == (1,)


def test_a_dictionary_may_have_numpys_numbers() -> None:
    """Edges are often made by numpy."""
    edges = np.linspace(0, 1, 4)
    for written in (edges, list(edges), tuple(edges.tolist())):
        assert read_schema({"age": {"edges": written}}) == read_schema(
            {"age": {"edges": edges.tolist()}}
        )
    assert (
        read_schema({"age": {"bins": np.int64(4), "range": (np.float32(0), 8)}})
        .attributes["age"]
        .labels[0]
        == "[0, 2]"
    )
    with pytest.raises(UsageError, match="object: expected labels, numbers and lists of them"):
        read_schema({"age": [object()]})
