"""Digests of tables."""

import hashlib
import io
from pathlib import Path

import pandas as pd
import pytest

from sottovoce import UsageError
from sottovoce.parties import digest_of
from sottovoce.parties.digest import DigestedFile


def test_a_files_digest_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n1,2\n")
    assert digest_of(str(path)) == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert digest_of(str(path), rows=1, seed=7) == digest_of(str(path))
    with pytest.raises(UsageError, match=r"expected a data file at .*nowhere.csv, found No such"):
        digest_of(str(tmp_path / "nowhere.csv"))


def test_demo_people_differ_by_seed_and_number() -> None:
    digests = [digest_of("demo"), digest_of("demo", seed=1), digest_of("demo", rows=10)]
    assert len(set(digests)) == 3
    assert digest_of("demo", seed=0) == digests[0]


def test_a_frames_digest_follows_names_and_every_row() -> None:
    rows = 70_000  # more than are digested at a time
    frame = pd.DataFrame({"a": range(rows), "b": ["x"] * rows})
    last = frame.copy()
    last.loc[rows - 1, "b"] = "y"
    named = frame.rename(columns={"a": "c"})
    assert digest_of(frame) == digest_of(frame.copy())
    assert len({digest_of(frame), digest_of(last), digest_of(named)}) == 3


def test_a_file_is_digested_whole_though_only_part_of_it_is_read() -> None:
    data = bytes(range(256)) * 40
    file = DigestedFile(io.BytesIO(data))
    assert io.BufferedReader(file, 64).read(100) == data[:100]
    assert file.finish() == hashlib.sha256(data).hexdigest()
