"""Columns that identify persons with several rows each have a line that epsilon is of a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.parties.bins import Bins
from sottovoce.parties.categories import Categories
from sottovoce.parties.profile import ColumnProfile
from sottovoce.parties.proposing import propose
from sottovoce.parties.raw import TextColumn
from sottovoce.parties.schema import Schema
from sottovoce.report.inferred_schema import inferred_schema_warnings

TEXTS = tuple(f"P{number:04}" for number in range(200))


def _reason(name: str, *, rows_each: int) -> str:
    profile = ColumnProfile(name)
    places = np.repeat(np.arange(len(TEXTS), dtype=np.int64), rows_each)
    profile.add(TextColumn(places, TEXTS))
    return propose(profile).reason


def test_a_proposal_says_how_many_rows_a_person_has() -> None:
    expected = "it has about 6 rows a value, and epsilon is of a row"
    assert expected in _reason("patient_id", rows_each=6)
    assert expected not in _reason("patient_id", rows_each=1)
    assert "epsilon" not in _reason("postcode", rows_each=6)


@pytest.mark.parametrize(
    ("name", "rule", "warns"),
    [
        ("patient_id", Categories(categories=TEXTS), True),
        ("patient_id", Bins(edges=(0.0, 500.0, 1000.0)), True),
        ("ward_id", Categories(categories=TEXTS[:20]), False),
        ("postcode", Categories(categories=TEXTS), False),
        ("income", Bins(edges=(0.0, 500.0, 1000.0)), False),
    ],
)
def test_a_run_warns_of_identifying_columns(
    name: str, rule: Bins | Categories, *, warns: bool
) -> None:
    warnings = inferred_schema_warnings(Schema({name: rule}, inferred=True))
    assert (
        any(f"epsilon is of a row: if a value of {name} has" in text for text in warnings) is warns
    )


def test_the_warning_names_all_such_columns() -> None:
    rule = Categories(categories=TEXTS)
    schema = Schema({"case_id": rule, "patientid": rule}, inferred=True)
    assert "of case_id or patientid has" in inferred_schema_warnings(schema)[1]


def test_a_run_with_repeated_persons_says_so() -> None:
    table = pd.DataFrame({"patient_id": np.repeat(TEXTS, 6), "ill": ["no", "yes", "no"] * 400})
    run = sottovoce.run("noisy-marginals", table, seed=1, aggregator="masks", judge=False)
    assert any(
        "epsilon is of a row: if a value of patient_id" in text for text in run.report["warnings"]
    )
