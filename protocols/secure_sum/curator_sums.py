"""The curator's side of secure sums: it reads the sum of each batch that parties send.

It goes through the same steps as `party_sums`, where they are described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from math import sqrt
from typing import Any, Never, Protocol

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import MisuseError
from ...privacy.batch import Batch
from ..introductions import introduce
from .attempts import Terms
from .batch import SumBatch
from .batch_kinds import require_list_of_batches, require_real_batch, require_sum_batch
from .clear import CuratorInTheClear
from .hidden_plaintexts import RevealedPlaintexts
from .hidden_words import HiddenWords
from .keys import KeyHolder
from .lasting_curator import LastingCurator
from .members import cut_among, mask_graph, members_among, require_all
from .options import NoiseKind, SecureSums, SumOptions, colluding
from .reals import RealBatch
from .rows import gather_rows, rows_among
from .selected import SelectingCurator
from .star import Revealing, StarCurator

__all__ = ["CuratorSums"]

Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Collector(Protocol):
    """The curator's side of an aggregator."""

    def collect(self, batches: Sequence[Batch], *, number: int) -> Iterator[Counts]: ...


class CuratorSums:
    """The curator's side of secure sums; its arguments are among those of `PartySums`."""

    def __init__(
        self,
        desk: Curator,
        options: SumOptions,
        *,
        noise: NoiseKind = "shares",
        rows: int | None = None,
    ) -> None:
        self._desk = desk
        self._options = options
        self._noise: NoiseKind = noise
        self.members = [*desk.parties]
        """Ranks of the parties whose tables are added up."""
        self.same_members = True
        """Whether the sums that `totals` gave last are all of the same parties.

        Where a run goes on without a lost party, it may have been lost between two of them.
        """
        self.colluding = colluding(options, parties=len(desk.parties))
        """Number of parties that may collude against another one."""
        self._batches = 0
        self.circle = mask_graph(options, members=self.members, seed=desk.job_digest)
        """The order in which parties stand on the mask graph; neighbours are introduced."""
        if options.aggregator != "clear":
            introduce(desk, others=desk.parties)
        self.counts_rows = rows is None
        """Whether `rows` is the number of all rows, and not a bound on them."""
        self.rows_by_party: list[int] = []
        """Rows of each party; empty where only a bound on all parties' rows is public."""
        if rows is None:
            self.rows_by_party = gather_rows(desk)
            desk.broadcast(SecureSums.RowsByParty(np.array(self.rows_by_party, np.int64)))
        self.rows = rows_among(self.members, self) if rows is None else rows
        """Rows of all parties, or the bound on them."""
        self._holder: KeyHolder | None = None
        if options.aggregator == "paillier" and noise == "shares":
            self._holder = KeyHolder(desk)
        elif options.aggregator == "paillier":
            self._holder = SelectingCurator(desk, exponent=options.randomness)
        self._lasting: LastingCurator | None = None
        if desk.min_parties is None:
            self._side = self._collector()
        else:
            self._lasting = LastingCurator(
                desk, circle=self.circle, revealing=self._revealing(), terms=self._terms
            )

    def _terms(self, batch: SumBatch, members: Sequence[int]) -> Terms:
        """Describe a batch among the parties that are left."""
        # Members that could be parted are refused here, before anybody sends a table.
        cut_among(self.circle, members, colluding=self.colluding)
        rows = rows_among(members, self)
        return Terms(
            batch.among(parties=len(members), rows=rows, colluding=self.colluding),
            seen={},
            rows=tuple(self.rows_by_party[party - 1] for party in members)
            if self.rows_by_party
            else (),
        )

    def _collector(self) -> Collector:
        """Make the side of the aggregator among the members."""
        desk, members, holder = self._desk, self.members, self._holder
        if self._options.aggregator == "clear":
            return CuratorInTheClear(desk, members=members)
        if isinstance(holder, SelectingCurator):
            return holder
        return StarCurator(desk, members=members, revealing=self._revealing())

    def _revealing(self) -> Callable[[Batch], Revealing[Any]]:
        if self._holder is None:
            return HiddenWords.of
        return partial(RevealedPlaintexts.of, holder=self._holder)

    def among(self, parties: Iterable[int]) -> CuratorSums:
        """Give the sums of some of the parties, as these parties do (`PartySums.among`)."""
        require_all(self._desk)
        members = members_among(
            parties, parties=self._desk.parties, options=self._options, noise=self._noise
        )
        sums = copy(self)
        sums._restrict(members)  # noqa: SLF001 - of its own class
        return sums

    def _restrict(self, members: list[int]) -> None:
        """Add up the tables of these parties alone, from the next batch on."""
        self.members = members
        self.circle = mask_graph(self._options, members=members, seed=self._desk.job_digest)
        self._batches = 0
        self._side = self._collector()

    @property
    def key_holder(self) -> KeyHolder:
        """The curator with its key, for sub-protocols under the same key."""
        if self._holder is None:
            raise MisuseError("expected aggregator=paillier, found no key", where=self._desk.where)
        return self._holder

    def pages(self, batch: SumBatch) -> Iterator[Counts]:
        """Receive a batch page by page: the sums of the parties' cells, with noise."""
        return self._collect([batch])

    def totals(
        self, batches: Sequence[SumBatch | RealBatch], *others: Never
    ) -> list[Counts | Reals]:
        """Receive batches that the parties sent at once (`PartySums.together`), in their order.

        A batch of real numbers becomes real numbers, as by `real`.

        Raises:
            MisuseError: the batches are not in one list.
        """
        require_list_of_batches(batches, others, where=self._desk.where)
        if not batches:
            return []
        rows = self.rows  # they may become fewer while batches arrive
        plain = [
            batch if isinstance(batch, SumBatch) else batch.sum_batch(rows=rows)
            for batch in batches
        ]
        cells = np.concatenate([np.zeros(0, np.int64), *self._collect(plain)])
        parts = np.split(cells, np.cumsum([batch.cells for batch in plain])[:-1])
        return [
            batch.reals(part, rows=rows) if isinstance(batch, RealBatch) else part
            for batch, part in zip(batches, parts, strict=True)
        ]

    def _collect(self, batches: Sequence[SumBatch]) -> Iterator[Counts]:
        number, self._batches = self._batches, self._batches + len(batches)
        if self._lasting is not None:
            return self._kept(self._collect_attempts(self._lasting, batches, number=number))
        noisy = [self.noisy(batch) for batch in batches]
        return self._kept(self._side.collect(noisy, number=number))

    def _collect_attempts(
        self, lasting: LastingCurator, batches: Sequence[SumBatch], *, number: int
    ) -> Iterator[Counts]:
        self.same_members = True
        for index, batch in enumerate(batches):
            pages = lasting.collect(batch, number=number + index)
            self.same_members &= index == 0 or self.members == lasting.members
            self.members = lasting.members
            self.rows = rows_among(self.members, self)
            yield from pages

    def _kept(self, pages: Iterator[Counts]) -> Iterator[Counts]:
        for page in pages:
            self._desk.keep_sum(page)
            yield page

    def total(self, batch: SumBatch) -> Counts:
        """Receive a batch as one array."""
        require_sum_batch(batch, verb="total", where=self._desk.where)
        pages = list(self.pages(batch))
        return np.concatenate(pages) if pages else np.zeros(0, np.int64)

    def real(self, batch: RealBatch) -> npt.NDArray[np.float64]:
        """Receive a batch of real numbers: the sums, by group and by column (`RealBatch.reals`)."""
        require_real_batch(batch, where=self._desk.where)
        rows = self.rows  # they may become fewer while the batch arrives
        return batch.reals(self.total(batch.sum_batch(rows=rows)), rows=rows)

    def noisy(self, batch: SumBatch) -> Batch:
        """Describe a batch's noise, as all roles compute it."""
        among = len(self.members)
        return batch.among(parties=among, rows=self.rows, colluding=self.colluding)

    def variance(self, batch: SumBatch) -> float:
        """Compute the variance of the noise in every cell of such a batch."""
        return self.noisy(batch).variance(shares=self._noise == "shares")

    def noise_share(self, batch: SumBatch, *, members: Sequence[int]) -> float:
        """Compute the standard deviation of a cell's noise, as a share of the rows in the sum.

        Args:
            batch: the batch, before it is asked.
            members: the parties that will be in it, as far as is known.
        """
        rows = rows_among(members, self)
        noisy = batch.among(parties=len(members), rows=rows, colluding=self.colluding)
        return sqrt(noisy.variance(shares=self._noise == "shares")) / max(rows, 1)

    def half_width(self, batch: SumBatch, *, confidence: float) -> int:
        """Find how far the noise in a cell of such a batch goes, with this confidence."""
        return self.noisy(batch).half_width(confidence, shares=self._noise == "shares")
