"""Estimates of the joint distribution of a label and attributes, from the reports of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...curator import Marginal, labels
from ...curator.marginal import Numbers
from ...privacy import Domain
from ...privacy.local import Randomizer
from ...privacy.local.hashed_heads import HashedHeads
from ...privacy.local.heads import HeadsResponse, variance_of_set
from ..survey import Answer

__all__ = ["GroupEstimate", "PooledEstimate", "estimate_of", "pool"]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """The joint distribution of label and attributes by the reports of a group, without bias."""

    attributes: tuple[str, ...]
    """Without the label."""
    joint: Marginal
    users: int
    randomizer: Randomizer

    @property
    def variance(self) -> float:
        """The variance of each cell."""
        return self.variance_of(1)

    def variance_of(self, size: int) -> float:
        """The variance of the sum of so many cells."""
        randomizer = self.randomizer
        if isinstance(randomizer, HashedHeads):  # the cells are of one label
            return randomizer.variance_of_set(size) / self.users
        if isinstance(randomizer, HeadsResponse):
            return variance_of_set(
                cells=randomizer.cells,
                chosen=randomizer.chosen,
                p=float(randomizer.p),
                size=size,
                users=self.users,
            )
        return size * randomizer.variance(users=self.users)  # bits are flipped one by one

    @property
    def belief(self) -> float:
        """omega, as the group was asked."""
        randomizer = self.randomizer
        return randomizer.belief if isinstance(randomizer, HeadsResponse | HashedHeads) else 1.0

    @property
    def heads(self) -> int | None:
        """k; `None` where every bit is flipped."""
        if isinstance(self.randomizer, HashedHeads):
            return 1
        return self.randomizer.chosen if isinstance(self.randomizer, HeadsResponse) else None

    @property
    def hashes(self) -> int | None:
        """Number of hashes; `None` where values are not hashed."""
        return self.randomizer.hashes if isinstance(self.randomizer, HashedHeads) else None


@dataclass(frozen=True, slots=True)
class PooledEstimate:
    """The joint distribution by all reports on a set, with each cell's variance."""

    attributes: tuple[str, ...]
    joint: Numbers
    variance: float
    users: int


def estimate_of(domain: Domain, answer: Answer) -> GroupEstimate:
    """Estimate the joint distribution from a group's answer; the label is its first attribute."""
    question = answer.question
    joint = Marginal.of(domain, question.attributes, answer.frequencies())
    return GroupEstimate(question.attributes[1:], joint, question.users, question.randomizer)


def pool(estimate: GroupEstimate, others: Sequence[GroupEstimate]) -> PooledEstimate:
    """Average an estimate with the others of the same attributes, by inverse variance."""
    parts = [estimate, *(other for other in others if other.attributes == estimate.attributes)]
    joint, variance = labels.pool([(part.joint.values, part.variance) for part in parts])
    return PooledEstimate(estimate.attributes, joint, variance, sum(part.users for part in parts))
