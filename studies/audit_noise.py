"""Losses of tables that are released with noise of several parties, by adversary.

    shares     the noise of all parties outside the coalition remains
    selected   a party knows its own noise, which may be the whole noise of the sum
    replaced   every later owner's noise hides the same records again, and an owner knows its noise

The adversary knows all records but one. So it knows all exact tables but for the audited party's,
and what it holds of a batch is that party's table with the noise that remains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..privacy.batch import Batch
from ..privacy.share_law import noise_log_ratio
from ..privacy.shares import SharedNoise

__all__ = [
    "Adversary",
    "NoisyTables",
    "ViewFigures",
    "replaced_figures",
    "selected_figures",
    "shared_figures",
]

Counts = npt.NDArray[np.int64]


class ViewFigures(NamedTuple):
    """What one view holds of a release, or of a run."""

    loss: float | None
    """The log-ratio of the two datasets; `None` where a law is not known."""
    numbers: tuple[float, ...]
    """What the view holds, for the distinguishing test."""
    is_same: bool = False
    """Whether both datasets answer alike, where the law is not known."""

    @property
    def differs(self) -> bool:
        """Whether the two datasets differ in this view, as far as is noticed."""
        return not self.is_same if self.loss is None else self.loss != 0


class Adversary(NamedTuple):
    """Whose view it is."""

    view: str
    size: int
    """Number of other parties that collude."""
    curator: bool
    """Whether the curator is among them."""

    def members(self, party: int, *, parties: int) -> list[int]:
        """List the colluding parties: the last ones, who know the noise that was added last."""
        others = [rank for rank in range(1, parties + 1) if rank != party]
        return others[len(others) - self.size :] if self.size else []


@dataclass(frozen=True, slots=True)
class NoisyTables:
    """A batch of one party: its exact tables, those of the neighbouring dataset, and its noise."""

    batch: Batch
    exact: Counts
    shift: Counts
    """The change of the exact tables towards the neighbouring dataset."""
    noise: Counts
    pages: int

    @classmethod
    def of(cls, mechanism: Any, neighbour: Any, answer: Any) -> NoisyTables:
        """Take a release apart."""
        exact, other = _flat(mechanism.pages), _flat(neighbour.pages)
        if isinstance(mechanism, SharedNoise):
            noise = _flat(answer) - exact
        else:
            noise = _flat([noise for _, noise in answer])
        return cls(mechanism.batch, exact, other - exact, noise, len(mechanism.pages))


def shared_figures(
    tables: NoisyTables, others: dict[int, NoisyTables], unknown: Sequence[int]
) -> ViewFigures:
    """Give the figures of a batch in which the shares of the `unknown` parties remain."""
    batch = tables.batch
    noise = tables.noise + sum(
        (others[rank].noise for rank in unknown if rank in others), start=np.zeros(1, np.int64)
    )
    loss = batch.log_ratio(noise, tables.shift, shares=len(unknown))
    return ViewFigures(loss, _numbers(tables.exact + noise))


def selected_figures(
    tables: NoisyTables, others: dict[int, NoisyTables], total: Counts, adversary: Adversary
) -> ViewFigures:
    """Give the figures of a batch with one party's noise, which a coalition may know."""
    batch, parties = tables.batch, len(others) + 1
    remaining = total - tables.exact
    for other in others.values():
        remaining = remaining - other.exact
    of_members = [others[rank].noise for rank in sorted(others)[len(others) - adversary.size :]]
    of_members = of_members if adversary.size else []
    matching = any(np.array_equal(remaining, noise) for noise in of_members)
    numbers = [
        tables.exact + remaining,
        *(tables.exact + remaining - noise for noise in of_members),
    ]
    flat = _numbers(np.concatenate(numbers))
    if not of_members or (adversary.curator and not matching):
        loss = noise_log_ratio(remaining, tables.shift, shape=1.0, rate=batch.rate)
    elif adversary.curator:
        loss = math.inf if tables.shift.any() else 0.0
    else:
        # With probability 1 / K each the noise is a member's, and otherwise it is unknown.
        def likelihood(noise: Counts) -> float:
            rate = float(batch.rate)
            law = len(noise) * math.log(math.tanh(rate / 2)) - rate * float(np.abs(noise).sum())
            chances = (
                [law + math.log((parties - len(of_members)) / parties)]
                if len(of_members) < parties
                else []
            )
            chances += [
                -math.log(parties) for own_noise in of_members if np.array_equal(noise, own_noise)
            ]
            return float(np.logaddexp.reduce(chances))

        loss = likelihood(remaining) - likelihood(remaining - tables.shift)
    return ViewFigures(loss, flat)


def replaced_figures(
    tables: NoisyTables,
    later: dict[int, NoisyTables],
    sums: Sequence[tuple[int, Counts]],
    adversary: Adversary,
) -> ViewFigures:
    """Give the figures of a running sum, whose noise every later party replaces by its own."""
    last = max(later, default=0)
    final = _flat([cells for party, cells in sums if party == last]) if last else np.zeros(0)
    if adversary.size and last:
        noise = later[last].noise
        held = final - noise if len(final) == len(noise) else final
        return ViewFigures(math.inf if tables.shift.any() else 0.0, _numbers(held))
    batch = tables.batch
    loss: float | None = noise_log_ratio(tables.noise, tables.shift, shape=1.0, rate=batch.rate)
    for other in later.values():
        if not tables.shift.any():
            continue
        if loss is None or other.pages > 1 or len(other.noise) != len(tables.shift):
            loss = None
            continue
        # This party's records are in the sum, whose noise is now the later party's.
        loss += noise_log_ratio(other.noise, tables.shift, shape=1.0, rate=other.batch.rate)
    return ViewFigures(loss, _numbers(_flat([cells for _, cells in sums])))


def _flat(pages: Sequence[Any]) -> Counts:
    parts = [np.asarray(page, np.int64).reshape(-1) for page in pages]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _numbers(cells: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(map(float, cells.tolist()))
