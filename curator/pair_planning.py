"""Which tables to measure next: rounds that go where they help most.

A threshold on dependence does not tell where a measurement helps. A table is worth more precision
as far as that would make its estimate better, and that follows from what is believed of it so far
(`pair_tables`). A pair that is surely the product of its margins, or surely like its latent
classes, needs nothing. A pair whose measured dependence exceeds the noise halves its error with
four times the precision. So after every round the distance of each pair's table is predicted, as a
function of the amounts to come. An amount is a number of users, or of units of precision.

    distance      sqrt(margin^2 + margin^2 + dependence^2), on average over pairs
    margin        the noise of each attribute: E|x| = sqrt(2 / pi) sd, half of it in each cell
    dependence    over centres M and spreads s of the pair's posterior: half of
                  sqrt(2 / pi) sqrt(t u / (t prec + u)) in each cell, with t = s M (1 - M), prec the
                  precision of an average cell, and u this cell's noise over the average's

The distance is convex in the amounts of the tables. The next round's amount is shared out so that
it is least, by the multiplicative algorithm of optimal design. Tables that would get hardly
anything are pruned; they may come back.

The posterior that shares out is half a pair's own. All pairs together tell that dependence is rare.
That is right on average, but where noise is large it would stop measuring the few pairs that do
depend on each other. All of this uses nothing but released numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import pi, prod, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from ..privacy.domain import Domain
from .marginal import Numbers
from .pair_tables import PairTables
from .shrinkage import SPREADS, PairPosterior

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["DEPENDENCE", "NoiseLaw", "Planning"]

Set = tuple[str, ...]

NoiseLaw: TypeAlias = Callable[[int], tuple[float, float]]
"""The noise of a table with so many cells that is measured with an amount of 1.

A cell of frequency f has variance base + slope f (1 - f), and so many times less with more.
"""

DEPENDENCE: Final = (0.02, 0.05, 0.1, 0.2)
"""Distances of a pair from independence, in total variation: unknown, so even in logarithms."""
HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x|, x standard normal."""
ALONE: Final = 0.5
"""Share of a pair's own posterior in what shares users out.

Chosen looking at Adult and TPC-E at epsilon 1.
"""
STEPS: Final = 200
"""Steps of the multiplicative algorithm."""
POWER: Final = 0.7
"""Exponent of a step."""
GRID: Final = np.geomspace(1e-1, 1e13, 113)
"""Precisions at which a pair's distance is tabulated: 1 / variance of a cell."""
GROUPS: Final = 24
"""Groups of a table's cells; the mean of a group stands for its cells."""
MIN_WEIGHT: Final = 1e-4
"""Least weight of a centre with a spread that counts."""
PER_SPREAD: Final = 2
"""Steps of the grid of precisions from a spread to the next one."""
PRODUCTS: Final = np.geomspace(
    GRID[0] * SPREADS[1], GRID[-1] * SPREADS[-1], len(GRID) + PER_SPREAD * (len(SPREADS) - 2)
)
"""All products of a spread above 0 and a precision."""
PLACES: Final = PER_SPREAD * np.arange(len(SPREADS) - 1)[:, None] + np.arange(len(GRID))
"""The place in `PRODUCTS` of each spread times each precision."""


class Prediction(NamedTuple):
    """The predicted distance of each pair's table, and what it is made of."""

    distance: Numbers
    margins: Numbers
    """Squared distance of each attribute's margin."""
    precision: Numbers
    """Precision of each attribute's margin."""
    dependence: Numbers
    """Distance of each pair's dependence."""
    slope: Numbers
    """Derivative of the dependence by the pair's precision."""


class Planning:
    """Predicts how good all pairs' tables become by measuring these sets of attributes."""

    def __init__(self, domain: Domain, sets: Sequence[Set], noise: NoiseLaw) -> None:
        names = domain.attributes
        places = {name: place for place, name in enumerate(names)}
        self.sets = list(sets)
        self._names, self._pairs = names, list(combinations(names, 2))
        self._left, self._right = (
            np.array([places[pair[side]] for pair in self._pairs], np.int64) for side in (0, 1)
        )
        self._sizes = np.array(domain.shape(names), float)
        self._noise = {
            size: noise(size) for size in {domain.cells(attributes) for attributes in sets}
        }
        self._margin_gain = self._gains(domain, [(name,) for name in names], ways=1)
        self._pair_gain = self._gains(domain, self._pairs, ways=2)
        self._uneven = np.ones(len(names))
        pair_cells = self._sizes[self._left] * self._sizes[self._right]
        different, inverse = np.unique(pair_cells, return_inverse=True)
        curves = [_unknown_curve(cells) for cells in different.tolist()]
        self._curves = np.reshape(curves, (-1, len(GRID)))[inverse]

    def _gains(self, domain: Domain, tables: Sequence[Set], *, ways: int) -> csr_array:
        """Compute the precision that an amount of 1 of a set adds to each of these tables.

        A set has few of the tables, so the matrix is sparse.
        """
        from scipy.sparse import csr_array

        places = {attributes: place for place, attributes in enumerate(tables)}
        sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
        rows, columns, values = list[int](), list[int](), list[float]()
        for column, attributes in enumerate(self.sets):
            cells = prod([sizes[name] for name in attributes])
            base, slope = self._noise[cells]
            for part in combinations(attributes, ways):
                size = prod([sizes[name] for name in part])
                rows.append(places[part])
                columns.append(column)
                values.append(1 / (cells / size * base + slope / size))
        return csr_array((values, (rows, columns)), shape=(len(tables), len(self.sets)))

    def learn(self, tables: PairTables) -> None:
        """Take in what is believed now."""
        for place, name in enumerate(self._names):
            f = tables.singles[name].values
            base, slope = self._noise[len(f)]
            deviations = np.sqrt(base + slope * f * (1 - f)).sum()
            self._uneven[place] = deviations / (len(f) * np.sqrt(base + slope / len(f)))
        for place, pair in enumerate(self._pairs):
            if pair in tables.posteriors:
                posterior = tables.posteriors[pair]
                self._curves[place] = _curve(posterior, *self._noise[posterior.even.shape[1]])

    def share_out(
        self, before: Mapping[Set, float], amount: float, *, least: float
    ) -> dict[Set, float]:
        """Share an amount out over the sets worth measuring.

        Args:
            before: the amounts of sets that were measured.
            amount: what a single set would get if it were measured alone.
            least: sets that would get less are left out.

        Returns:
            The amount of each set.
        """
        earlier = np.array([before.get(attributes, 0) for attributes in self.sets], float)
        new = np.full(len(self.sets), amount / len(self.sets))
        for _ in range(STEPS):
            new = new * self._gain(earlier + new) ** POWER
            new *= amount / new.sum()
        new[new < min(least, new.max())] = 0.0
        weights = zip(self.sets, new, strict=True)
        return {attributes: float(weight) for attributes, weight in weights if weight}

    def predict(self, amounts: Mapping[Set, float]) -> float:
        """Predict the distance of a pair's table, on average."""
        measured = np.array([amounts.get(attributes, 0) for attributes in self.sets], float)
        return float(self._predict(measured).distance.mean())

    def _predict(self, amounts: Numbers) -> Prediction:
        precision = self._margin_gain @ amounts + 1e-9
        margins = (HALF * self._sizes * self._uneven) ** 2 / precision
        dependence, slope = self._interpolate(self._pair_gain @ amounts)
        distance = np.sqrt(margins[self._left] + margins[self._right] + dependence**2)
        return Prediction(distance, margins, precision, dependence, slope)

    def _gain(self, amounts: Numbers) -> Numbers:
        """Compute by how much the sum of distances falls with 1 more of each set's amount."""
        predicted = self._predict(amounts)
        share = np.zeros(len(predicted.margins))
        np.add.at(share, self._left, 0.5 / predicted.distance)
        np.add.at(share, self._right, 0.5 / predicted.distance)
        gain = self._margin_gain.T @ (
            share * predicted.margins / predicted.precision
        ) - self._pair_gain.T @ (predicted.dependence * predicted.slope / predicted.distance)
        return np.asarray(np.maximum(gain, 1e-300))

    def _interpolate(self, precision: Numbers) -> tuple[Numbers, Numbers]:
        """Read the curves, which are linear in logarithms, and their slopes."""
        logs = np.log(GRID)
        within = np.maximum(precision, GRID[0])
        place = np.clip((np.log(within) - logs[0]) / (logs[1] - logs[0]), 0, len(logs) - 1.001)
        index = place.astype(np.int64)
        low, high = (self._curves[np.arange(len(index)), index + side] for side in (0, 1))
        value = np.exp(low + (place - index) * (high - low))
        return value, value * (high - low) / (logs[1] - logs[0]) / within


def _unknown_curve(cells: float) -> Numbers:
    """Compute the curve of a pair of which nothing is known."""
    noise = GRID / (HALF * cells) ** 2
    return np.asarray(
        np.log(np.mean([1 / np.sqrt(1 / rho**2 + noise) for rho in DEPENDENCE], axis=0))
    )


def _curve(posterior: PairPosterior, base: float, slope: float) -> Numbers:
    """Compute the logarithm of a pair's predicted distance, by precision."""
    alone = posterior.likelihood.copy()
    alone[:, 0] = 0.0  # one pair alone cannot tell that it is exactly its centre
    # Nor is it farther from it than distances go.
    roots = np.sqrt(SPREADS)
    alone *= HALF * np.sqrt(posterior.even).sum(axis=1)[:, None] * roots <= 1
    weight = (1 - ALONE) * posterior.weight + ALONE * alone / max(float(alone.sum()), 1e-300)
    weight = np.where(weight > MIN_WEIGHT, weight, 0.0)[:, 1:]
    cells, sizes = _cell_groups(posterior.even)
    u = (base + slope * cells) / (base + slope / posterior.even.shape[1])
    # The square root of t u / (t prec + u) is that of t over that of 1 + t prec / u. As t is s
    # times M (1 - M), it depends on the product of s and prec alone, and these share one grid.
    falls = 1 / np.sqrt(1 + (cells / u)[:, :, None] * PRODUCTS)
    sums = np.einsum("cg,cgp->cp", sizes * np.sqrt(cells), falls)
    risk = HALF * np.einsum("cs,csp->p", weight * roots[1:], sums[:, PLACES])
    return np.asarray(np.log(np.maximum(risk, 1e-12)))


def _cell_groups(even: Numbers) -> tuple[Numbers, Numbers]:
    """Divide each row's sorted cells into groups of about one size: their means, and sizes."""
    count = even.shape[1]
    if count <= GROUPS:
        return even, np.ones(count)
    sizes = np.full(GROUPS, count // GROUPS) + (np.arange(GROUPS) < count % GROUPS)
    starts = np.cumsum(sizes) - sizes
    return np.add.reduceat(np.sort(even, axis=1), starts, axis=1) / sizes, sizes.astype(float)
