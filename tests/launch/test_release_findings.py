"""What is told of a release that one record changes too much, at some parties."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sottovoce
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.release_checks import ReleaseFindings, check_releases
from sottovoce.privacy import laplace
from sottovoce.privacy.composition import PartStep
from sottovoce.privacy.taping import ReleasePair
from sottovoce.report.making import NO_RELEASE
from sottovoce.report.pages.sentences import lead
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
def test_one_release_has_one_line_with_the_largest_change(counting_job: CountingJob) -> None:
    unaccounted = rehearse(counting_job(before_the_release="count *= me.rank")).unaccounted
    reason = (
        "one record changes its release 0 (discrete-laplace) by 3, and the stated sensitivity is 1 "
        "(seen with 4 records)"
    )
    assert {(line.party, line.reason) for line in unaccounted} == {(2, reason), (3, reason)}


@pytest.mark.usefixtures("short_replays")
def test_what_one_party_shows_is_told_of_it_and_counts_for_all(counting_job: CountingJob) -> None:
    counting_job(before_the_release="count *= 2 if me.rank == 2 else 1")
    with pytest.warns(sottovoce.NotAccountedWarning) as warnings:
        run = sottovoce.run("counting:NoisyCount", data="people.csv", judge=False)
    (text,) = [str(warning.message) for warning in warnings]
    # On which tables it is seen first depends on how many there is time for.
    assert text.startswith(
        "NOT ACCOUNTED: parties 1 to 3: in the rehearsal, at party 2, one record changes its "
        "release 0 (discrete-laplace) by 2, and the stated sensitivity is 1 (seen "
    )
    assert text.endswith("), and all parties run the same code")
    assert "releases do not cover all that left parties" in lead(run.reported)[1]


@pytest.mark.usefixtures("short_replays")
def test_an_epsilon_of_0_is_explained(counting_job: CountingJob) -> None:
    counting_job(before_the_release="me.send(self.Answer(1.0), to=CURATOR); return")
    run = sottovoce.run("counting:NoisyCount", data="people.csv", judge=False)
    assert run.reported.report.privacy.epsilon["curator"] == 0
    assert NO_RELEASE in run.reported.report.warnings


@pytest.mark.usefixtures("short_replays")
def test_a_release_needs_no_such_warning(counting_job: CountingJob) -> None:
    counting_job()
    run = sottovoce.run("counting:NoisyCount", data="people.csv", judge=False)
    assert NO_RELEASE not in run.reported.report.warnings


def test_releases_of_a_mechanism_that_change_too_much_have_one_line() -> None:
    def pair(change: int, tables: str) -> ReleasePair:
        first, second = (laplace(count, sensitivity=1, epsilon=1.0) for count in (0, change))
        return ReleasePair(first, second, 0, None, (), "answer", 0, tables)

    few, many = ([pair(change, tables)] * 3 for change, tables in ((2, "here"), (3, "there")))
    few[1] = many[1] = pair(1, "here")
    (statement,) = check_releases(ReleaseFindings(), [few, many], within_belief=False)
    assert statement.reason == (
        "one record changes its releases 0 and 2 (discrete-laplace) by up to 3, "
        "and the stated sensitivity is 1 (seen there)"
    )


def test_what_is_false_of_the_parts_of_records_has_one_line_for_all_tables() -> None:
    def pair(part: PartStep, tables: str) -> ReleasePair:
        first, second = (laplace(count, sensitivity=1, epsilon=1.0) for count in (0, 1))
        return ReleasePair(first, second, 0, None, (part,), "answer", 0, tables)

    def step(index: int) -> PartStep:
        return PartStep(partition=0, index=index, name=f"part {index}", touched=1)

    pairs = [[pair(step(index), tables) for index in range(2)] for tables in ("here", "there")]
    (statement,) = check_releases(ReleaseFindings(), pairs, within_belief=False)
    assert statement.reason.endswith("(part 0, part 1) (seen here)")
