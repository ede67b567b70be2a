"""The predicted cost of noise replacement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from ...messages import encoded_size
from ...privacy import Domain
from ..cost import Cost, Public, add_up
from ..secure_sum import Family
from ..secure_sum.predict import BIGINTS
from .messages import NoiseReplacement
from .rounds import RunningSum, by_owner, packing_of, plan_round

__all__ = ["predict_replacement"]


def predict_replacement(
    frontiers: Sequence[Sequence[Family]],
    public: Public,
    *,
    domain: Domain,
    phase: str,
    epsilon: float,
) -> list[Cost]:
    """Predict the messages of rounds with these frontiers, one party's turn after another's."""
    lines: list[Cost] = []
    sums: dict[Family, RunningSum] = {}
    unknown = np.zeros(0, np.int64)
    cells_of = cache(domain.cells)

    def add(kind: str, payload: int) -> None:
        lines.append(Cost(phase=phase, kind=kind, messages=1, payload_bytes=payload))

    for turn, families in enumerate(frontiers, start=1):
        plan = plan_round(
            sums, families, domain=domain, rows=public.rows, parties=public.parties, epsilon=epsilon
        )
        packing = packing_of(plan.bound, key_bits=public.key_bits)
        add("Frontier", _frontier_size(plan.families, plan.owners, bound=plan.bound))
        owners = [owner for owner, _ in by_owner(plan.owners) if owner]
        if others := turn - 1 - len(owners):  # parties without a table to hand over
            nothing = NoiseReplacement.Handover((), (), plan.bound)
            lines.append(Cost.of(nothing, phase=phase, messages=others))
        for owner in owners:
            add("Handover", _handover_size(*plan.handed_over(owner), bound=plan.bound))
        for owner, indices in by_owner(plan.owners):
            cells = sum(cells_of(plan.families[index]) for index in indices)
            ciphertexts = BIGINTS + packing.plaintexts(cells) * 2 * -(-public.key_bits // 8)
            if owner:
                add("Negated", ciphertexts)
            add("Replaced", ciphertexts)
        contributors = {
            family: () if source is None else sums[source].contributors
            for family, source in plan.sources.items()
        }
        sums |= {
            family: RunningSum(unknown, turn, (*contributors[family], turn), plan.noise)
            for family in plan.families
        }
    return add_up(lines)


# In the rounds of many parties families are the same, and owners are others. Fields are written one
# after another, so the size of a message is that of its names and that of its numbers.


@lru_cache(maxsize=64)
def _handover_size(families: tuple[Family, ...], sources: tuple[Family, ...], *, bound: int) -> int:
    return encoded_size(NoiseReplacement.Handover(families, sources, bound))


@lru_cache(maxsize=64)
def _size_of_names(families: tuple[Family, ...]) -> int:
    empty, named = (NoiseReplacement.Frontier(each, (), 0) for each in ((), families))
    return encoded_size(named) - encoded_size(empty)


def _frontier_size(families: tuple[Family, ...], owners: tuple[int, ...], *, bound: int) -> int:
    return _size_of_names(families) + encoded_size(NoiseReplacement.Frontier((), owners, bound))
