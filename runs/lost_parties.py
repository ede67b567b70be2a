"""Parties that stay lost when a run goes on: those upon whose loss a role has acted.

Each role has the losses in its log because of which it has done something else (`crypto.durable`).
A party that any role names stays lost for all, in a run that goes on without lost parties. In all
others no log has a loss, and none counts.

*What is trusted.* That a party is lost is the word of one role, as it is the word of the transport
while a run goes on. A role that lies can leave out parties. Fewer than `--min-parties` are never
left, and all roles have the same list: two parties that each take the other for lost would help to
read two attempts at one sum. So ranks of MPI compare what they know of all logs, each with each.

*Witnesses.* What must never happen is that a party comes back which others have left out: its
pieces of their keys could open the attempt before, and they have given keys of the next one. All
who have sent a table to that next attempt have the loss in their logs, and one honest log is
enough. So logs stay until the run has succeeded, also those of parties that are lost themselves.
Some may be gone. A sum is read of M parties at least (`--min-parties`), of which at most
`colluding` lie. If logs are there of more than K + colluding - M of the K parties, one is that of
an honest party among those M. Otherwise a run does not go on without parties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..curator.desk import lost_text, parties_text
from ..messages import CURATOR, UsageError
from .instance import instantiate
from .job import Job

__all__ = ["LostParties", "can_be_given_up", "lost_parties", "witnesses_needed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostParties:
    """The parties that stay lost."""

    goes_on: bool
    """Whether the run goes on without lost parties."""
    fewest: int = 0
    """The fewest parties with which it does."""
    ranks: frozenset[int] = frozenset()
    released: Mapping[int, list[bytes]] = field(default_factory=dict)
    """Frames of what they have released, as far as their logs are there. The curator has them."""


def lost_parties(
    job: Job, noted: Iterable[Collection[int]], *, witnesses: Collection[int], run: str
) -> frozenset[int]:
    """Give the parties that stay lost, by the losses in the logs of all roles.

    Args:
        job: the job.
        noted: the losses of each log.
        witnesses: roles whose logs are there, and show that they have begun.
        run: name of the run.

    Raises:
        UsageError: too few parties would be left, or too few logs are there.
    """
    if job.fewest_parties is None:
        return frozenset()
    parties = frozenset(range(1, job.parties + 1))
    lost = parties & frozenset[int]().union(*noted)
    left = job.parties - len(lost)
    if left < job.fewest_parties:
        raise UsageError(
            f"expected at least {job.fewest_parties} parties in run {run}, found that roles have "
            f"gone on without all but {left}: {lost_text(lost)} lost; start a new run"
        )
    missing = parties.difference(witnesses)
    needed, logs = witnesses_needed(job), job.parties - len(missing)
    if lost and logs < needed:
        raise UsageError(
            f"expected the logs of at least {needed} parties in run {run}, as each may be the only "
            f"one that names a party without which others have gone on, found {logs}, and none of "
            f"{parties_text(missing)}: restore them, or start a new run"
        )
    return lost


def can_be_given_up(job: Job, missing: Collection[int], *, lost: Collection[int] = ()) -> bool:
    """Tell whether a run can go on without roles whose logs are missing.

    Args:
        job: the job.
        missing: ranks of the roles whose logs are missing.
        lost: parties that stay lost, without those that were given up just now, as another one
            may have been meant.
    """
    if job.fewest_parties is None or CURATOR in missing:
        return False
    left, logs = job.parties - len({*missing, *lost}), job.parties - len({*missing})
    return left >= job.fewest_parties and logs >= witnesses_needed(job)


def witnesses_needed(job: Job) -> int:
    """Count the parties whose logs must be there if some stay lost.

    Among them is an honest member of every sum that was read. Without secure sums none is needed:
    what a party sends by itself has one version, by its own log.
    """
    colluding = instantiate(job).colluding
    if colluding is None or job.fewest_parties is None:
        return 0
    return job.parties + colluding - job.fewest_parties + 1
