"""No run writes over files that are there, and no report removes a judgement."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.equal_tables import equal_tables
from sottovoce.launch.results_folder import results_folder
from sottovoce.messages import UsageError
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
