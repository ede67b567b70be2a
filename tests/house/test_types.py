"""A misspelt parameter is a type error."""

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


@pytest.mark.parametrize(("name", "errors"), [("epsilon", 0), ("epsilom", 2)])
def test_mypy_refuses_a_parameter_that_does_not_exist(
    name: str, errors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    protocol = tmp_path / "own_protocol.py"
    protocol.write_text(PROTOCOL.replace("NAME", name))
    found, problems, _ = api.run(["--config-file", "pyproject.toml", str(protocol)])
    assert not problems
    assert found.count('"OwnParameters" has no attribute "epsilom"') == errors, found
    if not errors:
        assert "Success" in found
