"""Records: what can be read, who gets which rows, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sottovoce import UsageError
from sottovoce.parties import Records, load, share

TABLE = pd.DataFrame({"age": [31, 40, 17], "town": ["Łódź", "", "Bern, Switzerland"]})


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_every_format_gives_the_same_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False)
    records = Records(load(str(path), rows=None, seed=0))
    assert records.attributes == ("age", "town")
    assert list(records.column("age")) == ["31", "40", "17"]
    assert list(records.column("town")) == ["Łódź", "", "Bern, Switzerland"]
    assert records.count("town", "") == 1
    assert len(load(str(path), rows=2, seed=0)) == 2


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.csv", b"", "No columns to parse"),
        ("header.csv", b"a,b\n", "at least one row in .*header.csv, found 0 rows"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("latin.csv", b"a\n\xff\xfe\n", "utf-8"),
        ("broken.csv.gz", b"not gzip", "gzip"),
        ("broken.parquet", b"not parquet", "Parquet"),
    ],
)
def test_bad_files_are_refused_in_one_line(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=complaint) as caught:
        load(str(tmp_path / name), rows=None, seed=0)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_the_partition_gives_every_row_to_one_party() -> None:
    table = pd.DataFrame({"row": np.arange(1003)})
    shares = [share(table, party=party, parties=4, seed=9)["row"].to_numpy() for party in (1, 2, 3, 4)]
    assert sorted(np.concatenate(shares)) == list(range(1003))
    assert {len(own) for own in shares} == {250, 251}
    assert all((np.diff(own) > 0).all() for own in shares)
    assert not np.array_equal(shares[0], share(table, party=1, parties=4, seed=10)["row"].to_numpy())
    with pytest.raises(UsageError, match="at least one row for each of 4 parties, found 3 rows"):
        share(table.iloc[:3], party=1, parties=4, seed=9)


def test_records_are_not_shown() -> None:
    assert repr(Records(TABLE)) == "Records(3 rows of 2 attributes)"
    with pytest.raises(UsageError, match=r"expected an attribute of the data \(age, town\), found 'hair'"):
        Records(TABLE).column("hair")
