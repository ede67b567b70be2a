"""Releases that a part makes only after other answers, or if the curator asks for others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sottovoce.launch.other_paths import differing_terms
from sottovoce.launch.rehearsal import rehearse
from sottovoce.privacy import laplace
from sottovoce.privacy.taping import ReleasePair
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")

SUM_IF_FEW = """\
hours = int(me.records.column("hours-per-week").astype(int).sum())
first = me.release(laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR)
figure, sensitivity = (hours, {sensitivity}) if first < 10 else (count, 1)
mechanism = laplace(figure, sensitivity=sensitivity, epsilon=0.5)
noisy = me.release(mechanism, to=CURATOR)
me.send(self.Answer(float(noisy)), to=CURATOR)
return
""".replace("\n", "\n            ")


def test_a_sensitivity_after_answers_that_the_play_did_not_have_is_checked(
    counting_job: CountingJob,
) -> None:
    """Half of the made-up records are counted. On other tables none is, and hours are added."""
    lines = SUM_IF_FEW.format(sensitivity=10)
    rehearsal = rehearse(counting_job(before_the_release=lines))
    assert rehearsal.failure is None
    assert {line.party for line in rehearsal.unaccounted} == {1, 2, 3}
    for line in rehearsal.unaccounted:
        assert "one record changes its release 1 (discrete-laplace) by" in line.reason
        assert "the stated sensitivity is 10" in line.reason
        assert "after answers that were drawn anew" in line.reason


def test_a_right_sensitivity_there_is_not_accused(counting_job: CountingJob) -> None:
    lines = SUM_IF_FEW.format(sensitivity=100)
    rehearsal = rehearse(counting_job(before_the_release=lines))
    assert (rehearsal.failure, rehearsal.unaccounted, rehearsal.remarks) == (None, [], [])


def test_what_a_release_states_has_to_be_the_same_on_neighbouring_tables() -> None:
    def pair(sensitivity: float) -> ReleasePair:
        first, second = (laplace(0, sensitivity=each, epsilon=1.0) for each in (1, sensitivity))
        return ReleasePair(first, second, 0, None, (), "answer", 0, "here")

    (statement,) = differing_terms([[pair(1), pair(2)], [pair(1), pair(3)]], reasons=[])
    assert statement.reason == (
        "the sensitivity of its release 1 (discrete-laplace) depends on its records (seen here)"
    )
    before = ["the sensitivity of its release 1 (discrete-laplace in phase count) depends on"]
    assert differing_terms([[pair(1), pair(2)]], reasons=before) == []
