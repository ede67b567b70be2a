"""What MPI ranks agree on before a role begins: arguments, schema, and one table for all.

This is set-up. None of it is a message of the protocol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import CURATOR, SottovoceError, UsageError
from ..messages.errors import TimeoutExpired
from ..messages.mpi import wait_until
from ..parties import Records, Schema, TableNote
from ..runs.identities import Credentials, read_identity
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.log_header import DurableTask
from ..runs.role_logs import kept_schema
from ..runs.setup import (
    agree_on_schema,
    contribute_schema,
    load_records,
    require_memory,
    require_one_table,
)
from .library import brief_version, conflict
from .mpiexec import inside_mpi_job

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "MIN_SETUP_SECONDS",
    "OtherRankError",
    "agree_on_arguments",
    "await_all",
    "exchange",
    "exchange_digests",
    "library_hint",
    "ranks_on_this_host",
    "set_up",
    "together",
]

T = TypeVar("T")

DIGEST_BYTES: Final = hashlib.sha256().digest_size
MIN_SETUP_SECONDS: Final = 60.0
"""Seconds that any wait of the set-up may last, if the time-out is shorter: ranks start together,
but not at the same time.
"""


class OtherRankError(Exception):
    """Another rank found bad input and reports it; this rank ends without a message."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def agree_on_arguments(
    comm: MPI.Comm, job: Job, *, tell_errors: bool, is_durable: bool = False
) -> None:
    """Check that there is a rank for every role, and that all ranks have the curator's arguments.

    Raises:
        UsageError: They have not, or errors would be shown on another host.
    """
    size = comm.Get_size()
    if size != job.parties + 1:
        hint = f": {library_hint()}" if size == 1 else ""
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), "
            f"found {size}{hint}"
        )
    mine = hashlib.sha256(msgspec.json.encode((job, tell_errors, is_durable))).digest()
    curators = bytearray(mine)
    timeout = max(job.timeout, MIN_SETUP_SECONDS)
    _wait(comm.Ibcast(curators, root=CURATOR), timeout)

    def compare() -> None:
        if curators != mine:
            raise UsageError(
                "expected all ranks to be started with the same arguments, "
                "found others at the curator"
            )

    def refuse_other_hosts() -> None:
        if ranks_on_this_host(comm).size < size:
            raise UsageError("expected --tell-errors on one machine, found ranks on several hosts")

    together(comm, timeout, compare)
    if tell_errors:
        together(comm, timeout, refuse_other_hosts)


def set_up(
    comm: MPI.Comm, job: Job, *, note: TableNote, durable: DurableTask | None = None
) -> tuple[Records | None, Schema | None, Credentials]:
    """Agree on the schema, and load this role's identity and this party's records.

    The curator has no records and opens no file, and neither does the rank of a party that was
    given up. Without such a party a schema is not inferred again, but the one that was inferred
    when the run began. `note` is given what the reading of the table leaves.
    """
    size, rank = comm.Get_size(), comm.Get_rank()
    timeout = max(job.timeout, MIN_SETUP_SECONDS)
    without = () if durable is None else durable.without
    opens_files = rank not in (CURATOR, *without)
    identities = None if rank in without else job.identities
    credentials = together(
        comm, timeout, lambda: read_identity(identities, rank=rank, parties=size - 1)
    )

    def contribute() -> Schema | None:
        if without and durable is not None and (kept := kept_schema(durable.run, rank)) is not None:
            return kept
        if not opens_files:
            return None
        needs_schema = instantiate(job).needs_schema
        return contribute_schema(job, party=rank, needed=needs_schema, note=note)

    schema = together(comm, timeout, contribute)

    def agree() -> Schema | None:
        agreed = agree_on_schema(
            exchange(comm, timeout, schema, kind=Schema | None), are_kept=bool(without)
        )
        # Each rank agrees by itself. Roles with different orders of categories would publish wrong
        # results without noticing.
        if any(other != agreed for other in exchange(comm, timeout, agreed, kind=Schema | None)):
            raise UsageError(
                "expected all ranks to infer the same schema, found different ones: give --schema"
            )
        return agreed

    schema = together(comm, timeout, agree)

    def require_room() -> None:
        if rank == CURATOR:
            require_memory(job, schema=schema)

    together(comm, timeout, require_room)

    def read() -> Records | None:
        if not opens_files:
            return None
        return load_records(job, party=rank, schema=schema, note=note)

    records = together(comm, timeout, read)
    # The curator must not see the digest of a table: a guess could be confirmed by it.
    parties = comm.Split(color=int(rank == CURATOR), key=rank)
    notes = [] if rank == CURATOR else exchange(parties, timeout, note, kind=TableNote)
    parties.Free()
    read_by = {party: each for party, each in enumerate(notes, start=1) if party not in without}
    together(comm, timeout, lambda: require_one_table(job, read_by))
    return records, schema, credentials


def ranks_on_this_host(comm: MPI.Comm) -> npt.NDArray[np.int64]:
    """List the ranks on this host. All ranks call it at the same time."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    ranks = np.zeros(here.Get_size(), np.int64)
    here.Allgather(np.array([comm.Get_rank()]), ranks)
    here.Free()
    return ranks


def library_hint() -> str:
    """Find why a rank is alone, by the launcher's variables and by the library that was loaded."""
    from mpi4py import MPI

    world, library = inside_mpi_job(), brief_version(MPI.Get_library_version())
    return conflict("other" if world is None else world.flavour, library) or (
        f"mpi4py loads {library}, which does not know this mpiexec (see `sottovoce doctor`)"
    )


def together(comm: MPI.Comm, timeout: float, act: Callable[[], T]) -> T:
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
    _wait(comm.Iallgather(status, statuses), timeout)
    if statuses.any():
        first = int(np.flatnonzero(statuses)[0])
        if mistake is None or first != rank:
            raise OtherRankError(int(statuses[first]))
        raise mistake
    return results[0]


def exchange(comm: MPI.Comm, timeout: float, value: T, *, kind: Any) -> list[T]:
    """Send every rank's value to all ranks of the communicator."""
    encoded = np.frombuffer(msgspec.json.encode(value), np.uint8)
    sizes = np.zeros(comm.Get_size(), np.int64)
    _wait(comm.Iallgather(np.array([len(encoded)]), sizes), timeout)
    gathered = np.zeros(int(sizes.sum()), np.uint8)
    _wait(comm.Iallgatherv(encoded, [gathered, sizes.tolist()]), timeout)
    parts = np.split(gathered, np.cumsum(sizes)[:-1])
    return [msgspec.json.decode(part.tobytes(), type=kind) for part in parts]


def exchange_digests(
    comm: MPI.Comm, timeout: float, digests: Mapping[int, bytes]
) -> dict[int, bytes]:
    """Send each rank the digest that is for it, if there is one, and return those for this rank."""
    size = comm.Get_size()
    outgoing = np.zeros((size, DIGEST_BYTES + 1), np.uint8)
    for rank, digest in digests.items():
        outgoing[rank] = [1, *digest]
    incoming = np.zeros_like(outgoing)
    _wait(comm.Ialltoall(outgoing, incoming), timeout)
    return {rank: incoming[rank, 1:].tobytes() for rank in range(size) if incoming[rank, 0]}


def _wait(request: MPI.Request, timeout: float) -> None:
    """Wait for all ranks of an exchange."""
    await_all([request], timeout)


def await_all(requests: Sequence[MPI.Request], timeout: float) -> None:
    """Wait until all of these have ended.

    Raises:
        TimeoutExpired: some have not within the time.
    """
    if not wait_until(lambda: all(request.Test() for request in requests), timeout=timeout):
        raise TimeoutExpired(
            f"expected all ranks to be set up, found that some were not in {timeout:g} s: raise "
            "the timeout if reading the data takes longer"
        )
