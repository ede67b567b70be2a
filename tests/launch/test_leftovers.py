"""A rank ends with its launcher from its first moment on, and shared memory is removed."""

import json
import mmap
import os
import platform
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from sottovoce.launch.family import family_of
from sottovoce.launch.hold import JOB_VARIABLE
from sottovoce.launch.leftovers import (
    remove_folder_of,
    remove_folders_of_jobs,
    remove_segments,
    segments_of,
)
from sottovoce.launch.library import loaded_library
from sottovoce.launch.mpiexec import Launcher
from sottovoce.launch.rank_ends import fail
from sottovoce.launch.rank_events import Start
from sottovoce.launch.rank_states import RankStates
from sottovoce.launch.supervise import run_with_mpi
from sottovoce.messages import MessageError
from sottovoce.report.progress import Progress
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement

if TYPE_CHECKING:
    from mpi4py import MPI

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these")

BUSY = """
import ctypes
from sottovoce.launch.hold import hold
held = hold()
print("holds", flush=True)
ctypes.PyDLL(None).sleep(600)  # like MPI_Init, it keeps the interpreter's lock
"""
FINALIZING = """
import ctypes, sys
from sottovoce.launch.lifeline import Address, Lifeline
address = Address(("localhost", "127.0.0.1"), int(sys.argv[1]), "t")  # as on several hosts
lifeline = Lifeline(address, rank=0, die=sys.exit)
lifeline.hold()
del lifeline
print("holds", flush=True)
ctypes.PyDLL(None).sleep(600)  # like MPI_Finalize, it keeps the interpreter's lock
"""
WITH_A_SEGMENT = """
import mmap, os, sys, time
import msgspec
from sottovoce.launch.lifeline import Address, Lifeline

class Task(msgspec.Struct):
    lifeline: Address

file = open(sys.argv[1], "w+b")
file.truncate(4096)
memory = mmap.mmap(file.fileno(), 4096)
task = msgspec.json.decode(os.environ["SOTTOVOCE_JOB"], type=Task)
Lifeline(task.lifeline, rank=0, die=sys.exit)
time.sleep(5)  # the launcher takes note of a rank's memory when it has heard of it
os.kill(os.getpid(), 9)
"""


STARTING_MPI = """
import mmap, sys, time
from sottovoce.launch.hold import hold
held = hold()
file = open(sys.argv[1], "w+b")
file.truncate(4096)
memory = mmap.mmap(file.fileno(), 4096)
open(sys.argv[2], "w").close()
time.sleep(600)
"""
FAILING = """
import os, sys, time
import msgspec
from sottovoce.launch.lifeline import Address, Lifeline
from sottovoce.launch.rank_events import Failure

class Task(msgspec.Struct):
    lifeline: Address

while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
task = msgspec.json.decode(os.environ["SOTTOVOCE_JOB"], type=Task)
Lifeline(task.lifeline, rank=1, die=sys.exit).send(Failure(1, 3, "rank 1 fails"))
time.sleep(600)
"""


def rank_of(port: int) -> "subprocess.Popen[str]":
    job = json.dumps({"lifeline": {"hosts": ["127.0.0.1"], "port": port, "token": "t"}})
    return subprocess.Popen(
        [sys.executable, "-c", BUSY],
        env={**os.environ, JOB_VARIABLE: job},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_rank_that_is_inside_mpi_ends_with_its_launcher() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        rank_of(listener.getsockname()[1]) as rank,
    ):
        connection, _ = listener.accept()
        assert rank.stdout is not None
        assert rank.stdout.readline() == "holds\n"
        assert rank.poll() is None
        connection.close()
        assert rank.wait(timeout=300) == -signal.SIGIO


def test_a_rank_of_several_hosts_that_has_ended_its_part_ends_with_its_launcher() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        words = [sys.executable, "-c", FINALIZING, port]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as rank:
            connection, _ = listener.accept()
            assert rank.stdout is not None
            assert rank.stdout.readline() == "holds\n"
            assert rank.poll() is None
            connection.close()
            assert rank.wait(timeout=60) == -signal.SIGIO


def test_a_rank_whose_launcher_is_gone_ends_before_it_imports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with rank_of(port) as rank:
        assert rank.wait(timeout=300) == 3


NAMELESS = """
import os
import numpy as np
from sottovoce.launch.leftovers import segments_of
from sottovoce.launch.rank_start import start_mpi
comm = start_mpi(is_alone=False)
cells = np.full(1 << 18, comm.Get_rank())
comm.Barrier()
names = {path.name.removesuffix(" (deleted)") for path in segments_of(os.getpid())}
left = names & {*os.listdir("/dev/shm")}
comm.Sendrecv_replace(cells, dest=1 - comm.Get_rank(), source=1 - comm.Get_rank())
has_arrived = {*cells.tolist()} == {1 - comm.Get_rank()}
os.write(1, f"{len(names)} {len(left)} {has_arrived}\\n".encode())  # one write, so lines stay whole
"""


def test_mpichs_shared_memory_has_no_name_once_ranks_have_begun() -> None:
    """Its mpiexec ends ranks before they could remove it, and messages go on without the name."""
    environment = Path(os.environ.get("SOTTOVOCE_MPICH", "")) / "bin"
    if not (environment / "mpiexec").exists():
        pytest.skip("no MPICH: SOTTOVOCE_MPICH names no environment with it")
    words = [str(environment / "mpiexec"), "-n", "2", str(environment / "python"), "-c", NAMELESS]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 2), done.stderr
    for line in lines:
        mapped, left, has_arrived = line.split()
        assert int(mapped) > 0
        assert (left, has_arrived) == ("0", "True")


@pytest.fixture
def segment() -> Iterator[Path]:
    path = Path(f"/dev/shm/sm_segment.test-{uuid.uuid4().hex}")
    yield path
    path.unlink(missing_ok=True)


def test_shared_memory_of_a_killed_rank_is_removed(tmp_path: Path, segment: Path) -> None:
    """Another job's segment stays."""
    other = segment.with_name(f"{segment.name}-other")
    other.touch()
    (tmp_path / "rank.py").write_text(WITH_A_SEGMENT)
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text(f"#!/bin/sh\n{sys.executable} {tmp_path}/rank.py {segment}\nsleep 600\n")
    mpiexec.chmod(0o755)
    try:
        with pytest.raises(RunFailed, match="lost"):
            run_with_mpi(
                Job(protocol="head-count", parties=2, rows=40, seed=1),
                launcher=Launcher(str(mpiexec), "openmpi", "mpiexec (Open MPI) 5.0.11"),
                placement=Placement(transport="mpi", mpiexec=str(mpiexec)),
                progress=Progress(shown=False),
            )
        assert not segment.exists()
        assert other.exists()
    finally:
        other.unlink()


def test_shared_memory_of_a_rank_that_starts_mpi_is_removed(tmp_path: Path, segment: Path) -> None:
    """It has not reported to the launcher when another rank ends the run."""
    (tmp_path / "starting.py").write_text(STARTING_MPI)
    (tmp_path / "failing.py").write_text(FAILING)
    mpiexec = tmp_path / "mpiexec"
    arguments = f"{segment} {tmp_path}/mapped"
    mpiexec.write_text(
        f"#!/bin/sh\n{sys.executable} {tmp_path}/starting.py {arguments} &\n"
        f"{sys.executable} {tmp_path}/failing.py {arguments} &\nwait\n"
    )
    mpiexec.chmod(0o755)
    with pytest.raises(RunFailed, match="rank 1 fails"):
        run_with_mpi(
            Job(protocol="head-count", parties=2, rows=40, seed=1),
            launcher=Launcher(str(mpiexec), "openmpi", "mpiexec (Open MPI) 5.0.11"),
            placement=Placement(transport="mpi", mpiexec=str(mpiexec)),
            progress=Progress(shown=False),
        )
    assert (tmp_path / "mapped").exists()
    assert not segment.exists()


def test_a_rank_that_aborts_removes_its_shared_memory(segment: Path) -> None:
    """In the user's own MPI job there is no launcher to do it."""

    class Comm:
        def Abort(self, status: int) -> None:  # noqa: N802 - a name of mpi4py
            raise SystemExit(status)

    with segment.open("w+b") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096), pytest.raises(SystemExit):
            fail(
                MessageError("expected a message, found none"),
                rank=1,
                role=None,
                lifeline=None,
                comm=cast("MPI.Comm", Comm()),
                are_shown=False,
            )
    assert not segment.exists()


def test_the_question_for_the_library_starts_no_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts Open MPI without mpiexec leaves its segment, as each doctor did."""
    run, answers = subprocess.run, list[str]()

    def ask_more(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        done = run([*words[:-1], f"{words[-1]}; print(MPI.Is_initialized())"], **options)
        answers.append(done.stdout.splitlines()[-1])
        return done

    monkeypatch.setattr(subprocess, "run", ask_more)
    assert "MPI" in loaded_library(os.environ)
    assert answers == ["False"]


def test_segments_are_those_that_are_mapped(segment: Path) -> None:
    with segment.open("w+b") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096):
            assert segments_of(os.getpid()) == {segment}
    assert segments_of(os.getpid()) == frozenset()
    remove_segments([segment, segment])
    assert not segment.exists()


def test_the_folder_of_an_mpiexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("ompi.12/1", "ompi.123/1", f"ompi.{os.uname().nodename}.{os.getuid()}/pid.12"):
        (tmp_path / name).mkdir(parents=True)
    remove_folder_of(12)
    left = {path.name for path in tmp_path.rglob("*")}
    assert left == {"ompi.123", "1", f"ompi.{os.uname().nodename}.{os.getuid()}"}


def test_the_folder_of_ranks_that_took_themselves_for_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of other jobs stay, and a folder that holds nothing else goes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    of_user = tmp_path / f"ompi.{os.uname().nodename}.{os.getuid()}"
    segments = [Path(f"/dev/shm/x/sm_segment.my.host.0.8ace0001.{rank}") for rank in range(2)]
    for job in (0x8ACE0001, 17):
        (of_user / "jf.0" / str(job) / "0").mkdir(parents=True)
    remove_folders_of_jobs(segments)
    assert [path.name for path in of_user.glob("jf.0/*")] == ["17"]
    remove_folders_of_jobs([Path("/dev/shm/x/sm_segment.my.host.0.11.0")])
    assert [*tmp_path.iterdir()] == []


def test_shared_memory_of_a_process_without_the_token_stays(segment: Path) -> None:
    """A rank on another host of the same name has a number that is another process's here."""
    with segment.open("w+b") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096):
            states = RankStates("head-count")
            states.note(Start(1, os.getpid(), platform.node(), "a token of no process"))
            assert segments_of(os.getpid()) == {segment}
            assert states.segments == set()


@pytest.mark.mpi
def test_the_folder_of_mpiexec_is_removed_though_its_launcher_was_killed(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["head-count", "--rows", "20", "--parties", "2", "--transport", "mpi"]
    words += ["--fault", "party 1 pauses 60 s", "--out", str(tmp_path / "out"), "--durable"]
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "SOTTOVOCE_STATE": str(tmp_path / "state"),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "run", *words, "--quiet"], env=environment
    ) as launcher:
        until = time.monotonic() + 100
        while len([*tmp_path.glob("state/durable/*/*/log")]) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)  # A rank watches its launcher from before it has opened its log.
        assert launcher.poll() is None
        (folder,) = temporary.glob("ompi.*")
        launcher.kill()
    until = time.monotonic() + 10
    while family_of(str(temporary)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not family_of(str(temporary))
    assert not folder.exists()
