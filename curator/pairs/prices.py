"""A round's budget, divided so that the sum of predicted distances is least.

The squared distance of a pair is the sum of three squares: the errors of its two attributes, and
the error of its dependence. Budget has a price. Each pair takes the level and the amount that are
best at this price, and each attribute takes an amount. A search finds the price at which just the
budget is taken.

The finest table of a pair also measures both attributes. The sum of a row has as many times the
variance of a cell as there are columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..marginal import Numbers
from .error_curves import AMOUNTS
from .evidence import Evidence
from .groups import Level, Pair
from .shrinkage_by_level import HALF
from .singles import SinglePosterior

__all__ = ["Plan", "share_out"]

PRICE_STEPS: Final = 40
"""Halvings of the price's range."""
SETTLING_ROUNDS: Final = 3
"""Turns at each price, in which attributes and pairs adapt to each other's amounts."""
TOLERANCE: Final = 0.02
"""How far the amounts may be from the budget when the search ends."""
IMPOSSIBLE: Final = 1e6
"""The squared error of a level that a pair does not have."""


@dataclass(frozen=True)
class Plan:
    """A round's tables, with their shares of its budget."""

    singles: dict[str, float]
    pairs: dict[tuple[Pair, Level], float]
    distance: float
    """The distance of a pair's table, on average, that is predicted after the round."""


@dataclass(frozen=True)
class _Demand:
    """What attributes and pairs take at a price."""

    single_amounts: Numbers
    pair_amounts: Numbers
    levels: npt.NDArray[np.int64]
    distances: Numbers

    @property
    def total(self) -> float:
        return float(self.single_amounts.sum() + self.pair_amounts.sum())


class _Market:
    """All attributes and pairs, with the amounts that they took at the price before.

    Arrays have an element for each attribute, or for each pair.
    """

    def __init__(
        self,
        singles: Mapping[str, SinglePosterior],
        evidence: Sequence[Evidence],
        errors: Sequence[Numbers],
        *,
        table_precision: float,
        power: int,
    ) -> None:
        self.names = list(singles)
        self.pairs = [pair for part in evidence for pair in part.batch.pairs]
        places = {name: place for place, name in enumerate(self.names)}
        self._sides = [
            np.array([places[pair[side]] for pair in self.pairs], np.int64) for side in (0, 1)
        ]
        self._sizes = np.array([len(single.shares) for single in singles.values()], float)
        self._different_sizes, kinds = np.unique(self._sizes, return_inverse=True)
        self._cases = [
            side * len(self._different_sizes) + kinds[opposite]
            for side, opposite in zip(self._sides, reversed(self._sides), strict=True)
        ]
        """For each side of a pair a number of its attribute and of the opposite size."""
        self._finest = np.concatenate(
            [np.full(len(part.batch.pairs), part.batch.finest) for part in evidence]
        )
        levels = max(table.shape[1] for table in errors)
        self._errors = np.concatenate(
            [
                np.pad(
                    table,
                    ((0, 0), (0, levels - table.shape[1]), (0, 0)),
                    constant_values=IMPOSSIBLE,
                )
                for table in errors
            ]
        )
        """Squared errors of dependence: pairs, none or a level, amounts."""
        self._costs = np.empty_like(self._errors[:, 1:])
        """Made once: with 300 attributes these are six million numbers."""
        self._spreads = np.array([single.spread for single in singles.values()])
        self._precisions = np.array([single.precision for single in singles.values()])
        self._gains = table_precision * AMOUNTS**power
        """The precision that each amount buys."""
        # What the price before has led to.
        self._from_pairs = np.zeros(len(self.names))
        self._from_singles = np.zeros(len(self.names))
        self._slopes = np.zeros(len(self.names))

    def demand(self, price: float) -> _Demand:
        """Let pairs and attributes take amounts at a price, and adapt to each other's."""
        for _ in range(SETTLING_ROUNDS):
            levels, pair_amounts, distances = self._pairs_take(price)
            single_amounts = self._singles_take(price, distances)
        return _Demand(single_amounts, pair_amounts, levels, distances)

    def _pairs_take(self, price: float) -> tuple[npt.NDArray[np.int64], Numbers, Numbers]:
        """Choose a level and an amount for each pair, and note what attributes gain by it."""
        rows = np.arange(len(self.pairs))
        precision = self._from_pairs + self._from_singles
        single_errors = self._single_errors(precision)
        first, second = self._sides
        square_of_both = single_errors[first] + single_errors[second]
        idle = np.sqrt(square_of_both + self._errors[:, 0, 0])
        cost = np.add(square_of_both[:, None, None], self._errors[:, 1:], out=self._costs)
        np.sqrt(cost, out=cost)
        cost += price * AMOUNTS
        # What a pair's table saves of an attribute depends on the opposite size alone.
        more = precision[:, None, None] + self._gains / self._different_sizes[:, None]
        saved = single_errors[:, None, None] - self._single_errors(more)
        saved = (self._slopes[:, None, None] * saved).reshape(-1, len(AMOUNTS))
        for cases in self._cases:
            cost[rows, self._finest] -= saved[cases]
        levels, places = np.divmod(cost.reshape(len(rows), -1).argmin(axis=1), len(AMOUNTS))
        worth = cost[rows, levels, places] < idle
        gained = np.zeros(len(self.names))
        for side, opposite in zip(self._sides, reversed(self._sides), strict=True):
            gains = self._gains[places] / self._sizes[opposite]
            precisions = np.where(worth & (levels == self._finest), gains, 0.0)
            np.add.at(gained, side, precisions)
        self._from_pairs = (self._from_pairs + gained) / 2  # half of it, so that they settle
        amounts = np.where(worth, AMOUNTS[places], 0.0)
        reached = np.sqrt(square_of_both + self._errors[rows, levels + 1, places])
        return levels, amounts, np.where(worth, reached, idle)

    def _singles_take(self, price: float, distances: Numbers) -> Numbers:
        """Choose an amount for each attribute, by how much it changes its pairs' distances."""
        self._slopes = np.zeros(len(self.names))
        for side in self._sides:
            np.add.at(self._slopes, side, 0.5 / np.maximum(distances, 1e-9))
        options = np.concatenate([[0.0], AMOUNTS])
        gains = np.concatenate([[0.0], self._gains])
        errors = self._single_errors(self._from_pairs[:, None] + gains)
        places = (self._slopes[:, None] * errors + price * options).argmin(axis=1)
        self._from_singles = gains[places]
        return np.asarray(options[places])

    def _single_errors(self, more: Numbers) -> Numbers:
        """Predict squared errors of attributes with so much more precision.

        Args:
            more: precision; attributes come first.
        """
        sizes, spreads, precisions = (
            values.reshape(-1, *[1] * (more.ndim - 1))
            for values in (self._sizes, self._spreads, self._precisions)
        )
        return np.asarray((HALF * sizes) ** 2 * spreads / (1 + spreads * (precisions + more)))


def share_out(
    singles: Mapping[str, SinglePosterior],
    evidence: Sequence[Evidence],
    errors: Sequence[Numbers],
    *,
    table_precision: float,
    power: int,
) -> Plan:
    """Find the price at which the budget is spent, and the plan at this price.

    Args:
        singles: the posteriors of attributes.
        evidence: what was measured of pairs.
        errors: `ErrorCurves.squares` of each part of the evidence.
        table_precision: the precision of a table that has the whole budget of the round.
        power: how precision grows with a share of the budget.
    """
    market = _Market(singles, evidence, errors, table_precision=table_precision, power=power)
    low, high = 1e-9, 1e9
    for step in range(PRICE_STEPS):
        price = float(np.sqrt(low * high))
        demand = market.demand(price)
        if abs(demand.total - 1) < TOLERANCE and step:
            break
        low, high = (price, high) if demand.total > 1 else (low, price)
    scale = 1 / max(demand.total, 1e-300)
    return Plan(
        {
            market.names[place]: float(demand.single_amounts[place] * scale)
            for place in np.flatnonzero(demand.single_amounts).tolist()
        },
        {
            (market.pairs[place], int(demand.levels[place])): float(
                demand.pair_amounts[place] * scale
            )
            for place in np.flatnonzero(demand.pair_amounts).tolist()
        },
        float(np.minimum(demand.distances, 1).mean()),
    )
