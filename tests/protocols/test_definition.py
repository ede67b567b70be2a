"""What an author declares wrongly is refused before a run, with the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce.messages import MisuseError, UsageError
from sottovoce.privacy import Budget
from sottovoce.protocols.registry import available, find

PROTOCOL = """
from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import PartySums, SecureSums, SumOptions


class MineParameters(SumOptions):
    epsilon: Epsilon = 1.0
    longest: float = 30.0


class Mine(Protocol[MineParameters]):
    name = "mine"
    neighbours = "replace-one"
    uses = (SecureSums,)

    def party(self, me: Party) -> None: ...

    def curator(self, desk: Curator) -> Outcome:
        return Outcome()
"""
MISTAKES = {
    "relation": ('"replace-one"', '"replace_one"', "as one of replace-one, add-or-remove-one"),
    "no-relation": ('    neighbours = "replace-one"\n', "", "to define neighbours"),
    "no-tuple": ("(SecureSums,)", "SecureSums", r"such as uses = \(SecureSums,\), found type"),
    "no-messages": ("(SecureSums,)", "(PartySums,)", "found PartySums, which has none"),
    "party": ("party(self, me: Party)", "party(self)", r"define party\(self, me\)"),
    "curator": (
        "curator(self, desk: Curator)",
        "curator(self, desk: Curator, other: int)",
        r"define curator\(self, desk\)",
    ),
    "default-type": ("= 30.0", '= "30"', "longest in .* that has its type, found '30'"),
    "default-bound": ("Epsilon = 1.0", "Epsilon = -1.0", "epsilon in .* found -1.0"),
    "import": ("longest: float = 30.0", "longest: float = 1 / 0", "ZeroDivisionError in line 8 of"),
}


def written(folder: Path, name: str, text: str) -> str:
    """Write a module with the protocol, and give its reference."""
    module = f"definition_{name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(text)
    return f"{module}:Mine"


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_definition_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    right, wrong, message = MISTAKES[name]
    assert right in PROTOCOL
    reference = written(tmp_path, name, PROTOCOL.replace(right, wrong))
    with pytest.raises(UsageError, match=message):
        find(reference)


def test_right_definitions_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert find(written(tmp_path, "right", PROTOCOL)).name == "mine"
    for name in available():
        assert find(name).name


@pytest.mark.parametrize(("end", "found"), [("pass", "NoneType"), ("return {}", "dict")])
def test_a_curator_that_returns_no_outcome(
    end: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    reference = written(tmp_path, f"ends-{found}", PROTOCOL.replace("return Outcome()", end))
    with pytest.raises(MisuseError, match=f"expected an Outcome .*, found {found}: end it with"):
        sottovoce.run(reference, rows=30, seed=1, no_rehearsal=True)


@pytest.mark.parametrize("unit", ["eps", "Epsilon", 1.0])
def test_a_budget_has_one_of_two_units(unit: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon or rho first in Budget.*Budget\.pure"):
        Budget(unit, 1.0)
