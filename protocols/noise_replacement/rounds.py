"""The plan of a round: which tables continue which, whose noise is in them, and their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ...crypto.ciphertexts import Ciphertexts
from ...crypto.packing import Packing
from ...crypto.public_key import PublicKey
from ...messages import BigInts, MessageError, Private, Role, UsageError
from ...privacy import Batch, Domain
from ..secure_sum import Family
from .messages import NoiseReplacement

__all__ = [
    "ReplacementRound",
    "RunningSum",
    "batch_of",
    "by_owner",
    "packing_of",
    "plan_round",
    "read_ciphertexts",
    "sum_out",
]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RunningSum:
    """A family's table at the curator after some of the parties' turns."""

    table: Counts
    owner: int
    """The party whose noise is in the table."""
    contributors: tuple[int, ...]
    """The parties whose records are in the table."""
    noise: int
    """A bound on the owner's noise in any cell."""


def sum_out(table: Counts, *, family: Family, source: Family) -> Counts:
    """Sum a table of `source` down to `family`, its axes in the order of `family`."""
    axes = tuple(axis for axis, attribute in enumerate(source) if attribute not in family)
    rest = [attribute for attribute in source if attribute in family]
    summed: Counts = table.sum(axis=axes)
    return summed.transpose([rest.index(attribute) for attribute in family])


@dataclass(frozen=True, slots=True)
class ReplacementRound:
    """The plan of a round, which follows from the running sums and from the frontier."""

    families: tuple[Family, ...]
    """The families of the frontier in a fixed order; those of one owner stand together."""
    sources: dict[Family, Family | None]
    """The family whose running sum each family continues."""
    owners: tuple[int, ...]
    """The owner of each family's source."""
    batch: Batch
    noise: int
    """A bound on the new noise in any cell."""
    bound: int
    """A bound on counts_k + noise_k - noise_o in any cell."""

    def handovers(self, turn: int) -> list[tuple[int, NoiseReplacement.Handover]]:
        """List the message to every earlier party: which noise of its own to hand over."""
        return [(party, self.handover(party)) for party in range(1, turn)]

    def handover(self, party: int) -> NoiseReplacement.Handover:
        """Make the message to one earlier party, which may have to hand over nothing."""
        return NoiseReplacement.Handover(*self.handed_over(party), self.bound)

    def handed_over(self, party: int) -> tuple[tuple[Family, ...], tuple[Family, ...]]:
        """List the families of a party's noise, and the family that each continues."""
        families = tuple(
            family
            for family, owner in zip(self.families, self.owners, strict=True)
            if owner == party
        )
        return families, tuple(self.sources[family] or family for family in families)


def plan_round(
    sums: Mapping[Family, RunningSum],
    families: Sequence[Family],
    *,
    domain: Domain,
    rows: int,
    parties: int,
    epsilon: float,
) -> ReplacementRound:
    """Plan a round. Of the running sums it uses owners, contributors and bounds, not tables."""

    def source_of(family: Family) -> Family | None:
        """Find the running sum to continue: the family's own, or the best one that contains it.

        The best one has the most contributors.
        """
        if family in sums:
            return family
        containing = [other for other in sums if set(family) <= set(other)]
        return max(
            containing, key=lambda other: (len(sums[other].contributors), -len(other)), default=None
        )

    def noise_before(family: Family, source: Family | None) -> int:
        """Bound the owner's noise in a cell of the family, a sum of cells of the source."""
        if source is None:
            return 0
        return sums[source].noise * (domain.cells(source) // domain.cells(family))

    sources = {family: source_of(family) for family in families}
    owner_of = {
        family: 0 if source is None else sums[source].owner for family, source in sources.items()
    }
    order = tuple(sorted(sources, key=lambda family: (owner_of[family], family)))
    batch = batch_of(
        sum(map(domain.cells, order)), len(order), epsilon=epsilon, rows=rows, parties=parties
    )
    noise = batch.bound(shares=False) - batch.rows
    # An owner's noise has the scale of its own frontier. Where a table was summed out, it is a sum
    # of the noise in several cells.
    before = max(noise_before(family, source) for family, source in sources.items())
    return ReplacementRound(
        order,
        sources,
        tuple(owner_of[family] for family in order),
        batch,
        noise,
        rows + noise + before,
    )


def packing_of(bound: int, *, key_bits: int) -> Packing:
    """Choose slots for counts_k + noise_k - noise_o, on which the curator has a bound."""
    try:
        return Packing.fitting(bound, key_bits=key_bits)
    except ValueError as error:
        raise UsageError(str(error)) from None


def batch_of(cells: int, families: int, *, epsilon: float, rows: int, parties: int) -> Batch:
    """Describe a frontier: a replaced record changes each family's table by at most 2."""
    return Batch(
        cells=cells,
        sensitivity=2 * families,
        epsilon=epsilon,
        rows=rows,
        parties=parties,
        colluding=0,
    )


def by_owner(owners: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Group the indices of families by owner; those of one owner must stand together."""
    groups = groupby(range(len(owners)), key=lambda index: owners[index])
    return [(owner, list(indices)) for owner, indices in groups]


def read_ciphertexts(role: Role, key: PublicKey, numbers: BigInts, *, count: int) -> Ciphertexts:
    try:
        return Ciphertexts.received(key, numbers, count=count)
    except ValueError as error:
        raise MessageError(Private(error), where=role.where) from None
