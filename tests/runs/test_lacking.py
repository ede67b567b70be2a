"""Mistakes that show only on values that no record of the table has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.parties import Bins, Categories, Records, Schema
from sottovoce.parties.demo import demo_table
from sottovoce.parties.lacking import lacking_values
from sottovoce.parties.raw import RawTable
from sottovoce.report.making import make_report
from sottovoce.report.report import Report
from sottovoce.runs.job import Job
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")

ROWS = 60
"""So few that none of the people is from the Netherlands, and nobody is 90."""


@pytest.fixture(autouse=True)
def _protocols_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


def job_of(name: str, **fields: object) -> Job:
    job = Job(protocol=f"lacking_protocols:{name}", rows=ROWS, seed=3)
    return msgspec.structs.replace(job, **fields)


def played(job: Job) -> Report:
    return make_report(run_on_threads(job))


def test_the_table_lacks_them() -> None:
    table = demo_table(ROWS)
    assert "Holand-Netherlands" not in set(table["native-country"])
    assert table["age"].max() < 90


@pytest.mark.parametrize("name", ["CountOfARareCountry", "CodedRareCountry", "CountOfTheOldest"])
def test_a_count_of_a_value_that_does_not_occur_is_not_accounted(name: str) -> None:
    lines = played(job_of(name)).privacy.not_accounted
    assert {(line.party, line.kind, line.messages) for line in lines} == {
        (party, "Figure", 1) for party in (1, 2, 3)
    }
    found = rehearse(job_of(name)).unaccounted
    assert {(line.party, line.kind) for line in found} == {(party, "Figure") for party in (1, 2, 3)}


@pytest.mark.parametrize(
    ("name", "error"), [("RefusesTheOldest", "ValueError"), ("UnknownCountry", "KeyError")]
)
def test_an_error_on_a_value_that_does_not_occur_is_a_remark(name: str, error: str) -> None:
    """Nothing but the error depends on records, and it is named as such."""
    words = f"that its table lacks, but a neighbouring one may have, its part ends in {error}"
    report = played(job_of(name))
    assert report.privacy.not_accounted == []
    assert any(words in text for text in report.warnings)
    rehearsal = rehearse(job_of(name))
    assert (rehearsal.failure, rehearsal.unaccounted) == (None, [])
    assert any(words in text for text in rehearsal.remarks)


@pytest.mark.parametrize("written", ["numbers", "texts"])
def test_a_sum_without_bounds_has_no_sensitivity(tmp_path: Path, written: str) -> None:
    """Ages are from 20 to 89, and 100 is stated. Nothing bounds the age of another record."""
    people = pd.DataFrame({"age": [20 + row % 70 for row in range(300)]})
    path = tmp_path / ("people.csv" if written == "texts" else "people.parquet")
    if written == "texts":
        people.to_csv(path, index=False)
    else:
        people.to_parquet(path)
    wrong = rehearse(job_of("SumOfUnclippedAges", data=(str(path),), rows=None))
    assert wrong.failure is None
    assert {line.party for line in wrong.unaccounted} == {1, 2, 3}
    assert all("the stated sensitivity is 100" in line.reason for line in wrong.unaccounted)
    right = rehearse(job_of("SumOfClippedAges", data=(str(path),), rows=None))
    assert (right.failure, right.unaccounted, right.remarks) == (None, [], [])


SCHEMA = Schema(
    {
        "colour": Categories(categories=("red", "green", "blue", "grey"), missing="category"),
        "size": Bins(edges=(0, 10, 20, 30, 40), kind="integers", missing="category"),
        "weight": Bins(edges=(-5.5, 0.5, 2.5, 7.25), clip=True),
        "year": Categories(categories=("1990", "2000", "2010"), kind="integers"),
        "born": Bins(edges=(0, 365, 730), kind="dates"),
    }
)


@pytest.mark.parametrize("typed", [True, False])
def test_all_labels_of_a_schema_are_tried_and_nothing_that_it_refuses(typed: bool) -> None:
    """A table with one label of each attribute becomes one with all of them.

    Encoding refuses what the schema does not allow, so no lacking value is outside of it.
    """
    row = {"colour": "red", "size": 7, "weight": 0.75, "year": 2000, "born": "1970-02-03"}
    rows = 40
    frame = pd.DataFrame([row] * rows)
    records = Records(frame if typed else frame.astype(str))
    lacking = records.lacking(SCHEMA.attributes)
    coded = records.put(np.arange(1, rows), lacking).encode(SCHEMA)
    for name, labels in coded.domain.labels.items():
        assert set(coded.codes(name).tolist()) == set(range(len(labels))), name
    direct = Records(frame, schema=SCHEMA)
    again = direct.put(np.arange(1, rows), direct.lacking({}))
    for name, labels in again.domain.labels.items():
        assert set(again.codes(name).tolist()) == set(range(len(labels))), name
    assert lacking["weight"][:2] == ([20.0, -18.25] if typed else ["20.0", "-18.25"])


def test_what_nothing_declares_lies_beyond_the_column() -> None:
    """Categories of a DataFrame and nulls are tried, too; other texts are not made up."""
    frame = pd.DataFrame(
        {
            "age": np.array([20, 60], np.uint8),
            "balance": [-1.5, 0.5],
            "grade": pd.Categorical(["a", "b"], categories=["a", "b", "c"]),
            "gap": [1.0, np.nan],
            "town": ["Rome", "Oslo"],
            "code": ["007", "-3"],
            "full": np.array([0, 250], np.uint8),
        }
    )
    assert lacking_values(RawTable.of(frame), {}) == {
        "age": [100, 0],
        "balance": [2.5, -3.5, 0],
        "grade": ["c"],
        "gap": [2, 0, None],
        "code": ["17", "-13", "0"],
    }


def test_put_changes_the_rows_that_it_names_alone() -> None:
    records = Records(pd.DataFrame({"age": [20, 30, 40, 50], "town": ["a", "b", "c", "d"]}))
    other = records.put(np.array([3, 1]), {"age": [99], "town": [None, "z"]})
    assert other.column("age").tolist() == ["20", "99", "40", "99"]
    assert other.column("town").tolist() == ["a", "z", "c", ""]
    assert records.column("age").tolist() == ["20", "30", "40", "50"]
