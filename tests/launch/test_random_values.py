"""Releases whose exact values depend on draws of the part, not on one record alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sottovoce.launch.random_values import names_randomness
from sottovoce.launch.rehearsal import rehearse
from sottovoce.protocols import find
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

pytestmark = pytest.mark.usefixtures("first_tables", "short_replays")

SAMPLE = """\
women = me.records.column("sex") == "Female"
count = int(women[{draws}.random(len(women)) < 0.5].sum())"""


def job_with(counting_job: CountingJob, draws: str, *, neighbours: str = "") -> Job:
    lines = SAMPLE.format(draws=draws).replace("\n", "\n            ")
    job = counting_job(before_the_release=lines)
    if neighbours:
        module = Path("counting.py")
        module.write_text(module.read_text().replace("add-or-remove-one", neighbours))
    return job


def test_a_sample_of_rows_is_not_accused_where_a_record_less_moves_it(
    counting_job: CountingJob,
) -> None:
    rehearsal = rehearse(job_with(counting_job, 'me.randomness("sample").generator()'))
    assert (rehearsal.failure, rehearsal.unaccounted) == (None, [])
    (remark,) = rehearsal.remarks
    assert remark.startswith("the sensitivity of discrete-laplace, 1, was not checked")


def test_where_a_record_is_replaced_the_sample_stays_and_is_checked(
    counting_job: CountingJob,
) -> None:
    draws = 'me.randomness("sample").generator()'
    rehearsal = rehearse(job_with(counting_job, draws, neighbours="replace-one"))
    assert (rehearsal.failure, rehearsal.unaccounted, rehearsal.remarks) == (None, [], [])


@pytest.mark.parametrize("neighbours", ["add-or-remove-one", "replace-one"])
def test_draws_from_elsewhere_are_named_as_the_cause(
    counting_job: CountingJob, neighbours: str
) -> None:
    draws = '__import__("numpy").random.default_rng()'
    rehearsal = rehearse(job_with(counting_job, draws, neighbours=neighbours))
    assert {line.reason.partition(":")[0] for line in rehearsal.unaccounted} == {
        "its release 0 differs on the same records"
    }


def test_a_sensitivity_that_is_too_small_is_no_such_case(counting_job: CountingJob) -> None:
    rehearsal = rehearse(counting_job(before_the_release="count = 3 * count"))
    assert "by 3, and the stated sensitivity is 1" in rehearsal.unaccounted[0].reason


def test_sources_that_draw(counting_job: CountingJob) -> None:
    job = job_with(counting_job, 'me.randomness("sample").generator()')
    assert names_randomness(find(job.protocol))
