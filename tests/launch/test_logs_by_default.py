"""Runs on real data keep logs without being asked, so nothing is spent twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sottovoce.launch.commands import notice_progress
from sottovoce.messages import Position
from sottovoce.report.progress import Progress

SECONDS = 300.0
SCHEMA = {"sex": ["f", "m"], "income": ["low", "high"]}
DIES = ("--fault", "party 2 dies in parameters")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    path = tmp_path / "table.csv"
    path.write_text("sex,income\n" + "f,low\nm,high\nf,high\n" * 30)
    return path


def play(
    *words: str, table: Path, state: str = "state", transport: str = "threads"
) -> subprocess.CompletedProcess[str]:
    """Run DP-SUBN on the table by the command line."""
    command = [sys.executable, "-m", "sottovoce", "run", "dp-subn", "--no-judge", "--seed", "1"]
    command += ["--key-bits", "512", "--insecure-test-keys", "--out", "out"]
    return start(*command, "--transport", transport, *words, table=table, state=state)


def start(*command: str, table: Path, state: str = "state") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=table.parent,
        env={**os.environ, "SOTTOVOCE_STATE": str(table.parent / state)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def real(table: Path) -> tuple[str, ...]:
    return ("--data", str(table), "--schema", str(table.with_name("schema.json")))


@pytest.mark.parametrize("transport", ["threads", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_a_run_on_real_data_goes_on_and_is_not_begun_twice(transport: str, table: Path) -> None:
    stopped = play(*real(table), *DIES, table=table, transport=transport)
    assert stopped.returncode == 3
    assert stopped.stderr.endswith("; go on with: sottovoce resume out\n")
    again = play(*real(table), table=table, transport=transport)
    assert again.returncode == 2
    assert "has stopped with results for out: go on with `sottovoce resume" in again.stderr
    resume = (sys.executable, "-m", "sottovoce", "resume", "out", "--quiet")
    done = start(*resume, table=table)
    assert (done.returncode, done.stderr) == (0, "")
    assert (table.parent / "out" / "synthetic.csv").exists()
    assert not [path for path in (table.parent / "state").rglob("*") if path.is_file()]


def test_without_logs_if_one_says_so_or_uses_the_demo(table: Path) -> None:
    for words in ([*real(table), "--no-durable"], ["--rows", "90"]):
        stopped = play(*words, "--fault", "party 2 dies", table=table)
        assert stopped.returncode == 3
        assert "resume" not in stopped.stderr
        assert not (table.parent / "state").exists()


def test_where_logs_cannot_be_written_a_run_goes_without_them(table: Path) -> None:
    """Unless logs were asked for: then it is refused before anything is spent."""
    (table.parent / "file").write_text("")
    refused = play(*real(table), "--durable", table=table, state="file")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "expected a folder for a durable run at" in refused.stderr
    done = play(*real(table), table=table, state="file")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("sottovoce: no role keeps a log, so a run that stops is lost: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--data", "missing.csv"), "found none at missing.csv: check --data"),
        (
            ("--data", "table.csv", "--schema", "schema.json", "--epsilon", "1e-12"),
            "epsilon 1e-12 is too small for a batch of sensitivity 2",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: tuple[str, ...], line: str, table: Path
) -> None:
    """Also where a role finds it in a phase: nobody can go on with such an option."""
    done = play(*words, table=table)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert "resume" not in done.stderr
    assert not [path for path in (table.parent / "state").rglob("*") if path.is_file()]


def test_a_run_that_takes_a_second_says_where_its_logs_are(table: Path) -> None:
    pause = ("--fault", "party 2 pauses 3 s in parameters")
    done = play(*real(table), *pause, table=table)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert " until the run has succeeded (--no-durable keeps none); here in " in line
    assert line.endswith("; if the run stops, go on with: sottovoce resume out")


def test_a_notice_comes_once_and_not_before_roles_are_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, notices, shown = 0.0, list[float](), list[object]()
    monkeypatch.setattr(notice_progress, "time", SimpleNamespace(monotonic=lambda: now))
    inner = Progress(shown=False)
    monkeypatch.setattr(inner, "show", shown.append)
    progress = notice_progress.NoticeProgress(inner, tell=lambda: notices.append(now))
    idle = Position("", 0, "", 0, 0, 0.0, 0.0)
    times = [(0.0, ""), (50.0, ""), (60.0, "work"), (60.9, "work"), (61.0, "work")]
    for second, phase in times:
        assert notices == []
        now = second
        progress.show({0: idle, 1: idle._replace(phase=phase)})
    progress.show({0: idle})
    assert notices == [61.0]
    assert len(shown) == 6
