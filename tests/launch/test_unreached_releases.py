"""Releases that no play of a rehearsal has come to are named by their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

pytestmark = pytest.mark.usefixtures("first_tables", "short_replays")

MORE = """
class Another(NoisyCount):
    name = "another"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            count = int((me.records.column("sex") == "Male").sum())
            answer = me.release(
                laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR
            )
            me.send(self.Answer(float(answer)), to=CURATOR)
"""


def test_a_release_that_only_a_rare_answer_leads_to_is_named(counting_job: CountingJob) -> None:
    rare = "if answer == 12_345_678: me.release(laplace(count, sensitivity=1, epsilon=0.5), "
    rehearsal = rehearse(counting_job(after_the_release=f"{rare}to=CURATOR)"))
    (remark,) = rehearsal.remarks
    assert remark.startswith(
        "no play came to the release in counting.py, line 29, so nothing there"
    )
    assert rehearsal.unaccounted == []


def test_releases_of_another_class_are_not(counting_job: CountingJob) -> None:
    job = counting_job()
    with Path("counting.py").open("a") as module:
        module.write(MORE)
    rehearsal = rehearse(job)
    assert (rehearsal.failure, rehearsal.remarks) == (None, [])


def test_a_method_that_is_overridden_is_not_played(counting_job: CountingJob) -> None:
    job = counting_job()
    with Path("counting.py").open("a") as module:
        module.write(MORE)
    rehearsal = rehearse(msgspec.structs.replace(job, protocol="counting:Another"))
    assert (rehearsal.failure, rehearsal.remarks) == (None, [])
