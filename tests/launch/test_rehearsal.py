"""The rehearsal and the guard as a user meets them: from the command line and from Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.result import NotAccountedWarning
from sottovoce.runs.job import Job

LEAKY = Path(__file__).parent.parent / "runs" / "leaky_protocols.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the leaky protocols in `mine.py`, as a newcomer has it."""
    shutil.copy(LEAKY, tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def run_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", *arguments, "--out", "out"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=folder,
    )


@pytest.mark.parametrize("transport", ["threads", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_a_leak_is_on_the_terminal_on_the_page_and_in_json(folder: Path, transport: str) -> None:
    ended = run_command(folder, "mine:IntOfCell", "--transport", transport, "--rows", "600")
    sentence = "NOT ACCOUNTED: 3 messages of kind Figure left parties 1 to 3 without a release"
    assert sentence in " ".join(ended.stdout.split())
    assert sentence in ended.stderr  # before the run, by the rehearsal
    report = json.loads((folder / "out" / "report.json").read_text())
    assert any(text.startswith(sentence) for text in report["warnings"])
    assert set(report["privacy"]["epsilon"].values()) == {"infinity"}
    assert "NOT ACCOUNTED" in (folder / "out" / "report.html").read_text()


def test_faults_for_experiments_do_not_happen_in_the_rehearsal(folder: Path) -> None:
    """Party 9 is not there among its three parties, and nobody dies in it."""
    ended = run_command(
        folder,
        "mine:Leaky",
        *("--transport", "threads", "--rows", "600", "--parties", "10"),
        *("--fault", "party 9 lies", "party 1 pauses 0.1 s"),
    )
    assert "rehearsal: 600 made-up records" in ended.stderr
    assert "no play saw anything leave a party without a release" in ended.stderr


def test_an_honest_protocol_is_rehearsed_in_one_line(folder: Path) -> None:
    ended = run_command(folder, "mine:Leaky", "--transport", "threads", "--rows", "600")
    assert "rehearsal: 600 made-up records" in ended.stderr
    assert "no play saw anything leave a party without a release" in ended.stderr
    assert "NOT ACCOUNTED" not in ended.stdout
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["privacy"]["check"].startswith("rehearsed on 600 made-up records")
    assert report["privacy"]["epsilon"]["public"] == 1


def test_without_a_rehearsal_the_report_says_so(folder: Path) -> None:
    ended = run_command(
        folder, "mine:IntOfCell", "--no-rehearsal", "--transport", "threads", "--rows", "600"
    )
    assert "rehearsal: 600" not in ended.stderr
    assert "NOT ACCOUNTED" in ended.stdout  # the guard needs no rehearsal
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["privacy"]["check"].startswith("not rehearsed")
    assert any("was not rehearsed" in text for text in report["warnings"])


def test_python_warns(folder: Path) -> None:
    with pytest.warns(NotAccountedWarning, match="NOT ACCOUNTED: 3 messages of kind Figure"):
        sottovoce.run("mine:IntOfCell", rows=600, judge=False)


def test_a_rehearsal_takes_the_columns_of_the_file(folder: Path) -> None:
    """The records are made up; their columns and values are those of the file."""
    text = "".join(f"{20 + row % 50},city {row % 7}\n" for row in range(300))
    (folder / "people.csv").write_text("age,city\n" + text)
    (folder / "towns.py").write_text(
        "from mine import *\n"
        "class Towns(Leaky):\n"
        "    name = 'towns'\n"
        "    def figure(self, me):\n"
        "        return float((np.asarray(me.records.column('city')) == 'city 3').sum())\n"
    )
    rehearsal = rehearse(Job(protocol="towns:Towns", data=("people.csv",)))
    assert rehearsal.failure is None
    assert {line.kind for line in rehearsal.unaccounted} == {"Figure"}


def test_a_rehearsal_that_fails_is_a_reason_and_no_error(folder: Path) -> None:
    """The demo has no column of this name, and the other hosts' files cannot be read here."""
    (folder / "towns.py").write_text(
        "from mine import *\n"
        "class Towns(Leaky):\n"
        "    name = 'towns'\n"
        "    def figure(self, me):\n"
        "        return float(len(me.records.column('city')))\n"
    )
    rehearsal = rehearse(Job(protocol="towns:Towns", data=("people.csv",)), read=False)
    assert rehearsal.failure is not None
    # Any party may be the first to fail.
    text = r"party \d: expected a column of the data, found 'city' in towns.py, line 5"
    assert re.match(text, rehearsal.failure)
    assert rehearsal.unaccounted == []
