"""Tables of one party alone, released with that party's own full noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...curator import Marginal
from ...messages import CURATOR, MessageError, Where, role_name
from ...parties import Party, Records
from ...privacy import Batch, Budget, Domain, SharedNoise
from ..secure_sum import Family, SumBatch

__all__ = ["read_tables", "release_tables", "single_party_batch"]


def single_party_batch(
    domain: Domain, families: Sequence[Family], *, rows: int, budget: Budget
) -> Batch:
    """Describe one party's tables: a replaced record changes two cells of each by 1."""
    batch = SumBatch.of(
        budget,
        cells=sum(domain.cells(family) for family in families),
        sensitivity=2 * len(families),
        squares=2 * len(families),
    )
    return batch.among(parties=1, rows=rows, colluding=0)


def release_tables(
    me: Party, records: Records, families: Sequence[Family], *, rows: int, budget: Budget
) -> npt.NDArray[np.int64]:
    """Release the party's tables to the curator, one after another. Called by a party.

    The noise is full noise and not a share, as the curator sees this party's tables alone.
    """
    batch = single_party_batch(records.domain, families, rows=rows, budget=budget)
    pages = records.marginals(families)
    noisy = me.release(SharedNoise(pages=pages, batch=batch, seen={}), to=CURATOR)
    return np.concatenate(list(noisy))


def read_tables(
    domain: Domain,
    families: Sequence[Family],
    cells: npt.NDArray[np.int64],
    *,
    party: int,
    where: Where,
) -> list[Marginal]:
    """Read the tables that a party released. Called by the curator."""
    ends = np.cumsum([domain.cells(family) for family in families])
    if cells.shape != (ends[-1],):
        raise MessageError(
            f"expected {ends[-1]} cells from {role_name(party)}, found {cells.size}", where=where
        )
    tables = np.split(cells, ends[:-1])
    return [
        Marginal.of(domain, family, table) for family, table in zip(families, tables, strict=True)
    ]
