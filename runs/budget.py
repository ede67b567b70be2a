"""The budget of datasets, kept in a file from run to run.

    sottovoce budget spent.json --epsilon 3      makes it, with a total for each dataset
    sottovoce run ... --budget spent.json        spends from it, or is refused
    sottovoce budget spent.json                  shows who spent what

A dataset is a table with a certain digest. Runs on one dataset compose one after another, so their
epsilons add up. A run is written down before it begins, with the epsilon that it claims, because a
run that crashes may have released all the same. When it has ended, its loss as accounted takes the
place of the claim: the largest to any adversary that the claim covers, and infinity where a message
left without a release. Coalitions beyond a run's collusion threshold are listed beside it; a file
made with `--against-anyone` counts them, too. A run that fails before any role has begun costs
nothing.

All figures in a file are for one relation between neighbouring datasets. Others are converted where
that is possible:

    add-or-remove-one      counts twice. To replace a record is to remove one and to add one.
    replace-one            counts once where a label is protected: another label, another record

Nothing else can be converted: under replace-one the exact number of records costs nothing, and a
protocol that protects labels may send the attributes as they are. Such a run needs a file of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

import msgspec

from ..privacy import Neighbours

__all__ = ["Budget", "Spending"]

NOTE: Final = (
    "What runs of sottovoce have spent on each dataset. Keep it with the data: a digest lets "
    "anyone confirm a guess of a small table."
)
_CONVERTED: Final[Mapping[tuple[str, str], float]] = {
    ("add-or-remove-one", "replace-one"): 2.0,
    ("add-or-remove-one", "label-alone"): 2.0,
    ("add-or-remove-one", "label-within-belief"): 2.0,
    ("replace-one", "label-alone"): 1.0,
    ("replace-one", "label-within-belief"): 1.0,
}
"""Factors of epsilon, by the relation of a run and the relation of the file."""


class Spending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one run spent on one dataset."""

    run: str
    """Random name of the run, the same for all of its datasets."""
    dataset: str
    """Digest of the table."""
    name: str
    """Name of the table when the run began."""
    epsilon: float
    """Spent epsilon that counts, for the file's relation."""
    to_anyone: float
    """Largest loss to any adversary, also beyond the collusion threshold."""
    delta: float
    state: Literal["started", "ended"]
    """Until it has ended, a run counts with its claim; a run that failed stays "started"."""
    protocol: str
    claimed: float
    """The protocol's claim, for its own relation."""
    neighbours: Neighbours
    """The protocol's own relation."""
    who: str
    began: datetime


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of what was spent."""

    note: str = NOTE
    epsilon: float
    """Total epsilon for each dataset."""
    neighbours: Neighbours
    against: Literal["claimed", "anyone"] = "claimed"
    """Adversaries whose loss counts: those that each run's claim covers, or all of them."""
    spending: list[Spending] = []

    def spent(self, dataset: str) -> float:
        """Add up what was spent on a dataset."""
        return math.fsum(entry.epsilon for entry in self.of(dataset))

    def of(self, dataset: str) -> list[Spending]:
        """List what was spent on a dataset."""
        return [entry for entry in self.spending if entry.dataset == dataset]

    def converted(self, epsilon: float, *, neighbours: Neighbours) -> float:
        """Convert a run's epsilon to the file's relation; infinity where that is impossible."""
        if neighbours == self.neighbours:
            return epsilon
        return epsilon * _CONVERTED.get((neighbours, self.neighbours), math.inf)
