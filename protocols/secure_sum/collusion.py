"""What a batch costs a party in each adversary's view: where the claim holds, and where it ends."""

from __future__ import annotations

from math import inf

from ...privacy import Batch, coalition, with_curator
from ...privacy.shares import excess
from .options import Aggregator, NoiseKind

__all__ = ["loss_by_view"]


def loss_by_view(
    batch: Batch, *, party: int, aggregator: Aggregator, noise: NoiseKind
) -> dict[str, float]:
    """Give the privacy loss of a party's records by view, where it may exceed the batch's epsilon.

    c other parties subtract their own shares. K - c shares of 1 / (K - colluding) remain over the
    records. If the curator colludes with them, the loss depends on the aggregator:

        masks       The coalition learns the sum of the parties outside it, and nothing more.
        paillier    P_(k+1) gives the curator the product up to P_k, and P_(k-1) what comes after.
                    One of them leaves the shorter end of the ring, two leave party k alone with
                    its share.
        clear       The curator alone has party k's table with its share.

    With noise=selected a party may know the only noise there is: no epsilon holds.
    """
    parties, others = batch.parties, range(1, batch.parties)
    if noise == "selected":
        return {view(size): inf for size in others for view in (coalition, with_curator)}

    def remaining(shares: int) -> float:
        shape = shares / (parties - batch.colluding)
        return batch.epsilon * excess(rate=float(batch.rate), shape=shape)

    losses = {coalition(size): remaining(parties - size) for size in others}
    for size in others:
        if aggregator == "masks":
            shares = parties - size
        elif aggregator == "paillier" and size == 1:
            shares = min(party, parties - party + 1)
        else:
            shares = 1
        losses[with_curator(size)] = remaining(shares)
    if aggregator == "clear":
        losses[with_curator(0)] = remaining(1)
    return losses
