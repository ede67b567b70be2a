"""What a batch costs a party in each adversary's view: where the claim holds, and where it ends."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from ...privacy import Batch, coalition, coalition_sizes, with_curator
from ...privacy.shares import excess
from .options import Aggregator, NoiseKind

__all__ = ["loss_by_view", "unknown_shares"]


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
    parties = batch.parties
    others = coalition_sizes(parties, threshold=batch.colluding)
    if noise == "selected":
        return {view(size): inf for size in others for view in (coalition, with_curator)}

    def remaining(shares: int) -> float:
        shape = shares / (parties - batch.colluding)
        return batch.epsilon * excess(rate=float(batch.rate), shape=shape)

    def unknown(size: int, *, curator: bool) -> int:
        members = unknown_shares(
            parties=parties, party=party, size=size, curator=curator, aggregator=aggregator
        )
        return len(members)

    losses = {coalition(size): remaining(unknown(size, curator=False)) for size in others}
    losses |= {with_curator(size): remaining(unknown(size, curator=True)) for size in others}
    if aggregator == "clear":
        losses[with_curator(0)] = remaining(1)
    return losses


def unknown_shares(
    *, parties: int, party: int, size: int, curator: bool, aggregator: Aggregator
) -> Collection[int]:
    """List the parties whose shares hide a party's table from the worst coalition of this size.

    Args:
        parties: the number of parties.
        party: the party whose table is hidden.
        size: the number of other parties in the coalition.
        curator: whether the curator is in it, too.
        aggregator: what hides the tables.
    """
    if curator and aggregator == "clear":
        return range(party, party + 1)
    if curator and aggregator == "paillier" and size:
        if size > 1:
            return range(party, party + 1)
        before, after = range(1, party + 1), range(party, parties + 1)
        return before if len(before) <= len(after) else after
    others = [rank for rank in range(1, parties + 1) if rank != party]
    return [party, *others[size:]]
