"""A rehearsal in which a party has many records: what grows with their number is found there."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

EXACT = "me.send(self.Answer(float(count)), to=CURATOR); return"

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")


def test_a_change_that_grows_with_the_number_of_records_is_found(counting_job: CountingJob) -> None:
    """Of 200 records one changes the figure by 0 or 1, and of 5,000 by 3 to 5."""
    grows = "count = int(count * len(me.records) ** 0.5 / 20)"
    unaccounted = rehearse(counting_job(before_the_release=grows)).unaccounted
    reason = (
        "with 5,000 records, one record changes its release 0 (discrete-laplace) by 5, "
        "and the stated sensitivity is 1 (seen on records drawn by chance)"
    )
    assert [(line.party, line.reason) for line in unaccounted] == [(1, reason)]


def test_a_change_that_shrinks_with_the_number_of_records_is_none(
    counting_job: CountingJob,
) -> None:
    shrinks = "count = 100 * count // max(100, len(me.records))"
    rehearsal = rehearse(counting_job(before_the_release=shrinks))
    assert not rehearsal.unaccounted
    assert not rehearsal.remarks


def test_a_play_that_ends_only_with_many_records_is_named(counting_job: CountingJob) -> None:
    fails = "assert len(me.records) < 3000"
    rehearsal = rehearse(counting_job(before_the_release=fails))
    assert not rehearsal.unaccounted
    by_source, remark = rehearsal.remarks
    assert "records decide whether line 27 of counting.py raises an error" in by_source
    assert remark == (
        "no party had 5,000 made-up records, as no play with them ended well "
        "(party 1: AssertionError in counting.py, line 27)"
    )


def test_what_few_records_left_in_the_module_does_not_reach_many(
    counting_job: CountingJob,
) -> None:
    """A rehearsal says once that the module keeps what it read, and not what follows from it."""
    keeps = "KEPT.append(len(me.records)); assert len({*KEPT}) < 3"
    rehearsal = rehearse(counting_job(on_import="KEPT = []", before_the_release=keeps))
    assert not any("5,000" in remark for remark in rehearsal.remarks)


def test_a_message_that_only_many_records_lead_to_is_found(counting_job: CountingJob) -> None:
    many = f"if len(me.records) > 3000: {EXACT}"
    unaccounted = rehearse(counting_job(before_the_release=many)).unaccounted
    assert {line.party for line in unaccounted} == {1}
    assert ("Answer", 1) in {(line.kind, line.messages) for line in unaccounted}
    for line in unaccounted:
        assert "(seen among 3 parties, of which one has 5,000 records)" in line.reason


def test_a_message_among_more_than_three_parties_is_found(counting_job: CountingJob) -> None:
    job = counting_job(before_the_release=f"if me.rank == 5: {EXACT}")
    assert rehearse(job).unaccounted == []
    unaccounted = rehearse(msgspec.structs.replace(job, parties=6)).unaccounted
    assert {(line.party, line.kind) for line in unaccounted} == {(5, "Answer")}
    assert all("(seen among 6 parties" in line.reason for line in unaccounted)
