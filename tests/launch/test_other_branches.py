"""Lines of a part that only another answer, another seed, or few records of a kind lead to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.parties.demo import demo_table
from sottovoce.runs.job import Job

PROTOCOL = """
from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message


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
            count = int((me.records.column("sex") == "Female").sum())
            {count}
            answer = me.release(laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR)
            {branch}
            me.send(self.Answer(float(answer)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            total = sum(answer.value for answer in desk.gather(self.Answer))
        return Outcome(summary={{"women": total}})
"""
AGAIN = "me.release(laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR)"
LEAKS = {
    "below 0": "answer = count if answer < 0 else answer",
    "few": "answer = 0.0 if answer < 3 and count < 3 else answer + (answer < 3) * count",
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
}


def reasons_of(folder: Path, *, branch: str = "pass", count: str = "pass") -> set[str]:
    demo_table(600, seed=1).to_csv(folder / "people.csv", index=False)
    (folder / "branching.py").write_text(PROTOCOL.format(branch=branch, count=count))
    job = Job(protocol="branching:Counted", data=(str(folder / "people.csv"),), seed=1)
    return {line.reason for line in rehearse(job).unaccounted}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "branching", raising=False)
    return tmp_path


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("branch", LEAKS)
def test_a_branch_that_sends_exact_counts_is_found(branch: str, folder: Path) -> None:
    (reason,) = reasons_of(folder, branch=LEAKS[branch])
    assert "where an answer or chance leads its part another way, its content depends" in reason


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("branch", HONEST)
def test_branches_on_answers_alone_are_allowed(branch: str, folder: Path) -> None:
    assert reasons_of(folder, branch=HONEST[branch]) == set()


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("rule", THRESHOLDS)
def test_a_count_that_jumps_at_a_threshold_has_a_larger_sensitivity(
    rule: str, folder: Path
) -> None:
    """One record more takes it from 0 to 10, or to 8. Tables drawn at random have 300 of each."""
    (reason,) = reasons_of(folder, count=THRESHOLDS[rule])
    assert "one record changes its release 0" in reason
    assert "the stated sensitivity is 1" in reason
