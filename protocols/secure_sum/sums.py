"""Both sides of a secure sum: keys once, then as many batches as the budget allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR, MessageError, MisuseError, role_name
from ...parties import Party
from ...privacy.loss import Loss
from ...privacy.shares import Batch
from ..introductions import introduce
from .batch import SumBatch
from .clear import CuratorInTheClear, PartyInTheClear
from .collusion import loss_by_view
from .graph import Circle
from .hidden_plaintexts import HiddenPlaintexts, RevealedPlaintexts
from .hidden_words import HiddenWords
from .keys import KeyedParty, KeyHolder
from .options import NoiseKind, SecureSums, SumOptions, colluding
from .reals import RealBatch
from .selected import SelectingCurator, SelectingParty
from .star import StarCurator, StarParty

__all__ = ["CuratorSums", "PartySums", "mask_graph"]

Counts = npt.NDArray[np.int64]
Tables: TypeAlias = Iterable[npt.ArrayLike]


class Contributor(Protocol):
    """A party's side of an aggregator."""

    def contribute(
        self, tables: Tables, batch: Batch, *, number: int, seen: Mapping[str, Loss]
    ) -> None: ...


class Collector(Protocol):
    """The curator's side of an aggregator."""

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]: ...


def mask_graph(options: SumOptions, *, parties: int, seed: bytes) -> Circle:
    """Draw the graph of parties that share masks. All roles draw the same."""
    return Circle.of(parties=parties, colluding=colluding(options, parties=parties), seed=seed)


class PartySums:
    """A party's side of secure sums.

    Args:
        me: The party, within the phase in which keys are exchanged.
        options: Which aggregator hides the party's tables, see `SumOptions`.
        noise: Which noise hides the records.
        rows: A public bound on all parties' rows together. Without it each party tells the curator
            its number of rows. That number is public where neighbours replace a record, and secret
            elsewhere.
        all_pairs: Whether all pairs of parties are introduced, because the protocol sends messages
            of its own between them. By default the pairs that share masks are.
    """

    def __init__(
        self,
        me: Party,
        options: SumOptions,
        *,
        noise: NoiseKind = "shares",
        rows: int | None = None,
        all_pairs: bool = False,
    ) -> None:
        self._me = me
        self.colluding = colluding(options, parties=len(me.parties))
        """Number of parties that may collude against another one."""
        self._noise = noise
        self._aggregator = options.aggregator
        self._batches = 0
        self.circle = mask_graph(options, parties=len(me.parties), seed=me.job_digest)
        """The order in which parties stand on the mask graph; neighbours are introduced."""
        self.counts_rows = rows is None
        """Whether `rows` is the number of all rows, and not a bound on them."""
        send_rows = self._send_rows if rows is None else None
        if options.aggregator != "clear":
            sparse = noise == "shares" and not all_pairs
            peers = self.circle.neighbours(me.rank) if sparse else me.peers
            introduce(me, others=[CURATOR, *peers], meanwhile=send_rows)
        elif send_rows is not None:
            send_rows()
        self.rows_by_party = self._receive_rows() if rows is None else []
        """Rows of each party; empty where only a bound on all parties' rows is public."""
        self.rows = sum(self.rows_by_party) if rows is None else rows
        """Rows of all parties, or the bound on them."""
        self._keyed_party: KeyedParty | None = None
        self._side: Contributor
        if options.aggregator == "clear":
            self._side = PartyInTheClear(me)
        elif options.aggregator == "masks":
            self._side = StarParty(me, circle=self.circle, hiding=HiddenWords.of)
        elif noise == "selected":
            self._side = self._keyed_party = SelectingParty(me)
        else:
            self._keyed_party = KeyedParty(me, exponent=options.randomness)
            hiding = partial(HiddenPlaintexts.of, keyed_party=self._keyed_party)
            self._side = StarParty(me, circle=self.circle, hiding=hiding)

    @property
    def keyed_party(self) -> KeyedParty:
        """The party with the curator's key, for sub-protocols under the same key."""
        if self._keyed_party is None:
            raise MisuseError("expected aggregator=paillier, found no key", where=self._me.where)
        return self._keyed_party

    def contribute(self, tables: Tables, batch: SumBatch) -> None:
        """Add this party's tables to a batch, with this party's part of the noise.

        What leaves here is one release of the batch's epsilon, though only the sum can be read.
        The accountant records it now.
        """
        parties = len(self._me.parties)
        noisy = batch.among(parties=parties, rows=self.rows, colluding=self.colluding)
        losses = loss_by_view(noisy, aggregator=self._aggregator, noise=self._noise)
        self._side.contribute(tables, noisy, number=self._batches, seen=losses)
        self._batches += 1

    def real(
        self, values: npt.ArrayLike, batch: RealBatch, *, groups: npt.ArrayLike | None = None
    ) -> None:
        """Add this party's real numbers to a batch, as `contribute` adds tables.

        Args:
            values: A number for each record, or a row of `batch.columns` numbers for each record.
            batch: How they are clipped and rounded, and what they cost.
            groups: The number of each record's group, from 0, where the batch has groups.
        """
        if batch.neighbours != self._me.accountant.neighbours:
            raise MisuseError(
                f"expected a batch for {self._me.accountant.neighbours} neighbours, as the "
                f"protocol declares them, found one for {batch.neighbours}",
                where=self._me.where,
            )
        tables = list(batch.steps(values, rows=self.rows, groups=groups))
        self.contribute(tables, batch.sum_batch(rows=self.rows))

    def _send_rows(self) -> None:
        """Send this party's number of rows to the curator."""
        me = self._me
        if me.accountant.neighbours != "replace-one":
            raise MisuseError(
                "expected a public bound on the rows, as numbers of rows are secret between "
                f"{me.accountant.neighbours} neighbours, found none: say rows=",
                where=me.where,
            )
        me.send(SecureSums.Rows(len(me.records)), to=CURATOR)

    def _receive_rows(self) -> list[int]:
        """Receive all parties' numbers of rows."""
        me = self._me
        rows = me.receive(SecureSums.RowsByParty, source=CURATOR).rows
        if rows.shape != (len(me.parties),) or rows.min() < 0:
            raise MessageError(
                f"expected the rows of {len(me.parties)} parties from {role_name(CURATOR)}, "
                "found something else",
                where=me.where,
            )
        if rows[me.number - 1] != len(me.records):
            raise MessageError(
                f"expected that {role_name(CURATOR)} tells all parties the number of rows that "
                f"{role_name(me.rank)} has, found another number: the curator, or the network, "
                "changed it",
                where=me.where,
            )
        return list(rows.tolist())  # not an array, whose sum may overflow


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
        self.colluding = colluding(options, parties=len(desk.parties))
        """Number of parties that may collude against another one."""
        self._by_shares = noise == "shares"
        self._batches = 0
        self.circle = mask_graph(options, parties=len(desk.parties), seed=desk.job_digest)
        """The order in which parties stand on the mask graph; neighbours are introduced."""
        if options.aggregator != "clear":
            introduce(desk, others=desk.parties)
        self.counts_rows = rows is None
        """Whether `rows` is the number of all rows, and not a bound on them."""
        self.rows_by_party: list[int] = []
        """Rows of each party; empty where only a bound on all parties' rows is public."""
        if rows is None:
            self.rows_by_party = [message.rows for message in desk.gather(SecureSums.Rows)]
            desk.broadcast(SecureSums.RowsByParty(np.array(self.rows_by_party, np.int64)))
        self.rows = sum(self.rows_by_party) if rows is None else rows
        """Rows of all parties, or the bound on them."""
        self._holder: KeyHolder | None = None
        self._side: Collector
        if options.aggregator == "clear":
            self._side = CuratorInTheClear(desk)
        elif options.aggregator == "masks":
            self._side = StarCurator(desk, revealing=HiddenWords.of)
        elif noise == "selected":
            self._side = self._holder = SelectingCurator(desk, exponent=options.randomness)
        else:
            self._holder = KeyHolder(desk)
            revealing = partial(RevealedPlaintexts.of, holder=self._holder)
            self._side = StarCurator(desk, revealing=revealing)

    @property
    def key_holder(self) -> KeyHolder:
        """The curator with its key, for sub-protocols under the same key."""
        if self._holder is None:
            raise MisuseError("expected aggregator=paillier, found no key", where=self._desk.where)
        return self._holder

    def pages(self, batch: SumBatch) -> Iterator[Counts]:
        """Receive a batch page by page: the sums of the parties' cells, with noise."""
        number, self._batches = self._batches, self._batches + 1
        return self._kept(self._side.collect(self.noisy(batch), number=number))

    def _kept(self, pages: Iterator[Counts]) -> Iterator[Counts]:
        for page in pages:
            self._desk.keep_sum(page)
            yield page

    def total(self, batch: SumBatch) -> Counts:
        """Receive a batch as one array."""
        pages = list(self.pages(batch))
        return np.concatenate(pages) if pages else np.zeros(0, np.int64)

    def real(self, batch: RealBatch) -> npt.NDArray[np.float64]:
        """Receive a batch of real numbers: the sums, by group and by column (`RealBatch.reals`)."""
        return batch.reals(self.total(batch.sum_batch(rows=self.rows)), rows=self.rows)

    def noisy(self, batch: SumBatch) -> Batch:
        """Describe a batch's noise, as all roles compute it."""
        parties = len(self._desk.parties)
        return batch.among(parties=parties, rows=self.rows, colluding=self.colluding)

    def variance(self, batch: SumBatch) -> float:
        """Compute the variance of the noise in every cell of such a batch."""
        return self.noisy(batch).variance(shares=self._by_shares)
