"""Whatever goes wrong, all processes end within five seconds, the status is right and one line says
where.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.timed]

HERE = Path(__file__).parent
PROMPT = 5.0
"""Seconds from the event to the end of the last process, as promised."""


STARTING = 300.0
"""Seconds that ranks may take to start, on a machine that has other things to do: nothing is
promised of it.
"""


@dataclass
class Launched:
    process: subprocess.Popen[str]
    notes: Path
    out: Path

    def noted(self, name: str) -> float:
        """Wait until a rank has left a note, and read it."""
        until = time.monotonic() + STARTING
        while not (note := self.notes / name).exists():
            if self.process.poll() is not None and not note.exists():
                raise AssertionError(
                    f"all ended before there was {name}: {self.process.communicate()}"
                )
            assert time.monotonic() < until, f"there was no {name} in {STARTING} s"
            time.sleep(0.02)
        return float(note.read_text())

    def pid(self, rank: int) -> int:
        return int(self.noted(f"pid-{rank}"))

    def all_at_work(self) -> None:
        """Wait until every rank is in its second phase, and then until the launcher must have heard
        so.
        """
        for rank in range(4):
            self.noted(f"work-{rank}")
        time.sleep(1.0)  # ranks say where they are five times a second

    def last_at_work(self) -> float:
        """Say when the last rank that came to its second phase did so: by then there was
        trouble.
        """
        return max(float(path.read_text()) for path in self.notes.glob("work-[0-3]"))

    def ends(self, *, since: float | None = None, within: float = PROMPT) -> str:
        """Wait for the end; check that nothing lives on and nothing was left; return what was
        said.
        """
        _, said = self.process.communicate(timeout=within + (60 if since is not None else STARTING))
        over = time.monotonic()
        if since is None:
            since = self.last_at_work()
        while alive := [
            pid for path in self.notes.glob("pid-[0-3]") if is_alive(pid := int(path.read_text()))
        ]:
            assert over - since <= within, f"processes {alive} live on"
            time.sleep(0.05)
            over = time.monotonic()
        assert over - since <= within
        assert not self.out.exists()
        assert not list(self.out.parent.glob(".out*")), "half-written output"
        return said


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture
def launch(
    mpi_python: str, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> Callable[..., Launched]:
    def launched(trouble: str, *more: str) -> Launched:
        notes = tmp_path / "notes"
        notes.mkdir()
        out = tmp_path / "out"
        command = [
            mpi_python,
            "-m",
            "sottovoce",
            "run",
            "troubles:Trouble",
            "--no-rehearsal",
            "--rows",
            "60",
            "--seed",
            "1",
            "--out",
            str(out),
            "--set",
            f"trouble={trouble}",
            "--set",
            f"notes={notes}",
            *more,
        ]
        return Launched(start(command, cwd=HERE), notes, out)

    return launched


Launch = Callable[..., Launched]


def one_line(said: str) -> str:
    """Check that the place is named exactly once, on one line of ours, and return that line."""
    lines = [line for line in said.splitlines() if line.startswith("sottovoce: ")]
    assert len(lines) == 1, said
    assert (
        len(re.findall(r"rank \d \((?:curator|party \d)\) in trouble, phase \w+, step \d", said))
        == 1
    ), said
    return lines[0]


def test_nothing_wrong(launch: Launch) -> None:
    launched = launch("none")
    said, complaints = launched.process.communicate(timeout=STARTING)
    assert launched.process.returncode == 0, complaints
    assert "well" in said
    assert {path.name for path in launched.out.iterdir()} == {
        "report.json",
        "ro-crate-metadata.json",
        "report.html",
        "ledger.csv",
        "judgement.json",
    }


@pytest.mark.parametrize(
    ("trouble", "place", "reason"),
    [
        (
            "party raises",
            "rank 2 (party 2) in trouble, phase work, step 0",
            "step 0: RuntimeError (the whole text may hold data and is in ",
        ),
        (
            "curator raises",
            "rank 0 (curator) in trouble, phase work, step 0",
            "step 0: RuntimeError (the whole text may hold data and is in ",
        ),
        (
            "party exits",
            "rank 2 (party 2) in trouble, phase work, step 0",
            "step 0: it left early by SystemExit (the whole text may hold data and is in ",
        ),
        ("party vanishes", "rank 2 (party 2) in trouble, phase", "the process was lost"),
        (
            "party returns early",
            "rank 0 (curator) in trouble, phase work, step 1",
            "party 2, found that it has ended its part",
        ),
        (
            "party waits for curator",
            "in trouble, phase work, step 1",
            "party 2 waits for Reply from the curator",
        ),
        ("ring", "in trouble, phase work, step 1", "party 1 waits for Word from party 2"),
        (
            "wrong kind",
            "rank 0 (curator) in trouble, phase work, step 1",
            "expected Word of phase work from party 2, found Reply",
        ),
        (
            "says too much",
            "rank 0 (curator) in trouble, phase work, step 1",
            "Word of phase work was never received",
        ),
    ],
)
def test_a_role_goes_wrong(launch: Launch, trouble: str, place: str, reason: str) -> None:
    launched = launch(trouble)
    said = launched.ends()
    line = one_line(said)
    assert place in line
    assert reason in line
    assert launched.process.returncode == 3
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("party raises", "RuntimeError: the party's own mistake"),
        ("curator raises", "RuntimeError: the curator's own mistake"),
        ("party exits", "it left early by SystemExit(0)"),
    ],
)
def test_errors_are_shown_on_request(launch: Launch, trouble: str, reason: str) -> None:
    launched = launch(trouble, "--tell-errors")
    said = launched.ends()
    assert one_line(said).endswith(f"phase work, step 0: {reason}")
    assert launched.process.returncode == 3
    assert said.count("Traceback") == 1


def test_a_party_never_answers(launch: Launch) -> None:
    launched = launch("party never answers", "--timeout", "3", "--progress")
    said = launched.ends(within=3 + PROMPT)
    assert re.search(
        r"^\d s  .*the curator: work, step 1, waits for Word from party 2; party 1: work, step 1",
        said,
        re.MULTILINE,
    )
    line = one_line(said)
    assert "rank 0 (curator) in trouble, phase work, step 1" in line
    assert "expected Word from party 2, found nothing in 3 s" in line
    assert launched.process.returncode == 3


@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_is_killed(launch: Launch, rank: int) -> None:
    launched = launch("everybody sleeps")
    launched.all_at_work()
    os.kill(launched.pid(rank), signal.SIGKILL)
    line = one_line(launched.ends(since=time.monotonic()))
    assert f"rank {rank} " in line
    assert "phase work" in line
    assert "lost" in line
    assert launched.process.returncode == 3


def test_a_party_is_killed_after_its_part(launch: Launch) -> None:
    """The line names the party, although the curator alone is at work."""
    launched = launch("curator works alone")
    launched.noted("alone")
    time.sleep(1.0)  # ranks say where they are five times a second
    os.kill(launched.pid(2), signal.SIGKILL)
    line = one_line(launched.ends(since=time.monotonic()))
    assert "rank 2 (party 2) in trouble, phase work, step 1: the process was lost" in line
    assert launched.process.returncode == 3


def test_mpiexec_is_killed(launch: Launch) -> None:
    launched = launch("everybody sleeps")
    launched.all_at_work()
    pid = launched.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    # The other one is the shell that cleans up.
    (mpiexec,) = (
        child for child in children if b"/bin/sh" not in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    os.kill(int(mpiexec), signal.SIGKILL)
    line = one_line(launched.ends(since=time.monotonic()))
    assert "mpiexec was killed by signal 9" in line
    assert launched.process.returncode == 3


def test_the_launcher_is_killed(launch: Launch) -> None:
    launched = launch("everybody sleeps")
    launched.all_at_work()
    launched.process.kill()
    launched.ends(since=time.monotonic())


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c(launch: Launch, stop: signal.Signals) -> None:
    launched = launch("everybody sleeps")
    launched.all_at_work()
    launched.process.send_signal(stop)
    said = launched.ends(since=time.monotonic())
    assert "Traceback" not in said
    line = one_line(said)
    assert "interrupted" in line
    assert launched.process.returncode == 130
