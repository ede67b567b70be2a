"""A replay changes no file and no variable that anybody else can see, whatever it does."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sottovoce.runs.private_place import PrivatePlace, private_place


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "folder/c.txt", "folder/inner/d.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("a.txt")


def contents() -> list[tuple[str, bytes, int]]:
    """List every file with what it holds and when it was changed."""
    return [
        (str(path), path.read_bytes() if path.is_file() else b"", path.lstat().st_mtime_ns)
        for path in sorted(Path().rglob("*"))
    ]


def overwrites() -> None:
    Path("a.txt").write_text("other")
    assert Path("link").read_text() == "other"
    with Path("link").open("r+") as file:
        file.write("an")
    assert Path("a.txt").read_text() == "anher"


def appends() -> None:
    with open("b.txt", "a") as file:  # noqa: PTH123
        assert file.tell() == len("b.txt")
        file.write("more")
        assert file.name == "b.txt"
    assert Path("b.txt").read_text() == "b.txtmore"


def renames() -> None:
    Path("new.part").write_text("whole")
    os.replace("new.part", "b.txt")  # noqa: PTH105
    os.rename("a.txt", "folder/moved.txt")  # noqa: PTH104
    assert Path("b.txt").read_text() == "whole"
    assert sorted(os.listdir("folder")) == ["c.txt", "inner", "moved.txt"]  # noqa: PTH208
    assert not Path("a.txt").exists()
    with pytest.raises(FileNotFoundError):
        Path("link").read_text()


def removes() -> None:
    Path("b.txt").unlink()
    assert not Path("b.txt").exists()
    with pytest.raises(FileNotFoundError):
        Path("b.txt").unlink()
    with pytest.raises(OSError, match="not empty"):
        Path("folder").rmdir()
    shutil.rmtree("folder")
    assert not os.path.lexists("folder")
    Path("folder").mkdir()
    assert [*Path("folder").iterdir()] == []
    with pytest.raises(FileExistsError):
        Path("folder").mkdir()


def makes_folders() -> None:
    os.makedirs("one/two")  # noqa: PTH103
    Path("one/two/three.txt").write_text("3")
    assert [*os.walk("one")] == [("one", ["two"], []), ("one/two", [], ["three.txt"])]
    assert [*Path().rglob("three.txt")] == [Path("one/two/three.txt")]
    with pytest.raises(FileNotFoundError):
        Path("absent/x.txt").write_text("")
    with pytest.raises(FileExistsError):
        Path("a.txt").open("x").close()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x").write_text("x")
        assert Path(folder, "x").read_text() == "x"


def by_libraries() -> None:
    np.savetxt("table.txt", [1.0, 2.0])
    assert np.loadtxt("table.txt").sum() == 3
    np.save("table.npy", [5])
    shutil.copy("a.txt", "copy.txt")
    shutil.move("copy.txt", "moved.txt")
    assert Path("moved.txt").read_text() == "a.txt"
    with sqlite3.connect("base.db") as base:
        base.execute("create table numbers (number)")
    base.close()
    assert Path("base.db").stat().st_size
    number = os.open("opened.txt", os.O_CREAT | os.O_WRONLY)
    os.write(number, b"x")
    os.close(number)
    assert os.stat("opened.txt").st_size == 1  # noqa: PTH116
    Path("touched").touch()
    os.chmod("a.txt", 0o600)  # noqa: PTH101
    Path("/dev/null").write_text("x")


def sets_variables() -> None:
    os.environ["SOTTOVOCE_TEST"] = "1"
    assert os.getenv("SOTTOVOCE_TEST") == "1"
    del os.environ["HOME"]
    assert "HOME" not in os.environ
    with pytest.raises(KeyError):
        del os.environ["HOME"]


PLAYS = [
    overwrites,
    appends,
    renames,
    removes,
    makes_folders,
    by_libraries,
    sets_variables,
]


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_what_a_play_writes_it_alone_reads(play: Callable[[], None]) -> None:
    np.savetxt("before.txt", [1.0])  # numpy may keep the function that opens files
    before, variables = contents(), dict(os.environ)
    with private_place(variables=variables) as place:
        with place.used():
            play()
        during = contents()
        assert (during, dict(os.environ)) == (before, variables)
        folder = place.files._folder
        assert play is sets_variables or (folder is not None and Path(folder).is_dir())
    assert contents() == before
    assert folder is None or not Path(folder).exists()


def test_a_play_may_be_the_first_that_asks_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes a file while it holds a lock of `tempfile`, and the private folder needs none."""
    (tmp_path / "temporary").mkdir()
    with private_place(variables={"TMPDIR": str(tmp_path / "temporary")}) as place, place.used():
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(tempfile, "_name_sequence", None)
        assert tempfile.gettempdir() == str(tmp_path / "temporary")
        assert [*Path("temporary").iterdir()] == []


def test_files_that_the_first_play_has_made_are_absent(tmp_path: Path) -> None:
    with private_place(variables={}, absent=[tmp_path / "a.txt"]) as place, place.used():
        assert not Path("a.txt").exists()
        assert Path("a.txt") not in Path().iterdir()
        Path("a.txt").write_text("again")
        assert Path("a.txt").read_text() == "again"
    assert Path("a.txt").read_text() == "a.txt"


@pytest.fixture
def place() -> Iterator[PrivatePlace]:
    with private_place(variables=dict(os.environ)) as place:
        yield place


def test_a_play_on_another_thread_sees_nothing_of_it(place: PrivatePlace) -> None:
    """The play stops in the middle, until the other one has looked."""
    is_written, has_looked = threading.Event(), threading.Event()

    def replay() -> None:
        with place.used():
            Path("a.txt").write_text("of the replay")
            Path("b.txt").unlink()
            os.environ["SOTTOVOCE_TEST"] = "of the replay"
            is_written.set()
            assert has_looked.wait(60)
            seen.append(Path("a.txt").read_text())
            seen.append(os.environ["SOTTOVOCE_TEST"])

    seen: list[str] = []
    thread = threading.Thread(target=replay)
    thread.start()
    assert is_written.wait(60)
    assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("a.txt", "b.txt")
    assert "SOTTOVOCE_TEST" not in os.environ
    os.environ["SOTTOVOCE_TEST"] = "real"
    Path("a.txt").write_text("real")
    has_looked.set()
    thread.join()
    assert os.environ.pop("SOTTOVOCE_TEST") == "real"
    assert seen == ["of the replay", "of the replay"]
    assert Path("a.txt").read_text() == "real"


def test_a_play_that_was_left_behind_writes_nothing_any_more() -> None:
    with private_place(variables={}) as place:
        pass
    with place.used(), pytest.raises(OSError, match="was ended"):
        Path("a.txt").write_text("late")
    assert Path("a.txt").read_text() == "a.txt"
