"""What is wrong with a plug-in's class, its name or its module is said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce.launch.scaffold import write_package
from sottovoce.messages import MisuseError, UsageError, message
from sottovoce.messages.errors import Private
from sottovoce.protocols import Options, find
from sottovoce.protocols.registry import load


@pytest.mark.parametrize("name", ["numpy", "json", "class"])
def test_a_package_hides_no_other(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a name"):
        write_package(name, folder=tmp_path)
    assert not [*tmp_path.iterdir()]


MODULE = """
from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol


class Parameters(Options):
    epsilon: Epsilon = 1.0
    # MORE


class Mine(Protocol[Parameters]):
    name = "mine"
    neighbours = "replace-one"

    # PLAIN
    def party(self, me: Party) -> None: ...

    def curator(self, desk: Curator) -> Outcome:
        return Outcome()
"""


@pytest.mark.parametrize(
    ("place", "line", "reference", "complaint"),
    [
        ("MORE", "rounds = 3", "mine_a:Mine", "such as rounds: int, found none, so it is no param"),
        ("PLAIN\n    def", "\n    async def", "mine_b:Mine", "found one with async"),
        ("", "", "mine_c:Other", "has no attribute 'Other': mine_c has Mine"),
        ("", "", "mine_d.py:Mine", "name a module, not a file: mine_d:Mine"),
        ("", "", "mine_e", "for mine_e.py in this folder say mine_e:Class"),
        ("", "", "random:Mine", "random.py here is hidden by another module of this name"),
    ],
)
def test_what_is_wrong_with_a_class_is_said(
    place: str,
    line: str,
    reference: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = MODULE.replace(f"# {place}", line) if place else MODULE
    (tmp_path / f"{reference.partition(':')[0].removesuffix('.py')}.py").write_text(text)
    with pytest.raises(UsageError) as caught:
        find(reference)
    assert complaint in str(caught.value)


def test_a_class_that_is_right_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_f.py").write_text(MODULE)
    assert load("mine_f:Mine", what="a protocol").Parameters.__base__ is Options


def test_a_field_without_a_type_is_refused() -> None:
    with pytest.raises(MisuseError, match=r"expected a type for Count\.n, such as n: int"):

        @message
        class Count:
            n = 0


def test_an_empty_private_part_stands_for_nothing() -> None:
    error = UsageError("give --schema", Private(""), " or ", Private("secret"))
    assert error.public == "give --schema or (not shown)"
