"""Over MPI a run that has lost a party is stopped, and goes on to the end of an undisturbed one.

That one has lost the same party at the same moment, on threads.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mpi_starts import with_daemon

from sottovoce.crypto.log_format import CODE_BYTES, HEAD, HEAD_BYTES, MAGIC, RecordKind
from sottovoce.launch.mpiexec import find_launcher

LONG = 300.0
"""Seconds that a run may take on a busy machine."""
LOST = ["--fault", "party 2 dies in keys"]


def words(*more: str, out: Path) -> list[str]:
    options = ["--rows", "60", "--seed", "1", "--no-judge", "--quiet", "--out", str(out)]
    options += ["--set", "aggregator=masks", "--set", "marginals=sex", "--min-parties", "2"]
    options += ["--on-loss", "continue", *LOST, *more]
    return [sys.executable, "-m", "sottovoce", "run", "noisy-marginals", *options]


def play(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)


def kinds(log: Path) -> list[RecordKind]:
    """List the kinds of the whole records of a log."""
    data = log.read_bytes() if log.exists() else b""
    at, found = len(MAGIC), []
    while len(data) - at >= HEAD_BYTES:
        kind, _, _, _, length, _ = HEAD.unpack_from(data, at)
        at += HEAD_BYTES + length + CODE_BYTES
        found += [RecordKind(kind)] if at <= len(data) else []
    return found


def kill_launcher(state: Path, out: Path) -> None:
    """Kill it once the curator has gone on without the party.

    On a busy machine the curator may pause before it has heard of the loss; then it is begun anew.
    """
    for _ in range(4):
        if _has_gone_on(state, out):
            return
        shutil.rmtree(state)
        shutil.rmtree(out, ignore_errors=True)
    pytest.fail("the curator has never gone on")


def _has_gone_on(state: Path, out: Path) -> bool:
    """Start a run whose curator pauses, kill its launcher, and wait until all roles have ended."""
    pause = ["--fault", f"the curator pauses {LONG:.0f} s in count after 2 messages"]
    found = False
    with subprocess.Popen(
        words("--durable", *pause, out=out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as launcher:
        until = time.monotonic() + LONG / 5
        while not found and time.monotonic() < until:
            logs = [log for log in state.glob("durable/*/curator/log") if log.is_file()]
            found = bool(logs) and RecordKind.LOST in kinds(logs[0])
            time.sleep(0.05)
        launcher.kill()
    for log in state.rglob("log"):
        with log.open("rb") as file:  # Its role holds it until it has ended.
            fcntl.flock(file, fcntl.LOCK_EX)
    return found


def essence(folder: Path) -> dict[str, Any]:
    report = json.loads((folder / "report.json").read_text())
    published = {
        path.name: path.read_bytes() for path in folder.glob("*.csv") if path.name != "ledger.csv"
    }
    return {name: report[name] for name in ("privacy", "rows", "losses")} | published


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    done = play(words("--transport", "threads", out=out))
    assert done.returncode == 0, done.stderr
    return essence(out)


@pytest.mark.parametrize("killed", ["curator", "launcher"])
def test_it_goes_on_without_the_party(
    killed: str, tmp_path: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The party has a log, and stays lost: the others have gone on without it."""
    state, out = tmp_path / "state", tmp_path / "out"
    monkeypatch.setenv("SOTTOVOCE_STATE", str(state))
    if killed == "curator":
        stopped = play(words("--durable", "--fault", "curator dies in count", out=out))
        assert stopped.returncode == 3, stopped.stderr
        assert f"go on with: sottovoce resume {out}" in stopped.stderr
    else:
        kill_launcher(state, out)
    assert len([*state.rglob("log")]) == 4
    done = play([sys.executable, "-m", "sottovoce", "resume", str(out), "--quiet"])
    # Open MPI may have a word to say of a rank that has gone.
    said = re.sub(r"^\[\S+\] pmix_.*\n", "", done.stderr, flags=re.MULTILINE)
    assert (done.returncode, said) == (0, "")
    assert not [path for path in state.rglob("*") if path.is_file()]
    found = essence(out)
    assert found == undisturbed
    (loss,) = found["losses"]
    assert (loss["party"], loss["batches_with"], loss["batches_without"]) == (2, 0, 1)


AGREEING = """
import sys
from mpi4py import MPI
from sottovoce.launch import rank_lost
from sottovoce.launch.rank_setup import OtherRankError
from sottovoce.messages import UsageError
from sottovoce.messages.frame import FrameKind, Header, pack_header
comm = MPI.COMM_WORLD
rank = comm.Get_rank()

def show(found):
    sys.stdout.write(f"{rank} {found}\\n")

def attempt(act):
    try:
        show(act())
    except (UsageError, OtherRankError) as error:
        show(type(error).__name__)

def agree(word, kind):
    attempt(lambda: rank_lost.agree_on(comm, 60, word, kind=kind, run="r"))

agree(f"of {rank}", str)
swap = rank_lost._swap

def lie(comm, timeout, mine, *, tag, sizes=None):
    # Rank 2 tells rank 1 something else than rank 0.
    arrays = swap(comm, timeout, mine, tag=tag, sizes=sizes)
    if rank == 1 and tag == rank_lost.WORD:
        arrays[2][-2] = ord("!")
    return arrays

rank_lost._swap = lie
agree(f"of {rank}", str)
rank_lost._swap = swap
agree([rank], int if rank == 1 else list)

def frame(number, kind=FrameKind.RELEASES):
    return pack_header(Header(kind, 0, number, 2, 0, "p", "", ""))

def collect(left):
    found = rank_lost.collect_releases(comm, 60, {2} if left else set(), left=left)
    return {party: len(frames) for party, frames in found.items()}

attempt(lambda: collect([frame(0), memoryview(frame(1))]))
attempt(lambda: collect([]))
for wrong in (b"", frame(0), frame(2), frame(1, FrameKind.MESSAGE), frame(1)[:-1], frame(1) * 2):
    attempt(lambda: collect([frame(0), wrong, frame(1)]))
rank_lost.MAX_RELEASED = 40
attempt(lambda: collect([frame(0), frame(1)]))
rank_lost.MAX_RELEASED = 40 if rank == 0 else 4000  # Rank 2 sends more than anybody may.
attempt(lambda: collect([frame(0), frame(1)]))
"""


def test_all_ranks_hear_the_same_of_all_logs() -> None:
    """The curator's rank gets what lost parties have released, as far as it is theirs."""
    launcher = find_launcher(None)
    command = launcher.command(
        [sys.executable, "-c", AGREEING], ranks=3, variables=[], hosts=None, hostfile=None, extra=[]
    )
    done = with_daemon(
        lambda: subprocess.run(
            command,
            env=launcher.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )
    )
    found = [
        [line[2:] for line in done.stdout.splitlines() if line.startswith(f"{rank} ")]
        for rank in range(3)
    ]
    everything = "['of 0', 'of 1', 'of 2']"
    refusals = ["UsageError", "OtherRankError", "OtherRankError"]
    for rank in range(3):
        assert found[rank][0] == everything, done.stderr
        assert found[rank][1] == refusals[rank]
    assert [lines[2] for lines in found] == ["OtherRankError", "UsageError", "OtherRankError"]
    # In the place of what is no such frame stands one that cannot be read.
    assert found[0][3:] == ["{2: 2}", "{}", *["{2: 2}"] * 6, "{2: 1}", "{2: 1}"]
    assert found[1][3:] == found[2][3:] == ["{}"] * 10
