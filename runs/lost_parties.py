"""Parties that stay lost when a run goes on: those upon whose loss a role has acted.

Each role has the losses in its log because of which it has done something else (`crypto.durable`).
A party that any role names stays lost for all, in a run that goes on without lost parties. In all
others no log has a loss, and none counts.

*What is trusted.* That a party is lost is the word of one role, as it is the word of the transport
while a run goes on. A role that lies can leave out parties. Fewer than `--min-parties` are never
left, and all roles have the same list: two parties that each take the other for lost would help to
read two attempts at one sum. So ranks of MPI compare the list with each other, each with each. Over
several resumes a dishonest curator can get round that, as docs/secure-sums.md says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..curator.desk import lost_text
from ..messages import UsageError
from .job import Job

__all__ = ["LostParties", "lost_parties"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostParties:
    """The parties that stay lost."""

    goes_on: bool
    """Whether the run goes on without lost parties."""
    ranks: frozenset[int] = frozenset()
    released: Mapping[int, list[bytes]] = field(default_factory=dict)
    """Frames of what they have released, as far as their logs are there. The curator has them."""


def lost_parties(job: Job, noted: Iterable[Collection[int]], *, run: str) -> frozenset[int]:
    """Give the parties that stay lost, by the losses in the logs of all roles.

    Raises:
        UsageError: too few parties would be left.
    """
    if job.fewest_parties is None:
        return frozenset()
    lost = frozenset(range(1, job.parties + 1)) & frozenset[int]().union(*noted)
    left = job.parties - len(lost)
    if left < job.fewest_parties:
        raise UsageError(
            f"expected at least {job.fewest_parties} parties in run {run}, found that roles have "
            f"gone on without all but {left}: {lost_text(lost)} lost; start a new run"
        )
    return lost
