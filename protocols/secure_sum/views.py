"""What a batch costs a party in truth, by who looks: the views on which a secure sum's claim rests,
and those where it ends.
"""

from __future__ import annotations

from math import inf

from ...privacy import Batch, coalition, with_curator
from ...privacy.shares import excess
from .options import Aggregator, NoiseKind

__all__ = ["seen_of"]


def seen_of(
    batch: Batch, *, party: int, aggregator: Aggregator, noise: NoiseKind
) -> dict[str, float]:
    """Say what each view sees of one party's records in a batch, where that may not be the batch's
    epsilon.

    c other parties subtract their own shares, and K - c shares of 1 / (K - colluding) remain over
    the records. With the curator beside them it depends on who hides a party's table:

        masks       only the sum of the parties that stand outside comes out: nothing more
        paillier    P_(k+1) gives the curator the product up to P_k, P_(k-1) what comes after: one of them leaves the shorter
                    end of the ring, two leave party k alone with its share
        clear       the curator by itself has party k alone

    With noise=selected a party may know the one noise there is: nothing holds.
    """
    parties, others = batch.parties, range(1, batch.parties)
    if noise == "selected":
        return {view(size): inf for size in others for view in (coalition, with_curator)}

    def left(shares: int) -> float:
        shape = shares / (parties - batch.colluding)
        return batch.epsilon * excess(rate=float(batch.rate), shape=shape)

    seen = {coalition(size): left(parties - size) for size in others}
    for size in others:
        if aggregator == "masks":
            alone = parties - size
        elif aggregator == "paillier" and size == 1:
            alone = min(party, parties - party + 1)
        else:
            alone = 1
        seen[with_curator(size)] = left(alone)
    if aggregator == "clear":
        seen[with_curator(0)] = left(1)
    return seen
