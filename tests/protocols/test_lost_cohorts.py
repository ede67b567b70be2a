"""Surveys that go on without a lost cohort: estimates are those of the users who are left.

With an epsilon of 500 every report is true but with a chance of about e**-500. So where all users
answer one question the estimates are exact, and the referee is the parties' own records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import PeerLostError
from sottovoce.parties import Records, TableNote, cohort
from sottovoce.report.making import make_report
from sottovoce.runs.job import Job
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings
from sottovoce.runs.setup import load_all_records
from sottovoce.runs.threads import run_on_threads

PARTIES = 4
ROWS = 400
TRUE: dict[str, Any] = {"epsilon": 500.0}


def job(
    protocol: str,
    fault: Sequence[str] = (),
    *,
    columns: Sequence[str] = ("race",),
    min_parties: int = 2,
    seed: int = 3,
    **parameters: Any,
) -> Job:
    return settings(
        {
            "protocol": protocol,
            "parties": PARTIES,
            "rows": ROWS,
            "columns": (*columns,),
            "seed": seed,
            "fault": [*fault],
            "on_loss": "continue",
            "min_parties": min_parties,
            "set": parameters,
        }
    ).job


def records_of(job: Job, record: RunRecord) -> dict[int, Records]:
    notes = {party: TableNote() for party in range(1, job.parties + 1)}
    return load_all_records(job, schema=record.schema, notes=notes)


def require_counts_of(parties: Sequence[int], job: Job, record: RunRecord) -> None:
    """Compare the published table of race with the records of these parties."""
    records = records_of(job, record)
    exact = sum(np.asarray(records[party].marginal(["race"]), int) for party in parties)
    assert record.outcome.marginals is not None
    assert np.allclose(record.outcome.marginals.frame()["count"], np.ravel(exact))
    assert record.outcome.summary["users"] == sum(len(records[party]) for party in parties)
    assert record.rows == sum(len(records[party]) for party in parties)


MOMENTS = [
    ("reports", 0, False, False),
    ("reports", 1, False, False),
    ("reports", 2, False, True),
    ("reports", 7, False, True),
    ("reports", 8, True, True),
    ("counts", 1, False, False),
    ("counts", 2, True, True),
]
"""How many messages a cohort sends before it is lost, whether they are all that it has to send, and
whether a report is among them: its number of rows, then seven messages with reports, or one with
their sums."""


@pytest.mark.parametrize(("simulate", "messages", "is_in", "is_spent"), MOMENTS)
def test_counts_are_those_of_the_cohorts_that_reported(
    simulate: str, messages: int, is_in: bool, is_spent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cohort that is lost among its reports does not count; what was sent is spent."""
    monkeypatch.setattr(cohort, "WINDOW", 16)
    fault = f"party 3 dies after {messages} messages"
    lossy = job("calm", [fault], ways=1, simulate=simulate, synthetic_rows=0, **TRUE)
    record = run_on_threads(lossy)
    require_counts_of([1, 2, 3, 4] if is_in else [1, 2, 4], lossy, record)
    spent = make_report(record).privacy.by_party["3"]["curator"]
    assert float(spent) == (TRUE["epsilon"] if is_spent else 0.0)
    assert all(loss.batches_with == is_in for loss in record.losses)


def test_all_attributes_at_once_are_those_of_the_tables_that_are_left() -> None:
    """label-dp without a party learns what it learns of the others' tables alone."""
    columns = ("sex", "race", "income")
    tables = []
    for part in range(PARTIES):
        table = pd.DataFrame(
            {
                "sex": np.resize(["Female", "Male"], 50 + part),
                "race": np.resize(["Black", "White", "Other"], 50 + part),
                "income": np.resize(["<=50K", ">50K", ">50K"][: part % 2 + 2], 50 + part),
            }
        )
        tables.append(table)
    schema = {name: sorted({*pd.concat(tables)[name]}) for name in columns}
    options: dict[str, Any] = {"seed": 5, "schema": schema, "judge": False, **TRUE}
    lossy = sottovoce.run(
        "label-dp", tables, on_loss="continue", fault=["party 2 dies in reports"], **options
    )
    others = sottovoce.run("label-dp", [tables[0], tables[2], tables[3]], **options)
    assert lossy.model == others.model
    assert lossy.report["outcome"] == others.report["outcome"]


@pytest.mark.parametrize("messages", [1, 2, 3])
def test_between_rounds_later_rounds_have_the_users_who_are_left(messages: int) -> None:
    lossy = job(
        "privincr",
        [f"party 2 dies after {messages} messages"],
        columns=("sex", "race"),
        synthetic_rows=50,
        **TRUE,
    )
    record = run_on_threads(lossy)
    (loss,) = record.losses
    assert (loss.batches_with, loss.batches_without) == (messages - 1, 4 - messages)
    assert record.outcome.summary["users"] == record.rows == ROWS * 3 // 4
    (text,) = [text for text in make_report(record).warnings if "lost" in text]
    where = {1: "without records in the result"}.get(
        messages, f"with records in the first {messages - 1} of 3 rounds alone"
    )
    assert where in text


def test_frequencies_are_without_bias_for_those_who_are_left() -> None:
    """Parties differ: one label is at party 2 alone, which is lost, and so is estimated as 0.

    Estimates at epsilon 2 of 1,500 users, of whom all answer one question, deviate by more than 6
    standard deviations with a probability below 1e-8 for each of 3 labels.
    """
    tables = [pd.DataFrame({"race": ["a"] * 200 + ["b"] * 300}) for _ in range(PARTIES)]
    tables[1] = pd.DataFrame({"race": ["c"] * 500})
    run = sottovoce.run(
        "calm",
        tables,
        schema={"race": ["a", "b", "c"]},
        on_loss="continue",
        fault=["party 2 dies in reports"],
        ways=1,
        synthetic_rows=0,
        epsilon=2.0,
        seed=8,
        judge=False,
    )
    assert run.marginals is not None
    counts = run.marginals["count"].to_numpy()
    p, q = np.exp(2.0) / (np.exp(2.0) + 2), 1 / (np.exp(2.0) + 2)
    deviation = 1500 * np.sqrt(p * (1 - p) / 1500) / (p - q)
    assert abs(counts - np.array([600, 900, 0])).max() < 6 * deviation
    assert deviation < 50


def test_too_few_cohorts_end_the_run() -> None:
    with pytest.raises(PeerLostError, match="expected at least 3 parties, found 2"):
        run_on_threads(job("calm", ["2 parties die in reports"], min_parties=3, ways=1, **TRUE))


def test_a_question_that_only_lost_users_were_asked_ends_the_run() -> None:
    """Of 8 users some questions have one, who may be with a lost party."""
    few = settings(
        {
            "protocol": "fourier",
            "parties": 4,
            "rows": 8,
            "columns": ("sex", "race"),
            "seed": 1,
            "fault": ["2 parties die in reports"],
            "on_loss": "continue",
            "min_parties": 2,
            "set": {"ways": 1},
        }
    ).job
    with pytest.raises(PeerLostError, match="expected reports on every question, found one"):
        run_on_threads(few)
