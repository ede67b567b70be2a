"""Runs within an MPI job that the user started, where rank 0 stands for the launcher.

Rank 0 has the description of a durable run in its state, as a launcher has. The other ranks learn
the name of the run from it, and when they go on, the job. Each has its log on its own host. It
refuses to go on with another job or table than before, and without a log. Otherwise rank 0 could
give it any job, with any epsilon.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ..messages import CURATOR, UsageError
from ..runs.job import Job
from ..runs.log_header import DurableTask
from ..runs.record import RunRecord
from ..runs.unfinished import UnfinishedRun
from .rank_setup import MIN_SETUP_SECONDS, exchange, together

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["JoinedJob", "JoinedRun", "agree_on_run"]


class JoinedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What rank 0 tells the others of a durable run."""

    job: Job
    durable: DurableTask
    working_folder: str
    """The folder from which paths of the job count."""

    @classmethod
    def of(cls, run: UnfinishedRun) -> JoinedRun:
        """Make it of the description at rank 0."""
        return cls(job=run.job, durable=run.task, working_folder=run.working_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedJob:
    """What a rank brings to an MPI job that the user started."""

    conclude: Callable[[RunRecord], None]
    """Called with the record of the run at rank 0."""
    is_durable: bool = False
    """Whether this rank was asked to keep a log."""
    run: JoinedRun | None = None
    """The durable run, at rank 0."""
    begin: Callable[[], None] = lambda: None
    """Called when this rank's role begins."""


def agree_on_run(
    comm: MPI.Comm,
    job: Job | None,
    *,
    durable: DurableTask | None,
    joined: JoinedJob | None,
) -> tuple[Job, DurableTask | None]:
    """Learn from rank 0 which durable run this is, if it is one. All ranks call it.

    Args:
        comm: all ranks.
        job: this rank's job; `None` where the run goes on, and rank 0 knows it.
        durable: the durable run, where a launcher names it.
        joined: what this rank brings, where there is no launcher.

    Raises:
        UsageError: this rank cannot enter the folder of a run that goes on.
    """
    agreed: JoinedRun | None = None
    if joined is not None:
        agreed = exchange(comm, MIN_SETUP_SECONDS, joined.run, kind=JoinedRun | None)[CURATOR]
    if agreed is not None:
        folder, durable = agreed.working_folder, agreed.durable
        if job is None:
            # Its log alone shows that this is the job which it has begun, so there must be one.
            job, durable = agreed.job, msgspec.structs.replace(durable, has_begun=True)
        if durable.is_resumed:
            together(comm, MIN_SETUP_SECONDS, lambda: _enter(folder))
    if job is None:
        raise UsageError("expected rank 0 to go on with a durable run, found none")
    return job, durable


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"expected the working folder {folder} of the run that stopped on every host, found: "
            f"{error.strerror}; paths of its data count from there"
        ) from None
