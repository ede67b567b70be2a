"""Figures of what a protocol published itself: `--figure outcome.NAME:X`."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from sottovoce.launch.commands import app
from sottovoce.messages import UsageError
from sottovoce.runs.failure import RunFailed

PROTOCOL = """
from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, message
from sottovoce.privacy import laplace


class AskerParameters(Options):
    epsilon: Epsilon = 1.0


class Asker(Protocol[AskerParameters]):
    name = "asker"
    trust = "no one"
    summary = "how many records there are, doubled"
    neighbours = "add-or-remove-one"

    @message
    class Answer:
        count: float

    def party(self, me: Party) -> None:
        with me.phase("answer"):
            count = me.release(
                laplace(len(me.records), sensitivity=1, epsilon=self.parameters.epsilon),
                to=CURATOR,
            )
            me.send(self.Answer(count=float(count)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("answer"):
            answers = desk.gather(self.Answer)
        published = {
            "answers": len(answers),
            "per cent / 100": {"of all": 1 / len(answers)},
            "per cent": {"100": {"of all": 3.0}},
            "is_good": True,
            "counts": [answer.count for answer in answers],
            "bound": float("inf"),
            "word": "none",
        }
        return Outcome(summary=published)
"""
SWEEP = """
seeds = 2

[every]
rows = 30

[[run]]
protocol = "asker:Asker"
parties = [2, 4]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "asker.py").write_text(PROTOCOL)
    (tmp_path / "two.toml").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def points(path: Path) -> dict[float, float]:
    """Read the points of a figure, whose columns after the line are x and y."""
    rows = [*csv.reader(path.read_text().splitlines())][1:]
    return {float(row[1]): float(row[2]) for row in rows}


def test_a_sweep_draws_the_numbers_of_an_authors_outcome(folder: Path) -> None:
    words = ["sweep", "two.toml", "--figure", "outcome.answers:parties"]
    words += ["--figure", "outcome.per cent / 100.of all:parties"]
    words += ["--figure", "outcome.per cent.100.of all:parties"]
    words += ["--figure", "outcome.answer:parties"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, RunFailed)
    assert result.exception.status == 3
    figures = folder / "sweeps" / "two" / "figures"
    assert points(figures / "outcome-answers-over-parties.csv") == {2: 2, 4: 4}
    other = "outcome-per-cent-100-of-all-over-parties"
    assert points(figures / f"{other}.csv") == {2: 0.5, 4: 0.25}
    # Names that differ in what names of files leave out have files of their own.
    assert points(figures / f"{other}-2.csv") == {2: 3, 4: 3}
    assert f"{other}-2.svg, .pdf and .csv" in result.stdout
    for ending in ("svg", "pdf"):
        assert (figures / f"{other}.{ending}").stat().st_size > 1000
    # Only finite numbers can be drawn, and a wrong name is answered by those that there are.
    table = pd.read_csv(folder / "sweeps" / "two" / "results.csv")
    published = [name for name in table.columns if name.startswith("outcome.")]
    assert published == [
        "outcome.answers",
        "outcome.per cent / 100.of all",
        "outcome.per cent.100.of all",
    ]
    answer = str(result.exception)
    assert answer.startswith("not drawn: outcome.answer:parties; these runs have Y:X with Y one of")
    assert "outcome.per cent / 100.of all, outcome.per cent.100.of all and X one" in answer
    # The printed table has what was asked for.
    assert "outcome.answers" in result.output.splitlines()[0]


def test_a_wrong_name_is_noticed_after_the_first_run(folder: Path) -> None:
    words = ["sweep", "two.toml", "--progress", "--figure", "outcome.answers:parties"]
    words += ["--figure", "outcome.answer:parties"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, RunFailed)
    lines = result.stderr.splitlines()
    warnings = [number for number, line in enumerate(lines) if line.startswith("warning: no run")]
    (number,) = warnings
    assert lines[number].startswith(
        "warning: no run so far has outcome.answer for --figure outcome.answer:parties; "
        "they have outcome.answers, "
    )
    # It stands before the second of four runs begins.
    (second,) = (number for number, line in enumerate(lines) if line.startswith("1 of 4 runs"))
    assert number < second
    again = CliRunner().invoke(app, [*words, "--quiet"])
    assert "warning: no run" not in again.stderr
    assert (folder / "sweeps" / "two" / "figures" / "outcome-answers-over-parties.svg").is_file()


def test_a_comparison_draws_them_too(folder: Path) -> None:
    for parties in ("2", "3"):
        words = ["run", "asker:Asker", "--rows", "30", "--parties", parties, "--quiet"]
        words += ["--transport", "threads", "--no-rehearsal", "--out", f"runs/{parties}"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    words = ["compare", "runs/2", "runs/3", "--figure"]
    result = CliRunner().invoke(app, [*words, "outcome.answers:parties"])
    assert result.exit_code == 0, result.output
    figures = folder / "runs" / "comparison-figures"
    assert points(figures / "outcome-answers-over-parties.csv") == {2: 2, 3: 3}
    wrong = CliRunner().invoke(app, [*words, "outcome.rounds:parties"])
    assert isinstance(wrong.exception, UsageError)
    assert "found 'outcome.rounds' in outcome.rounds:parties" in str(wrong.exception)
    assert "outcome.answers" in str(wrong.exception)


def test_a_name_without_outcome_is_answered_by_how_to_write_it(folder: Path) -> None:
    result = CliRunner().invoke(app, ["sweep", "two.toml", "--figure", "answers:parties"])
    assert isinstance(result.exception, UsageError)
    assert "outcome.NAME (a number that the protocol publishes)" in str(result.exception)
    assert not (folder / "sweeps").exists()


@pytest.mark.usefixtures("folder")
def test_a_plan_has_no_outcome() -> None:
    words = ["plan", "asker:Asker", "--figure", "outcome.answers:parties"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, UsageError)
    assert "only a run publishes an outcome, so draw it with `sottovoce sweep`" in str(
        result.exception
    )


def test_a_label_that_no_run_classifies_is_refused_before_any_run(folder: Path) -> None:
    words = ["sweep", "two.toml", "--figure", "wrong_age:parties"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, UsageError)
    assert "of a label in `classify`, which has nothing, found wrong_age:p" in str(result.exception)
    assert not (folder / "sweeps").exists()
