"""Records of a party that lies in some counts, for experiments (`runs.faults`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .records import Records
from .schema import Schema
from .schema_plan import SchemaPlan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["LyingCounts", "LyingRecords"]


class LyingCounts:
    """Which counts are lies, and how many were made, of some records and all that follow."""

    def __init__(self, numbers: Collection[int]) -> None:
        self._numbers = frozenset(numbers)
        self._counted = 0

    @property
    def untold(self) -> list[int]:
        """Numbers of the lies that did not happen, as fewer tables were counted."""
        return sorted(number for number in self._numbers if number > self._counted)

    def places(self, tables: int) -> set[int]:
        """Count so many tables; give the places among them of those that are lies."""
        before, self._counted = self._counted, self._counted + tables
        return {number - before - 1 for number in self._numbers}


class LyingRecords(Records):
    """Records of which some marginals are counted on other records.

    The tables that follow from them, such as their binary encoding, share the number of counts.
    """

    def __init__(self, records: Records, others: Records, lies: LyingCounts) -> None:
        super().__init__(
            records._rows,  # noqa: SLF001 - these are the same records
            numbers=records.numbers,
            plan=records._plan,  # noqa: SLF001 - as above
        )
        self._others = others
        self.lies = lies

    def marginals(self, marginals: Sequence[Sequence[str]]) -> Iterator[npt.NDArray[np.int64]]:
        places = self.lies.places(len(marginals))
        for number, counts in enumerate(super().marginals(marginals)):
            yield self._others.marginal(marginals[number]) if number in places else counts

    def binary(self) -> Records:
        return self._both(super().binary(), lambda others: others.binary())

    def grouped(self, groups: Mapping[str, Sequence[int]]) -> Records:
        return self._both(super().grouped(groups), lambda others: others.grouped(groups))

    def with_groups(self, groupings: Mapping[str, tuple[str, Sequence[int]]]) -> Records:
        return self._both(
            super().with_groups(groupings), lambda others: others.with_groups(groupings)
        )

    def with_plan(self, plan: SchemaPlan) -> Records:
        return self._both(super().with_plan(plan), lambda others: others.with_plan(plan))

    def encode(self, schema: Schema) -> Records:
        return self._both(super().encode(schema), lambda others: others.encode(schema))

    def take(self, rows: npt.NDArray[np.int64]) -> Records:
        return self._both(super().take(rows), lambda others: others.take(rows))

    def _both(self, records: Records, derive: Callable[[Records], Records]) -> Records:
        return LyingRecords(records, derive(self._others), self.lies)
