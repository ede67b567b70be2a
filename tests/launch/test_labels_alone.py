"""Rehearsals of protocols of which neighbours differ in a label alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sottovoce.launch.rehearsal import LABEL, rehearse
from sottovoce.launch.release_checks import WITHIN_BELIEF
from sottovoce.runs.job import Job
from sottovoce.runs.protected_label import protected_label
from sottovoce.runs.record import Rehearsal
from sottovoce.studies.audit_tables import neighbouring_tables


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.delitem(sys.modules, "labels_alone", raising=False)


def rehearsal_of(name: str, **parameters: str) -> Rehearsal:
    rehearsal = rehearse(
        Job(protocol=f"labels_alone:{name}", data=("demo",), rows=600, parameters=parameters)
    )
    assert rehearsal.failure is None
    return rehearsal


@pytest.mark.usefixtures("short_replays")
def test_attributes_may_leave_as_they_are() -> None:
    rehearsal = rehearsal_of("MeanAgeAndLabels", label="income")
    assert not rehearsal.unaccounted
    assert LABEL.format("income") in rehearsal.remarks


@pytest.mark.usefixtures("short_replays")
def test_what_leaves_with_a_label_is_not_accounted() -> None:
    unaccounted = rehearsal_of("MeanAgeOfALabel").unaccounted
    assert {(line.kind, line.party) for line in unaccounted} == {
        ("Answer", party) for party in (1, 2, 3)
    }


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
def test_a_label_must_not_change_a_release_by_more_than_its_sensitivity() -> None:
    (reason, *_) = [line.reason for line in rehearsal_of("AgesOfALabel").unaccounted]
    assert "one record changes its release 0" in reason
    assert "the stated sensitivity is 1" in reason


@pytest.mark.usefixtures("short_replays")
def test_without_such_a_parameter_the_last_column_is_the_label() -> None:
    rehearsal = rehearsal_of("MeanAgeAndLabels")
    assert LABEL.format("income") in rehearsal.remarks


@pytest.mark.usefixtures("short_replays")
def test_another_label_is_an_attribute_no_more() -> None:
    """With ages as the label, their mean must not leave."""
    unaccounted = rehearsal_of("MeanAgeAndLabels", label="age").unaccounted
    assert {line.kind for line in unaccounted} == {"Answer"}


@pytest.mark.usefixtures("short_replays")
def test_labels_with_which_attributes_go_have_no_made_up_neighbours() -> None:
    rehearsal = rehearsal_of("WithinBelief")
    assert not [line for line in rehearsal.unaccounted if not line.kind]
    assert WITHIN_BELIEF in rehearsal.remarks


def test_a_label_that_is_no_column_tells_nothing() -> None:
    """Then no attribute counts as public, and none is named."""
    from labels_alone import MeanAgeAndLabels, Parameters

    for label, expected in {"": "income", "age": "age", "salary": None}.items():
        parameters = Parameters(label=label)
        protocol = MeanAgeAndLabels(parameters, mode="rigorous")
        assert protected_label(protocol, ["age", "income"]) == expected


def test_an_audit_changes_the_label_that_the_parameter_names() -> None:
    schema = {"age": ["young", "old"], "income": ["low", "high"]}
    pair = neighbouring_tables(
        "lone", schema, rows=12, parties=2, party=1, neighbours="label-alone", label="age"
    )
    differs = (pair.tables[0] != pair.neighbour).any()
    assert differs.to_dict() == {"age": True, "income": False}
