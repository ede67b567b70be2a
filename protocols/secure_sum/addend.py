"""An addend: one party's tables of one batch, and how their release is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...messages import CURATOR
from ...parties import Part, Party
from ...privacy.batch import Batch
from ...privacy.loss import Loss
from ...privacy.shares import SharedNoise
from .pages import recut

__all__ = ["Addend"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addend:
    """What one party adds to one batch. Several addends may be sent at once."""

    tables: Iterable[npt.ArrayLike] = field(repr=False)
    batch: Batch
    seen: Mapping[str, Loss]
    """The loss in each adversary's view (`collusion.loss_by_view`)."""
    part: Part | None = None
    """The part of the records from which the tables were counted; `None` for all records."""

    def release(self, me: Party, *, page_cells: int, members: Sequence[int]) -> Iterator[Counts]:
        """Record the release, and give the pages with this party's share of the noise."""
        pages = recut(self.tables, cells=self.batch.cells, size=page_cells)
        mechanism = SharedNoise(
            pages=pages, batch=self.batch, seen=self.seen, members=tuple(sorted(members))
        )
        return me.release(mechanism, to=CURATOR, of=self.part)
