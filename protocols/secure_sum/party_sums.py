"""A party's side of secure sums: keys once, then as many batches as the budget allows.

Several batches at once take one round (`together`). A sum among some of the parties needs no other
keys (`among`). The curator's side is `curator_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Protocol, TypeAlias

import numpy.typing as npt

from ...messages import CURATOR, MisuseError, UsageError, role_name
from ...parties import Part, Party
from ...privacy.batch import Batch
from ..introductions import introduce
from .addend import Addend
from .attempts import Terms
from .batch import SumBatch
from .batch_kinds import require_real_batch, require_sum_batch
from .clear import PartyInTheClear
from .collusion import loss_by_view
from .hidden_plaintexts import HiddenPlaintexts
from .hidden_words import HiddenWords
from .keys import KeyedParty
from .lasting_party import LastingParty
from .members import cut_among, mask_graph, members_among, require_all
from .options import NoiseKind, SumOptions, colluding
from .reals import RealBatch
from .rows import receive_rows, rows_among, send_rows
from .selected import SelectingParty
from .star import Hiding, StarParty

__all__ = ["PartySums"]

Tables: TypeAlias = Iterable[npt.ArrayLike]


class Contributor(Protocol):
    """A party's side of an aggregator."""

    def contribute(self, addends: Sequence[Addend], *, number: int) -> None: ...


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
        self._options = options
        self.members = [*me.parties]
        """Ranks of the parties whose tables are added up."""
        self.colluding = colluding(options, parties=len(me.parties))
        """Number of parties that may collude against another one."""
        self._noise = noise
        self._aggregator = options.aggregator
        self._batches = 0
        self.circle = mask_graph(options, members=self.members, seed=me.job_digest)
        """The order in which parties stand on the mask graph; neighbours are introduced."""
        self.counts_rows = rows is None
        """Whether `rows` is the number of all rows, and not a bound on them."""
        tell_rows = partial(send_rows, me) if rows is None else None
        if options.aggregator != "clear":
            sparse = noise == "shares" and not all_pairs
            peers = self.circle.neighbours(me.rank) if sparse else me.peers
            introduce(me, others=[CURATOR, *peers], meanwhile=tell_rows)
        elif tell_rows is not None:
            tell_rows()
        self.rows_by_party = receive_rows(me) if rows is None else []
        """Rows of each party; empty where only a bound on all parties' rows is public."""
        self.rows = rows_among(self.members, self) if rows is None else rows
        """Rows of all parties, or the bound on them."""
        self._together: list[Addend] | None = None
        self._keyed_party: KeyedParty | None = None
        if options.aggregator == "paillier" and noise == "shares":
            self._keyed_party = KeyedParty(me, exponent=options.randomness)
        elif options.aggregator == "paillier":
            self._keyed_party = SelectingParty(me)
        self._lasting: LastingParty | None = None
        if me.min_parties is None:
            self._side = self._contributor()
        else:
            self._lasting = self._lasting_party()

    def _lasting_party(self) -> LastingParty:
        """Make the side of a run that may go on without a party that is lost."""
        return LastingParty(
            self._me,
            circle=self.circle,
            hiding=self._hiding(),
            terms=self._terms,
            colluding=self.colluding,
        )

    def _terms(self, batch: SumBatch, members: Sequence[int]) -> Terms:
        """Describe a batch among the parties that are left."""
        rows = rows_among(members, self)
        noisy = batch.among(parties=len(members), rows=rows, colluding=self.colluding)
        losses = loss_by_view(
            noisy,
            aggregator=self._aggregator,
            noise=self._noise,
            parties=len(self._me.parties),
            sharing=cut_among(self.circle, members, colluding=self.colluding),
        )
        return Terms(noisy, losses)

    def _contributor(self) -> Contributor:
        """Make the side of the aggregator among the members."""
        me, keyed_party = self._me, self._keyed_party
        if self._aggregator == "clear":
            return PartyInTheClear(me, members=self.members)
        if isinstance(keyed_party, SelectingParty):
            return keyed_party
        return StarParty(me, circle=self.circle, hiding=self._hiding())

    def _hiding(self) -> Callable[[Batch], Hiding]:
        if self._keyed_party is None:
            return HiddenWords.of
        return partial(HiddenPlaintexts.of, keyed_party=self._keyed_party)

    def among(self, parties: Iterable[int]) -> PartySums:
        """Give the sums of some of the parties, under the same keys.

        Each of these parties calls it, and so does the curator (`CuratorSums.among`); the others do
        not. The claim stays: `colluding` parties learn the sum of those members that do not
        collude, with full noise. Fewer members have fewer shares of the noise, each of them larger.

        Among more than 33 members not all pairs share masks, and pairs that were not introduced
        are introduced now.

        Args:
            parties: Ranks of the parties whose tables are added up, this one among them.

        Raises:
            UsageError: they are fewer than two, no more than may collude, or not this party.
        """
        me = self._me
        require_all(me)
        members = members_among(
            parties, parties=me.parties, options=self._options, noise=self._noise
        )
        if me.rank not in members:
            raise UsageError(
                f"expected a sum that {role_name(me.rank)} is in, found one among parties "
                f"{', '.join(map(str, members))}: only they call `among`"
            )
        sums = copy(self)
        sums._restrict(members)  # noqa: SLF001 - of its own class
        return sums

    def _restrict(self, members: list[int]) -> None:
        """Add up the tables of these parties alone, from the next batch on."""
        self.members = members
        self.circle = mask_graph(self._options, members=members, seed=self._me.job_digest)
        self._batches = 0
        if self._aggregator != "clear":
            introduce(self._me, others=self.circle.neighbours(self._me.rank))
        self._side = self._contributor()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send all batches within at once, in one round: `with sums.together():`.

        Each batch keeps its own noise and its own place in the accounts. The curator receives them
        by `CuratorSums.totals`, in the same order.
        """
        if self._together is not None:
            raise MisuseError(
                "expected `with sums.together()` once, found it within another",
                where=self._me.where,
            )
        self._together = []
        try:
            yield
            addends = self._together
        finally:
            self._together = None
        self.rows = rows_among(self.members, self)
        self._send(addends)

    @property
    def keyed_party(self) -> KeyedParty:
        """The party with the curator's key, for sub-protocols under the same key."""
        if self._keyed_party is None:
            raise MisuseError("expected aggregator=paillier, found no key", where=self._me.where)
        return self._keyed_party

    def contribute(self, tables: Tables, batch: SumBatch, *, of: Part | None = None) -> None:
        """Add this party's tables to a batch, with this party's part of the noise.

        What leaves here is one release of the batch's epsilon, though only the sum can be read.
        The accountant records it before anything leaves.

        Args:
            tables: Integer arrays.
            batch: Their size, their sensitivity and their budget.
            of: The part of the records from which they were counted (`Party.partition`). By default
                all records are behind them.
        """
        require_sum_batch(batch, verb="contribute", where=self._me.where)
        if self._lasting is not None:
            # Where a party may be lost each batch is sent by itself, as it may take attempts.
            self._lasting.contribute(tables, batch, number=self._batches, part=of)
            self.members, self._batches = self._lasting.members, self._batches + 1
            if self._together is None:  # the roles agree on rows before they send several at once
                self.rows = rows_among(self.members, self)
            return
        among = len(self.members)
        noisy = batch.among(parties=among, rows=self.rows, colluding=self.colluding)
        losses = loss_by_view(
            noisy,
            aggregator=self._aggregator,
            noise=self._noise,
            parties=len(self._me.parties),
        )
        addend = Addend(tables=tables, batch=noisy, seen=losses, part=of)
        if self._together is None:
            self._send([addend])
        else:
            self._together.append(addend)

    def _send(self, addends: Sequence[Addend]) -> None:
        if addends:
            self._side.contribute(addends, number=self._batches)
            self._batches += len(addends)

    def real(
        self,
        values: npt.ArrayLike,
        batch: RealBatch,
        *,
        groups: npt.ArrayLike | None = None,
        of: Part | None = None,
    ) -> None:
        """Add this party's real numbers to a batch, as `contribute` adds tables.

        Args:
            values: A number for each record, or a row of `batch.columns` numbers for each record.
            batch: How they are clipped and rounded, and what they cost.
            groups: The number of each record's group, from 0, where the batch has groups.
            of: The part of the records whose numbers these are; by default all records.
        """
        require_real_batch(batch, where=self._me.where)
        if batch.neighbours != self._me.accountant.neighbours:
            raise MisuseError(
                f"expected a batch for {self._me.accountant.neighbours} neighbours, as the "
                f"protocol declares them, found one for {batch.neighbours}",
                where=self._me.where,
            )
        tables = list(batch.steps(values, rows=self.rows, groups=groups))
        self.contribute(tables, batch.sum_batch(rows=self.rows), of=of)
