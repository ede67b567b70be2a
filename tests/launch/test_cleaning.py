"""The files of Open MPI are removed though the launcher was killed, and those of others stay."""

import fcntl
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sottovoce.launch.cleaning import cleaning_up, remove_abandoned
from sottovoce.launch.family import family_of
from sottovoce.launch.mpiexec import Launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/shm")

OPEN_MPI = Launcher("mpiexec", "openmpi", "mpiexec (Open MPI) 5.0.11")
PROGRAM = """
import subprocess, sys, time
from pathlib import Path
from sottovoce.launch.cleaning import cleaning_up
from sottovoce.launch.leftovers import folders_of
from sottovoce.launch.mpiexec import Launcher

with cleaning_up(Launcher("mpiexec", "openmpi", "mpiexec (Open MPI) 5.0.11")) as cleaner:
    mpiexec = subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
    cleaner.watch(mpiexec.pid)
    (cleaner.segments / "sm_segment.a host.0").touch()
    for folder in folders_of(mpiexec.pid):
        (folder / "jobs").mkdir(parents=True)
    shown = mpiexec.pid, cleaner._shell.pid, cleaner.segments, *folders_of(mpiexec.pid)
    print(*shown, sep="\\n", flush=True)
    time.sleep(600)
"""


def start(tmp_path: Path, *, mpiexec_sleeps: float) -> "subprocess.Popen[str]":
    temporary = tmp_path / "tempor ary"
    temporary.mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(mpiexec_sleeps)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def lines_of(process: "subprocess.Popen[str]", count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def are_gone(paths: list[Path], *, within: float) -> bool:
    until = time.monotonic() + within
    while any(path.exists() for path in paths) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(path.exists() for path in paths)


def test_folders_are_removed_when_launcher_and_mpiexec_have_ended(tmp_path: Path) -> None:
    with start(tmp_path, mpiexec_sleeps=1) as launcher:
        _, _, *names = lines_of(launcher, 5)
        folders = [*map(Path, names)]
        assert all(folder.is_dir() for folder in folders)
        launcher.kill()
    assert are_gone(folders, within=30)


def test_folders_stay_as_long_as_mpiexec_lives(tmp_path: Path) -> None:
    """It removes its own at its end, and ranks may be making segments."""
    with start(tmp_path, mpiexec_sleeps=600) as launcher:
        mpiexec, _, *names = lines_of(launcher, 5)
        launcher.kill()
    folders = [*map(Path, names)]
    try:
        time.sleep(1)
        remove_abandoned()  # as the next run does
        assert all(folder.is_dir() for folder in folders)
    finally:
        os.kill(int(mpiexec), 9)
    assert are_gone(folders, within=30)


def test_nothing_and_nobody_is_left_of_a_run_that_ends_by_itself() -> None:
    with cleaning_up(OPEN_MPI) as cleaner:
        assert cleaner is not None
        assert cleaner.segments is not None
        (cleaner.segments / "sm_segment.host.0").touch()
        shell, folder = cleaner._shell.pid, cleaner.segments
        cleaner.watch(os.getpid())
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(shell, 0)


def test_a_run_goes_on_without_its_cleaner() -> None:
    """The shell was killed."""
    with cleaning_up(OPEN_MPI) as cleaner:
        assert cleaner is not None
        cleaner._shell.kill()
        cleaner._shell.wait()
        cleaner.watch(os.getpid())
    assert cleaner.segments is not None
    assert not cleaner.segments.exists()


def test_mpich_has_no_cleaner() -> None:
    with cleaning_up(Launcher("mpiexec", "mpich", "HYDRA 4.3")) as cleaner:
        assert cleaner is None


def test_a_folder_whose_launcher_and_shell_were_killed_goes_with_the_next_run(
    tmp_path: Path,
) -> None:
    with start(tmp_path, mpiexec_sleeps=1) as launcher:
        _, shell, name, *_ = lines_of(launcher, 5)
        folder = Path(name)
        remove_abandoned()
        assert folder.is_dir()  # its launcher lives
        os.kill(int(shell), 9)
        launcher.kill()
    # The kernel may still be ending the shell. Another run of this machine may come first.
    until = time.monotonic() + 30
    while folder.exists() and time.monotonic() < until:
        with cleaning_up(OPEN_MPI):
            pass
    assert not folder.exists()


def test_only_folders_that_a_launcher_has_left_are_abandoned(tmp_path: Path) -> None:
    """Neither one that is not locked yet, nor a link, nor another's file."""
    elsewhere = tmp_path / "elsewhere"
    place = tmp_path / "shm"
    stays = {".sottovoce.new", "sottovoce.locked", "sottovoce.link", "sottovoce.file", "other.x"}
    for name in (".sottovoce.new", "sottovoce.locked", "sottovoce.left", "other.x"):
        (place / name).mkdir(parents=True)
        (place / name / "sm_segment.0").touch()
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (place / "sottovoce.link").symlink_to(elsewhere)
    (place / "sottovoce.file").touch()
    lock = os.open(place / "sottovoce.locked", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        remove_abandoned(place)
    finally:
        os.close(lock)
    assert {path.name for path in place.iterdir()} == stays
    assert (elsewhere / "kept").exists()


def test_open_mpi_makes_segments_where_its_launcher_says(tmp_path: Path) -> None:
    """Ranks on several hosts do not have this folder."""
    assert str(tmp_path) in OPEN_MPI.environment(segments=tmp_path).values()
    assert str(tmp_path) not in OPEN_MPI.environment(segments=tmp_path, several_hosts=True).values()
    extra = OPEN_MPI.environment(segments=tmp_path, extra=["--hostfile", "x"])
    assert str(tmp_path) not in extra.values()


@pytest.mark.mpi
def test_no_file_stays_when_the_launcher_is_killed_at_a_random_moment(tmp_path: Path) -> None:
    """Also within MPI's start and its end, where the kernel ends ranks at once.

    The first launcher is not killed: it shows how long a run lasts on this machine. Only the run's
    own folder can be looked for: other runs of this machine have theirs.
    """
    drawn, killed = random.Random(1), 0
    with start_counting(tmp_path / "whole") as launcher:
        began = time.monotonic()
        launcher.wait(120)
        lasts = time.monotonic() - began
    for number in range(6):
        with start_counting(tmp_path / str(number)) as launcher:
            ranks = [pid for pid in family_of(str(tmp_path / str(number))) if pid != launcher.pid]
            folders = [
                *(tmp_path / str(number)).glob("ompi.*"),
                *map(Path, {*map(backing_directory, ranks)}),
            ]
            time.sleep(drawn.uniform(0, lasts))
            killed += launcher.poll() is None
            launcher.kill()
        assert len(folders) > 1
        assert are_gone([folder for folder in folders if folder.name], within=30)
    assert killed > 2


def start_counting(temporary: Path) -> "subprocess.Popen[bytes]":
    """Start head-count over MPI, and return when Open MPI has made its folder."""
    words = ["run", "head-count", "--rows", "20", "--parties", "2", "--transport", "mpi", "--quiet"]
    temporary.mkdir()
    launcher = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", *words, "--out", str(temporary / "out")],
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    until = time.monotonic() + 60
    while not [*temporary.glob("ompi.*")] and time.monotonic() < until:
        time.sleep(0.002)
    return launcher


def backing_directory(pid: int) -> str:
    """Read where a rank makes its segments; nothing of a process that has ended."""
    name = b"OMPI_MCA_btl_sm_backing_directory="
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((v.removeprefix(name).decode() for v in variables if v.startswith(name)), "")
