"""What the curator publishes: rows, the plans and choices of all rounds, and a summary."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from ...curator import Curator
from ...curator.decoding import decode_rows
from ...curator.pair_rows import draw_rows
from ...curator.pairs import Pair, PairEstimate
from ...privacy import Domain
from ..outcome import Outcome
from ..secure_sum import Family
from .tables import Grouping, PlannedTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RoundModel", "RunModel", "publish"]

MAX_NAMES: Final = 12
"""Most attributes that the summary lists by name."""


class RoundModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The published plan of a round, and the pairs that parties named in it."""

    tables: tuple[Family, ...]
    weights: tuple[int, ...]
    groupings: tuple[tuple[Grouping, ...], ...] = ()
    """For each table a grouping of each attribute; empty where no table has any."""
    choosers: int = 0
    """Number of parties that were to name pairs."""
    parties: int = 0
    """Number of all parties, if any of them was to name pairs."""
    doubtful_pairs: int = 0
    """Number of pairs whose estimates they were sent."""
    doubtful_cells: int = 0
    """Number of cells of these estimates."""
    named: tuple[Family, ...] = ()
    """The pairs that they named."""

    @classmethod
    def of(
        cls,
        tables: Sequence[PlannedTable],
        *,
        choosers: Sequence[int] = (),
        parties: int = 0,
        doubtful: Mapping[Pair, npt.NDArray[np.float64]] = MappingProxyType({}),
        named: Collection[Pair] = (),
    ) -> RoundModel:
        """Describe a round.

        Args:
            tables: the tables that were planned.
            choosers: the parties that were to name pairs.
            parties: the number of all parties.
            doubtful: the estimates that they were sent.
            named: the pairs that they named.
        """
        grouped = any(table.groupings for table in tables)
        return cls(
            tuple(table.attributes for table in tables),
            tuple(table.weight for table in tables),
            tuple(table.groupings for table in tables) if grouped else (),
            len(choosers),
            parties if choosers else 0,
            len(doubtful),
            sum(table.size for table in doubtful.values()),
            tuple(named),
        )

    def planned(self) -> list[PlannedTable]:
        """Make the plan again."""
        groupings = self.groupings or ((),) * len(self.tables)
        return [
            PlannedTable(attributes, weight, grouping)
            for attributes, weight, grouping in zip(
                self.tables, self.weights, groupings, strict=True
            )
        ]


class RunModel(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost follows."""

    rounds: tuple[RoundModel, ...]


def publish(
    desk: Curator,
    domain: Domain,
    estimate: PairEstimate,
    rounds: Sequence[RoundModel],
    *,
    rows: int,
    predicted: float | None,
) -> Outcome:
    """Draw the synthetic table, and publish it with the plans and the named pairs.

    Args:
        desk: the curator, within the phase of synthesis.
        domain: attributes of two labels or more.
        estimate: the estimate of all pairs.
        rounds: the plan of each round, and the pairs that parties named in it.
        rows: the number of rows.
        predicted: the predicted distance of a pair's table; `None` where there are no pairs.
    """
    codes, tree = draw_rows(
        domain,
        estimate.tables,
        estimate.shares,
        rows=rows,
        generator=desk.randomness("sampling").generator(),
        progress=desk.progress,
    )
    joined = {name for clique in tree.cliques if len(clique) > 1 for name in clique}
    alone = [name for name in domain.attributes if name not in joined]
    count = len(domain.attributes)
    pairs = [sum(len(table) == 2 for table in entry.tables) for entry in rounds]
    summary: dict[str, object] = {
        "pairs measured": f"{', '.join(map(str, pairs))} (of {count * (count - 1) // 2}, by round)",
        "cliques": len(tree.cliques),
    }
    if any(entry.choosers for entry in rounds):
        summary["pairs named by parties"] = len({pair for entry in rounds for pair in entry.named})
    if predicted is not None:
        summary["predicted distance of a pair"] = f"{predicted:.4f}"
    if alone and count > 1:
        rest = len(alone) - MAX_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        summary["no dependence learnt of"] = ", ".join(alone[:MAX_NAMES]) + more
    return Outcome(
        synthetic=decode_rows(desk.domain, domain.attributes, codes),
        model={
            "rounds": [msgspec.to_builtins(entry) for entry in rounds],
            "tree": tree.to_builtins(),
        },
        summary=summary,
    )
