"""Which tables to measure next, at which level and how precisely: by the error that they remove.

The distance of a pair's table is predicted, as a function of what is measured of it:

    distance    sqrt(single^2 + single^2 + sum over levels of level^2), on average over pairs
    single      the error of each attribute's own distribution
    level       over spreads s of the level's posterior: half of sqrt(2 / pi) sqrt(t / (1 + t prec))
                in each cell, with t = s M (1 - M) and prec the precision of a cell at this level

A table that is measured at one level is known at all coarser ones, there with more precision, and
tells nothing of finer ones. What hides at a level that was not measured is as much as at the level
before, times a ratio that is learnt from pairs that were measured at both.

A round's budget goes where the sum of distances falls most. Each pair takes the level and amount
that are best at a price, and so does each attribute; the price is the one at which the budget is
spent. All of this uses nothing but released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..marginal import Marginal, Numbers
from ..shrinkage import SPREADS
from .beliefs import PairBeliefs
from .evidence import Evidence
from .groups import Level, Pair, PairBatch
from .shrinkage_by_level import LevelBelief
from .singles import HALF, SingleBelief

__all__ = ["Plan", "plan_tables"]

FIRST_DISTANCES: Final = (0.01, 0.03, 0.1)
"""Distances of a pair from independence at its coarsest level, before anything is known of it."""
USUAL_RATIO: Final = 1.3
"""Distance at a level over that at the level before, where nothing is known of it."""
RATIO_SPREAD: Final = np.array([0.4, 1.3, 3.0]) / USUAL_RATIO
"""What a ratio is multiplied by, for low, middle and high values: pairs differ tenfold in it."""
RATIO_PAIRS: Final = 5
"""The usual ratio counts as so many pairs with a distance of `RATIO_DISTANCE`."""
RATIO_DISTANCE: Final = 0.03
MAX_DISTANCE: Final = 0.9
ALONE: Final = 0.9
"""Share of a pair's own likelihood in what plans budgets.

All pairs together tell that dependence is rare. That is right on average. Where noise is large it
would stop measuring the few pairs that do depend on each other.
"""
EXPLAINED: Final = 0.8
"""How far a path of strong pairs is trusted to explain a pair, before models know of it."""
AMOUNTS: Final = np.geomspace(1e-5, 1, 46)
"""Shares of a round's budget that a table may have."""
GRID: Final = np.geomspace(1.0, 1e13, 66)
"""Precisions at which the error of a level is tabulated."""
CELL_GROUPS: Final = 16
"""Groups of a table's cells; the mean of a group stands for its cells."""
CHUNK: Final = 256
"""Pairs that are tabulated at once."""
PRICES: Final = 40
"""Halvings of the price's range."""
SETTLING: Final = 3
"""Rounds at each price, in which attributes and pairs answer each other."""


@dataclass(frozen=True)
class Plan:
    """A round's tables, with their shares of its budget, and what they will have reached."""

    singles: dict[str, float]
    pairs: dict[tuple[Pair, Level], float]
    distance: float
    """The predicted distance of a pair's table, on average."""


@dataclass(frozen=True)
class _Spreads:
    """A distribution of spreads for each pair of a batch, at one level."""

    weights: Numbers
    values: Numbers
    even: Numbers


def plan_tables(
    singles: Mapping[str, SingleBelief],
    evidence: Sequence[Evidence],
    beliefs: PairBeliefs | None,
    *,
    alone: float,
    power: int,
    explained: bool = False,
) -> Plan:
    """Share out a round's budget.

    Args:
        singles: what is believed of attributes.
        evidence: what was measured of pairs.
        beliefs: what is believed of pairs; `None` before any of them was measured.
        alone: the precision of a table that has the whole budget of the round.
        power: how precision grows with a share of the budget: 1 in rho, 2 in epsilon.
        explained: whether pairs that strong pairs will explain are measured less. It is meant for
            the round that follows the first one of pairs.
    """
    ratios = None if beliefs is None else _ratios(beliefs)
    shortcuts = _shortcuts(beliefs) if beliefs is not None and explained else {}
    errors = []
    for place, each in enumerate(evidence):
        levels = None if beliefs is None else beliefs.levels[place]
        least = None if beliefs is None else beliefs.copula_distances[place]
        spreads = _spreads(each.batch, singles, levels, least, ratios)
        left = np.array([1 - EXPLAINED * shortcuts.get(pair, 0.0) for pair in each.batch.pairs])
        errors.append(_squared_errors(each, spreads, left**2, alone=alone, power=power))
    return _share_out(singles, evidence, errors, alone=alone, power=power)


def _spreads(
    batch: PairBatch,
    singles: Mapping[str, SingleBelief],
    beliefs: Sequence[LevelBelief] | None,
    least: Numbers | None,
    ratios: Sequence[float] | None,
) -> list[_Spreads]:
    """Say for each level what is known, or guessed, of how far tables are from their centres."""
    products = np.stack(
        [np.outer(singles[left].shares, singles[right].shares) for left, right in batch.pairs]
    )
    count = len(batch.pairs)
    distances = np.tile(FIRST_DISTANCES, (count, 1))
    spreads = []
    for level in range(batch.levels):
        if beliefs is None:
            cells = batch.merge(products, start=batch.levels - 1, level=level)
            even = np.clip(cells * (1 - cells), 1e-12, None).reshape(count, -1)
            measured = np.zeros(count, bool)
        else:
            even = np.clip(beliefs[level].even, 1e-12, None)
            measured = beliefs[level].measured
        unit = HALF * np.sqrt(even).sum(axis=1)
        if level:
            ratio = USUAL_RATIO if ratios is None else ratios[level]
            guesses = (distances[:, :, None] * (ratio * RATIO_SPREAD)).reshape(count, -1)
            distances = np.quantile(guesses, (1 / 6, 1 / 2, 5 / 6), axis=1).T
        distances = np.minimum(distances, MAX_DISTANCE)
        weights = np.full((count, len(SPREADS)), 0.0)
        values = np.tile(SPREADS, (count, 1))
        weights[:, : distances.shape[1]] = 1 / distances.shape[1]
        values[:, : distances.shape[1]] = (distances / unit[:, None]) ** 2
        if beliefs is not None and measured.any():
            posterior = (1 - ALONE) * beliefs[level].weights + ALONE * beliefs[level].alone
            posterior /= posterior.sum(axis=1, keepdims=True)
            expected = unit * (posterior @ np.sqrt(np.array(SPREADS)))
            weights[measured], values[measured] = posterior[measured], SPREADS
            if level == 0 and least is not None:
                rather = measured & (least > expected)
                weights[rather] = np.arange(len(SPREADS)) == 0
                values[rather, 0] = (least[rather] / unit[rather]) ** 2
                expected = np.maximum(expected, least)
            distances = np.where(measured[:, None], expected[:, None], distances)
        spreads.append(_Spreads(weights, values, even))
    return spreads


def _ratios(beliefs: PairBeliefs) -> list[float]:
    """Learn how the distance at a level compares with that at the level before."""
    levels = max(len(each) for each in beliefs.levels)
    ratios = [1.0]
    for level in range(1, levels):
        before = after = 0.0
        for each in beliefs.levels:
            if level < len(each):
                both = each[level].measured & each[level - 1].measured
                before += float(each[level - 1].distance[both].sum())
                after += float(each[level].distance[both].sum())
        usual = RATIO_PAIRS * RATIO_DISTANCE
        ratios.append((after + usual * USUAL_RATIO) / (before + usual))
    return ratios


def _squared_errors(
    evidence: Evidence, spreads: Sequence[_Spreads], left: Numbers, *, alone: float, power: int
) -> Numbers:
    """Tabulate what is left of each pair's dependence: pairs, levels to measure, amounts.

    The first of the levels stands for no measurement.
    """
    batch = evidence.batch
    gains = alone * AMOUNTS**power
    squares = np.zeros((len(batch.pairs), batch.levels + 1, len(AMOUNTS)))
    for level, spread in enumerate(spreads):
        curves = _curves(spread, left)
        before = np.zeros(len(batch.pairs))
        for fine in range(level, batch.levels):
            before += evidence.precisions[fine] * batch.cells(level) / batch.cells(fine)
        squares[:, 0] += _read(curves, before[:, None]) ** 2
        for measured in range(batch.levels):
            if measured < level:
                squares[:, measured + 1] += _read(curves, before[:, None]) ** 2
            else:
                more = gains * batch.cells(level) / batch.cells(measured)
                squares[:, measured + 1] += _read(curves, before[:, None] + more) ** 2
    return squares


def _curves(spread: _Spreads, left: Numbers) -> Numbers:
    """Tabulate the logarithm of a level's error on the grid of precisions, for each pair."""
    cells = np.sort(spread.even, axis=1)
    groups = np.array_split(cells, min(CELL_GROUPS, cells.shape[1]), axis=1)
    means = np.stack([group.mean(axis=1) for group in groups], axis=1)
    sizes = np.array([float(group.shape[1]) for group in groups])
    used = np.flatnonzero(spread.weights.max(axis=0) > 1e-4)
    curves = np.empty((len(cells), len(GRID)))
    for start in range(0, len(cells), CHUNK):
        part = slice(start, start + CHUNK)
        values = spread.values[part][:, used] * left[part, None]
        total = np.zeros((len(values), len(GRID)))
        for group, size in enumerate(sizes.tolist()):
            variance = values * means[part, group, None]
            errors = np.sqrt(variance[:, :, None] / (1 + variance[:, :, None] * GRID))
            total += size * np.einsum("ps,psg->pg", spread.weights[part][:, used], errors)
        curves[part] = np.log(np.maximum(HALF * total, 1e-12))
    return curves


def _read(curves: Numbers, precision: Numbers) -> Numbers:
    """Read the curves, which are linear in logarithms."""
    step = float(np.log(GRID[1] / GRID[0]))
    place = np.clip(np.log(np.maximum(precision, GRID[0])) / step, 0, len(GRID) - 1.001)
    index = place.astype(np.int64)
    rows = np.arange(len(curves))[:, None]
    low, high = curves[rows, index], curves[rows, index + 1]
    return np.asarray(np.exp(low + (place - index) * (high - low)))


@dataclass(frozen=True)
class _Singles:
    """All attributes' errors, as a function of precision; arrays have an element for each."""

    scale: Numbers
    spread: Numbers
    precision: Numbers

    @classmethod
    def of(cls, singles: Mapping[str, SingleBelief]) -> _Singles:
        beliefs = [*singles.values()]
        sizes = np.array([len(belief.shares) for belief in beliefs], float)
        return cls(
            (HALF * sizes) ** 2,
            np.array([belief.spread for belief in beliefs]),
            np.array([belief.precision for belief in beliefs]),
        )

    def squared_errors(self, more: Numbers) -> Numbers:
        """Predict squared distances with so much more precision; attributes come first."""
        shape = (-1, *[1] * (more.ndim - 1))
        scale, spread, precision = (
            each.reshape(shape) for each in (self.scale, self.spread, self.precision)
        )
        return np.asarray(scale * spread / (1 + spread * (precision + more)))

    def chosen(self, places: npt.NDArray[np.int64]) -> _Singles:
        """Take these attributes, in this order."""
        return _Singles(self.scale[places], self.spread[places], self.precision[places])


def _share_out(
    singles: Mapping[str, SingleBelief],
    evidence: Sequence[Evidence],
    errors: Sequence[Numbers],
    *,
    alone: float,
    power: int,
) -> Plan:
    """Find the price at which the budget is spent.

    The finest table of a pair also says something of both attributes: its rows are sums of so many
    cells as there are columns, with that many times the variance.
    """
    names, pairs = list(singles), [pair for each in evidence for pair in each.batch.pairs]
    places = {name: place for place, name in enumerate(names)}
    sides = [np.array([places[pair[side]] for pair in pairs], np.int64) for side in (0, 1)]
    finest = np.concatenate(
        [np.full(len(each.batch.pairs), each.batch.levels - 1) for each in evidence]
    )
    sizes = np.array([float(len(single.shares)) for single in singles.values()])
    others = [sizes[sides[1]], sizes[sides[0]]]
    levels = max(each.shape[1] for each in errors)
    squares = np.concatenate(
        [
            np.pad(each, ((0, 0), (0, levels - each.shape[1]), (0, 0)), constant_values=1e6)
            for each in errors
        ]
    )
    every = _Singles.of(singles)
    ends = [every.chosen(side) for side in sides]
    options = np.concatenate([[0.0], AMOUNTS])
    gains = alone * AMOUNTS**power
    rows = np.arange(len(pairs))
    single_amounts, from_pairs = np.zeros(len(names)), np.zeros(len(names))
    slope = np.zeros(len(names))
    low, high = 1e-9, 1e9
    for step in range(PRICES):
        price = np.sqrt(low * high)
        for _ in range(SETTLING):
            more = from_pairs + alone * single_amounts**power
            single = every.squared_errors(more)
            both = (single[sides[0]] + single[sides[1]])[:, None]
            idle = np.sqrt(both[:, 0] + squares[:, 0, 0])
            reached = np.sqrt(both[:, :, None] + squares[:, 1:])
            cost = reached + price * AMOUNTS
            for side, end, other in zip(sides, ends, others, strict=True):
                better = end.squared_errors(more[side][:, None] + gains / other[:, None])
                saved = slope[side][:, None] * (single[side][:, None] - better)
                cost[rows, finest] -= saved
            best = cost.reshape(len(pairs), -1).argmin(axis=1)
            level, index = np.divmod(best, len(AMOUNTS))
            taken = cost[rows, level, index] < idle
            amount = np.where(taken, AMOUNTS[index], 0.0)
            distance = np.where(taken, reached[rows, level, index], idle)
            slope = np.zeros(len(names))
            gained = np.zeros(len(names))
            is_finest = taken & (level == finest)
            for side, other in zip(sides, others, strict=True):
                np.add.at(slope, side, 0.5 / np.maximum(distance, 1e-9))
                np.add.at(gained, side, np.where(is_finest, alone * amount**power / other, 0.0))
            from_pairs = (from_pairs + gained) / 2
            margins = every.squared_errors(from_pairs[:, None] + alone * options**power)
            single_amounts = options[(slope[:, None] * margins + price * options).argmin(axis=1)]
        total = float(amount.sum() + single_amounts.sum())
        if total > 1:
            low = price
        else:
            high = price
        if 0.98 < total < 1.02 and step:
            break
    scale = 1 / max(total, 1e-300)
    return Plan(
        {
            name: float(share * scale)
            for name, share in zip(names, single_amounts, strict=True)
            if share
        },
        {
            (pairs[row], int(level[row])): float(amount[row] * scale)
            for row in np.flatnonzero(amount).tolist()
        },
        float(distance.mean()),
    )


def _shortcuts(beliefs: PairBeliefs) -> dict[Pair, float]:
    """Say how much of each pair the path of strongest pairs between its attributes explains.

    A correlation r stands for a pair's mutual information I, with r^2 = 1 - exp(-2 I). Along the
    maximum spanning tree correlations multiply (Chow and Liu 1968).
    """
    shares = beliefs.shares
    correlations = {pair: _correlation(table, shares) for pair, table in beliefs.tables.items()}
    names = list(beliefs.singles)
    part = {name: name for name in names}
    tree: dict[str, list[tuple[str, float]]] = {name: [] for name in names}
    edges = set()
    for (first, second), value in sorted(
        correlations.items(), key=lambda entry: (-entry[1], entry[0])
    ):
        if part[first] != part[second]:
            merged = part[second]
            part = {name: part[first] if of == merged else of for name, of in part.items()}
            tree[first].append((second, value))
            tree[second].append((first, value))
            edges.add((first, second))
    explained: dict[Pair, float] = {}
    for start in names:
        paths = [(start, "", 1.0)]
        while paths:
            here, before, value = paths.pop()
            if (start, here) in correlations and (start, here) not in edges:
                whole = max(correlations[start, here], 1e-9)
                explained[start, here] = min(1.0, value / whole)
            paths += [(to, here, value * edge) for to, edge in tree[here] if to != before]
    return explained


def _correlation(table: Marginal, shares: Mapping[str, Marginal]) -> float:
    left, right = (shares[name].values for name in table.attributes)
    product = np.maximum(np.outer(left, right), 1e-12)
    ratio = np.log(np.maximum(table.values, 1e-12) / product)
    information = max(float((table.values * ratio).sum()), 0.0)
    return float(np.sqrt(1 - np.exp(-2 * information)))
