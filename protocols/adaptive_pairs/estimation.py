"""The curator's knowledge after each round: it takes in tables, estimates pairs, and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import TYPE_CHECKING, Final

from ...curator.pairs import (
    Evidence,
    Level,
    NamedPair,
    NestedGroups,
    NoisySingle,
    Pair,
    PairEstimate,
    Plan,
    batches_of,
    doubtful_pairs,
    estimate_all,
    first_halvings,
    nested_groups,
    plan_tables,
    remaining_distances,
    shrink_singles,
)
from ...privacy import Domain
from .tables import (
    MAX_WEIGHT,
    Grouping,
    MeasuredTable,
    PlannedTable,
    integer_weights,
    single_amounts,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Estimation"]

FINAL_PASSES: Final = 2
"""Times that models of all pairs are fitted for the published table; for a plan it is once."""
MIN_WEIGHT: Final = 0.5
"""Tables that would get less than this weight are left out."""


class Estimation:
    """The estimate of all attributes and pairs, which grows with each round.

    Attributes come first. Their noisy distributions say which labels are counted together at each
    level, and the noise of the first plan how many groups the coarsest one has. These groups then
    stay as they are.
    """

    def __init__(self, domain: Domain, *, generator: np.random.Generator) -> None:
        self.domain = domain
        """Attributes of two labels or more."""
        self.predicted: float | None = None
        """The distance of a pair's table, on average, that the last plan predicted."""
        self._generator = generator
        self._plans = 0
        self._singles: dict[str, NoisySingle] = {}
        self._groups: NestedGroups = {}
        self._evidence: list[Evidence] = []
        self._places: dict[Pair, tuple[Evidence, int]] = {}
        self._levels: dict[tuple[Pair, tuple[Grouping, ...]], Level] = {}
        """The level of each table of the last plan."""
        self._latest: PairEstimate | None = None
        """The estimate from which the last plan followed."""
        self._named: dict[Pair, NamedPair] = {}

    def learn(self, measured: Sequence[MeasuredTable]) -> None:
        """Take in the tables of a round. The first round's are of single attributes."""
        for table in measured:
            family, precision = table.table.attributes, 1 / table.variance
            if len(family) == 1:
                noisy = NoisySingle(table.frequencies, precision)
                (name,) = family
                before = self._singles.get(name)
                self._singles[name] = noisy if before is None else before.pooled(noisy)
            else:
                evidence, place = self._places[family]
                level = self._levels[family, table.table.groupings]
                evidence.add(place, level, table.frequencies, precision)

    def plan(self, *, table_precision: float, power: int) -> list[PlannedTable]:
        """Plan the tables of the next round.

        Args:
            table_precision: the precision of a table that has the whole budget of the round.
            power: how precision grows with a table's share of the round: 1 in rho, 2 in epsilon.
        """
        if not self._evidence:
            pairs = comb(len(self._singles), 2)
            self._group(first_halvings(pairs, table_precision=table_precision, power=power))
        estimate = self._estimate(passes=1, published=False) if self._plans else None
        distances = {} if estimate is None else remaining_distances(self._named, estimate)
        plan = plan_tables(
            shrink_singles(self._singles) if estimate is None else estimate.singles,
            self._evidence,
            estimate,
            table_precision=table_precision,
            power=power,
            discount_paths=self._plans == 1,  # later estimates know of paths
            distances=distances,
        )
        self._plans += 1
        self._latest, self._named = estimate, {}
        self.predicted = plan.distance
        return self._planned(plan, power=power)

    def doubtful_pairs(self, *, max_cells: int) -> dict[Pair, npt.NDArray[np.float64]]:
        """Give the tables of pairs of which groups may hide much, as the last plan knew them.

        Args:
            max_cells: most cells of all these tables together.
        """
        if self._latest is None:
            return {}
        planned = frozenset(
            pair
            for (pair, _), level in self._levels.items()
            if level == self._places[pair][0].batch.finest
        )
        return doubtful_pairs(self._latest, planned, max_cells=max_cells)

    def learn_distances(self, distances: Mapping[Pair, float]) -> None:
        """Take in how far the tables of pairs are from what the last plan knew of them."""
        if self._latest is not None:
            self._named = {
                pair: NamedPair(distance, self._latest.tables[pair].values)
                for pair, distance in distances.items()
            }

    def estimate(self) -> PairEstimate:
        """Estimate all attributes and pairs from all rounds, for publication.

        After a single round, of single attributes, pairs are products.
        """
        return self._estimate(passes=FINAL_PASSES, published=True)

    def _estimate(self, *, passes: int, published: bool) -> PairEstimate:
        return estimate_all(
            self.domain,
            self._singles,
            self._evidence,
            generator=self._generator,
            passes=passes,
            published=published,
        )

    def _group(self, first: int) -> None:
        """Group the labels of each attribute by its noisy distribution."""
        self._groups = {
            name: nested_groups(single.shares, first=first)
            for name, single in shrink_singles(self._singles).items()
        }
        self._evidence = [Evidence.none(batch) for batch in batches_of(self._groups)]
        self._places = {
            pair: (evidence, place)
            for evidence in self._evidence
            for place, pair in enumerate(evidence.batch.pairs)
        }

    def _planned(self, plan: Plan, *, power: int) -> list[PlannedTable]:
        """Give the plan's tables their groupings and weights."""
        self._levels = {}
        amounts: dict[tuple[Pair, tuple[Grouping, ...]], float] = {
            ((name,), ()): share**power for name, share in plan.singles.items()
        }
        for (pair, level), share in plan.pairs.items():
            step = self._places[pair][0].batch.steps[level]
            groupings = tuple(self._grouping(name, step) for name in pair)
            table = (pair, groupings if any(groupings) else ())
            self._levels[table] = level
            amounts[table] = share**power
        if not amounts:  # where noise hides everything, single attributes are all that can gain
            single = single_amounts(self.domain, power=power)
            amounts = {(family, ()): amount for family, amount in single.items()}
        least = max(amounts.values()) * (MIN_WEIGHT / MAX_WEIGHT) ** 2
        kept = {table: amount for table, amount in amounts.items() if amount >= least}
        self._levels = {table: self._levels[table] for table in kept if table in self._levels}
        return [
            PlannedTable(attributes, weight, groupings)
            for (attributes, groupings), weight in integer_weights(kept, power=power).items()
        ]

    def _grouping(self, name: str, step: int) -> Grouping:
        groups = self._groups[name][step]
        return () if groups[-1] + 1 == len(groups) else tuple(groups.tolist())
