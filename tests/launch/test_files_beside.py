"""The author's code reads a file by itself: on import, at the curator, or in a part."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

import sottovoce
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.result import NotAccountedWarning
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

PLACES = {
    "on_import": "when it is imported, its module reads {}",
    "at_the_curator": "the curator's part reads {}",
    "before_the_release": "a party's part reads {} by itself",
}
DATA = "the run's own data file, past all releases"
OTHERS = "files, and replays on other records show nothing of what these hold"


def reading(name: str) -> str:
    return f"open({name!r}).close()"


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["people.csv", "link.csv", "same.csv"])
def test_the_runs_own_data_are_known_under_any_name(
    counting_job: CountingJob, place: str, name: str
) -> None:
    Path("link.csv").symlink_to("people.csv")
    Path("same.csv").hardlink_to("people.csv")
    rehearsal = rehearse(counting_job(**{place: reading(name)}))
    assert {line.reason for line in rehearsal.unaccounted} == {PLACES[place].format(DATA)}
    assert {line.party for line in rehearsal.unaccounted} == {1, 2, 3}


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", ["on_import", "at_the_curator"])
def test_of_other_files_there_is_a_remark(counting_job: CountingJob, place: str) -> None:
    """A list of labels, say, which may come from anywhere. Its name may hold data."""
    Path("Jane Doe.txt").write_text("a\nb\n")
    rehearsal = rehearse(counting_job(**{place: reading("Jane Doe.txt")}))
    assert not rehearsal.unaccounted
    assert rehearsal.remarks == [PLACES[place].format(OTHERS)]


@pytest.mark.usefixtures("short_replays")
def test_who_reads_nothing_is_not_accused(counting_job: CountingJob) -> None:
    rehearsal = rehearse(counting_job())
    assert not rehearsal.unaccounted
    assert not rehearsal.remarks


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("place", ["on_import", "at_the_curator"])
def test_no_figure_is_shown(counting_job: CountingJob, place: str) -> None:
    job = counting_job(**{place: reading("people.csv")})
    with pytest.warns(NotAccountedWarning, match="the run's own data file"):
        run = sottovoce.run(job.protocol, data="people.csv", seed=1)
    assert set(run.report["privacy"]["epsilon"].values()) == {inf}
