"""What runs on the same data cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..messages import UsageError
from ..parties import DEMO
from ..runs.datasets import Dataset, cost_of, datasets_of, draws_users
from ..runs.job import Job
from .claims import claimed_for, exceeds
from .formats import epsilon_text, quantity
from .report import Privacy

__all__ = ["JointCost", "joint_costs", "loss_by_party"]

BY_NAME = "not read: "
"""Prefix of the key of a table that is not on this machine, so that only its name is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCost:
    """What several runs cost one dataset together, under one relation between neighbours."""

    name: str
    """Name of the table."""
    neighbours: str
    runs: int
    epsilon: float
    """Sum of the largest losses to any adversary that the claims cover, as accounted."""
    to_anyone: float
    """Sum of the largest losses to any adversary."""
    tables: int = 1
    """Number of tables of this name: each seed makes a demo table of its own. The losses are then
    the largest of one of them."""

    @property
    def text(self) -> str:
        """Say it in a sentence."""
        more = ""
        if exceeds(self.to_anyone, self.epsilon):
            more = f", and {_text(self.to_anyone)} against coalitions that no claim covers"
        table, cost = self.name, "cost its records together epsilon"
        if self.tables > 1:
            table = f"{self.tables:,} {self.name} tables, one for each seed or size,"
            cost = "cost the records of one table together at most epsilon"
        return (
            f"{quantity(self.runs, 'run')} on {table} {cost} "
            f"{_text(self.epsilon)} as accounted ({self.neighbours}){more}"
        )


def loss_by_party(privacy: Privacy, *, to_anyone: bool = False) -> dict[int, float]:
    """Find the largest loss of each party's records, in the views that the claim covers.

    It is infinity where a message left the party without a release. With `to_anyone` all views
    count.
    """
    losses = {
        int(party): max(
            loss for view, loss in views.items() if to_anyone or claimed_for(view, privacy)
        )
        for party, views in privacy.by_party.items()
    }
    return losses | {message.party: math.inf for message in privacy.not_accounted}


def joint_costs(runs: Iterable[tuple[Job, Privacy]]) -> list[JointCost]:
    """Add up the losses of runs by dataset and by the relation between neighbouring datasets.

    A table that cannot be read here, as on other hosts, is known by its name alone. Runs that draw
    users from the records are left out, as their epsilon is not of records. The demo's tables are
    of different made-up people for each seed, and share one line.
    """
    joint: dict[tuple[str, str], JointCost] = {}
    for job, privacy in runs:
        if draws_users(job):
            continue
        losses, to_anyone = loss_by_party(privacy), loss_by_party(privacy, to_anyone=True)
        for dataset in _tables(job):
            key = dataset.digest, privacy.neighbours
            before = joint.get(key) or JointCost(
                name=dataset.name, neighbours=privacy.neighbours, runs=0, epsilon=0.0, to_anyone=0.0
            )
            joint[key] = replace(
                before,
                runs=before.runs + 1,
                epsilon=before.epsilon + cost_of(dataset, losses),
                to_anyone=before.to_anyone + cost_of(dataset, to_anyone),
            )
    return _with_demo_tables_together(joint.values())


def _with_demo_tables_together(costs: Iterable[JointCost]) -> list[JointCost]:
    """Put demo tables with the same neighbours into one line, with the largest losses of one."""
    lines: dict[tuple[str, str], JointCost] = {}
    for index, cost in enumerate(costs):
        key = cost.neighbours, DEMO if cost.name == DEMO else str(index)
        before = lines.get(key)
        lines[key] = (
            cost
            if before is None
            else replace(
                cost,
                runs=before.runs + cost.runs,
                epsilon=max(before.epsilon, cost.epsilon),
                to_anyone=max(before.to_anyone, cost.to_anyone),
                tables=before.tables + cost.tables,
            )
        )
    return list(lines.values())


def _tables(job: Job) -> list[Dataset]:
    """List the tables of a job, by their names where they cannot be read here."""
    try:
        return datasets_of(job)
    except UsageError:
        parties = tuple(range(1, job.parties + 1))
        if len(job.data) == 1:
            return [Dataset(job.data[0], BY_NAME + job.data[0], (parties,))]
        holders: dict[str, list[tuple[int, ...]]] = {}
        for name, party in zip(job.data, parties, strict=True):
            holders.setdefault(name, []).append((party,))
        return [Dataset(name, BY_NAME + name, tuple(groups)) for name, groups in holders.items()]


def _text(epsilon: float) -> str:
    return epsilon_text(float(f"{epsilon:.12g}"))
