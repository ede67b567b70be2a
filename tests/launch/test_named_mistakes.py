"""Mistakes that a rehearsal names, as the source has the name; no budget is charged for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sottovoce.launch.jobs import run_job
from sottovoce.launch.rehearsal import rehearse
from sottovoce.messages import UsageError
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement

CountingJob = Callable[..., Job]

pytestmark = pytest.mark.usefixtures("first_tables", "short_replays")


@pytest.mark.parametrize(
    ("place", "line", "text"),
    [
        (
            "before_the_release",
            'me.records.column("diagnose")',
            "expected a column of the data, found 'diagnose' in counting.py, line 27",
        ),
        (
            "before_the_release",
            "self.parameters.rounds",
            "AttributeError: Parameters has no attribute rounds in counting.py, line 27",
        ),
        (
            "at_the_curator",
            "desk.records",
            "AttributeError: Curator has no attribute records in counting.py, line 36",
        ),
        (
            "before_the_release",
            'me.records.column("diag" + str(count)[:0] + "nose")',
            "expected an attribute of the data (not shown), found (not shown)",
        ),
        (
            "before_the_release",
            'getattr(me, "wom" + "en")',
            "AttributeError in counting.py, line 27",
        ),
    ],
)
def test_names_of_the_source_are_shown_and_no_others(
    counting_job: CountingJob, place: str, line: str, text: str
) -> None:
    rehearsal = rehearse(counting_job(**{place: line}))
    assert rehearsal.failure is not None
    assert text in rehearsal.failure


def test_a_budget_is_not_charged_if_the_rehearsal_fails(
    counting_job: CountingJob, tmp_path: Path
) -> None:
    job = counting_job(at_the_curator="desk.records")
    budget = tmp_path / "budget.json"
    budget.write_text("{}")
    before = budget.read_text()
    placement = msgspec.structs.replace(Placement(transport="threads"), budget=str(budget))
    with pytest.raises(UsageError, match="expected a rehearsal that ends well before"):
        run_job(job, placement=placement)
    assert budget.read_text() == before
