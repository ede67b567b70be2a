"""Mistakes that no table shows in which columns go together: the rehearsal names them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sottovoce.launch import close_tables
from sottovoce.launch.counted_tables import thresholds_of
from sottovoce.launch.rehearsal import rehearse
from sottovoce.parties import named_values
from sottovoce.runs.job import Job

EVERY_NUMBER = close_tables._middle_first
"""All numbers; the fixture below leaves the first ones."""

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")


def reasons(name: str, *, data: str = "demo") -> str:
    job = Job(protocol=f"crossed_columns:{name}", data=(data,), rows=600, parties=2)
    rehearsal = rehearse(job)
    assert rehearsal.failure is None
    return " ".join(line.reason for line in rehearsal.unaccounted)


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    for name in ("crossed_columns", "own_noise"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_tables_with_a_pattern_for_each_column_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables follow from the party's number, so they are the same each time."""
    monkeypatch.setattr(close_tables, "MAX_CROSSED", 0)
    assert "one record changes" not in reasons("LargestOfGroups")
    monkeypatch.setattr(close_tables, "MAX_CROSSED", 600)
    found = reasons("LargestOfGroups")
    assert "one record changes its release 0 (discrete-laplace) by" in found


def test_two_counts_that_cross_a_threshold_at_once_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "its release 0 (own-noise) loses at least epsilon" in reasons("FrequentLabels")
    for tables in ("counted_twice", "varied"):
        monkeypatch.setattr(close_tables, tables, lambda *_, **__: iter(()))
    assert "loses" not in reasons("FrequentLabels")


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("FewDifferentAges", "varied"),
        ("RoundedSize", "sized"),
    ],
)
def test_tables_near_a_jump_show_it(
    monkeypatch: pytest.MonkeyPatch, name: str, tables: str
) -> None:
    """Without the tables that were made for it none shows the jump."""
    assert "one record changes its release 0 (discrete-laplace) by" in reasons(name)
    monkeypatch.setattr(close_tables, tables, lambda *_, **__: iter(()))
    assert "one record changes" not in reasons(name)


def test_numbers_of_records_follow_from_those_that_a_program_names() -> None:
    counts = thresholds_of([25, -2], rows=300)
    assert {25, 26, 13, 100, 101, 51, 1, 5, 10, 20} == {*counts}
    assert max(thresholds_of([25, -2, 4000, 0.5], rows=60)) <= 60


def test_shares_at_which_outlying_records_are_cut_come_early() -> None:
    """Every number of records has its turn, and once."""
    for rows in (4, 30, 100, 300):
        numbers = EVERY_NUMBER(rows)
        assert sorted(numbers) == [*range(rows)]
    assert {29, 30, 59, 60, 74, 75, 14, 15, 269, 270} <= {*numbers[:40]}


def test_tables_in_which_most_values_are_missing_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reasons("FilledGaps")
    assert "one record changes its release 0 (discrete-laplace) by" in found
    assert "where most values are missing" in found
    monkeypatch.setattr(close_tables, "_with_gaps", lambda *_: iter(()))
    assert "one record changes" not in reasons("FilledGaps")


def test_a_text_of_several_values_shows_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a schema lists the values of a column there are no others."""
    path = tmp_path / "people.csv"
    jobs = ["Sales", "Tech-support", "Craft-repair", "Adm-clerical"]
    path.write_text("occupation,age\n" + "".join(f"{job},40\n" for job in jobs * 40))
    found = reasons("SeveralJobs", data=str(path))
    assert "one record changes its release 0 (discrete-laplace) by" in found
    assert "one record changes" not in reasons("SeveralJobs")
    monkeypatch.setattr(named_values, "SEPARATORS", ())
    assert "one record changes" not in reasons("SeveralJobs", data=str(path))


def test_made_up_tables_have_the_columns_that_the_run_takes(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(",occupation\n" + "".join(f"{row},Sales\n" for row in range(40)))
    job = Job(protocol="crossed_columns:SeveralJobs", data=(str(path),), parties=2)
    assert rehearse(msgspec.structs.replace(job, drop=("Unnamed: 0",))).failure is None
    failed = rehearse(msgspec.structs.replace(job, drop=("occupation",)))
    assert failed.failure is not None
    assert "occupation" in failed.failure


def test_more_releases_are_the_reason_why_a_message_is_not_reached(
    counting_job: Callable[..., Job],
) -> None:
    """The number of messages is always the same."""
    again = "if answer < count: me.release(laplace(count, sensitivity=1, epsilon=0.1), to=CURATOR)"
    rehearsal = rehearse(counting_job(after_the_release=again))
    of_messages = {line.reason for line in rehearsal.unaccounted if line.kind == "Answer"}
    assert of_messages == {"how many releases come before them depends on its records"}
