"""Names of what experiments measure, and figures of them that are refused before any begins."""

from pathlib import Path
from typing import Any

import pytest

from sottovoce.messages import UsageError
from sottovoce.report.figures import read_request
from sottovoce.studies.experiments import EXPERIMENTS, FIGURES, ExperimentCall
from sottovoce.studies.figures import check_figures
from sottovoce.studies.sweep import ExperimentCell

WITHOUT_DATA: dict[str, dict[str, Any]] = {
    "label-belief": {"labels": "N(25,1)"},
    "label-estimate": {"labels": "N(25,1)", "epsilon": 1.0, "users": 1000},
    "messages": {"protocol": "dp-subn", "parties": 3},
}


@pytest.fixture
def table(tmp_path: Path) -> dict[str, str]:
    """A small table and its schema."""
    data, schema = tmp_path / "people.csv", tmp_path / "schema.json"
    data.write_text("a,b,c\n" + "x,u,1\ny,v,2\nx,v,1\ny,u,2\n" * 30)
    schema.write_text('{"a": ["x", "y"], "b": ["u", "v"], "c": ["1", "2"]}')
    return {"data": str(data), "schema": str(schema)}


def test_every_experiment_says_what_it_measures(table: dict[str, str]) -> None:
    with_data: dict[str, dict[str, Any]] = {
        "label-attack": {**table, "epsilon": 1.0},
        "joint-table": {**table, "attributes": "a,b", "epsilon": 1.0, "method": "GRR", "users": 99},
        "cells": table,
        "views": {**table, "design": "pairs", "epsilon": 1.0},
        "priview": {**table, "epsilon": 1.0, "ways": 2},
    }
    calls = [
        ExperimentCall.of(name, given) for name, given in {**WITHOUT_DATA, **with_data}.items()
    ]
    assert {call.name for call in calls} == EXPERIMENTS.keys() == FIGURES.keys()
    for call in calls:
        assert [*call.measure(seed=1)] == call.figures, call.name


def test_a_wrong_figure_of_an_experiment_is_refused() -> None:
    call = ExperimentCall.of("label-belief", WITHOUT_DATA["label-belief"])
    cell = ExperimentCell(call=call, seed=1, key="k", also={"real": {"majority_belief": "omega"}})
    check_figures([cell], [read_request("omega:labels"), read_request("majority_belief:labels")])
    with pytest.raises(UsageError, match="Y one of omega"):
        check_figures([cell], [read_request("omiga:labels")])
