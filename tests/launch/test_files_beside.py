"""The author's code reads a file by itself: on import, at the curator, or in a part."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path

import pytest

import sottovoce
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.result import NotAccountedWarning
from sottovoce.parties.demo import demo_table
from sottovoce.runs.job import Job

PROTOCOL = """
from pathlib import Path
from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message

{on_import}


class Parameters(Options):
    epsilon: Epsilon = 1.0


class Counted(Protocol[Parameters]):
    name = "counted"
    summary = "a noisy count"
    trust = "each party adds its own noise"
    neighbours = "add-or-remove-one"

    @message
    class Answer:
        value: float

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(laplace(len(me.records), sensitivity=1, epsilon=1.0), to=CURATOR)
            {in_part}
            me.send(self.Answer(float(noisy)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            total = sum(answer.value for answer in desk.gather(self.Answer))
            {at_curator}
        return Outcome(summary={{"rows": total}})
"""
READS = "len(Path({!r}).read_text().splitlines())"
PLACES = {
    "on_import": "when it is imported, its module reads {}",
    "at_curator": "the curator's part reads {}",
    "in_part": "a party's part reads {} by itself",
}
DATA = "the run's own data file, past all releases"
OTHERS = "files, and no replay shows what comes of them"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in a working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "reading", raising=False)
    demo_table(600, seed=1).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def job_of(data: Path, *, place: str | None, reads: str) -> Job:
    lines = dict.fromkeys(PLACES, "pass")
    if place is not None:
        lines[place] = READS.format(reads)
    (data.parent / "reading.py").write_text(PROTOCOL.format(**lines))
    return Job(protocol="reading:Counted", data=(str(data),), seed=1)


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("under", ["people.csv", "link.csv", "same.csv"])
def test_the_runs_own_data_are_known_under_any_name(data: Path, place: str, under: str) -> None:
    (data.parent / "link.csv").symlink_to(data)
    (data.parent / "same.csv").hardlink_to(data)
    rehearsal = rehearse(job_of(data, place=place, reads=under))
    assert {line.reason for line in rehearsal.unaccounted} == {PLACES[place].format(DATA)}
    assert {line.party for line in rehearsal.unaccounted} == {1, 2, 3}


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", ["on_import", "at_curator"])
def test_of_other_files_there_is_a_remark(data: Path, place: str) -> None:
    """A list of labels, say, which may come from anywhere. Its name may hold data."""
    (data.parent / "Jane Doe.txt").write_text("a\nb\n")
    rehearsal = rehearse(job_of(data, place=place, reads="Jane Doe.txt"))
    assert not rehearsal.unaccounted
    assert rehearsal.remarks == [PLACES[place].format(OTHERS)]


@pytest.mark.usefixtures("short_replays")
def test_who_reads_nothing_is_not_accused(data: Path) -> None:
    rehearsal = rehearse(job_of(data, place=None, reads=""))
    assert not rehearsal.unaccounted
    assert not rehearsal.remarks


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", ["on_import", "at_curator"])
def test_no_figure_is_shown(data: Path, place: str) -> None:
    job_of(data, place=place, reads="people.csv")
    with pytest.warns(NotAccountedWarning, match="the run's own data file"):
        run = sottovoce.run("reading:Counted", data="people.csv", seed=1)
    assert set(run.report["privacy"]["epsilon"].values()) == {inf}
