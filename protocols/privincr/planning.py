"""Whom to ask what next: adaptive rounds, ours, in place of pruning by a threshold.

A threshold on dependence asks the wrong question. An edge is worth more users as far as they would
make its table better, and how far that is follows from what is believed of it so far
(`local.pairs`): a pair that is surely the product of its margins, or surely like its latent
classes, needs nobody; one whose measured dependence stands out of the noise halves its error with
four times the users. So after every round the distance of each pair's table is predicted, by the
users to come:

    distance      sqrt(margin^2 + margin^2 + dependence^2), on average over pairs
    margin        of each attribute, its noise: E|x| = sqrt(2 / pi) sd, half of it in each cell
    dependence    over centres M and spreads s of the pair's posterior: half of sqrt(2 / pi) sqrt(t u / (t prec + u)) in each
                  cell, with t = s M (1 - M), prec the precision of an average cell and u this
                  cell's noise over the average's

which is convex in the users of each set of attributes, and the next round's users are shared out so
that it is least, by the multiplicative algorithm of optimal design. Sets that would get hardly
anybody are pruned; they may come back.

The posterior that shares out is half a pair's own: that all pairs together say that dependence is
rare is right on average, but where noise is large it would stop asking about the few that are not.
All of it sees nothing but released numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import pi, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator.shrinkage import SPREADS, PairPosterior
from ...privacy import Domain
from ...privacy.local import Randomizer
from ..calm.design import DEPENDENCE, Cover
from ..local import PairTables

__all__ = ["Planning", "candidates"]

Numbers = npt.NDArray[np.float64]
Set = tuple[str, ...]

HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x|, x standard normal."""
ALONE: Final = 0.5
"""Share of a pair's own posterior in what shares users out. Chosen looking at Adult and TPC-E at
epsilon 1.
"""
LEAST_USERS: Final = 50
"""Of a set that is asked."""
STEPS: Final = 200
POWER: Final = 0.7
GRID: Final = np.geomspace(1e-1, 1e13, 113)
"""Of precisions, 1 / variance of a cell."""
GROUPS: Final = 24
"""Of a table's cells, which stand for all."""


def candidates(domain: Domain, choices: Iterable[Cover]) -> dict[Set, None]:
    """List the sets that may be asked: single attributes, pairs, and covers of all pairs by sets of
    three or four.
    """
    found = dict.fromkeys(
        [*((name,) for name in domain.attributes), *combinations(domain.attributes, 2)]
    )
    return found | dict.fromkeys(own for choice in choices for own in choice.sets)


class Planning:
    """How good all pairs' tables get by users of these sets, as far as is known."""

    def __init__(
        self, domain: Domain, sets: Sequence[Set], randomizer: Callable[[int], Randomizer]
    ) -> None:
        names = domain.attributes
        places = {name: at for at, name in enumerate(names)}
        self.sets = list(sets)
        self._names, self._pairs = names, list(combinations(names, 2))
        at_pair = {pair: at for at, pair in enumerate(self._pairs)}
        self._left, self._right = (
            np.array([places[pair[side]] for pair in self._pairs], np.int64) for side in (0, 1)
        )
        self._sizes = np.array(domain.shape(names), float)
        self._noise = {
            size: _noise(randomizer(size)) for size in {domain.cells(own) for own in sets}
        }
        # Precision that one user of a set adds: to each attribute, and to each pair.
        self._ones, self._twos = (
            np.zeros((len(names), len(sets))),
            np.zeros((len(self._pairs), len(sets))),
        )
        for at, own in enumerate(sets):
            cells = domain.cells(own)
            base, slope = self._noise[cells]
            for name in own:
                size = domain.cells((name,))
                self._ones[places[name], at] = 1 / (cells / size * base + slope / size)
            for pair in combinations(own, 2):
                size = domain.cells(pair)
                self._twos[at_pair[pair], at] = 1 / (cells / size * base + slope / size)
        self._uneven = np.ones(len(names))
        cells_of = self._sizes[self._left] * self._sizes[self._right]
        self._curves = (
            np.stack([_unknown(float(cells)) for cells in cells_of])
            if len(cells_of)
            else np.zeros((0, len(GRID)))
        )

    def learn(self, known: PairTables) -> None:
        """Take in what is believed now."""
        for at, name in enumerate(self._names):
            f = known.singles[name].values
            base, slope = self._noise[len(f)]
            deviations = np.sqrt(base + slope * f * (1 - f)).sum()
            self._uneven[at] = deviations / (len(f) * np.sqrt(base + slope / len(f)))
        for at, pair in enumerate(self._pairs):
            if pair in known.posteriors:
                own = known.posteriors[pair]
                self._curves[at] = _curve(own, *self._noise[own.even.shape[1]])

    def share_out(self, asked: Mapping[Set, int], users: int) -> dict[Set, float]:
        """Share out so many users beyond those who were asked: a weight for each set that is worth
        asking.
        """
        before = np.array([asked.get(own, 0) for own in self.sets], float)
        new = np.full(len(self.sets), users / len(self.sets))
        for _ in range(STEPS):
            new = new * self._gain(before + new) ** POWER
            new *= users / new.sum()
        new[new < min(LEAST_USERS, new.max())] = 0.0
        return {own: float(weight) for own, weight in zip(self.sets, new, strict=True) if weight}

    def predict(self, asked: Mapping[Set, int]) -> float:
        """Predict the distance of a pair's table, on average."""
        return float(
            self._distances(np.array([asked.get(own, 0) for own in self.sets], float))[0].mean()
        )

    def _distances(self, users: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        precision = self._ones @ users + 1e-9
        margins = (HALF * self._sizes * self._uneven) ** 2 / precision
        dependence, slope = self._interpolate(self._twos @ users)
        total = np.sqrt(margins[self._left] + margins[self._right] + dependence**2)
        return total, margins, precision, dependence, slope

    def _gain(self, users: Numbers) -> Numbers:
        """Compute by how much the sum of distances falls with a user more of each set."""
        total, margins, precision, dependence, slope = self._distances(users)
        share = np.zeros(len(margins))
        np.add.at(share, self._left, 0.5 / total)
        np.add.at(share, self._right, 0.5 / total)
        gain = self._ones.T @ (share * margins / precision) - self._twos.T @ (
            dependence * slope / total
        )
        return np.asarray(np.maximum(gain, 1e-300))

    def _interpolate(self, precision: Numbers) -> tuple[Numbers, Numbers]:
        """Read the curves, linear in logarithms, and their slopes."""
        logs = np.log(GRID)
        within = np.maximum(precision, GRID[0])
        place = np.clip((np.log(within) - logs[0]) / (logs[1] - logs[0]), 0, len(logs) - 1.001)
        at = place.astype(np.int64)
        low, high = (self._curves[np.arange(len(at)), at + side] for side in (0, 1))
        value = np.exp(low + (place - at) * (high - low))
        return value, value * (high - low) / (logs[1] - logs[0]) / within


def _noise(randomizer: Randomizer) -> tuple[float, float]:
    """Say how a cell varies, of one user: base, and slope by f (1 - f), that of who is asked among
    it.
    """
    base = randomizer.variance()
    return base, max(randomizer.variance(frequency=1.0) - base + 1, 0.0)


def _unknown(cells: float) -> Numbers:
    """The curve of a pair of which nothing is known."""
    noise = GRID / (HALF * cells) ** 2
    return np.asarray(
        np.log(np.mean([1 / np.sqrt(1 / rho**2 + noise) for rho in DEPENDENCE], axis=0))
    )


def _curve(own: PairPosterior, base: float, slope: float) -> Numbers:
    """The logarithm of a pair's predicted distance by precision."""
    alone = own.likelihood.copy()
    alone[:, 0] = 0.0  # that a pair is just its centre nobody can know of it alone
    for at, spread in enumerate(SPREADS):  # nor can it be farther from it than distances go
        alone[:, at] *= HALF * np.sqrt(spread * own.even).sum(axis=1) <= 1
    weight = (1 - ALONE) * own.weight + ALONE * alone / max(float(alone.sum()), 1e-300)
    risk = np.zeros(len(GRID))
    for even, row in zip(own.even, weight, strict=True):
        some = [at for at, share in enumerate(row.tolist()) if share > 1e-4 and SPREADS[at] > 0]
        if not some:
            continue
        parts = np.array_split(np.sort(even), min(GROUPS, len(even)))
        cells, many = (
            np.array([part.mean() for part in parts]),
            np.array([float(len(part)) for part in parts]),
        )
        u = (base + slope * cells) / (base + slope / len(even))
        t = np.array(SPREADS)[some][:, None, None] * cells[:, None]
        left = np.sqrt(t * u[:, None] / (t * GRID + u[:, None]))
        risk += HALF * np.einsum("s,c,scg->g", row[some], many, left)
    return np.asarray(np.log(np.maximum(risk, 1e-12)))
