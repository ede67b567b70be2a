"""Two runs never write into one folder: the second is refused by name, before it starts."""

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sottovoce.launch import results_folder
from sottovoce.runs.one_writer import FolderTakenError, one_writer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lock is Linux's")

HOLD = """
import sys, time
from contextlib import AbstractContextManager
from pathlib import Path
from sottovoce.runs.one_writer import one_writer
with one_writer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_second_run_is_refused_until_the_first_has_died(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        command = [sys.executable, "-m", "sottovoce", "run", "head-count", "--rows", "40"]
        done = subprocess.run(
            [*command, "--transport", "threads", "--quiet", "--out", "link/out"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "expected one run at a time into link/out, found another" in done.stderr
        assert f"(process {first.pid})" in done.stderr
        first.send_signal(signal.SIGKILL)
    with one_writer(tmp_path / "out"):
        assert [path.name for path in tmp_path.iterdir()] == ["link"]
    with one_writer(tmp_path / "out"), one_writer(tmp_path / "other"):
        pass


def test_a_folder_without_a_name_of_its_own_gets_another_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs may begin in the same second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda _format: "now")

    def choose(out: str | None = None) -> AbstractContextManager[Path]:
        return results_folder.results_folder(out, name="count", is_writer=True)

    with choose() as first, choose() as second:
        assert [os.fspath(first), os.fspath(second)] == ["runs/count-now", "runs/count-now-2"]
        with pytest.raises(FolderTakenError), choose("runs/count-now"):
            pass
        first.mkdir(parents=True)
    with choose() as third:
        assert third == second
