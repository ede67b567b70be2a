"""What a batch costs a party in each adversary's view: where the claim holds, and where it ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from ...privacy import Batch, coalition, coalition_sizes, with_curator
from ...privacy.loss import UNBOUNDED, Loss
from ...privacy.made_once import made_once
from .graph import degree
from .options import Aggregator, NoiseKind

__all__ = ["loss_by_view", "unknown_shares"]


@made_once
def loss_by_view(batch: Batch, *, aggregator: Aggregator, noise: NoiseKind) -> Mapping[str, Loss]:
    """Give the privacy loss of a party's records by view, where it may exceed the batch's epsilon.

    It is the same for every party, as no party has a place of its own.

    c other parties subtract their own shares. K - c shares of 1 / (K - colluding) remain over the
    records. If the curator colludes with them, the loss depends on the aggregator:

        masks, paillier     The coalition learns the sum of the parties outside it, and nothing
                            more. From about 34 parties on, d or more parties can be all that share
                            masks with party k: then its share is left alone (`graph.degree`).
        clear               The curator alone has party k's table with its share.

    With noise=selected a party may know the only noise there is: no epsilon holds.
    """
    parties = batch.parties
    others = coalition_sizes(parties, threshold=batch.colluding)
    if noise == "selected":
        return MappingProxyType(
            {view(size): UNBOUNDED for size in others for view in (coalition, with_curator)}
        )

    def unknown(size: int, *, curator: bool) -> int:
        members = unknown_shares(batch, party=1, size=size, curator=curator, aggregator=aggregator)
        return len(members)

    losses = {coalition(size): batch.loss_with(unknown(size, curator=False)) for size in others}
    losses |= {with_curator(size): batch.loss_with(unknown(size, curator=True)) for size in others}
    if aggregator == "clear":
        losses[with_curator(0)] = batch.loss_with(1)
    return MappingProxyType(losses)


def unknown_shares(
    batch: Batch, *, party: int, size: int, curator: bool, aggregator: Aggregator
) -> Collection[int]:
    """List the parties whose shares hide a party's table from the worst coalition of this size.

    Args:
        batch: the batch, for the number of parties and the collusion threshold.
        party: the party whose table is hidden.
        size: the number of other parties in the coalition.
        curator: whether the curator is in it, too.
        aggregator: what hides the tables.
    """
    sharing = degree(parties=batch.parties, colluding=batch.colluding)
    if curator and (aggregator == "clear" or size >= sharing):
        return [party]
    others = [rank for rank in range(1, batch.parties + 1) if rank != party]
    return [party, *others[size:]]
