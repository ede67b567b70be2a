"""Over MPI a run that has lost a party is stopped, and goes on to the end of an undisturbed one.

That one has lost the same party at the same moment, on threads.
"""

from __future__ import annotations

import fcntl
import json
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
    """Kill it once the curator has gone on without the party."""
    pause = ["--fault", f"the curator pauses {LONG:.0f} s in count after 2 messages"]
    with subprocess.Popen(
        words("--durable", *pause, out=out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as launcher:
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            logs = [*state.rglob("curator/log")]
            if logs and RecordKind.LOST in kinds(logs[0]):
                break
            time.sleep(0.05)
        launcher.kill()
    for log in state.rglob("log"):
        with log.open("rb") as file:  # Its role holds it until it has ended.
            fcntl.flock(file, fcntl.LOCK_EX)


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
    assert (done.returncode, done.stderr) == (0, "")
    assert not [path for path in state.rglob("*") if path.is_file()]
    found = essence(out)
    assert found == undisturbed
    (loss,) = found["losses"]
    assert (loss["party"], loss["batches_with"], loss["batches_without"]) == (2, 0, 1)


AGREEING = """
import sys
from mpi4py import MPI
from sottovoce.launch.rank_lost import agree_on_lost
from sottovoce.launch.rank_setup import OtherRankError
from sottovoce.messages import UsageError
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
lists = [{2}, {2}, {2}], [{2}, {2}, set()]
for told in lists:
    left = [b"first", memoryview(b"second")] if rank == 2 else [b"of another"]
    try:
        found = str(agree_on_lost(comm, 60, told[rank], left=left, run="r"))
    except (UsageError, OtherRankError) as error:
        found = type(error).__name__
    sys.stdout.write(f"{rank} {found}\\n")
"""


def test_all_ranks_have_the_same_list_of_lost_parties() -> None:
    """The curator's rank gets what they have released, and nobody else."""
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
    assert sorted(done.stdout.splitlines()) == [
        "0 UsageError",
        "0 {2: [b'first', b'second']}",
        "1 OtherRankError",
        "1 {}",
        "2 OtherRankError",
        "2 {}",
    ], done.stderr
