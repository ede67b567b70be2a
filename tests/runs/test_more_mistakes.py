"""Mistakes that leave beside messages, on odd values, or in few answers; and their right twins."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import pytest

from sottovoce.launch.authors_modules import authors_modules
from sottovoce.launch.kept_state import KEEPS
from sottovoce.launch.one_sided import ONE_SIDED
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.release_checks import ReleaseFindings, check_releases
from sottovoce.parties import Bins
from sottovoce.parties.alternatives import Alternative, alternatives
from sottovoce.parties.demo import demo_table
from sottovoce.parties.lacking import lacking_values, opposite_ends, unlikely_values
from sottovoce.parties.raw import RawTable
from sottovoce.privacy.taping import ReleasePair
from sottovoce.report.making import make_report
from sottovoce.report.report import Report
from sottovoce.runs.job import Job
from sottovoce.runs.threads import run_on_threads
from sottovoce.runs.unaccounted import FILE_NAMES, IN_FILES, WARNS

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sottovoce.launch.rehearsed_job.ROWS", 60)


def job_of(name: str, *, data: str | None = None) -> Job:
    if data is None:
        return Job(protocol=f"afternoon_protocols:{name}", parties=2, rows=120, seed=3)
    return Job(protocol=f"afternoon_protocols:{name}", parties=2, data=(data,), seed=3)


def played(job: Job) -> Report:
    return make_report(run_on_threads(job))


def test_a_cache_in_a_file_is_found_and_the_rehearsal_leaves_no_file(tmp_path: Path) -> None:
    rehearsal = rehearse(job_of("CachesInAFile"))
    reasons = {(line.party, line.reason) for line in rehearsal.unaccounted}
    assert {(party, IN_FILES) for party in (1, 2)} <= reasons
    assert {line.party for line in rehearsal.unaccounted if line.kind == "Figure"} == {1, 2}
    assert not [*tmp_path.glob("*.json")]


def test_results_in_a_file_are_found_and_stay_those_of_the_run(tmp_path: Path) -> None:
    lines = played(job_of("WritesResults")).privacy.not_accounted
    assert {(line.party, line.reason) for line in lines} == {(party, IN_FILES) for party in (1, 2)}
    totals = [float((tmp_path / f"results-{party}.txt").read_text()) for party in (1, 2)]
    assert sum(totals) == demo_table(120, seed=3)["age"].astype(float).sum()


def test_a_file_that_is_named_by_data_is_found_and_its_name_is_not_told(tmp_path: Path) -> None:
    report = played(job_of("NamesAFile"))
    assert {(line.party, line.reason) for line in report.privacy.not_accounted} == {
        (party, FILE_NAMES) for party in (1, 2)
    }
    assert len([*tmp_path.glob("mean-*.txt")]) == 2  # those of replays are removed


@pytest.mark.parametrize("name", ["WritesWhatIsPublic", "AppendsToALog"])
def test_what_is_alike_on_all_records_is_no_finding(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 0.2)
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 0.2)
    for party in (1, 2):
        (tmp_path / f"party-{party}.log").write_text("of an earlier run\n")
    rehearsal = rehearse(job_of(name))
    assert (rehearsal.failure, rehearsal.unaccounted) == (None, [])
    assert played(job_of(name)).privacy.not_accounted == []


def first_alternative(*arguments: Any, **others: Any) -> list[Alternative]:
    """Give one other table."""
    return [next(alternatives(*arguments, **others))]


def test_replays_of_two_parties_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each replay sets a variable and writes into one file while the other is in the middle."""
    monkeypatch.setattr("sottovoce.runs.guard.alternatives", first_alternative)
    monkeypatch.delenv("SOTTOVOCE_TEST_SHARED", raising=False)
    protocol = importlib.import_module("afternoon_protocols").MeetsAnotherReplay
    protocol.plays.clear()
    report = played(job_of("MeetsAnotherReplay"))
    assert all(protocol.plays[party] >= 2 for party in (1, 2))
    assert report.privacy.not_accounted == []
    assert not any("its part ends in" in text for text in report.warnings)
    # As the parts have left it, and no replay.
    assert (tmp_path / "shared.txt").read_text() == "begun\n" * 2
    assert os.environ.pop("SOTTOVOCE_TEST_SHARED") == "here"


def test_a_file_that_a_part_reads_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("4")
    report = played(job_of("ReadsAFile"))
    assert report.privacy.not_accounted == []
    assert any("reads files beside me.records" in text for text in report.warnings)


def test_a_seed_that_a_part_sets_is_state() -> None:
    state = np.random.get_state()  # noqa: NPY002
    try:
        lines = rehearse(job_of("SeedsWithAStatistic")).unaccounted
    finally:
        np.random.set_state(state)  # noqa: NPY002
    assert {line.party for line in lines if line.reason == KEEPS} == {1, 2}


@pytest.fixture
def _warnings_are_shown() -> Iterator[None]:
    """Write warnings to standard error, as outside of tests."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        stream = sys.stderr if file is None else file
        stream.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@pytest.mark.usefixtures("_warnings_are_shown")
def test_a_warning_with_a_count_is_found() -> None:
    lines = played(job_of("WarnsOfRows")).privacy.not_accounted
    assert {(line.party, line.reason) for line in lines} == {(party, WARNS) for party in (1, 2)}
    assert {line.reason for line in rehearse(job_of("WarnsOfRows")).unaccounted} == {WARNS}


@pytest.mark.usefixtures("_warnings_are_shown")
def test_a_warning_that_is_alike_is_no_finding() -> None:
    assert played(job_of("WarnsAlike")).privacy.not_accounted == []
    rehearsal = rehearse(job_of("WarnsAlike"))
    assert (rehearsal.failure, rehearsal.unaccounted) == (None, [])


@pytest.mark.parametrize("name", ["PrintsBytes", "WritesToTheDescriptor"])
def test_what_is_printed_past_the_streams_is_found(name: str) -> None:
    lines = played(job_of(name)).privacy.not_accounted
    assert {(line.party, line.reason) for line in lines} == {
        (party, "what it prints depends on its records") for party in (1, 2)
    }


@pytest.mark.parametrize("name", ["PrintsAlikeBytes", "WritesAlikeToTheDescriptor"])
def test_bytes_that_are_alike_are_no_finding_and_a_replay_prints_none(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.runs.guard.alternatives", first_alternative)
    assert played(job_of(name)).privacy.not_accounted == []
    printed = capfd.readouterr()
    assert sorted((printed.out + printed.err).splitlines()) == ["1.0", "2.0"]
    assert os.write.__module__ == "posix"


@pytest.mark.parametrize("name", ["CountOfTheMissing", "CountOfTheImpossible", "LastYear"])
def test_a_count_of_what_nobody_has_is_not_accounted(name: str, tmp_path: Path) -> None:
    days = [f"2024-{1 + row % 12:02}-03" for row in range(80)]
    people = pd.DataFrame({"age": [20 + row % 60 for row in range(80)], "visit": days})
    people.to_csv(tmp_path / "people.csv", index=False)
    report = played(job_of(name, data="people.csv"))
    assert {(line.party, line.kind) for line in report.privacy.not_accounted} == {
        (party, "Figure") for party in (1, 2)
    }
    # Other parts read ages as numbers, and end in an error where one is missing: no remark.
    assert not any("ends in" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("name", "values", "is_named"),
    [
        ("OneSidedSum", range(80), True),
        ("OneSidedReplaced", range(80), True),
        ("TwoSidedSum", range(80), False),
        ("OneSidedSum", range(-40, 40), None),  # found: the column has negative numbers
    ],
)
def test_a_sum_that_is_bounded_above_alone_is_named(
    name: str,
    values: range,
    is_named: bool | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 0.0)
    if is_named is None:  # more than one neighbouring table
        monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 600.0)
    pd.DataFrame({"income": [2000 * value for value in values]}).to_csv("people.csv", index=False)
    rehearsal = rehearse(job_of(name, data="people.csv"))
    assert rehearsal.failure is None
    assert bool(rehearsal.unaccounted) == (is_named is None)
    remarks = {ONE_SIDED.format(0, "discrete-laplace", 50_000)} if is_named else set()
    assert {*rehearsal.remarks} == remarks


def test_a_column_whose_range_is_declared_has_no_opposite_ends() -> None:
    frame = pd.DataFrame(
        {"age": [20, 60], "balance": [-1, 5], "town": ["Rome", "Oslo"], "height": [1.5, 1.8]}
    )
    ages = {"age": Bins(edges=(0, 100), kind="integers")}
    assert opposite_ends(RawTable.of(frame), {}) == (
        {"age": [100], "height": [3]},
        {"age": [-100], "height": [-3]},
    )
    assert opposite_ends(RawTable.of(frame.astype(str)), ages) == (
        {"height": ["3"]},
        {"height": ["-3"]},
    )


def test_unlikely_values_and_days_beyond() -> None:
    frame = pd.DataFrame(
        {
            "age": np.array([20, 60], np.uint8),
            "balance": [-1.5, 0.5],
            "height": [1.5, 1.8],
            "visit": ["2024-02-01", "2024-03-01"],
            "code": ["7", "30"],
        }
    )
    table = RawTable.of(frame)
    assert unlikely_values(table) == {
        "age": [None],
        "balance": [None],
        "height": [None, -1],
        "visit": [None],
        "code": [None, "-1"],
    }
    assert lacking_values(table, {})["visit"] == ["2025-03-01", "2023-02-01"]


def test_modules_beside_the_plugin_are_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list in another file of the working folder, where the curator reads the ages."""
    (tmp_path / "beside_it.py").write_text("import numpy\n\nTABLES = []\n")
    (tmp_path / "plugin_alone.py").write_text(
        "from leaky_protocols import Leaky, ages\n\n\n"
        "class SharedBesideIt(Leaky):\n"
        '    name = "shared-beside-it"\n\n'
        "    def figure(self, me):\n"
        "        from beside_it import TABLES\n\n"
        "        TABLES.append(ages(me).tolist())\n"
        "        return 0.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        beside = importlib.import_module("beside_it")
        plugin = importlib.import_module("plugin_alone")
        names = authors_modules(plugin.SharedBesideIt)
        assert {"plugin_alone", "beside_it"} <= {*names}
        assert not {name.partition(".")[0] for name in names} & {"numpy", "sottovoce", "pytest"}
        job = Job(protocol="plugin_alone:SharedBesideIt", parties=2, rows=120, seed=3)
        lines = rehearse(job).unaccounted
        assert {line.party for line in lines if line.reason == KEEPS} == {1, 2}
        assert beside.TABLES == []
    finally:
        for name in ("beside_it", "plugin_alone"):
            sys.modules.pop(name, None)


def pair_of(name: str, first: float, second: float) -> ReleasePair:
    kind = getattr(importlib.import_module("afternoon_protocols"), name)
    return ReleasePair(kind(value=first), kind(value=second), 0.0, None, (), "count", 0)


def test_pairs_that_show_nothing_are_passed_over() -> None:
    """Twenty pairs of tables have the same value, and one has not."""
    pairs = [[pair_of("Exact", 5.0, 5.0)]] * 20 + [[pair_of("Exact", 5.0, 6.0)]]
    (statement,) = check_releases(ReleaseFindings(), pairs, within_belief=False)
    assert "loses at least epsilon" in statement.reason


def test_noise_that_ends_early_is_found_in_many_answers() -> None:
    """Of 3,000 answers too few are beyond the end, and of 10,000 enough."""
    findings = ReleaseFindings()
    pairs = [[pair_of("Truncated", 5.0, 6.0)]] * 4
    false = check_releases(findings, pairs, within_belief=False)
    assert ["and states 1" in statement.reason for statement in false] == [True]
