"""A role's code raises an error: when it is mended, the run goes on, unless it would send another
message than the one that has left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TROUBLES = (HERE / "troubles.py").read_text()
MENDED = TROUBLES.replace("trouble = self.parameters.trouble", 'trouble = "none"').replace(
    'self.parameters.trouble == "curator raises"', "False"
)
SECONDS = 300.0


def sottovoce(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder that has the plug-in."""
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        cwd=folder,
        env={**os.environ, "SOTTOVOCE_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def stop(trouble: str, *more: str, folder: Path) -> str:
    """Start a run in which the plug-in makes a mistake, and return the line with which it stops."""
    (folder / "troubles.py").write_text(TROUBLES)
    words = ["run", "troubles:Trouble", "--no-rehearsal", "--no-judge", "--rows", "60"]
    words += ["--set", f"trouble={trouble}", "--durable", "--quiet"]
    words += ["--out", str(folder / "out"), *more]
    done = sottovoce(*words, folder=folder)
    assert done.returncode == 3, done.stderr
    return done.stderr.splitlines()[-1]


THREADS = ("--transport", "threads")


@pytest.mark.parametrize(
    ("trouble", "transport"),
    [
        ("party raises", THREADS),
        ("curator raises", THREADS),
        ("party exits", THREADS),
        ("party returns early", THREADS),
        ("party waits for curator", THREADS),
        ("ring", THREADS),
        pytest.param("party raises", (), marks=pytest.mark.mpi),
        pytest.param("ring", (), marks=pytest.mark.mpi),
    ],
)
def test_the_run_goes_on_with_mended_code(
    trouble: str, transport: tuple[str, ...], tmp_path: Path
) -> None:
    line = stop(trouble, *transport, folder=tmp_path)
    way_on = f"; mend its cause, then go on with: sottovoce resume {tmp_path / 'out'}"
    assert line.endswith(way_on)
    again = sottovoce("resume", "out", "--quiet", folder=tmp_path)
    assert again.returncode == 3, "nothing was mended"
    assert again.stderr.endswith(f"{way_on}\n")
    (tmp_path / "troubles.py").write_text(MENDED)
    done = sottovoce("resume", "out", "--quiet", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["communication"]["messages"] == 9
    assert not [path for path in (tmp_path / "state").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("trouble", "of_receiver"),
    [
        ("wrong kind", "expected Word of phase work from party 2, found Reply"),
        ("says too much", ""),
    ],
)
def test_a_message_that_has_left_is_not_replaced(
    trouble: str, of_receiver: str, tmp_path: Path
) -> None:
    """Its receiver has it. A second version might disclose more, so the run is lost.

    A receiver that refuses the message finds it in its log, perhaps before the sender notices.
    """
    stop(trouble, *THREADS, folder=tmp_path)
    (tmp_path / "troubles.py").write_text(MENDED)
    done = sottovoce("resume", "out", "--quiet", folder=tmp_path)
    assert done.returncode == 3
    refusal = "expected message 1 to the curator as it was before the run stopped"
    assert refusal in done.stderr or (of_receiver and of_receiver in done.stderr)
    assert not (tmp_path / "out").exists()
    assert sottovoce("resume", "out", "--forget", folder=tmp_path).returncode == 0
    assert "no durable run is unfinished" in sottovoce("resume", folder=tmp_path).stdout


def test_a_longer_time_out_lets_a_slow_role_end(tmp_path: Path) -> None:
    """Party 2 needs longer than the curator waits, also when the run goes on."""
    slow = TROUBLES.replace("time.sleep(600)", "time.sleep(3)")
    (tmp_path / "troubles.py").write_text(slow)
    words = ["run", "troubles:Trouble", "--no-rehearsal", "--no-judge", "--rows", "60"]
    words += ["--set", "trouble=party never answers", "--durable", "--quiet"]
    words += ["--out", str(tmp_path / "out")]
    done = sottovoce(*words, *THREADS, "--timeout", "0.5", folder=tmp_path)
    assert done.returncode == 3
    way_on = f"; go on with: sottovoce resume {tmp_path / 'out'}, with a longer --timeout"
    way_on += " if a role needs it\n"
    assert done.stderr.endswith(way_on)
    again = sottovoce("resume", "out", "--quiet", folder=tmp_path)
    assert again.returncode == 3
    assert again.stderr.endswith(way_on)
    for seconds in ("0", "nan", "inf"):
        refused = sottovoce("resume", "out", "--timeout", seconds, folder=tmp_path)
        assert refused.returncode == 2
        assert "expected --timeout of more than 0 s" in refused.stderr
    done = sottovoce("resume", "out", "--quiet", "--timeout", "60", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "report.json").exists()
