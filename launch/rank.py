"""One MPI rank. `main` runs in every process that `sottovoce run` starts through mpiexec.

An MPI job may also have been started by the user's mpirun or srun. Then there is no launcher to
report to: the curator's rank writes the results, and a rank that fails prints why.

A rank that fails reports it once and ends all ranks by MPI_Abort. Otherwise the others would wait.
An error travels as type, place and rank; its whole text stays on the rank's own host (`error_log`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from ..messages import CURATOR, PeerLostError, Role, Wire
from ..messages.mpi import MPIWire
from ..messages.mpi_losses import Losses, is_loss
from ..parties import TableNote
from ..runs.faulty_network import with_network_faults
from ..runs.job import Job
from ..runs.log_header import DurableTask
from ..runs.part import play_role
from ..runs.record import RunRecord
from ..runs.setup import cores_for_each
from .hold import JOB_VARIABLE
from .joined import JoinedJob, agree_on_run
from .library import brief_version
from .lifeline import Address, Lifeline
from .rank_begin import begin_together
from .rank_durable import RankPlace, open_place
from .rank_ends import die, fail, leave
from .rank_events import LogOpened, PartEnded, RankResult, RoleBegins
from .rank_setup import (
    MIN_SETUP_SECONDS,
    OtherRankError,
    agree_on_arguments,
    ranks_on_this_host,
    set_up,
)
from .rank_start import start_mpi

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from mpi4py import MPI

__all__ = ["RANK_PROGRAM", "RankTask", "be_a_rank", "main"]

RANK_PROGRAM: Final = (
    "import gc; gc.disable(); from sottovoce.launch.hold import hold; held = hold(); "
    "from sottovoce.launch.rank import main; main(held)"
)
"""What Python executes in a rank.

It holds to its launcher at once, and no garbage is collected while modules are imported.
"""


SETUP_LOSS: Final = 5.0
"""Seconds in which the launcher ends a rank that another one's loss has stopped in the set-up."""


class RankTask(msgspec.Struct, frozen=True):
    """What the launcher passes to every rank, in one environment variable."""

    job: Job
    lifeline: Address
    tell_errors: bool = False
    durable: DurableTask | None = None
    outlives: bool = False
    """Whether ranks outlive the loss of another one."""


def main(held: socket.socket | None = None) -> None:
    """Play a role for the launcher, to which `held` is connected already."""
    # What was imported stays until the end. Searching it for garbage, above all when the
    # interpreter ends, would take a quarter of the time that a small protocol takes.
    gc.freeze()
    gc.enable()
    task = msgspec.json.decode(os.environ[JOB_VARIABLE], type=RankTask)
    be_a_rank(
        task.job,
        address=task.lifeline,
        held=held,
        tell_errors=task.tell_errors,
        durable=task.durable,
        outlives=task.outlives,
    )


def be_a_rank(
    job: Job | None,
    *,
    address: Address | None,
    tell_errors: bool,
    held: socket.socket | None = None,
    durable: DurableTask | None = None,
    joined: JoinedJob | None = None,
    outlives: bool = False,
) -> None:
    """Play this rank's role.

    With `tell_errors` the starter of the run reads the whole text of an error; without it, its
    type and place. `held` is a connection to the launcher, if there is one. With `durable` the role
    keeps a log, or goes on from it. With `outlives` ranks outlive the loss of another one. Where
    there is no launcher, `joined` is what the rank brings. Without a job it is that of rank 0,
    whose run goes on.
    """
    mpiexec = os.getppid()
    comm = start_mpi(is_alone=address is None)
    rank = comm.Get_rank()
    role: Role | None = None
    try:
        lifeline = Lifeline(
            address, rank=rank, die=lambda: die(address, mpiexec=mpiexec), held=held
        )
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
        lifeline.send(RoleBegins(rank))
        if joined is not None:
            joined.begin()

    def serve() -> None:
        """Let MPI pass on what others may still wait for, while this rank plays no part."""
        with losses.noticing() if losses is not None else contextlib.nullcontext():
            comm.Iprobe()

    are_shown = goes_on = False
    losses: Losses | None = None
    try:
        job, durable = agree_on_run(comm, job, durable=durable, joined=joined)
        agree_on_arguments(
            comm, job, tell_errors=tell_errors, is_durable=joined is not None and joined.is_durable
        )
        are_shown, goes_on = tell_errors, job.fewest_parties is not None
        losses = Losses(comm) if outlives or goes_on else None
        record, place = _play(
            comm, job, durable=durable, watch=watch, lifeline=lifeline, losses=losses
        )
        if record is not None and joined is not None:
            joined.conclude(msgspec.structs.replace(record, job=job))
        if record is not None:
            # The launcher has the job; a seed may be longer than the integers that travel here.
            record = msgspec.structs.replace(record, job=Job(protocol=job.protocol))
        awaits_keeping = rank == CURATOR or goes_on
        lifeline.send(RankResult(rank, record, awaits_keeping=awaits_keeping))
        meanwhile = serve if goes_on else lambda: None
        # Where the run goes on without lost parties, each log is a witness of whom its role has
        # left out. The word of the curator's rank, that all has ended, is not enough to remove it.
        if (
            place is not None
            and awaits_keeping
            and ((joined and not goes_on) or lifeline.await_keeping(meanwhile=meanwhile))
        ):
            place.remove()
    except OtherRankError as mistake:
        lifeline.close()
        sys.exit(mistake.status)
    except BaseException as error:  # noqa: BLE001 - the other ranks must not wait, whatever it is
        if is_loss(error) if role is None else isinstance(error, PeerLostError) and not goes_on:
            time.sleep(SETUP_LOSS)  # the launcher names the rank that was lost, and ends this one
        fail(
            error,
            rank=rank,
            role=role,
            lifeline=lifeline if address is not None else None,
            comm=comm,
            are_shown=are_shown,
            run=None if joined is None or durable is None else durable.run,
        )
    lifeline.hold()
    leave(outlives=goes_on or (losses is not None and bool(losses.ranks or losses.fresh())))


def _play(
    comm: MPI.Comm,
    job: Job,
    *,
    durable: DurableTask | None,
    watch: Callable[[Role], None],
    lifeline: Lifeline,
    losses: Losses | None,
) -> tuple[RunRecord | None, RankPlace | None]:
    """Set this rank up and play its role.

    A party that has ended well removes its log, unless the run goes on without lost parties.
    """
    ranks_here = ranks_on_this_host(comm)
    note = TableNote()
    records, schema, credentials = set_up(comm, job, note=note, durable=durable)
    place: RankPlace | None = None
    distant = frozenset(range(comm.Get_size())) - {*ranks_here.tolist()}
    wire: Wire = MPIWire(comm, patience=job.timeout, distant=distant, losses=losses)
    is_resumed = durable is not None and durable.is_resumed

    def begin() -> None:
        # A run that goes on without lost parties does so from its first message on, not before.
        if not is_resumed and job.fewest_parties is None:
            begin_together(comm, max(job.timeout, MIN_SETUP_SECONDS))

    wire = with_network_faults(wire, job, is_resumed=is_resumed)
    if durable is not None:
        place = open_place(comm, durable, job, schema=schema, note=note)
        wire = place.connect(wire)
        lifeline.send(LogOpened(comm.Get_rank(), place.records))
    if place is not None and place.is_concluded:
        record = place.conclusion
    elif place is not None and place.is_lost:
        return None, place
    else:
        record = play_role(
            wire,
            job,
            records=records,
            schema=schema,
            credentials=credentials,
            cores=_cores(comm.Get_rank(), ranks_here=ranks_here),
            watch=watch,
            transport="mpi",
            library=_library(),
            durable=None if place is None else place.role,
            begin=begin,
            ended=lambda: lifeline.send(PartEnded(comm.Get_rank())),
        )
    if place is not None and records is not None and job.fewest_parties is None:
        place.remove()
    return record, place


def _cores(rank: int, *, ranks_here: npt.NDArray[np.int64]) -> int:
    """Count the cores for this role.

    Parties on one host compute at the same time, and the curator computes while they wait.
    """
    parties_here = int((ranks_here != CURATOR).sum())
    return cores_for_each(roles=1 if rank == CURATOR else parties_here)


def _library() -> str:
    """Name the MPI library and its version."""
    from mpi4py import MPI

    return brief_version(MPI.Get_library_version())
