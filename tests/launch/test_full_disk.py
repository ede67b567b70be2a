"""A disk that is really full: one line, nothing half-written, and a way to go on."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

RUN = ("run", "dp-subn", "--rows", "400", "--parties", "2", "--seed", "1", "--set")
OPTIONS = ("aggregator=masks", "--transport", "threads", "--no-judge", "--quiet")
PLENTY = "8m"


class SmallDisk:
    """A file system in memory whose size the test chooses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", self.path], check=True)

    def fill(self) -> Path:
        """Take all the room that is left."""
        rest = self.path / "rest"
        with rest.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                return rest

    @property
    def files(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.path))
            for path in self.path.rglob("*")
            if path.is_file() and path.name != "rest"
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={PLENTY}", "tmpfs", path],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("nobody may mount a file system here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def sottovoce(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        cwd=cwd,
        env={**os.environ, "SOTTOVOCE_STATE": str(cwd / "state"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def assert_full(done: subprocess.CompletedProcess[str], *, status: int = 2) -> None:
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("sottovoce: expected ")
    assert "No space left on device" in done.stderr
    assert "None" not in done.stderr


def digest_of(folder: Path) -> str:
    return hashlib.sha256((folder / "synthetic.csv").read_bytes()).hexdigest()


def test_the_results_do_not_fit(tmp_path: Path, disk: SmallDisk) -> None:
    """Epsilon is spent by then, so they are written elsewhere."""
    disk.resize("16k")
    done = sottovoce(*RUN, *OPTIONS, "--out", str(disk.path / "out"), cwd=tmp_path)
    assert_full(done)
    elsewhere = Path(done.stderr.rstrip().rpartition("the results are in ")[2])
    assert digest_of(elsewhere)
    assert not list(disk.path.iterdir())


@pytest.mark.parametrize("size", ["20k", "40k", "60k"])
def test_a_durable_run_whose_logs_do_not_fit(tmp_path: Path, disk: SmallDisk, size: str) -> None:
    """Either nothing has begun and nothing is left, or the run goes on after room was made."""
    usual = sottovoce(*RUN, *OPTIONS, "--out", "usual", cwd=tmp_path)
    assert usual.returncode == 0, usual.stderr
    disk.resize(size)
    state = str(disk.path / "state")
    out = tmp_path / "out"
    done = sottovoce(
        *RUN, *OPTIONS, "--durable", "--out", str(out), cwd=tmp_path, SOTTOVOCE_STATE=state
    )
    has_begun = "go on with: " in done.stderr
    assert_full(done, status=3 if has_begun else 2)
    assert not out.exists()
    disk.resize(PLENTY)
    if not has_begun:
        assert not disk.files
        return
    resumed = sottovoce("resume", str(out), "--quiet", cwd=tmp_path, SOTTOVOCE_STATE=state)
    assert resumed.returncode == 0, resumed.stderr
    assert digest_of(out) == digest_of(tmp_path / "usual")
    assert not disk.files


def test_shared_memory_that_is_full(tmp_path: Path) -> None:
    """In a mount namespace of its own the run has a small /dev/shm. MPI goes on without it."""
    here = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    mount = "mount -t tmpfs -o size=64k tmpfs /dev/shm"
    if subprocess.run([*here, mount], capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount a file system here")
    words = ["-m", "sottovoce", "run", "head-count", "--rows", "40", "--seed", "1", "--quiet"]
    done = subprocess.run(
        [*here, f'{mount} && exec "$@"', "sh", sys.executable, *words, "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.json").is_file()


def test_a_sweep_stops_at_the_first_result_that_does_not_fit(
    tmp_path: Path, disk: SmallDisk
) -> None:
    (tmp_path / "plan.toml").write_text(
        "seeds = 9\n[every]\nrows = 60\ntransport = 'threads'\n[[run]]\nprotocol = ['head-count']\n"
    )
    out = disk.path / "out"
    disk.resize("40k")
    done = sottovoce("sweep", "plan.toml", "--out", str(out), cwd=tmp_path)
    assert_full(done)
    results = len(list((out / "cells").glob("*.json")))
    assert 0 < results < 9
    assert not [name for name in disk.files if Path(name).name.startswith(".sottovoce")]
    disk.resize(PLENTY)
    kept = Path(done.stderr.partition("this result is in ")[2].partition(" instead")[0])
    assert f"move it into {out / 'cells'}" in done.stderr
    moved = kept.read_bytes()
    shutil.move(kept, out / "cells")
    kept.parent.rmdir()
    done = sottovoce("sweep", "plan.toml", "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (out / "cells" / kept.name).read_bytes() == moved, "it was not made again"
    assert len(list((out / "cells").glob("*.json"))) == 9


@pytest.mark.parametrize(
    "words",
    [
        ("schema", "table.csv", "--out", "disk/schema.json"),
        ("schema", "table.csv", "--out", "disk/schema.json", "--page", "disk/schema.html"),
        ("plan", "head-count", "--network", "lan", "--page", "disk/plan.html"),
        ("plan", "head-count", "--network", "lan", "--csv", "disk/plan.csv"),
        ("new", "my-protocol", "--in", "disk"),
        ("identity", "disk", "--party", "1"),
        ("calibrate",),
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:-1]),
)
def test_a_file_that_does_not_fit(tmp_path: Path, disk: SmallDisk, words: tuple[str, ...]) -> None:
    """Not even a part of it is there."""
    lines = [f"value-{row},{row % 7}" for row in range(2000)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    disk.resize("64k")
    disk.fill()
    done = sottovoce(*words, cwd=tmp_path, SOTTOVOCE_STATE=str(disk.path))
    assert_full(done)
    assert not disk.files


def test_a_page_that_does_not_fit(tmp_path: Path, disk: SmallDisk) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        done = sottovoce(
            "run", "head-count", "--rows", "60", "--transport", "threads", "--quiet",
            "--out", str(run), cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    disk.resize("32k")
    disk.fill()
    page, public = str(disk.path / "page.html"), str(disk.path / "public")
    done = sottovoce("compare", *map(str, runs), "--out", page, cwd=tmp_path)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    done = sottovoce("report", str(runs[0]), "--public", "--out", public, cwd=tmp_path)
    assert_full(done)
    assert not disk.files
