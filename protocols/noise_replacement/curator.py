"""The curator's side of noise replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...curator import Estimate, Marginal
from ...messages import MessageError, MisuseError
from ...privacy import Domain
from ..secure_sum import Family
from ..secure_sum.keys import KeyHolder
from .messages import NoiseReplacement
from .rounds import RunningSum, by_owner, packing_of, plan_round, read_ciphertexts, sum_out

__all__ = ["CuratorReplacement"]


class CuratorReplacement:
    """The curator's side of noise replacement; `sums` is all that it knows."""

    def __init__(self, holder: KeyHolder, *, domain: Domain, rows: int) -> None:
        self._desk = holder.desk
        self._key = holder.private
        self._domain = domain
        self._rows = rows
        self.sums: dict[Family, RunningSum] = {}

    def round(self, turn: int, families: Sequence[Family], *, epsilon: float) -> None:
        """Let party `turn` add its records to these families' tables, and replace their noise."""
        desk, parties = self._desk, len(self._desk.parties)
        if not families:
            raise MisuseError("expected at least one family to count, found none", where=desk.where)
        plan = plan_round(
            self.sums,
            families,
            domain=self._domain,
            rows=self._rows,
            parties=parties,
            epsilon=epsilon,
        )
        packing = packing_of(plan.bound, key_bits=self._key.public.bits)
        desk.send(NoiseReplacement.Frontier(plan.families, plan.owners, plan.bound), to=turn)
        for owner, handover in plan.handovers(turn):
            desk.send(handover, to=owner)
        # The new sums become valid at the end, as sources are the tables before this round.
        replaced: dict[Family, RunningSum] = {}
        for _, indices in by_owner(plan.owners):
            of_owner = [plan.families[index] for index in indices]
            sizes = [self._domain.cells(family) for family in of_owner]
            cells = desk.receive(NoiseReplacement.Replaced, source=turn).cells
            ciphertexts = read_ciphertexts(
                desk, self._key.public, cells, count=packing.plaintexts(sum(sizes))
            )
            try:
                changes = packing.unpack(
                    self._key.decrypt(ciphertexts, workers=desk.workers), cells=sum(sizes)
                )
            except OverflowError as error:
                raise MessageError(
                    f"{error}: a party's counts exceed its rows, or noise its bound",
                    where=desk.where,
                ) from None
            tables = np.split(changes, np.cumsum(sizes)[:-1])
            for family, change in zip(of_owner, tables, strict=True):
                source, table = plan.sources[family], change.reshape(self._domain.shape(family))
                contributors: tuple[int, ...] = (turn,)
                if source is not None:
                    before = self.sums[source]
                    table = table + sum_out(before.table, family=family, source=source)
                    contributors = (*before.contributors, turn)
                replaced[family] = RunningSum(table, turn, contributors, plan.noise)
                desk.keep_sum(table.reshape(-1), party=turn)
        self.sums |= replaced

    def estimates(self, families: Sequence[Family]) -> list[Estimate]:
        """Give the noisy tables of these families, as the last round left them."""
        return [
            Estimate(Marginal(family, self.sums[family].table.astype(np.float64)), 1.0)
            for family in families
        ]
