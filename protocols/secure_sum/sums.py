"""Both sides of a secure sum: keys once, then as many batches as there is budget for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import MisuseError
from ...parties import Party
from ...privacy.shares import Batch
from .clear import CuratorInTheClear, PartyInTheClear
from .masks import MaskingParty, UnmaskingCurator
from .options import NoiseKind, SecureSums, SumOptions, colluding
from .ring import KeyHolder, RingParty
from .selected import SelectingCurator, SelectingParty
from .views import seen_of

__all__ = ["CuratorSums", "PartySums"]

Counts = npt.NDArray[np.int64]
Tables: TypeAlias = Iterable[npt.ArrayLike]


class Contributor(Protocol):
    """A party's side of an aggregator."""

    def contribute(
        self, tables: Tables, batch: Batch, *, number: int, seen: Mapping[str, float]
    ) -> None: ...


class Collector(Protocol):
    """The curator's side of an aggregator."""

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]: ...


class PartySums:
    """A party's side.

    Args: me: the party, within the phase in which keys are exchanged. options: which aggregator;
        see `SumOptions`. noise: which noise. rows: a public bound on all parties' rows together.
        Without it each party tells its number of rows, which is public
            when neighbours differ by a replaced record, and must not be told otherwise.
    """

    def __init__(
        self, me: Party, options: SumOptions, *, noise: NoiseKind, rows: int | None = None
    ) -> None:
        self._me = me
        self._colluding = colluding(options, parties=len(me.parties))
        self._noise = noise
        self._aggregator = options.aggregator
        self._batches = 0
        told = [rows] if rows is not None else self._count_rows()
        self.rows = sum(told)
        """All parties' rows, or the bound on them."""
        self._side: Contributor
        if options.aggregator == "clear":
            self._side = PartyInTheClear(me)
        elif options.aggregator == "masks":
            self._side = MaskingParty(me)
        elif noise == "selected":
            self._side = SelectingParty(me)
        else:
            self._side = RingParty(me, exponent=options.randomness)

    @property
    def ring(self) -> RingParty:
        """The party's place in the ring, with the curator's key; for sub-protocols under the same
        key.
        """
        if not isinstance(self._side, RingParty):
            raise MisuseError(
                "expected aggregator=paillier, found no ring and no key", where=self._me.where
            )
        return self._side

    def contribute(
        self, tables: Tables, *, cells: int, sensitivity: int, epsilon: float, weight: int = 1
    ) -> None:
        """Add this party's tables to a batch, with this party's part of its noise.

        A batch has noise of one scale. Tables that come multiplied by whole numbers, of which
        `weight` is the largest, have after division the less noise for it, and the sensitivity
        counts each by its number.

        What leaves here is one release of `epsilon`, though nobody sees it but in the sum: the
        accountant records it now.
        """
        batch = Batch(
            cells=cells,
            sensitivity=sensitivity,
            epsilon=epsilon,
            rows=self.rows * weight,
            parties=len(self._me.parties),
            colluding=self._colluding,
        )
        seen = seen_of(batch, party=self._me.number, aggregator=self._aggregator, noise=self._noise)
        self._side.contribute(tables, batch, number=self._batches, seen=seen)
        self._batches += 1

    def _count_rows(self) -> list[int]:
        me = self._me
        if me.accountant.neighbours != "replace-one":
            raise MisuseError(
                f"expected a public bound on the rows, as numbers of rows are secret between {me.accountant.neighbours} "
                "neighbours, found none: say rows=",
                where=me.where,
            )
        me.broadcast(SecureSums.Rows(len(me.records)))
        return [
            len(me.records),
            *(said.rows for said in me.gather(SecureSums.Rows, sources=me.peers)),
        ]


class CuratorSums:
    """The curator's side; arguments as for the parties."""

    def __init__(
        self, desk: Curator, options: SumOptions, *, noise: NoiseKind, rows: int | None = None
    ) -> None:
        self._desk = desk
        self._colluding = colluding(options, parties=len(desk.parties))
        self._by_shares = noise == "shares"
        self._batches = 0
        told = [rows] if rows is not None else [said.rows for said in desk.gather(SecureSums.Rows)]
        self.rows = sum(told)
        """All parties' rows, or the bound on them."""
        self.shares = told
        """What each party has of them, as far as is known."""
        self._side: Collector
        if options.aggregator == "clear":
            self._side = CuratorInTheClear(desk)
        elif options.aggregator == "masks":
            self._side = UnmaskingCurator(desk)
        elif noise == "selected":
            self._side = SelectingCurator(desk, exponent=options.randomness)
        else:
            self._side = KeyHolder(desk)

    @property
    def key_holder(self) -> KeyHolder:
        """The curator with its key; for sub-protocols under the same key."""
        if not isinstance(self._side, KeyHolder):
            raise MisuseError("expected aggregator=paillier, found no key", where=self._desk.where)
        return self._side

    def pages(
        self, *, cells: int, sensitivity: int, epsilon: float, weight: int = 1
    ) -> Iterator[Counts]:
        """Receive a batch page by page: the sums of the parties' cells, with noise."""
        batch = self.batch(cells=cells, sensitivity=sensitivity, epsilon=epsilon, weight=weight)
        number, self._batches = self._batches, self._batches + 1
        return self._side.collect(batch, number=number)

    def total(self, *, cells: int, sensitivity: int, epsilon: float, weight: int = 1) -> Counts:
        """Receive a batch as one array."""
        pages = list(
            self.pages(cells=cells, sensitivity=sensitivity, epsilon=epsilon, weight=weight)
        )
        return np.concatenate(pages) if pages else np.zeros(0, np.int64)

    def batch(self, *, cells: int, sensitivity: int, epsilon: float, weight: int = 1) -> Batch:
        """Say what a batch is, its noise's variance among the rest."""
        return Batch(
            cells=cells,
            sensitivity=sensitivity,
            epsilon=epsilon,
            rows=self.rows * weight,
            parties=len(self._desk.parties),
            colluding=self._colluding,
        )

    def variance(self, *, cells: int, sensitivity: int, epsilon: float, weight: int = 1) -> float:
        """The variance of the noise in every cell of such a batch."""
        batch = self.batch(cells=cells, sensitivity=sensitivity, epsilon=epsilon, weight=weight)
        return batch.variance(shares=self._by_shares)
