"""`sottovoce resume` after real kills: the files are those of a run that was never disturbed.

`SOTTOVOCE_KILLS` sets the number of kills over MPI, for runs by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sottovoce.crypto.log_format import CODE_BYTES, HEAD_BYTES
from sottovoce.launch.commands import app
from sottovoce.runs.placement import Placement
from sottovoce.runs.settings import settings
from sottovoce.runs.unfinished import begin_run

KILLS = int(os.environ.get("SOTTOVOCE_KILLS", "4"))
STARTING = 100.0
"""Seconds that ranks may take to start on a busy machine."""
RESTART_BYTES = 2 * (HEAD_BYTES + CODE_BYTES) + 3 * 8
"""Bytes of what each of three roles notes when a run goes on."""
HELD = 8.0
"""Seconds for which a log is held: ranks start and ask for it meanwhile, more than once."""
SMALL = ["--rows", "200", "--columns", "sex,income,race", "--parties", "2", "--seed", "5"]
TEST_KEYS = ["--key-bits", "512", "--insecure-test-keys"]
PROTOCOLS: dict[str, list[str]] = {
    "dp-subn": TEST_KEYS,
    "jtree": TEST_KEYS,
    "calm": [],
    "privincr": [],
}
TIMES = ("sending_at", "sent_at", "awaited_at", "arrived_at", "received_at")

Start = Callable[..., "subprocess.Popen[str]"]


def command(*words: str, python: str = sys.executable) -> list[str]:
    return [python, "-m", "sottovoce", *words]


def run_words(protocol: str, *, out: Path, transport: str = "mpi") -> list[str]:
    options = [*SMALL, *PROTOCOLS[protocol], "--transcript", "--transport", transport]
    return ["run", protocol, *options, "--no-judge", "--quiet", "--out", str(out)]


def essence(folder: Path) -> dict[str, Any]:
    """Read everything of a run's files that does not depend on clocks, hosts or transports."""
    report = json.loads((folder / "report.json").read_text())
    header, *rows = (folder / "ledger.csv").read_text().splitlines()
    names = header.split(",")
    kept = [place for place, name in enumerate(names) if name not in TIMES]
    files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("report.json", "ledger.csv", "report.html", "ro-crate-metadata.json")
    }
    return {
        "ledger": [[row.split(",")[place] for place in kept] for row in rows],
        "privacy": report["privacy"],
        "communication": report["communication"],
        "transcript": report.get("transcript"),
        "files": files,
    }


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """Play each protocol once on threads, without a log."""

    class Undisturbed(dict[str, dict[str, Any]]):
        def __missing__(self, protocol: str) -> dict[str, Any]:
            folder = tmp_path_factory.mktemp("undisturbed") / "out"
            words = run_words(protocol, out=folder, transport="threads")
            with contextlib.suppress(SystemExit):
                app(words, standalone_mode=False)
            self[protocol] = essence(folder)
            return self[protocol]

    return Undisturbed()


@pytest.fixture
def other_python(number: int) -> str:
    """Take the Python beside Open MPI for even numbers, and the one beside MPICH for odd ones."""
    mpich = os.environ.get("SOTTOVOCE_MPICH", "")
    return f"{mpich}/bin/python" if mpich and number % 2 else sys.executable


@dataclass
class Place:
    """Folders of a test, and its environment."""

    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SOTTOVOCE_STATE": str(self.state), "OMP_NUM_THREADS": "1"}

    def log_bytes(self) -> int:
        total = 0
        for path in self.logs().values():
            with contextlib.suppress(OSError):
                total += path.stat().st_size
        return total

    def logs(self) -> dict[str, Path]:
        return {path.parent.name: path for path in self.state.glob("durable/*/[cp]*/log")}

    def play(self, *words: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words, python=python),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=STARTING,
        )

    def left(self) -> list[Path]:
        return [path for path in self.state.rglob("*") if path.is_file()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def processes(state: Path, *, mark: str) -> list[int]:
    """List the processes of a run with a mark in their environment, or in their command."""
    state_mark = f"SOTTOVOCE_STATE={state}".encode()
    matches = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "environ").read_bytes().split(b"\0")
                words += (folder / "cmdline").read_bytes().split(b"\0")[:1]
            except OSError:
                continue
            if state_mark in words and any(word.endswith(mark.encode()) for word in words):
                matches.append(int(folder.name))
    return matches


def kill(place: Place, launcher: subprocess.Popen[str], victim: str) -> None:
    """Kill the launcher, mpiexec, or a rank, if it is there, of Open MPI or of MPICH."""
    if victim == "launcher":
        victims = [launcher.pid]
    else:
        marks = [f"OMPI_COMM_WORLD_RANK={victim}", f"PMI_RANK={victim}"]
        if victim == "mpiexec":
            marks = ["/prterun", "/mpiexec"]  # Open MPI's mpiexec becomes prterun.
        victims = [pid for mark in marks for pid in processes(place.state, mark=mark)]
    for pid in victims[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def await_growth(place: Place, process: subprocess.Popen[str], *, more: int) -> None:
    """Wait until the roles have logs, and these have grown by so many bytes after their headers."""
    until = time.monotonic() + STARTING
    before = None
    while process.poll() is None and time.monotonic() < until:
        if len(place.logs()) == 3:
            before = place.log_bytes() if before is None else before
            if place.log_bytes() >= before + more:
                return
        time.sleep(0.002)


def await_end(place: Place) -> None:
    """Wait until no process of a run lives."""
    until = time.monotonic() + STARTING
    while processes(place.state, mark="") and time.monotonic() < until:
        time.sleep(0.05)


@pytest.mark.mpi
@pytest.mark.parametrize("number", range(KILLS))
def test_killed_over_mpi_it_goes_on_to_the_same_end(
    number: int,
    other_python: str,
    place: Place,
    start: Start,
    undisturbed: Mapping[str, dict[str, Any]],
    record_property: Callable[[str, object], None],
) -> None:
    """A process dies at a random moment; some runs lose two in a row."""
    protocol = [*PROTOCOLS][number % len(PROTOCOLS)]
    dice = random.Random(number)
    words = [*run_words(protocol, out=place.out), "--durable"]
    for loss in range(dice.choice([1, 1, 2])):
        first = words if loss == 0 else ["resume", "out", "--quiet"]
        process = start(
            command(*first, python=other_python), cwd=place.folder, env=place.environment
        )
        await_growth(place, process, more=dice.choice([0, 1, 500, 1500]))
        time.sleep(dice.random() * dice.choice([0.03, 0.3]))
        victim = dice.choice(["0", "1", "2", "0", "1", "2", "mpiexec", "launcher"])
        kill(place, process, victim)
        _, line = process.communicate(timeout=STARTING)
        if process.returncode == 0:
            break
        record_property("kill", f"{protocol} {victim}: {line.strip()}")
        await_end(place)
        if victim == "launcher":
            assert process.returncode == -signal.SIGKILL
            continue
        assert process.returncode == 3, line
        assert line.count("\n") == 1
        if "go on with: sottovoce resume" not in line:
            assert not place.left(), line
            return  # It was killed before any role had begun.
    done = place.play("resume", "out", "--quiet", python=other_python)
    if process.returncode:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 2
        assert "found a finished one in out: its results are there" in done.stderr
    assert essence(place.out) == undisturbed[protocol]
    assert not place.left()


@pytest.mark.parametrize("number", range(3))
def test_a_killed_process_of_threads_goes_on_to_the_same_end(
    number: int, place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out, transport="threads"), "--durable"]
    process = start(command(*words), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=400 * number)
    process.kill()
    process.communicate(timeout=STARTING)
    listed = place.play("resume")
    if process.returncode:
        assert "dp-subn" in listed.stdout
        assert "stopped" in listed.stdout
        done = place.play("resume", "out", "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
    assert essence(place.out) == undisturbed["dp-subn"]
    assert not place.left()


@pytest.mark.parametrize("number", range(2))
def test_after_ctrl_c_the_line_says_how_to_go_on(
    number: int, place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("jtree", out=place.out, transport="threads"), "--durable"]
    process = start(command(*words), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=1000 * number)
    process.send_signal(signal.SIGINT)
    _, line = process.communicate(timeout=STARTING)
    if process.returncode:
        assert process.returncode == 130
        assert line.count("\n") == 1
        assert line.endswith(f"; go on with: sottovoce resume {place.out}\n")
        assert place.play("resume", str(place.out), "--quiet").returncode == 0
    assert essence(place.out) == undisturbed["jtree"]
    assert not place.left()


@pytest.mark.mpi
def test_the_launcher_is_lost_before_it_has_the_result(
    place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    """The parties have removed their logs by then; the curator has kept the record."""
    words = [*run_words("calm", out=place.out), "--durable"]
    process = start(command(*words), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=1)
    process.send_signal(signal.SIGSTOP)
    until = time.monotonic() + STARTING
    while set(place.logs()) != {"curator"} and time.monotonic() < until:
        time.sleep(0.01)
    assert set(place.logs()) == {"curator"}
    process.kill()
    process.communicate(timeout=STARTING)
    await_end(place)
    assert (place.logs()["curator"].parent / "conclusion").exists()
    done = place.play("resume", "out", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert essence(place.out) == undisturbed["calm"]
    assert not place.left()


SLOW_PARTY = """
import os, sys, threading, time

def slow_down() -> None:
    while not hasattr(sys.modules.get("sottovoce.launch.rank_durable"), "open_place"):
        time.sleep(0.001)
    sys.modules["sottovoce.launch.rank_durable"].RankPlace.remove = lambda place: time.sleep(600)

if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1":
    threading.Thread(target=slow_down, daemon=True).start()
"""
"""A module that Python imports at its start. Party 1 never comes to the end of removing its log."""


@pytest.mark.mpi
def test_a_role_that_has_ended_does_not_wait_for_others_whose_launcher_is_gone(
    mpi_python: str, place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    """The curator watches its launcher no longer, and MPI would wait for the parties for ever."""
    (place.folder / "sitecustomize.py").write_text(SLOW_PARTY)
    path = os.pathsep.join([str(place.folder), os.environ.get("PYTHONPATH", "")])
    words = [*run_words("jtree", out=place.out), "--durable"]
    environment = {**place.environment, "PYTHONPATH": path}
    process = start(command(*words, python=mpi_python), cwd=place.folder, env=environment)
    await_growth(place, process, more=1)
    until = time.monotonic() + STARTING
    while set(place.logs()) != {"party-1"} and time.monotonic() < until:
        time.sleep(0.01)
    assert set(place.logs()) == {"party-1"}
    process.kill()
    process.communicate(timeout=STARTING)
    await_end(place)
    assert not processes(place.state, mark="")
    done = place.play("resume", "out", "--quiet", python=mpi_python)
    assert (done.returncode, done.stderr) == (0, "")
    assert essence(place.out) == undisturbed["jtree"]
    assert not place.left()


@pytest.mark.mpi
def test_roles_that_have_ended_do_not_wait_for_a_lost_one_whose_launcher_is_gone_too(
    mpi_python: str, place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    """The others wait inside MPI, where none watches its launcher any more."""
    (place.folder / "sitecustomize.py").write_text(SLOW_PARTY)
    path = os.pathsep.join([str(place.folder), os.environ.get("PYTHONPATH", "")])
    words = [*run_words("jtree", out=place.out), "--durable"]
    environment = {**place.environment, "PYTHONPATH": path}
    process = start(command(*words, python=mpi_python), cwd=place.folder, env=environment)
    await_growth(place, process, more=1)
    until = time.monotonic() + STARTING
    while set(place.logs()) != {"party-1"} and time.monotonic() < until:
        time.sleep(0.01)
    assert set(place.logs()) == {"party-1"}
    time.sleep(1)  # The others come to the end of the program meanwhile.
    process.send_signal(signal.SIGSTOP)  # Otherwise the launcher would end them.
    kill(place, process, "1")
    process.kill()
    process.communicate(timeout=STARTING)
    await_end(place)
    assert not processes(place.state, mark="")
    done = place.play("resume", "out", "--quiet", python=mpi_python)
    assert (done.returncode, done.stderr) == (0, "")
    assert essence(place.out) == undisturbed["jtree"]
    assert not place.left()


SLEEPING_ROLES = """
import os, sys, threading, time

def put_to_sleep() -> None:
    while not hasattr(sys.modules.get("sottovoce.launch.rank"), "main"):
        time.sleep(0.001)
    sys.modules["sottovoce.launch.rank"].play_role = lambda *_, **__: time.sleep(600)

if "OMPI_COMM_WORLD_RANK" in os.environ or "PMI_RANK" in os.environ:
    threading.Thread(target=put_to_sleep, daemon=True).start()
"""
"""A module that Python imports at its start. Roles are set up, and then do nothing."""


@pytest.mark.mpi
def test_a_copy_of_a_folder_that_went_on_without_it_is_refused_over_mpi(
    mpi_python: str, place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out), "--fault", "party 2 dies in parameters"]
    stopped = place.play(*words, "--durable", python=mpi_python)
    assert stopped.returncode == 3, stopped.stderr
    folder = place.logs()["party-1"].parent
    shutil.copytree(folder, place.folder / "older")
    before = {name: path.stat().st_size for name, path in place.logs().items()}
    (place.folder / "sitecustomize.py").write_text(SLEEPING_ROLES)
    process = start(
        command("resume", "out", "--quiet", python=mpi_python),
        cwd=place.folder,
        env={**place.environment, "PYTHONPATH": str(place.folder)},
    )
    until = time.monotonic() + STARTING
    while time.monotonic() < until and not all(
        path.stat().st_size >= before[name] + RESTART_BYTES for name, path in place.logs().items()
    ):
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=STARTING)
    await_end(place)
    (place.folder / "sitecustomize.py").unlink()
    folder.rename(place.folder / "newest")
    shutil.copytree(place.folder / "older", folder)
    refused = place.play("resume", "out", python=mpi_python)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "expected the newest log of party 1 in run" in refused.stderr
    shutil.rmtree(folder)
    (place.folder / "newest").rename(folder)
    done = place.play("resume", "out", "--quiet", python=mpi_python)
    assert (done.returncode, done.stderr) == (0, "")
    expected = undisturbed["dp-subn"]["files"]["synthetic.csv"]
    assert essence(place.out)["files"]["synthetic.csv"] == expected
    assert not place.left()


@pytest.mark.mpi
def test_a_missing_log_is_named_over_mpi_and_nothing_is_spent(
    place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out), "--durable"]
    process = start(command(*words), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=500)
    kill(place, process, "1")
    process.communicate(timeout=STARTING)
    await_end(place)
    assert process.returncode == 3
    log = place.logs()["party-2"]
    log.rename(log.with_name("elsewhere"))
    done = place.play("resume", "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"found none of party 2 on {platform.node()}" in done.stderr
    log.with_name("elsewhere").rename(log)
    content = bytearray(log.read_bytes())
    content[-1] ^= 1
    log.write_bytes(content)
    done = place.play("resume", "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "party-2/log as this role wrote it, found that it was changed" in done.stderr
    content[-1] ^= 1
    log.write_bytes(content)
    assert place.play("resume", "out", "--quiet").returncode == 0
    assert essence(place.out) == undisturbed["dp-subn"]


@pytest.mark.mpi
@pytest.mark.parametrize("number", range(KILLS))
def test_with_on_loss_wait_ranks_are_started_again_by_themselves(
    number: int,
    other_python: str,
    place: Place,
    start: Start,
    undisturbed: Mapping[str, dict[str, Any]],
    record_property: Callable[[str, object], None],
) -> None:
    """A rank or mpiexec dies at a random moment, twice in some runs; nobody does anything."""
    protocol = [*PROTOCOLS][number % len(PROTOCOLS)]
    dice = random.Random(100 + number)
    words = [*run_words(protocol, out=place.out), "--on-loss", "wait"]
    words.remove("--quiet")
    process = start(command(*words, python=other_python), cwd=place.folder, env=place.environment)
    for victim in dice.sample(["0", "1", "2", "mpiexec"], dice.choice([1, 1, 2])):
        await_growth(place, process, more=dice.choice([0, 1, 500, 1500]))
        time.sleep(dice.random() * dice.choice([0.03, 0.3]))
        kill(place, process, victim)
        record_property("kill", f"{protocol} {victim}")
    _, lines = process.communicate(timeout=2 * STARTING)
    assert process.returncode == 0, lines
    first, *losses = lines.splitlines()
    assert first.startswith("sottovoce: each role keeps a log on its host until the run has ")
    assert " has succeeded; here in " in first
    for line in losses:
        assert line.endswith("; all roles are started again from their logs"), line
    assert essence(place.out) == undisturbed[protocol]
    assert not place.left()


@pytest.mark.mpi
def test_a_role_that_dies_at_the_same_place_twice_ends_the_run(place: Place) -> None:
    words = ["run", "troubles:Trouble", "--no-rehearsal", "--no-judge", "--rows", "60"]
    words += ["--set", "trouble=party vanishes", "--out", str(place.out), "--on-loss", "wait"]
    place.folder.joinpath("troubles.py").write_text(
        Path(__file__).with_name("troubles.py").read_text()
    )
    done = place.play(*words)
    assert done.returncode == 3, done.stderr
    _, first, *others, last = done.stderr.splitlines()
    assert first.endswith(
        "the process was lost (killed, or out of memory); all roles are started "
        "again from their logs"
    )
    assert len(others) <= 2, others
    assert "; party 2 was lost twice at the same place; go on with: sottovoce resume" in last
    assert not place.out.exists()
    assert place.play("resume", str(place.out), "--forget").returncode == 0
    assert not place.left()


@pytest.mark.mpi
def test_ranks_that_do_not_come_back_in_time_end_the_run(
    place: Place, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out), "--fault", "party 2 dies in parameters"]
    done = place.play(*words, "--on-loss", "wait", "--max-wait", "0.01")
    assert done.returncode == 3
    assert "not all roles were back in 0.01 s (--max-wait); go on with" in done.stderr
    done = place.play("resume", str(place.out), "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    expected = undisturbed["dp-subn"]["files"]["synthetic.csv"]
    assert essence(place.out)["files"]["synthetic.csv"] == expected


@pytest.mark.mpi
def test_a_role_of_before_that_has_not_ended_is_waited_for(
    place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    """Another process takes over its log, as a role does that the launcher cannot reach."""
    words = [*run_words("dp-subn", out=place.out), "--fault", "party 2 dies in parameters"]
    process = start(command(*words, "--on-loss", "wait"), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=1)
    with place.logs()["party-2"].open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)  # until party 2 is lost
        time.sleep(HELD)
    _, lines = process.communicate(timeout=2 * STARTING)
    assert process.returncode == 0, lines
    expected = undisturbed["dp-subn"]["files"]["synthetic.csv"]
    assert essence(place.out)["files"]["synthetic.csv"] == expected
    assert not place.left()


def test_where_nobody_can_start_a_role_again_waiting_is_refused(place: Place) -> None:
    wait = ["--on-loss", "wait", "--no-judge", "--rows", "60"]
    virtual = place.play("run", "calm", *wait, "--transport", "virtual", "--network", "lan")
    assert virtual.returncode == 2
    assert (
        "expected --on-loss wait with --transport mpi or threads, found virtual" in virtual.stderr
    )
    alone = place.play("run", "calm", "--max-wait", "5")
    assert alone.returncode == 2
    assert "expected --max-wait beside --on-loss wait, found --on-loss stop" in alone.stderr


@pytest.mark.mpi
def test_runs_on_hosts_keep_logs_unless_somebody_says_otherwise(
    place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out), "--hosts", "localhost:3"]
    words.remove("--quiet")
    without = place.play(*words, "--no-durable", "--out", str(place.folder / "without"))
    assert (without.returncode, without.stderr) == (0, "")
    process = start(command(*words), cwd=place.folder, env=place.environment)
    await_growth(place, process, more=500)
    kill(place, process, "2")
    _, lines = process.communicate(timeout=STARTING)
    await_end(place)
    first, *others = lines.splitlines()
    way_on = f"sottovoce resume {place.out}"
    assert first.startswith("sottovoce: each role keeps a log on its host until the run has ")
    assert " has succeeded (--no-durable keeps none); here in " in first
    assert first.endswith(f"; if the run stops, go on with: {way_on}")
    if process.returncode:
        assert others[-1].endswith(f"go on with: {way_on}")
        assert place.play("resume", str(place.out), "--quiet").returncode == 0
    assert essence(place.out) == undisturbed["dp-subn"]
    assert not place.left()
    refused = place.play("run", "calm", "--no-durable", "--on-loss", "wait")
    assert refused.returncode == 2
    assert "expected --on-loss wait or --no-durable, found both" in refused.stderr


def mpirun(place: Place, *words: str, hosts: tuple[str, ...] = ()) -> list[str]:
    """Give the command with which a person starts ranks without our launcher."""
    mpiexec = Path(sys.executable).parent / "mpiexec"
    return [str(mpiexec), "--oversubscribe", *hosts, "-n", "3", *command(*words)]


def of_a_person(place: Place) -> dict[str, str]:
    """Give the environment of somebody who starts mpirun."""
    allowed = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
    return {**place.environment, **allowed, "OMPI_MCA_btl": "^ofi,uct", "OMPI_MCA_pml": "ob1"}


@pytest.mark.mpi
@pytest.mark.parametrize(("protocol", "victim"), [("dp-subn", "2"), ("calm", "0")])
def test_within_a_persons_mpirun_a_durable_run_goes_on(
    protocol: str,
    victim: str,
    place: Place,
    start: Start,
    undisturbed: Mapping[str, dict[str, Any]],
) -> None:
    words = run_words(protocol, out=place.out)
    words.remove("--quiet")
    words = [word for word in words if word not in ("--transport", "mpi", "--no-judge")]
    first = mpirun(place, *words, "--durable")
    process = start(first, cwd=place.folder, env=of_a_person(place))
    await_growth(place, process, more=500)
    kill(place, process, victim)
    _, lines = process.communicate(timeout=STARTING)
    await_end(place)
    assert "until the run has succeeded; here in " in lines
    (name,) = (path.name for path in place.state.glob("durable/*"))
    assert f"start the same mpirun with: sottovoce resume {name}" in lines
    assert process.returncode, lines
    assert not place.out.exists()
    again = start(first, cwd=place.folder, env=of_a_person(place))
    _, lines = again.communicate(timeout=STARTING)
    assert f"{name} has stopped with results for {place.out}" in lines
    done = start(mpirun(place, "resume", str(place.out)), cwd=place.folder, env=of_a_person(place))
    _, lines = done.communicate(timeout=STARTING)
    assert done.returncode == 0, lines
    assert essence(place.out) == undisturbed[protocol]
    assert not place.left()
    done = start(mpirun(place, "resume", name), cwd=place.folder, env=of_a_person(place))
    _, lines = done.communicate(timeout=STARTING)
    assert f"expected a durable run that has stopped, found none of {name}" in lines


@pytest.mark.mpi
def test_within_mpirun_no_party_takes_a_job_that_its_log_does_not_have(
    place: Place, start: Start
) -> None:
    """Rank 0 may name a run that no party has begun, with another epsilon than anybody accepted."""
    job = settings({"protocol": "head-count", "parties": 2, "epsilon": 1000.0}).job
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOTTOVOCE_STATE", str(place.state))
        placement = Placement(transport="mpi", durable=True)
        begin_run(job, placement, folder=place.out, classify=None)
    process = start(
        mpirun(place, "resume", str(place.out)), cwd=place.folder, env=of_a_person(place)
    )
    _, lines = process.communicate(timeout=STARTING)
    assert process.returncode == 2, lines
    assert f"party 1 on {platform.node()} and party 2 on {platform.node()}" in lines
    assert not place.out.exists()
    assert not place.logs()


@pytest.mark.mpi
def test_within_mpirun_a_run_that_never_began_leaves_nothing(place: Place, start: Start) -> None:
    words = run_words("calm", out=place.out)
    words = [word for word in words if word not in ("--transport", "mpi")]
    missing = [*words, "--durable", "--data", "nowhere.csv"]
    process = start(mpirun(place, *missing), cwd=place.folder, env=of_a_person(place))
    _, lines = process.communicate(timeout=STARTING)
    assert "nowhere.csv" in lines
    assert not place.left(), lines


def test_of_two_that_go_on_at_once_one_is_refused(
    place: Place, start: Start, undisturbed: Mapping[str, dict[str, Any]]
) -> None:
    words = [*run_words("dp-subn", out=place.out, transport="threads"), "--durable"]
    words += ["--fault", "party 2 dies in parameters"]
    assert place.play(*words).returncode == 3
    both = [
        start(command("resume", "out", "--quiet"), cwd=place.folder, env=place.environment)
        for _ in range(2)
    ]
    lines = [process.communicate(timeout=STARTING)[1] for process in both]
    statuses = [process.returncode for process in both]
    assert sorted(statuses) == [0, 2], lines
    refused = lines[statuses.index(2)]
    reasons = ["expected one run at a time into", "has finished meanwhile", "found a finished one"]
    assert any(reason in refused for reason in reasons), refused
    expected = undisturbed["dp-subn"]["files"]["synthetic.csv"]
    assert essence(place.out)["files"]["synthetic.csv"] == expected
    assert not place.left()
