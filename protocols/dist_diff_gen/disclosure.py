"""The disclosure of mode paper: party 2 sends party 1 its exact class counts.

It stands for a two-party computation of the choices, which this project does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...curator.marginal import Numbers
from ...messages import MessageError, role_name
from ...parties import Party
from ...privacy import coalition, with_curator
from ...privacy.exact_value import ExactValue
from ...privacy.likelihood import log_ratio
from ...privacy.loss import UNBOUNDED, Loss
from .options import Messages
from .plan import SpecialisationPlan

__all__ = ["Disclosure", "add_counts", "disclose"]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Exact counts for another party, from which nothing hides them.

    An adversary that sees only the choices learns no more than `epsilon` of the records.
    """

    counts: npt.NDArray[np.int64] = field(repr=False)
    sensitivity: float
    epsilon: float

    name = "exact-counts"
    scale = 0.0
    by_users = ()
    whole_record = None

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def seen(self) -> Mapping[str, Loss]:
        return {coalition(1): UNBOUNDED, with_curator(1): UNBOUNDED}

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.int64]:  # noqa: ARG002 - no noise
        """Hand the counts over. Called by `Accountant.release` alone."""
        return np.asarray(self.counts)

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.counts, norm="L1")


@log_ratio.register
def _(disclosure: Disclosure, neighbour: Disclosure, answer: object) -> float:  # noqa: ARG001 - exact
    return 0.0 if np.array_equal(disclosure.counts, neighbour.counts) else inf


def disclose(me: Party, plan: SpecialisationPlan) -> None:
    """Send party 1 the exact class counts. Called by party 2."""
    tables = plan.tables
    counts = np.concatenate(list(me.records.marginals(tables.families)))
    disclosure = Disclosure(counts, float(tables.batch.sensitivity), plan.budget.amount / 2)
    # This line leaks exact counts to party 1. They are sealed, so no other role can read them.
    me.send(Messages.ClassCounts(me.release(disclosure, to=1)), to=1)


def add_counts(me: Party, plan: SpecialisationPlan) -> dict[str, Numbers]:
    """Receive party 2's class counts and add them to the party's own. Called by party 1."""
    families = plan.tables.families
    counts = np.concatenate(list(me.records.marginals(families)))
    received = me.receive(Messages.ClassCounts, source=2).cells
    if len(received) != len(counts) or received.min() < 0:
        raise MessageError(
            f"expected {len(counts)} counts of {role_name(2)}, none below 0, "
            f"found {len(received)}: do both have the same schema?",
            where=me.where,
        )
    ends = np.cumsum([plan.domain.cells(family) for family in families])[:-1]
    tables = np.split((counts + received).astype(np.float64), ends)
    return {
        name: table.reshape(-1, plan.classes)
        for (name, _), table in zip(families, tables, strict=True)
    }
