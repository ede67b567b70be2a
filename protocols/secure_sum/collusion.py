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
def loss_by_view(
    batch: Batch,
    *,
    aggregator: Aggregator,
    noise: NoiseKind,
    parties: int | None = None,
    sharing: int | None = None,
) -> Mapping[str, Loss]:
    """Give the privacy loss of a party's records by view, where it may exceed the batch's epsilon.

    It is the same for every party of the sum, as no party has a place of its own. Of a coalition
    only those members count whose tables are in the sum, too: nobody else has a share or a mask.

    Args:
        batch: the batch, of the parties whose tables are added up.
        aggregator: what hides the tables.
        noise: how the noise is made.
        parties: the number of all parties of the run; by default those of the batch.
        sharing: fewest parties that part the others on the mask graph; by default its degree.

    c other parties subtract their own shares. K - c shares of 1 / (K - colluding) remain over the
    records. If the curator colludes with them, the loss depends on the aggregator:

        masks, paillier     The coalition learns the sum of the parties outside it, and nothing
                            more. From about 34 parties on, d or more parties can be all that share
                            masks with party k: then its share is left alone (`graph.degree`).
        clear               The curator alone has party k's table with its share.

    With noise=selected a party may know the only noise there is: no epsilon holds.
    """
    others = coalition_sizes(parties or batch.parties, threshold=batch.colluding)
    if noise == "selected":
        return MappingProxyType(
            {view(size): UNBOUNDED for size in others for view in (coalition, with_curator)}
        )

    def unknown(size: int, *, curator: bool) -> int:
        members = range(1, batch.parties + 1)
        hidden_by = unknown_shares(
            batch,
            members=members,
            party=1,
            colluders=members[1 : size + 1],
            curator=curator,
            aggregator=aggregator,
            sharing=sharing,
        )
        return len(hidden_by)

    losses = {coalition(size): batch.loss_with(unknown(size, curator=False)) for size in others}
    losses |= {with_curator(size): batch.loss_with(unknown(size, curator=True)) for size in others}
    if aggregator == "clear":
        losses[with_curator(0)] = batch.loss_with(1)
    return MappingProxyType(losses)


def unknown_shares(
    batch: Batch,
    *,
    members: Collection[int],
    party: int,
    colluders: Collection[int],
    curator: bool,
    aggregator: Aggregator,
    sharing: int | None = None,
) -> Collection[int]:
    """List the parties whose shares hide a party's table from a coalition.

    Where d parties or more collude with the curator, they are taken for the neighbours of the party
    on the mask graph.

    Args:
        batch: the batch, for the collusion threshold.
        members: the parties whose tables are added up.
        party: the party whose table is hidden.
        colluders: the other parties in the coalition.
        curator: whether the curator is in it, too.
        aggregator: what hides the tables.
        sharing: fewest parties that part the others on the mask graph; by default its degree.
    """
    if sharing is None:
        sharing = degree(parties=len(members), colluding=batch.colluding)
    inside = [rank for rank in colluders if rank in members]
    if curator and (aggregator == "clear" or len(inside) >= sharing):
        return [party]
    return [party, *(rank for rank in members if rank != party and rank not in inside)]
