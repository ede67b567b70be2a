"""What is handed on holds nothing that was measured on real data.

The attack: with epsilon .1 report.json had `rows: 137` beside `count: 115`, and real marginals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands_here import command_here

import sottovoce
from sottovoce.report import folder as run_folder
from sottovoce.report.reported import ReportedRun

ROWS = 48_611  # a number that stands nowhere else
SECRET = "found 'HIV-positive Jane Doe'"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a run whose number of rows is secret, and one with utility."""
    home = tmp_path_factory.mktemp("home")
    table = pd.DataFrame({"sex": ["f"] * ROWS})
    sottovoce.run("head-count", table, epsilon=0.001).save(home / "count")
    more = {"sex": ["f", "m"], "age": ["17", "31"]}
    table = pd.DataFrame({"sex": ["f", "m", "m"] * 99, "age": [17, 31, 31] * 99})
    sottovoce.run("one-way", table, aggregator="masks", schema=more).save(home / "table")
    return home


def test_the_folders_hold_what_is_looked_for(saved: Path) -> None:
    assert json.loads((saved / "count" / "judgement.json").read_text())["rows"] == ROWS
    assert json.loads((saved / "table" / "judgement.json").read_text())["utility"]["tvd"]


def texts(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.iterdir())


def test_a_folder_for_the_public_has_no_judgement(saved: Path) -> None:
    for name in ("count", "table"):
        ran = command_here("report", name, "--public", "--out", f"{name}-public", cwd=saved)
        assert ran.returncode == 0, ran.stderr
        out = saved / f"{name}-public"
        kept = {path.name for path in (saved / name).iterdir()} - {"judgement.json"}
        assert {path.name for path in out.iterdir()} == kept
        for text in (ran.stdout, texts(out)):
            assert str(ROWS) not in text
            assert f"{ROWS:,}" not in text
            assert "total variation distance" not in text
        assert (out / "report.json").read_bytes() == (saved / name / "report.json").read_bytes()
    again = command_here("report", "count-public", "--json", cwd=saved)
    assert json.loads(again.stdout)["judgement"] is None


def test_json_for_the_public_is_the_report_alone(saved: Path) -> None:
    public = command_here("report", "count", "--public", "--json", cwd=saved)
    assert json.loads(public.stdout) == json.loads((saved / "count" / "report.json").read_text())
    assert str(ROWS) not in public.stdout
    whole = json.loads(command_here("report", "count", "--json", cwd=saved).stdout)
    assert whole.pop("judgement")["rows"] == ROWS
    assert whole == json.loads(public.stdout)


def test_comparisons_for_the_public(saved: Path) -> None:
    for words in (["--json"], ["--out", "page.html"]):
        ran = command_here("compare", "count", "table", "--public", *words, cwd=saved)
        assert ran.returncode == 0, ran.stderr
        page = (saved / "page.html").read_text() if "--out" in words else ""
        for text in (ran.stdout, page):
            assert str(ROWS) not in text
            assert f"{ROWS:,}" not in text
            assert "2-way" not in text
    assert "2-way" in command_here("compare", "table", "--json", cwd=saved).stdout


def test_out_is_for_the_public(saved: Path) -> None:
    for words in (["--out", "x"], ["--out", "x", "--public", "--json"]):
        ran = command_here("report", "count", *words, cwd=saved)
        assert (ran.returncode, ran.stderr[:40]) == (2, "sottovoce: expected --out with --public ")


def test_the_text_of_an_error_of_the_page_is_not_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows the judgement; what it fails at may be a figure of the real table."""

    def fail(run: ReportedRun, **_: Any) -> bytes:
        raise ValueError(SECRET)

    monkeypatch.setattr(run_folder, "page_of", fail)
    sottovoce.run("head-count", rows=90).save(tmp_path / "out")
    report = (tmp_path / "out" / "report.json").read_text()
    assert "there is no report.html: ValueError" in report
    assert SECRET not in texts(tmp_path / "out")


def test_sweeps_for_the_public(tmp_path: Path) -> None:
    """Results have neither figures of the real table nor texts of errors that may hold them."""
    (tmp_path / "own.py").write_text(
        "from sottovoce.protocols.one_way import OneWay\n"
        "class Own(OneWay):\n"
        "    name = 'own'\n"
        "    def party(self, me):\n"
        "        raise ValueError('found ' + repr(min(me.records.column('sex'))))\n"
    )
    people = pd.DataFrame({"sex": ["Jane", "Joe", "Jane"] * 99, "age": [17, 31, 31] * 99})
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "schema.json").write_text('{"sex": ["Jane", "Joe"], "age": ["17", "31"]}')
    (tmp_path / "sweep.toml").write_text(
        "[every]\n"
        'data = "people.csv"\n'
        'schema = "schema.json"\n'
        'set = {aggregator = "masks"}\n'
        "[[run]]\n"
        'protocol = ["one-way", "own:Own"]\n'
    )
    ran = command_here("sweep", "sweep.toml", "--out", "out", "--public", cwd=tmp_path)
    assert ran.returncode == 3
    assert "Jane" in ran.stderr  # the caller's own process, and her own table
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert "tvd_2" not in results.columns
    assert results["error"].dropna().str.endswith("before its first phase: ValueError").all()
    for name in ("results.csv", "comparison.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "Jane" not in text
        assert "2-way" not in text
    command_here("sweep", "sweep.toml", "--out", "out", cwd=tmp_path)
    assert "tvd_2" in pd.read_csv(tmp_path / "out" / "results.csv").columns
