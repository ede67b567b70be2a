"""Lines to which only another answer, another seed, or few records of a kind lead a part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sottovoce import message
from sottovoce.launch.other_branches import IF_ASKED
from sottovoce.launch.rehearsal import rehearse
from sottovoce.runs.altered_messages import Alteration, altered
from sottovoce.runs.job import Job

CountingJob = Callable[..., Job]

AGAIN = "me.release(laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR)"
LEAKS = {
    "below 0": "answer = count if answer < 0 else answer",
    "few": "answer += count if answer < 3 else 0",
    "digits": "answer = answer if answer else len(str(len(me.records)))",
    "implausible": "answer = (answer + count) / 2 if answer > 10_000 else answer",
    "now and then": 'answer = count if me.randomness("sample").below(100) == 0 else answer',
}
HONEST = {
    "cut off": "answer = max(answer, 0)",
    "asked again": f"answer = {AGAIN} if answer < 0 else answer",
    "by chance": 'answer = answer if me.randomness("sample").below(2) else -answer',
    "printed": "print(answer)",
}
THRESHOLDS = {
    "suppressed": "count = 0 if count < 10 else count",
    "rounded": "count = round(count, -1)",
    "at most": "count = 0 if count <= 7 else count",
    "far": "count = 0 if count < 700 else count",
    "beside": "count *= int((me.records.column('age').astype(int) > 60).sum() >= 20)",
}


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("branch", LEAKS)
def test_a_branch_that_sends_exact_counts_is_noticed(
    counting_job: CountingJob, branch: str
) -> None:
    unaccounted = rehearse(counting_job(after_the_release=LEAKS[branch])).unaccounted
    (reason,) = {line.reason for line in unaccounted}
    assert "where an answer or chance leads its part another way, its content depends" in reason


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("branch", HONEST)
def test_branches_on_answers_alone_are_allowed(counting_job: CountingJob, branch: str) -> None:
    assert not rehearse(counting_job(after_the_release=HONEST[branch])).unaccounted


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("rule", THRESHOLDS)
def test_a_count_that_jumps_at_a_threshold_has_a_larger_sensitivity(
    counting_job: CountingJob, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record more takes it from 0 to 10, or to 8. Tables drawn at random have 300 of each."""
    if rule == "beside":  # the first two values are of other columns
        monkeypatch.setattr("sottovoce.launch.counted_tables.MAX_COUNTED_VALUES", 12)
    unaccounted = rehearse(counting_job(before_the_release=THRESHOLDS[rule])).unaccounted
    (reason,) = {line.reason for line in unaccounted}
    assert "one record changes its release 0" in reason
    assert "the stated sensitivity is 1" in reason


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
def test_a_count_divided_by_the_number_of_records_is_tried_on_few(
    counting_job: CountingJob,
) -> None:
    """The program names 1,000, and among so many records one changes no more than 1."""
    job = counting_job(
        more_messages='neighbours = "replace-one"',
        before_the_release="count = 1000 * count // len(me.records)",
    )
    unaccounted = rehearse(job).unaccounted
    (reason,) = {line.reason for line in unaccounted}
    assert {line.party for line in unaccounted} == {2}
    assert "one record changes its release 0 (discrete-laplace) by 5, and the stated" in reason


QUERIES = {
    "flag": ("exact: bool", "False", "asked.exact"),
    "number": ("rounds: int", "7", "asked.rounds == 0"),
    "text": ("what: str", "'noisy'", "asked.what == 'exact'"),
}


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("query", QUERIES)
def test_what_a_curator_could_ask_for_is_a_remark(counting_job: CountingJob, query: str) -> None:
    field, usual, condition = QUERIES[query]
    job = counting_job(
        more_messages=f"@message\n    class Query:\n        {field}",
        before_the_release="asked = me.receive(self.Query, source=CURATOR)",
        after_the_release=f"answer = count if {condition} else answer",
        the_query=f"desk.broadcast(self.Query({usual}))",
    )
    rehearsal = rehearse(job)
    assert rehearsal.failure is None
    assert not rehearsal.unaccounted
    assert IF_ASKED.format("Answer") in rehearsal.remarks


@pytest.mark.usefixtures("short_replays")
def test_a_number_of_answers_may_be_asked_for(counting_job: CountingJob) -> None:
    """All of them are releases, so nothing depends on records whatever is asked."""
    job = counting_job(
        more_messages="@message\n    class Query:\n        rounds: int",
        before_the_release="asked = me.receive(self.Query, source=CURATOR)",
        after_the_release=f"for _ in range(asked.rounds): answer += {AGAIN}",
        the_query="desk.broadcast(self.Query(1))",
    )
    rehearsal = rehearse(job)
    assert rehearsal.failure is None
    assert not rehearsal.unaccounted
    assert not [remark for remark in rehearsal.remarks if "asked otherwise" in remark]


def test_a_field_that_cannot_be_altered_hides_no_other() -> None:
    """A count that a message refuses stays, and its flag is altered."""

    @message
    class Query:
        exact: bool
        rounds: int

        def validate(self) -> None:
            if self.rounds != 3:
                raise ValueError("expected 3 rounds")

    asked = Query(exact=False, rounds=3)
    assert altered(asked, Alteration(flag=True, number=0)) == Query(exact=True, rounds=3)


def test_what_a_message_holds_is_altered_too() -> None:
    @message
    class Limit:
        share: float
        name: str

    @message
    class Query:
        limits: tuple[Limit, ...]
        names: tuple[str, ...]
        sizes: tuple[int, ...]
        exact: bool | None
        limit: Limit

    asked = Query((Limit(0.5, "age"),), (), (3, 4), None, Limit(0.5, "sex"))
    assert altered(asked, Alteration(text="all")) == Query(
        (Limit(0.5, "all"),), ("all",), (3, 4), None, Limit(0.5, "all")
    )
    assert altered(asked, Alteration(flag=True)).exact is True
    assert altered(asked, Alteration(number=1)) == Query(
        (Limit(1.0, "age"),), (), (1, 1), None, Limit(1.0, "sex")
    )
