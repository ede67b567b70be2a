"""Records: formats that can be read, partitions of rows, and input that is refused."""

import gzip
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sottovoce import UsageError
from sottovoce.parties import Records, load, read_schema, read_split
from sottovoce.parties.raw import RawTable

TABLE = pd.DataFrame({"age": [31, 40, 17], "town": ["Łódź", "", "Bern, Switzerland"]})


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_every_format_gives_the_same_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False)
    records = load(str(path))
    assert records.attributes == ("age", "town")
    assert list(records.column("age")) == ["31", "40", "17"]
    assert list(records.column("town")) == ["Łódź", "", "Bern, Switzerland"]
    assert records.count("town", "") == 1
    assert len(load(str(path), rows=2)) == 2


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.csv", b"", "at least one row in .*empty.csv, found an empty file"),
        ("header.csv", b"a,b\n", "at least one row in .*header.csv, found 0 rows"),
        (
            "ragged.csv",
            b"a,b\n1,2\n1,2,3\n",
            "expected 2 fields in line 3 of .*ragged.csv, as in its header, found 3",
        ),
        ("latin.csv", b"a\n\xff\xfe\n", "utf-8"),
        ("broken.csv.gz", b"not gzip", "gzip"),
        ("broken.zip", b"not zip", "zip"),
        ("broken.csv.xz", b"not xz", "expected a CSV"),
        (
            "flipped.csv.gz",
            gzip.compress(b"a\n" + bytes(range(48, 58)) * 400, mtime=0)[:20] + b"\xff" * 40,
            "expected a CSV",
        ),
        (
            "twice.csv",
            b"a,b,a\n1,2,3\n",
            "different names of columns in .*twice.csv, found a twice",
        ),
        (
            "trailing.csv",
            b"a,b\n1,2,\n",
            "expected 2 fields in line 2 of .*trailing.csv, .* found 3",
        ),
        ("broken.parquet", b"not parquet", "Parquet"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    name: str, content: bytes, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=complaint) as caught:
        load(str(tmp_path / name))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def rows_of(table: pd.DataFrame, *, split: str, parties: int, seed: int = 9) -> list[list[int]]:
    chosen = read_split(split, parties=parties)
    return [
        [int(row) for row in load(table, seed=seed, party=party, split=chosen).column("row")]
        for party in range(1, parties + 1)
    ]


@pytest.mark.parametrize("rows", [4, 1003, 65_536, 150_001])
def test_the_even_partition_gives_every_row_to_one_party(rows: int) -> None:
    table = pd.DataFrame({"row": np.arange(rows)})
    shares = rows_of(table, split="even", parties=4)
    assert sorted(chain(*shares)) == list(range(rows))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert all(np.all(np.diff(rows_of_party) > 0) for rows_of_party in shares)
    assert rows < 5 or shares != rows_of(table, split="even", parties=4, seed=10)


def test_a_partition_by_sizes() -> None:
    table = pd.DataFrame({"row": np.arange(100_003)})
    shares = rows_of(table, split="sizes:50000,3,20000", parties=3)
    assert sorted(chain(*shares)) == list(range(100_003))
    assert [len(rows_of_party) for rows_of_party in shares] == [71_427, 4, 28_572]
    # Rows are random, so their mean is near that of all: within five standard deviations.
    assert abs(np.mean(shares[2]) - 50_001) < 5 * 100_003 / np.sqrt(12 * 28_572)


def test_a_partition_by_an_attribute() -> None:
    table = pd.DataFrame({"row": np.arange(90), "kind": ["b", "a", "c"] * 30, "size": [2, 1] * 45})
    kinds = [
        set(table["kind"].iloc[rows_of_party])
        for rows_of_party in rows_of(table, split="by:kind", parties=3)
    ]
    assert kinds == [{"a"}, {"b"}, {"c"}]
    half = [
        set(zip(table["kind"].iloc[rows_of_party], table["size"].iloc[rows_of_party], strict=True))
        for rows_of_party in rows_of(table, split="by:kind,size", parties=6)
    ]
    assert half == [{(kind, size)} for kind in "abc" for size in (1, 2)]
    mixed = rows_of(table, split="by:kind@0.5", parties=3)
    assert sorted(chain(*mixed)) == list(range(90))
    shares_of_a = [(table["kind"].iloc[rows_of_party] == "a").mean() for rows_of_party in mixed]
    assert 1 > shares_of_a[0] > shares_of_a[1] > shares_of_a[2]


def test_a_partition_by_sizes_and_an_attribute() -> None:
    table = pd.DataFrame({"row": np.arange(100), "kind": ["b", "a"] * 50})
    shares = rows_of(table, split="sizes:7,2,1+by:kind", parties=3)
    assert [len(rows) for rows in shares] == [70, 20, 10]
    counts = [table["kind"].iloc[rows].value_counts().to_dict() for rows in shares]
    assert counts == [{"a": 50, "b": 20}, {"b": 20}, {"b": 10}]


def test_each_label_stays_at_its_home_party() -> None:
    kinds = ["a"] * 50 + ["b"] * 30 + ["c"] * 20 + ["d"] * 5
    table = pd.DataFrame({"row": np.arange(105), "kind": kinds, "size": [1, 2, 3] * 35})

    def labels(split: str, *names: str) -> list[set[str]]:
        shares = rows_of(table, split=split, parties=3)
        assert sorted(chain(*shares)) == list(range(105))
        joined = table[[*names]].astype(str).sum(axis=1)
        return [set(joined.iloc[rows]) for rows in shares]

    # Frequent labels choose first; each party has one before any has two.
    assert labels("labels:kind", "kind") == [{"a"}, {"b"}, {"c", "d"}]
    assert labels("sizes:1,1,9+labels:kind", "kind") == [{"a"}, {"b"}, {"c", "d"}]
    assert labels("sizes:1,2,9+labels:kind@1", "kind") == [{"a"}, {"b"}, {"c", "d"}]
    assert labels("sizes:1,9,2+labels:kind@1", "kind") == [{"a"}, {"b", "d"}, {"c"}]
    pairs = labels("labels:kind,size", "kind", "size")
    assert sum(map(len, pairs)) == len(set().union(*pairs)) == 12


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.8])
def test_the_strength_is_the_share_of_rows_that_are_sure_to_go_home(strength: float) -> None:
    """A label has this share of its rows at home, and of the others what a random split has.

    The number of its rows at home is a hypergeometric one shifted by those sent home. A bound of
    six standard deviations fails with probability below 1e-7 for the nine numbers here.
    """
    table = pd.DataFrame({"row": np.arange(30_000), "kind": ["a", "b", "c"] * 10_000})
    shares = rows_of(table, split=f"sizes:5,3,2+labels:kind@{strength}", parties=3)
    assert sorted(chain(*shares)) == list(range(30_000))
    for home, (rows, weight) in enumerate(zip(shares, (0.5, 0.3, 0.2), strict=True)):
        at_home = int((np.array(rows) % 3 == home).sum())
        expected = 10_000 * (strength + (1 - strength) * weight)
        # The rows that do not go home, and those of them that stay, are both random.
        deviation = np.sqrt(10_000 * (1 - strength) * (strength + weight) + 1)
        assert abs(at_home - expected) < 6 * deviation
    if strength == 0:
        assert [len(rows) for rows in shares] == [15_000, 9_000, 6_000]


@pytest.mark.parametrize(
    "split",
    [
        "",
        "odd",
        "even:2",
        "sizes:1,2",
        "sizes:1,2,0",
        "sizes:a,b,c",
        "by:",
        "by:kind@2",
        "by:kind@x",
        "by:,kind",
        "labels:",
        "labels:kind@-1",
        "sizes:1,1,1+",
        "sizes:1,1,1+even",
        "sizes:1,1+by:kind",
        "by:kind+sizes:1,1,1@",
    ],
)
def test_invalid_partitions(split: str) -> None:
    with pytest.raises(UsageError, match="expected --split"):
        read_split(split, parties=3)


def test_every_party_needs_a_row() -> None:
    table = pd.DataFrame({"row": range(3)})
    with pytest.raises(UsageError, match="at least one row for each of 4 parties, found 3 rows"):
        load(table, party=1, split=read_split("even", parties=4))
    with pytest.raises(
        UsageError, match=r"an attribute of the data \(row\) in --split, found 'kind'"
    ):
        load(table, party=1, split=read_split("by:kind", parties=2))
    two = pd.DataFrame({"row": range(9), "sex": ["f", "m", "f"] * 3})
    with pytest.raises(
        UsageError, match="3 parties with --split labels:sex@1, found 2 labels in 9 rows: take few"
    ):
        load(two, party=1, split=read_split("labels:sex", parties=3))


def test_rows_with_missing_values_are_dropped_before_the_partition() -> None:
    table = pd.DataFrame({"row": [str(n) for n in range(300)], "kind": ["a", "?", None] * 100})
    schema = read_schema(
        {"row": [str(n) for n in range(300)], "kind": {"categories": ["a"], "missing": "drop"}}
    )
    split = read_split("even", parties=3)
    shares = [load(table, schema=schema, party=party, split=split) for party in (1, 2, 3)]
    assert {len(records) for records in shares} == {33, 34}
    assert sorted(int(row) for records in shares for row in records.column("row")) == list(
        range(0, 300, 3)
    )
    with pytest.raises(
        UsageError,
        match="at least one row without missing values in the table, found 1 rows with some",
    ):
        load(table.iloc[1:2], schema=schema)


def test_a_missing_column_is_named_with_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Age,town\n1,x\n")
    with pytest.raises(
        UsageError,
        match=r"a column 'age' in .*t.csv, as the schema says, found Age, town: did you mean Age\?",
    ):
        load(str(tmp_path / "t.csv"), schema=read_schema({"age": ["1"]}))


def test_records_are_not_shown() -> None:
    assert repr(Records(TABLE)) == "Records(3 rows of 2 attributes)"
    raw = RawTable.of(TABLE)
    assert repr(raw) == "RawTable(3 rows of 2 columns)"
    assert "Bern" not in repr(raw.columns["town"])
    assert "31" not in repr(raw.columns["age"]).partition(" at ")[0]
    with pytest.raises(
        UsageError, match=r"expected an attribute of the data \(age, town\), found 'hair'"
    ):
        Records(TABLE).column("hair")
