"""No run writes over files that are there, and no report removes a judgement."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.equal_tables import equal_tables
from sottovoce.launch.results_folder import results_folder
from sottovoce.launch.scaffold import write_package
from sottovoce.messages import MisuseError, UsageError, message
from sottovoce.messages.errors import Private
from sottovoce.protocols import Options, find
from sottovoce.protocols.registry import load
from sottovoce.runs.job import Job


@pytest.mark.parametrize(
    ("names", "overwrite", "complaint"),
    [
        ([], False, ""),
        ([".hidden"], False, ""),
        (["notes.txt", "data.csv"], False, "found 2 files in {}, such as data.csv: name another"),
        (["notes.txt"], True, "found 1 file in {}, such as notes.txt: name another"),
        (["report.json", "a.csv"], False, "found the results of a run in {}: name another, or"),
        (["report.json", "a.csv"], True, ""),
    ],
)
def test_a_folder_with_files_is_refused(
    names: list[str], overwrite: bool, complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("mine")
    choice = results_folder(str(folder), name="x", is_writer=True, overwrite=overwrite)
    if complaint:
        with pytest.raises(UsageError) as caught, choice:
            pass
        assert complaint.format(folder) in str(caught.value)
    else:
        with choice as chosen:
            assert chosen == folder
    assert all((folder / name).read_text() == "mine" for name in names)


def test_a_second_run_keeps_the_first_unless_it_may_replace_it(tmp_path: Path) -> None:
    from sottovoce.launch.commands import app

    def run(*options: str) -> int:
        words = ["run", "head-count", "--transport", "threads", "--out", str(tmp_path / "out")]
        return CliRunner().invoke(app, [*words, "--rows", "50", "--quiet", *options]).exit_code

    assert run("--seed", "1") == 0
    first = (tmp_path / "out" / "report.json").read_bytes()
    assert run("--seed", "2") != 0
    assert (tmp_path / "out" / "report.json").read_bytes() == first
    assert run("--seed", "2", "--overwrite") == 0
    assert (tmp_path / "out" / "report.json").read_bytes() != first


def test_a_public_report_leaves_the_judgement_of_a_run(tmp_path: Path) -> None:
    from sottovoce.launch.commands import app

    folder = str(tmp_path / "out")
    words = ["run", "one-way", "--transport", "threads", "--rows", "200", "--quiet", "--out"]
    assert CliRunner().invoke(app, [*words, folder]).exit_code == 0
    shown = CliRunner().invoke(app, ["report", folder, "--public", "--out", folder])
    assert shown.exit_code != 0
    assert "expected a folder without a judgement for --out" in str(shown.exception)
    assert (tmp_path / "out" / "judgement.json").is_file()


def test_files_with_the_same_records_are_named(tmp_path: Path) -> None:
    """The copy is, a file of the same size is not, and neither is one that is not there."""
    texts = {"a.csv": "age\n31\n", "b.csv": "age\n31\n", "c.csv": "age\n13\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    names = tuple(str(tmp_path / name) for name in [*texts, "absent.csv"])
    (warning,) = equal_tables(Job(protocol="head-count", data=names, parties=4))
    assert warning.startswith(f"{names[0]} and {names[1]} hold the same records")
    run = sottovoce.run("head-count", list(names[:2]), seed=1)
    assert any("hold the same records" in text for text in run.report["warnings"])


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
