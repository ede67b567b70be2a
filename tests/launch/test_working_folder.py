"""The working folder: a protocol may lie in it, and nothing in it replaces an installed module."""

import subprocess
import sys
from pathlib import Path

import pytest

LIBRARIES = ("msgspec", "numpy", "pandas", "scipy", "typer")
SCRIPT = ["-P", "-c", "from sottovoce.launch.cli import main; main()"]
"""What the installed command `sottovoce` does: it does not look in the working folder."""
MODULE = ["-m", "sottovoce"]
PROTOCOL = """
from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol, message
from scipy import special


class CensusParameters(Options):
    epsilon: Epsilon = 1.0


class Census(Protocol[CensusParameters]):
    name = "census"
    neighbours = "add-or-remove-one"

    @message
    class Hello:
        pass

    def party(self, me: Party) -> None:
        with me.phase("count"):
            me.send(self.Hello(), to=0)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            desk.gather(self.Hello)
        return Outcome(summary={"gamma": float(special.gamma(4))})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a working folder whose files are called like libraries, and leave a mark when run."""
    for name in LIBRARIES:
        mark = tmp_path / f"{name} was executed"
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    (tmp_path / "census.py").write_text(PROTOCOL)
    return tmp_path


def sottovoce(start: list[str], *words: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, *start, *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
    )
    assert not [path.name for path in folder.glob("* was executed")]
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("start", [SCRIPT, MODULE], ids=["command", "python -m"])
@pytest.mark.parametrize("protocol", ["dp-subn", "census:Census"])
def test_a_stray_module_is_not_executed(start: list[str], protocol: str, folder: Path) -> None:
    words = ["--rows", "60", "--key-bits", "512", "--insecure-test-keys", "--seed", "1"]
    sottovoce(start, "run", protocol, "--transport", "threads", *words, folder=folder)


@pytest.mark.mpi
@pytest.mark.parametrize("protocol", ["one-way", "census:Census"])
def test_a_stray_module_is_not_executed_by_a_rank(protocol: str, folder: Path) -> None:
    words = ["--rows", "60", "--seed", "1"]
    words += ["--set", "aggregator=masks"] if protocol == "one-way" else []
    sottovoce(MODULE, "run", protocol, *words, folder=folder)


def test_doctor_looks_for_no_module_in_the_working_folder(folder: Path) -> None:
    (folder / "mpi4py.py").write_text("open('mpi4py was executed', 'w').close()\n")
    code = "from os import environ; from sottovoce.launch import library; "
    code += "library.loaded_library(environ)"
    sottovoce(["-P", "-c", code], folder=folder)


def test_another_module_still_sees_its_working_folder(folder: Path) -> None:
    (folder / "own.py").write_text("import sottovoce, census; print(census.Census.name)\n")
    for name in LIBRARIES:
        (folder / f"{name}.py").unlink()
    assert sottovoce(["-m", "own"], folder=folder) == "census\n"
