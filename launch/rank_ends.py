"""How an MPI rank ends: well, by an error of its own, or because its launcher is gone."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from ..crypto.role_log import LogTakenError
from ..messages import Role, SottovoceError, UsageError
from ..runs.failure import cause_of, describe
from ..runs.interruption import INTERRUPTED
from .error_log import keep_at_home
from .family import end_processes, other_ranks, started_by_ranks
from .leftovers import remove_folder_of, remove_segments, segments_of
from .lifeline import Address, Lifeline
from .rank_events import Failure

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["die", "fail", "leave"]


def leave(*, outlives: bool) -> None:
    """End this rank. Where it may have outlived others, MPI would wait for these in vain."""
    if outlives:
        sys.stdout.flush()
        sys.stderr.flush()
        remove_segments(segments_of(os.getpid()))
        os._exit(0)
    gc.freeze()  # The interpreter, which ends now, need not search for garbage once more.


def die(address: Address | None, *, mpiexec: int) -> None:
    """End all ranks on this host, as their launcher is gone, with all that they have started.

    Another rank may have ended its part. It watches no longer, and MPI would wait for this one in
    vain. Segments and the folder of mpiexec are removed first: other ranks may end this one
    meanwhile. The kernel ends mpiexec, or has done so, and it would leave its folder.

    Args:
        address: the launcher's, if there is one.
        mpiexec: the process that has started this one.
    """
    if address is not None:
        remove_segments(segments_of(os.getpid()))  # At once: mpiexec may end all ranks now.
        ranks = other_ranks(address.token)
        end_processes(started_by_ranks(address.token))
        for pid in ranks:
            remove_segments(segments_of(pid))
        remove_folder_of(mpiexec)
        end_processes(ranks)
    os._exit(3)


def fail(
    error: BaseException,
    *,
    rank: int,
    role: Role | None,
    lifeline: Lifeline | None,
    comm: MPI.Comm,
    are_shown: bool,
    run: str | None = None,
) -> NoReturn:
    """Report the error to the launcher, or print it, and end all ranks.

    `run` is the name of a durable run with which the person can go on. Without `--tell-errors`,
    what may hold data goes to a log on this host.
    """
    text = describe(error, where=None if role is None else role.where)
    line, trace = text.line, text.traceback
    if not are_shown:
        line, trace = keep_at_home(text, rank=rank), ""
    if role is None:
        line = f"rank {rank}: {line}"
    elif run is not None:
        line = f"{line}; go on with the same mpirun and: sottovoce resume {run}"
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
        lifeline.send(
            Failure(
                rank,
                status,
                line,
                trace,
                before_start=in_set_up,
                cause=cause_of(error),
                may_pass=isinstance(error, LogTakenError),
            )
        )
    if in_set_up and comm.Get_size() > 1:
        sys.exit(status)  # it was found in the set-up: all ranks know of it, and none waits
    remove_segments(segments_of(os.getpid()))  # Abort leaves them, and ends all that use them
    comm.Abort(status)
    os._exit(status)
