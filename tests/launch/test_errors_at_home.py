"""An error travels as type, place and rank; a value found in data stays on the rank's host.

The attacks: over MPI the person who started the run read `found 'HIV-positive Jane Doe'`, and the
text and the traceback of a plug-in's exception.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from mpi_starts import with_daemon

import sottovoce
from sottovoce.launch.error_log import keep_at_home
from sottovoce.launch.mpiexec import find_launcher
from sottovoce.messages import MisuseError, Private, SottovoceError, UsageError, Where
from sottovoce.parties.partition import FORMS
from sottovoce.runs.failure import RunFailed, describe

HERE = Path(__file__).parent
SECRET = "HIV-positive Jane Doe"
WAYS = {
    "own error": "Diagnosis",
    "usage error": "UsageError",
    "error with a place": "MisuseError",
    "chain": "RuntimeError",
    "exit": "it left early by SystemExit",
    "name of a phase": "expected a phase name without '/', found (not shown)",
    "attribute": "expected an attribute of the data (not shown), found (not shown)",
}


@dataclass
class Setting:
    folder: Path
    start: Callable[..., subprocess.Popen[str]]
    python: str

    @property
    def logs(self) -> list[Path]:
        return sorted((self.folder / "logs").glob("*"))

    def run(self, *words: str, before: tuple[str, ...] = ()) -> tuple[str, int]:
        """Run the command line; give what its starter reads, and the exit status."""
        done = with_daemon(partial(self._run_once, *words, before=before))
        assert not (self.folder / "out").exists()
        return done.stdout + done.stderr, done.returncode

    def _run_once(self, *words: str, before: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        command = [*before, self.python, "-m", "sottovoce", "run", *words]
        environment = find_launcher(before[0]).environment() if before else {**os.environ}
        process = self.start(
            [*command, "--out", str(self.folder / "out")],
            cwd=HERE,
            env={**environment, "SOTTOVOCE_LOG": str(self.folder / "logs")},
        )
        output, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)


@pytest.fixture
def setting(
    mpi_python: str, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> Setting:
    for party in (1, 2):
        diagnosis = SECRET if party == 2 else "none"
        (tmp_path / f"{party}.csv").write_text(f"diagnosis,sex\n{diagnosis},f\nnone,m\n")
    (tmp_path / "schema.json").write_text('{"diagnosis": ["none", "flu"], "sex": ["f", "m"]}')
    return Setting(tmp_path, start, mpi_python)


def files(setting: Setting) -> tuple[str, ...]:
    return tuple(
        word for party in (1, 2) for word in ("--data", str(setting.folder / f"{party}.csv"))
    )


def careless(setting: Setting, way: str) -> tuple[str, ...]:
    return ("careless:Careless", *files(setting), "--set", f"way={way}")


@pytest.mark.mpi
@pytest.mark.parametrize("way", ["own error", "exit", "attribute"])
def test_a_plug_ins_errors_stay_at_home(setting: Setting, way: str) -> None:
    output, status = setting.run(*careless(setting, way))
    assert status in (2, 3)
    assert SECRET not in output
    assert "Traceback" not in output
    rehearsal, *remarks, line = output.splitlines()
    assert all(text.startswith("sottovoce: rehearsal: by its source, ") for text in remarks)
    assert rehearsal.startswith("sottovoce: rehearsal: none, as it failed on made-up records: ")
    assert re.search(r": party [12]: .* in careless\.py, line \d+$", rehearsal)
    assert line.startswith("sottovoce: rank 2 (party 2) in careless, phase work, step 0: ")
    assert WAYS[way] in line
    (log,) = setting.logs
    assert f"is in {log} on {os.uname().nodename}; on one machine, --tell-errors" in line
    assert SECRET in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


@pytest.mark.mpi
def test_on_one_machine_they_are_shown_on_request(setting: Setting) -> None:
    output, _ = setting.run(*careless(setting, "usage error"), "--tell-errors")
    assert SECRET in output
    assert not setting.logs


@pytest.mark.mpi
def test_a_value_outside_the_schema_is_not_shown(setting: Setting) -> None:
    words = ("noisy-marginals", *files(setting), "--schema", str(setting.folder / "schema.json"))
    output, status = setting.run(*words)
    assert status == 2
    assert output.startswith(
        "sottovoce: rank 2: expected a category of diagnosis (none, flu), "
        "found (not shown) in row 1 (the whole text may hold data and is in "
    )
    assert output.count("\n") == 1
    assert SECRET in setting.logs[0].read_text()
    output, status = setting.run(*words, "--tell-errors")
    assert status == 2
    assert output.endswith(f"(none, flu), found '{SECRET}' in row 1\n")


@pytest.mark.mpi
def test_the_users_own_mpirun_shows_as_little(setting: Setting, mpi_python: str) -> None:
    mpiexec = Path(mpi_python).parent / "mpiexec"
    if not mpiexec.is_file():
        pytest.skip(f"no mpiexec beside {mpi_python}")
    before = (str(mpiexec), "-n", "3")
    arguments = (*careless(setting, "own error"), "--no-durable")  # the folder stays free
    output, status = setting.run(*arguments, before=before)
    assert status
    assert SECRET not in output
    assert "rank 2 (party 2) in careless, phase work, step 0: Diagnosis (the whole" in output
    assert SECRET in setting.logs[0].read_text()
    output, _ = setting.run(*arguments, "--tell-errors", before=before)
    assert f"Diagnosis: found '{SECRET}'" in output


@pytest.mark.mpi
def test_the_users_own_mpirun_ends_if_rank_0_refuses_the_folder(
    setting: Setting, mpi_python: str
) -> None:
    """The other ranks wait in MPI's start for rank 0, which alone knows of stopped runs."""
    mpiexec = Path(mpi_python).parent / "mpiexec"
    if not mpiexec.is_file():
        pytest.skip(f"no mpiexec beside {mpi_python}")
    before = (str(mpiexec), "-n", "3")
    output, status = setting.run(*careless(setting, "own error"), before=before)
    assert status
    assert "sottovoce resume" in output
    output, status = setting.run(*careless(setting, "own error"), before=before)
    assert status
    assert "expected a folder that no run waits for" in output


@pytest.mark.parametrize("option", ["--hosts", "--hostfile"])
def test_other_hosts_and_whole_texts_exclude_each_other(option: str) -> None:
    command = [sys.executable, "-m", "sottovoce", "run", "head-count", "--tell-errors"]
    ran = subprocess.run(
        [*command, option, "a:2,b:2"], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("sottovoce: expected --tell-errors on one machine, found --hosts")


# ---- without processes


@pytest.mark.parametrize("way", WAYS)
def test_in_the_callers_own_process_the_text_is_whole(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    table = pd.DataFrame({"diagnosis": [SECRET] * 4})
    with pytest.raises(SottovoceError) as caught:
        sottovoce.run("careless:Careless", table, parties=2, way=way)
    assert SECRET in str(caught.value)
    error: BaseException = caught.value
    if isinstance(error, RunFailed):  # of an error that is none of ours
        assert error.__cause__ is not None
        error = error.__cause__
    text = describe(error, where=Where(rank=2, protocol="careless", phase="work", step=0))
    assert SECRET in text.line + text.traceback
    assert SECRET not in text.public
    assert WAYS[way] in text.public
    assert not text.is_public


def test_only_our_own_texts_are_public() -> None:
    where = Where(rank=2, protocol="p", phase="work", step=1)
    place = "rank 2 (party 2) in p, phase work, step 1: "
    error = UsageError(f"found {SECRET!r}")
    try:
        raise error
    except UsageError as caught:
        text = describe(caught, where=where)
    assert text.line == f"{place}found {SECRET!r}"
    assert text.public == f"{place}UsageError"  # this test is not part of the package
    text = describe(_raised_by_the_package(), where=where)
    assert text.line == f"{place}expected --split {FORMS}, found '{SECRET}'"
    assert text.public == text.line  # an option that the user gave
    assert text.is_public


def _raised_by_the_package() -> UsageError:
    from sottovoce.parties import read_split

    with pytest.raises(UsageError) as caught:
        read_split(SECRET, parties=3)
    return caught.value


def test_a_rank_that_is_interrupted_says_so() -> None:
    where = Where(rank=2, protocol="p", phase="work", step=1)
    text = describe(KeyboardInterrupt(), where=where)
    place = "rank 2 (party 2) in p, phase work, step 1"
    assert text.line == f"{place}: it was interrupted (Ctrl-C or SIGINT)"
    assert text.is_public


def test_private_parts_are_left_out_of_public_texts() -> None:
    error = MisuseError("expected a, found ", Private("b"), ": do c")
    assert (str(error), error.public) == (
        "expected a, found b: do c",
        "expected a, found (not shown): do c",
    )
    error.where = Where(rank=1, protocol="p", phase="", step=0)
    place = "rank 1 (party 1) in p, before its first phase"
    assert error.public == f"{place}: expected a, found (not shown): do c"


def test_where_the_folder_cannot_be_written_the_log_is_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOTTOVOCE_LOG", str(tmp_path / "file" / "folder"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    line = keep_at_home(describe(RuntimeError(SECRET), where=None), rank=1)
    (log,) = tmp_path.glob("sottovoce-*/*.log")
    assert f"RuntimeError (the whole text may hold data and is in {log} on" in line
    assert SECRET in log.read_text()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    line = keep_at_home(describe(RuntimeError(SECRET), where=None), rank=1)
    assert "could not be written" in line
    assert SECRET not in line


def test_a_private_part_stands_apart_from_the_words_around_it() -> None:
    """It may begin with a semicolon, which is hidden with it."""
    error = UsageError("give --schema", Private("; most are dates"), " (", Private("x"), ")")
    assert error.public == "give --schema (not shown) (not shown)"
