"""Every command that reads a table takes the same options for the form of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.parties.demo import demo_table

NAMES = ["sex", "relationship", "education", "income"]
FORM = ["--separator", "semicolon", "--encoding", "latin-1"]


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table in two forms, with a label that UTF-8 and latin-1 write differently."""
    folder = tmp_path_factory.mktemp("forms")
    table = demo_table(900, seed=1)[NAMES]
    table["sex"] = table["sex"].replace({"Male": "männlich"})
    table.to_csv(folder / "commas.csv", index=False)
    table.to_csv(folder / "semicolons.csv", index=False, sep=";", encoding="latin-1")
    run = sottovoce.run(
        "clldp-naive-bayes", folder / "commas.csv", parties=1, seed=1, epsilon=4.0, label="income"
    )
    run.save(folder / "model")
    sottovoce.run("one-way", folder / "commas.csv", seed=1, aggregator="masks").save(folder / "run")
    return folder


@pytest.mark.parametrize("command", ["run", "schema", "evaluate", "predict", "attack", "audit"])
def test_they_have_the_options(command: str) -> None:
    text = printed(command, "--help")
    assert "--separator" in text
    assert "--encoding" in text


def test_evaluate_reads_the_real_table_so_and_a_runs_table_as_runs_write_it(folder: Path) -> None:
    plain = printed("evaluate", f"{folder}/commas.csv", f"{folder}/run", "--json")
    other = printed("evaluate", f"{folder}/semicolons.csv", f"{folder}/run", "--json", *FORM)
    assert json.loads(plain) == json.loads(other)
    both = f"{folder}/semicolons.csv"
    same = json.loads(printed("evaluate", both, both, "--json", *FORM))
    assert same["tvd"] == {"2": 0.0, "3": 0.0}


def test_predict_and_attack_read_it_so(folder: Path) -> None:
    model = f"{folder}/model"
    plain = printed("predict", model, f"{folder}/commas.csv")
    assert plain == printed("predict", model, f"{folder}/semicolons.csv", *FORM)
    words = ["--label", "income", "--epsilon", "1", "--json"]
    plain = printed("attack", f"{folder}/commas.csv", *words)
    assert plain == printed("attack", f"{folder}/semicolons.csv", *words, *FORM)


def test_an_audit_takes_its_labels(folder: Path) -> None:
    words = ["head-count", "--runs", "20", "--seed", "1", "--processes", "1", "--json"]
    text = printed("audit", *words, "--data", f"{folder}/semicolons.csv", *FORM)
    assert {line["protocol"] for line in json.loads(text)["lines"]} == {"head-count"}


def test_a_wrong_form_is_refused(folder: Path) -> None:
    with pytest.raises(sottovoce.UsageError, match="say --separator semicolon"):
        printed("predict", f"{folder}/model", f"{folder}/semicolons.csv", "--encoding", "latin-1")
    with pytest.raises(sottovoce.UsageError, match="one character for --separator"):
        printed("attack", f"{folder}/commas.csv", "--separator", "ab")
    with pytest.raises(sottovoce.UsageError, match="at least 1 for --rows"):
        printed("schema", f"{folder}/commas.csv", "--rows", "0")
