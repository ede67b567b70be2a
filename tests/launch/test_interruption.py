"""Ctrl-C and SIGTERM end every command with status 130 and one line, and leave files whole."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from sottovoce.launch import doctor
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.interruption import INTERRUPTED, uninterrupted

SIGNALLING = """
import os, signal, sys

number, moment, count = int(sys.argv.pop(1)), int(sys.argv.pop(1)), 0
signal.signal(signal.SIGINT, signal.default_int_handler)

def at(frame, event, argument):
    global count
    name = frame.f_code.co_filename
    if event == "call" and os.environ["WITHIN"] in name:
        count += 1
        if count == moment:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

sys.argv[0] = "sottovoce"
from sottovoce.launch.cli import main
sys.setprofile(at)
try:
    main()
finally:
    sys.setprofile(None)
    if os.environ.get("COUNT"):
        print(count, file=sys.stderr)
"""
"""A command that is sent a signal when its main thread begins the n-th call of the package."""
RUN = ("run", "head-count", "--rows", "40", "--seed", "1", "--transport", "threads")
FILES = {
    "judgement.json",
    "ledger.csv",
    "marginals.csv",
    "report.html",
    "report.json",
    "ro-crate-metadata.json",
}
MOMENTS = 8
FIRST = 6
"""The first calls of a command are those after which signals end it."""


def command(
    *words: str,
    cwd: Path,
    moment: int = -1,
    number: signal.Signals = signal.SIGINT,
    within: str = "sottovoce",
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SIGNALLING, str(int(number)), str(moment), *words],
        cwd=cwd,
        env={**os.environ, "COUNT": "" if moment >= 0 else "yes", "WITHIN": within},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def python(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_an_interruption_of_an_executed_text_has_the_status_too(tmp_path: Path) -> None:
    """Only with `python -m` Python itself would end the process by the signal."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "from sottovoce.launch import cli\n"
        "def run(gate):\n"
        "    exec('raise KeyboardInterrupt')\n"
        "cli._run_command = run\n"
        "cli.main()\n"
    )
    assert is_one_line(done := python("-m", "interrupted", cwd=tmp_path)), done


def calls(*words: str, cwd: Path) -> int:
    """Count the calls of a command that is not interrupted."""
    done = command(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.splitlines()[-1])


def is_one_line(done: subprocess.CompletedProcess[str]) -> bool:
    return (
        done.returncode == 130
        and done.stderr.startswith("sottovoce: ")
        and "interrupted" in done.stderr
        and done.stderr.count("\n") == 1
    )


@pytest.mark.parametrize(("number", "moments"), [(signal.SIGINT, MOMENTS), (signal.SIGTERM, 3)])
def test_a_run_is_interrupted_at_any_moment(
    tmp_path: Path, number: signal.Signals, moments: int
) -> None:
    """Folders are empty or whole, and what an earlier run has left is whole as well."""
    words = (*RUN, "--out", "out", "--overwrite")
    total = calls(*words, cwd=tmp_path)
    (tmp_path / "out" / "ledger.csv").write_text("of an earlier run")
    for moment in [FIRST, *(total * part // moments for part in range(1, moments))]:
        done = command(*words, cwd=tmp_path, moment=moment, number=number)
        assert is_one_line(done), (moment, total, done)
        assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        is_old = (tmp_path / "out" / "ledger.csv").read_text() == "of an earlier run"
        assert is_old or moment > total // 2


@pytest.mark.parametrize("moment", [1, 20, 50, 100, 400])
def test_an_import_is_interrupted(tmp_path: Path, moment: int) -> None:
    """No process can load numpy a second time, so the line must not need it."""
    done = command(*RUN, "--out", "out", cwd=tmp_path, moment=moment, within="/numpy/")
    assert is_one_line(done), done
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "words",
    [
        ("protocols", "jtree"),
        ("schema", "demo"),
        ("new", "another"),
        ("identity", "keys"),
        ("report", "out"),
        ("compare", "out"),
        ("sweep", "plan.toml", "--out", "results"),
        ("doctor",),
    ],
    ids=lambda words: words[0],
)
def test_every_command_is_interrupted_in_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = command(*RUN, "--out", "out", "--no-judge", cwd=tmp_path)
    assert done.returncode == 0
    (tmp_path / "plan.toml").write_text('[[run]]\nprotocol = "head-count"\nrows = 40\n')
    for moment in (FIRST, 40):
        assert is_one_line(done := command(*words, cwd=tmp_path, moment=moment)), done


def test_an_interruption_that_the_interpreter_drops_comes_again(tmp_path: Path) -> None:
    """A signal may come within a destructor, whose exceptions are only printed."""
    code = (
        "import os, signal, sys, time\n"
        "from sottovoce.launch import cli\n"
        "class Dropping:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(0.01)\n"
        "def run(gate):\n"
        "    Dropping()\n"
        "    for _ in range(300):\n"
        "        time.sleep(0.1)\n"
        "    raise ValueError('the signal was lost')\n"
        "cli._run_command = run\n"
        "cli.main()\n"
    )
    assert is_one_line(done := python("-c", code, cwd=tmp_path)), done


def test_the_doctor_is_interrupted_while_ranks_exchange_messages() -> None:
    """That says nothing of MPI, which may well work."""

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise RunFailed("rank 0 (curator): interrupted", status=INTERRUPTED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "run_job", interrupted)
        with pytest.raises(RunFailed) as failed:
            doctor.examine(None)
    assert failed.value.status == INTERRUPTED


def test_a_command_that_waits_for_a_thread_at_its_end_can_be_ended(tmp_path: Path) -> None:
    """A plug-in may leave a thread, for which the interpreter would wait for ever."""
    code = (
        "import os, signal, threading, time\n"
        "from sottovoce.launch.cli import main\n"
        "def end():\n"
        "    threading.main_thread().join()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(600)\n"
        "threading.Thread(target=end).start()\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.startswith("sottovoce ")
    assert is_one_line(done), done


ENDING = """
import atexit, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from sottovoce.launch import cli

def wait():
    for _ in range({signals}):
        os.kill(os.getpid(), signal.SIG{name})
        time.sleep(0.1)

if "{when}" == "last":
    atexit.register(wait)

def run(gate):
    if "{when}" == "functions":
        atexit.register(wait)
    print("ended")
    return 0

cli._run_command = run
cli.main()
"""
"""A command that gets signals while the interpreter ends: in its functions, or after the gate's."""


@pytest.mark.parametrize("name", ["INT", "TERM"])
@pytest.mark.parametrize(("when", "signals"), [("functions", 1), ("last", 2)])
def test_a_command_that_has_ended_keeps_its_status(
    tmp_path: Path, name: str, when: str, signals: int
) -> None:
    done = python("-c", ENDING.format(name=name, when=when, signals=signals), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_command_that_waits_for_a_function_at_its_end_can_be_ended(tmp_path: Path) -> None:
    code = ENDING.format(name="INT", when="functions", signals=2)
    done = python("-c", code, cwd=tmp_path)
    assert done.stdout == "ended\n"
    assert is_one_line(done), done


def test_a_block_that_is_not_interrupted_ends_first() -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):  # noqa: SIM117 - the order is the point
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("ended")
    assert steps == ["ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
