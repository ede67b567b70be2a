"""Tables of one party alone, released with that party's own full noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...curator import Marginal
from ...messages import CURATOR, MessageError, Where, role_name
from ...parties import Party, Records
from ...privacy import Batch, Domain, SharedNoise
from ..secure_sum import Family

__all__ = ["read_tables", "release_tables", "single_party_batch"]


def single_party_batch(
    domain: Domain, families: Sequence[Family], *, rows: int, epsilon: float
) -> Batch:
    """Describe one party's tables: a replaced record changes each by at most 2."""
    return Batch(
        cells=sum(domain.cells(family) for family in families),
        sensitivity=2 * len(families),
        epsilon=epsilon,
        rows=rows,
        parties=1,
        colluding=0,
    )


def release_tables(
    me: Party, records: Records, families: Sequence[Family], *, rows: int, epsilon: float
) -> npt.NDArray[np.int64]:
    """Release the party's tables to the curator, one after another. Called by a party.

    The noise is full noise and not a share, as the curator sees this party's tables alone.
    """
    batch = single_party_batch(records.domain, families, rows=rows, epsilon=epsilon)
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
