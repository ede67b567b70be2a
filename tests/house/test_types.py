"""Misspelt parameters and options are type errors, and so is a kind that was forgotten."""

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")  # not in every environment that runs a part of the tests

ROOT = Path(__file__).parents[2]
PROTOCOL = """
from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol


class OwnParameters(Options):
    epsilon: Epsilon = 1.0


class Own(Protocol[OwnParameters]):
    name = "own"

    def party(self, me: Party) -> None:
        self.parameters.NAME

    def curator(self, desk: Curator) -> Outcome:
        return Outcome(summary={"epsilon": self.parameters.NAME + 1.0})
"""


def test_mypy_refuses_a_parameter_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    files = []
    for name in ("epsilon", "epsilom"):
        files.append(tmp_path / f"with_{name}.py")
        files[-1].write_text(PROTOCOL.replace("NAME", name))
    # `make types` has left a cache of everything that these files import.
    output, problems, _ = api.run(["--config-file", "pyproject.toml", *map(str, files)])
    assert not problems
    errors = [line for line in output.splitlines() if ": error: " in line]
    assert len(errors) == 2, output
    for line in errors:
        assert "with_epsilom.py" in line
        assert '"OwnParameters" has no attribute "epsilom"' in line


KINDS = """
from typing import assert_never

from sottovoce import CURATOR, Party, message


@message
class More:
    step: int


@message
class End:
    result: float


def follow(me: Party) -> float:
    while True:
        match me.receive(More, End, source=CURATOR):
            case End(result=result):
                return result
            case FORGOTTEN(step=_):
                continue
            case other:
                assert_never(other)
"""


def test_mypy_finds_a_kind_that_was_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    complete, partial = tmp_path / "complete.py", tmp_path / "partial.py"
    complete.write_text(KINDS.replace("FORGOTTEN", "More"))
    partial.write_text(
        KINDS.replace("            case FORGOTTEN(step=_):\n                continue\n", "")
    )
    output, problems, _ = api.run(["--config-file", "pyproject.toml", str(complete), str(partial)])
    assert not problems
    errors = [line for line in output.splitlines() if ": error: " in line]
    assert len(errors) == 1, output
    assert "partial.py" in errors[0]
    assert '"More"' in errors[0]


CALLS = """
import sottovoce

run = sottovoce.run("head-count", "people.csv", mode="MODE", transport="TRANSPORT", epsilon=1.0)
reveal_type(run.synthetic)
reveal_type(sottovoce.Synthesizer(epsilon=1.0).fit("people.csv").sample(3))
"""


def test_an_editor_knows_what_run_takes_and_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    files = []
    for mode, transport in (("paper", "threads"), ("papr", "thread")):
        files.append(tmp_path / f"{mode}.py")
        files[-1].write_text(CALLS.replace("MODE", mode).replace("TRANSPORT", transport))
    output, problems, _ = api.run(["--config-file", "pyproject.toml", *map(str, files)])
    assert not problems
    errors = [line for line in output.splitlines() if ": error: " in line]
    assert len(errors) == 2, output
    assert all("papr.py" in line for line in errors)
    assert "Literal['rigorous', 'paper']" in output
    assert "Literal['threads', 'mpi', 'virtual']" in output
    assert "DataFrame | None" in output
    assert output.count('DataFrame"') >= 2, output
