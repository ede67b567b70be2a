"""Where a run goes on without lost parties, all logs stay until the launcher has the record.

Each rank has its own place, as on several hosts, and the launcher takes its time to keep the
record: it may be killed before it has, or before ranks hear of it (`tools/own_places.py`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from own_places import state_of

LONG = 300.0
"""Seconds that a run may take on a busy machine."""
TOOLS = Path(__file__).parents[2] / "tools"
Start = Callable[..., "subprocess.Popen[str]"]


class SlowRun:
    """A run of three parties, whose launcher waits before it keeps the record."""

    def __init__(self, tmp_path: Path, *, imports: str = "own_places") -> None:
        self.folder = tmp_path
        self.state, self.out = tmp_path / "state", tmp_path / "out"
        (tmp_path / "sitecustomize.py").write_text(f"import {imports}\n")

    def environment(self, **more: str) -> dict[str, str]:
        paths = [str(self.folder), str(TOOLS), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "SOTTOVOCE_STATE": str(self.state),
            "SOTTOVOCE_SLOW": str(self.folder),
            **more,
        }

    def command(self, *more: str) -> list[str]:
        words = ["--parties", "3", "--rows", "60", "--seed", "1", "--no-judge", "--quiet"]
        words += ["--set", "aggregator=masks", "--set", "marginals=sex", "--min-parties", "2"]
        words += ["--on-loss", "continue", "--durable", "--out", str(self.out), *more]
        return [sys.executable, "-m", "sottovoce", "run", "noisy-marginals", *words]

    def resume(self, *more: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = self.environment()
        if state is not None:
            environment = {**os.environ, "SOTTOVOCE_STATE": str(state)}
        return subprocess.run(
            [sys.executable, "-m", "sottovoce", "resume", *more],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )

    def await_keeping(self, launcher: subprocess.Popen[str]) -> None:
        until = time.monotonic() + LONG
        while not (self.folder / "keeping").exists():
            assert launcher.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)

    @property
    def logs(self) -> list[str]:
        return sorted(log.parent.name for log in self.folder.rglob("log"))

    def await_end_of_ranks(self) -> None:
        """Wait until no role holds its log any more."""
        for log in self.folder.rglob("log"):
            with log.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.parametrize("lost", [False, True])
def test_they_stay_while_the_launcher_has_no_record_and_not_longer(
    lost: bool, tmp_path: Path, start: Start
) -> None:
    """That of a party whose process was lost stays on its host."""
    run = SlowRun(tmp_path)
    fault = ["--fault", "party 2 dies in keys"] if lost else []
    launcher = start(run.command(*fault), env=run.environment())
    run.await_keeping(launcher)
    time.sleep(1)  # All have been dismissed.
    assert run.logs == ["curator", "party-1", "party-2", "party-3"]
    (run.folder / "go").touch()
    _, errors = launcher.communicate(timeout=LONG)
    assert (launcher.returncode, errors) == (0, "")
    assert run.logs == (["party-2"] if lost else [])
    if lost:
        (place,) = state_of(run.state, 2).glob("durable/*")
        forgotten = run.resume(place.name, "--forget", state=state_of(run.state, 2))
        assert (forgotten.returncode, forgotten.stderr) == (0, "")
        assert run.logs == []


@pytest.mark.parametrize("keeps_first", [False, True])
def test_they_stay_if_the_launcher_is_killed(
    keeps_first: bool, tmp_path: Path, start: Start
) -> None:
    """If it had the record the run is over, and what is left elsewhere is forgotten there."""
    run = SlowRun(tmp_path)
    first = {"SOTTOVOCE_KEEPS_FIRST": "1"} if keeps_first else {}
    launcher = start(run.command(), env=run.environment(**first))
    run.await_keeping(launcher)
    launcher.kill()
    launcher.wait()
    run.await_end_of_ranks()
    assert run.logs == ["curator", "party-1", "party-2", "party-3"]
    (run.folder / "go").touch()
    (name,) = (place.name for place in run.state.glob("durable/*"))
    done = run.resume(str(run.out), "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert (run.out / "report.json").exists()
    if keeps_first:
        assert len(run.logs) == 4
        for rank in range(4):
            listed = run.resume(state=state_of(run.state, rank))
            assert name in listed.stdout
            assert run.resume(name, "--forget", state=state_of(run.state, rank)).returncode == 0
    assert run.logs == []


def test_a_run_quicker_than_a_look_is_not_begun_anew(tmp_path: Path) -> None:
    """The launcher has heard of no phase, and all logs are gone: parties must not answer again."""
    run = SlowRun(tmp_path, imports="two_attempts, sottovoce.launch.lifeline as line")
    with (tmp_path / "sitecustomize.py").open("a") as file:
        file.write("line.CHECK_EVERY = 60.0\n")
    words = ["--parties", "3", "--rows", "60", "--seed", "1", "--no-judge", "--durable"]
    lies = {"SOTTOVOCE_LIE": "ask-again", "SOTTOVOCE_END": "", "SOTTOVOCE_LOOT": str(tmp_path)}
    environment = run.environment(**lies)
    del environment["SOTTOVOCE_SLOW"]
    command = [sys.executable, "-m", "sottovoce", "run", "head-count", *words]
    stopped = subprocess.run(
        [*command, "--out", str(run.out)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert stopped.returncode == 3, stopped.stderr
    assert run.logs == ["curator"]
    shutil.rmtree(next(run.state.rglob("curator")))
    refused = run.resume(str(run.out), state=run.state)
    assert refused.returncode == 2, refused.stderr
    assert "expected the logs of all roles of run " in refused.stderr
