"""Structure updating (Su et al. 2016, section VI-A, phase 3), four ways: how the frontier's tables
reach the curator.

    joint        T -> all: F; all parties count it in one secure sum. As often as asked for, which shares eps3
    replace      P_1, ..., P_K in turn, each on a frontier of its own, the noise in the sum replaced by the newest: as printed,
                 and not private as claimed (`protocols.noise_replacement` says what it costs; mode paper)
    sequential   P_1, ..., P_K in turn, each releasing its own tables with noise of its own, which add up: what is closest to
                 the paper and private. A party pays eps3 once, and the noise of all stays in the
    sum none

Between two frontiers T selects a better network from what it has and builds the next frontier
around that. A family that earlier parties were not asked for has only the later ones' records;
asking again would cost them eps3 again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...curator import BayesianNetwork, Curator, Estimate, Marginal
from ...messages import CURATOR, MessageError, message, role_name
from ...parties import Party, Records
from ...privacy import Batch, Domain, SharedLaplace
from ..noise_replacement import CuratorReplacement, NoiseReplacement, PartyReplacement
from ..secure_sum import CuratorSums, Family, PartySums
from .learning import Search
from .plan import Plan

__all__ = [
    "Found",
    "Updates",
    "collect_in_turn",
    "collect_jointly",
    "count_in_turn",
    "count_jointly",
    "own_batch",
    "replace_in_turn",
    "take_turns",
]


class Updates(NoiseReplacement):
    """What is said."""

    @message
    class Candidates:
        """The families whose tables are counted in this update."""

        families: tuple[tuple[str, ...], ...]

    @message
    class Noisy:
        """A party's own tables, with noise of its own, one after another."""

        cells: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """What an update leads to, and through which frontiers' tables."""

    network: BayesianNetwork
    frontiers: tuple[tuple[Family, ...], ...]


def count_jointly(
    me: Party, records: Records, sums: PartySums, plan: Plan, *, updates: int
) -> None:
    """Count every frontier that the curator sends: *joint*. Called by every party."""
    for _ in range(updates):
        families = me.receive(Updates.Candidates, source=CURATOR).families
        plan.frontier(families).contribute(records, sums)


def collect_jointly(
    desk: Curator, network: BayesianNetwork, search: Search, sums: CuratorSums, *, updates: int
) -> Found:
    """Send frontiers and learn from their tables: *joint*. Called by the curator."""
    asked = []
    for _ in range(updates):
        frontier = search.around(network)
        families = frontier.maximal_families
        desk.broadcast(Updates.Candidates(families))
        network = search.within(frontier, search.plan.frontier(families).receive(sums))
        asked.append(families)
    return Found(network, tuple(asked))


def count_in_turn(me: Party, records: Records, *, rows: int, epsilon: float) -> None:
    """Release one's own tables when the curator asks: *sequential*. Called by every party."""
    families = me.receive(Updates.Candidates, source=CURATOR).families
    batch = own_batch(records.domain, families, rows=rows, epsilon=epsilon)
    # The whole noise, not a share: the curator sees this party's tables by themselves.
    noisy = me.release(
        SharedLaplace(pages=records.marginals(families), batch=batch, seen={}), to=CURATOR
    )
    me.send(Updates.Noisy(np.concatenate(list(noisy))), to=CURATOR)


def collect_in_turn(desk: Curator, network: BayesianNetwork, search: Search, *, rows: int) -> Found:
    """Ask one party after another and add up: *sequential*. Called by the curator."""
    domain, held, asked = network.domain, dict[Family, Marginal](), []
    for turn in desk.parties:
        frontier = search.around(network)
        families = frontier.maximal_families
        desk.send(Updates.Candidates(families), to=turn)
        batch = own_batch(domain, families, rows=rows, epsilon=search.plan.budget.update)
        cells = desk.receive(Updates.Noisy, source=turn).cells
        if cells.shape != (batch.cells,):
            raise MessageError(
                f"expected {batch.cells} cells from {role_name(turn)}, found {cells.size}",
                where=desk.where,
            )
        ends = np.cumsum([domain.cells(family) for family in families])[:-1]
        earlier, held = held, dict[Family, Marginal]()
        for family, own in zip(families, np.split(cells, ends), strict=True):
            table = Marginal.of(domain, family, own)
            before = min(
                (old for old in earlier.values() if old.covers(family)),
                key=lambda old: old.cells,
                default=None,
            )
            held[family] = table if before is None else table + before.project(family)
        held = earlier | held
        network = search.within(frontier, [Estimate(held[family], 1.0) for family in families])
        asked.append(families)
    return Found(network, tuple(asked))


def take_turns(me: Party, records: Records, sums: PartySums, *, epsilon: float) -> None:
    """Take part in every round of *replace*. Called by every party."""
    replacement = PartyReplacement(sums.ring, domain=records.domain)
    for turn in me.parties:
        replacement.round(turn, count=records.marginal, epsilon=epsilon)


def replace_in_turn(
    desk: Curator, network: BayesianNetwork, search: Search, sums: CuratorSums
) -> Found:
    """Let one party after another replace the noise in the sums: *replace*. Called by the
    curator.
    """
    replacement, asked = (
        CuratorReplacement(sums.key_holder, domain=network.domain, rows=sums.rows),
        [],
    )
    for turn in desk.parties:
        frontier = search.around(network)
        families = frontier.maximal_families
        replacement.round(turn, families, epsilon=search.plan.budget.update)
        tables = [
            Marginal(family, replacement.kept[family].table.astype(np.float64))
            for family in families
        ]
        network = search.within(frontier, [Estimate(table, 1.0) for table in tables])
        asked.append(families)
    return Found(network, tuple(asked))


def own_batch(domain: Domain, families: Sequence[Family], *, rows: int, epsilon: float) -> Batch:
    """Describe one party's tables of a frontier: a replaced record changes each by at most 2, and
    the noise is its own.
    """
    cells = sum(domain.cells(family) for family in families)
    return Batch(
        cells=cells,
        sensitivity=2 * len(families),
        epsilon=epsilon,
        rows=rows,
        parties=1,
        colluding=0,
    )
