"""Published classifiers and attacks on labels, from the command line, and their reports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from commands_here import command_here

from sottovoce.parties.demo import demo_table
from sottovoce.report.pages.models import pictures

NAMES = ["sex", "relationship", "education", "income"]


def sottovoce(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return command_here(*words, cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and runs on it."""
    folder = tmp_path_factory.mktemp("predicting")
    demo_table(6000, seed=1)[NAMES].to_csv(folder / "people.csv", index=False)
    demo_table(300, seed=2)[NAMES].to_csv(folder / "others.csv", index=False)
    demo_table(300, seed=2)[NAMES[:-1]].to_csv(folder / "unlabelled.csv", index=False)
    for name in ("clldp-naive-bayes", "clldp-decision-tree", "clldp-joint"):
        done = sottovoce(
            "run",
            name,
            "--data",
            "people.csv",
            "--epsilon",
            "8",
            "--seed",
            "1",
            "--transport",
            "threads",
            "--out",
            name,
            folder=folder,
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", ["clldp-naive-bayes", "clldp-decision-tree"])
def test_predict(folder: Path, name: str) -> None:
    done = sottovoce("predict", name, "others.csv", "--out", f"{name}.csv", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "income is predicted right in 0." in done.stderr
    predicted = pd.read_csv(folder / f"{name}.csv")
    assert list(predicted.columns) == ["income"]
    right = (
        predicted["income"].to_numpy() == pd.read_csv(folder / "others.csv")["income"].to_numpy()
    ).mean()
    shown = json.loads(sottovoce("predict", name, "others.csv", "--json", folder=folder).stdout)
    assert shown["model"] == pytest.approx(right)
    assert shown["rows"] == len(predicted) == 300
    # Without the label: the same predictions, on standard output, and no word of how good they are.
    plain = sottovoce("predict", f"{name}/model.json", "unlabelled.csv", folder=folder)
    assert plain.stdout.split("\n")[1:301] == predicted["income"].to_list()
    assert not plain.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ("clldp-joint", "others.csv"),
            "expected a model of kind naive-bayes or decision-tree, found 'label-tables'",
        ),
        (("nowhere", "others.csv"), "expected a model at nowhere"),
        (("clldp-naive-bayes", "nowhere.csv"), "expected a table at nowhere.csv"),
        (
            ("clldp-naive-bayes", "others.csv", "--schema", "nowhere.json"),
            "expected the schema of the model's run",
        ),
        (("clldp-naive-bayes", "bad.csv"), "expected a category of sex"),
        (("clldp-naive-bayes", "short.csv"), "expected a column"),
    ],
)
def test_what_cannot_be_predicted(folder: Path, words: tuple[str, ...], reason: str) -> None:
    pd.read_csv(folder / "others.csv").assign(sex="neither").to_csv(folder / "bad.csv", index=False)
    pd.read_csv(folder / "others.csv")[["income"]].to_csv(folder / "short.csv", index=False)
    done = sottovoce("predict", *words, folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"sottovoce: {reason}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_attack(folder: Path) -> None:
    done = sottovoce(
        "attack", "people.csv", "--epsilon", "1", "4", "--record-cap", "6", "--json", folder=folder
    )
    first, second = json.loads(done.stdout)
    assert (first["epsilon"], second["epsilon"]) == (1, 4)
    for attack in (first, second):
        assert attack["labeldp_whole"] >= attack["known"] - 0.02
        assert attack["clldp_and_attributes"] >= attack["known"] - 0.02
        assert attack["epsilon_of_record"] <= 6 + 1e-9
    table = sottovoce("attack", "people.csv", "--epsilon", "2", folder=folder).stdout
    assert "share of users whose label is guessed right" in table
    for words, reason in (
        (("--epsilon", "0"), "expected budgets above 0"),
        (("--epsilon", "2", "--record-cap", "1"), "expected --record-cap of at least epsilon"),
        (("--label", "nobody"), "expected a label of two classes"),
    ):
        done = sottovoce("attack", "people.csv", *words, folder=folder)
        assert done.returncode == 2
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_report_says_what_is_told_of_the_record_and_how_often_it_is_right(folder: Path) -> None:
    report = json.loads((folder / "clldp-naive-bayes" / "report.json").read_text())
    judgement = json.loads((folder / "clldp-naive-bayes" / "judgement.json").read_text())
    accuracy = judgement["utility"]["accuracy"]
    assert report["rows"] == judgement["rows"] == accuracy["rows"] == 6000
    assert 8 < report["privacy"]["whole_record"] <= 16 + 1e-9
    page = (folder / "clldp-naive-bayes" / "report.html").read_text()
    assert "The privacy loss of the whole record, attributes and label, as accounted: " in page
    printed = sottovoce("report", "clldp-naive-bayes", folder=folder).stdout
    assert "of the whole record" in printed
    assert "income is predicted right in" in printed
    compared = sottovoce(
        "compare", "clldp-naive-bayes", "clldp-decision-tree", "--json", folder=folder
    )
    rows = json.loads(compared.stdout)
    assert rows[0]["wrong, where it learnt: income"] == pytest.approx(1 - accuracy["model"])
    assert rows[2]["run"] == "floor"
    assert rows[2]["wrong, where it learnt: income"] == pytest.approx(1 - accuracy["majority"])


def test_the_tree_is_drawn(folder: Path) -> None:
    model = json.loads((folder / "clldp-decision-tree" / "model.json").read_text())
    drawn = pictures(model)["decisions.svg"]
    assert (folder / "clldp-decision-tree" / "decisions.svg").read_text() == drawn
    assert "<title>The decision tree for income</title>" in drawn
    nodes = json.dumps(model["tree"]).count('"is"')
    assert drawn.count("font-style") == nodes - 1  # every node but the root is an answer
    assert drawn.count("font-weight") == (nodes + 1) // 2
    assert drawn in (folder / "clldp-decision-tree" / "report.html").read_text()
    leaf = {"kind": "decision-tree", "label": "income", "tree": {"label": 0, "is": "<=50K"}}
    assert "&lt;=50K" in pictures(leaf)["decisions.svg"]
