"""Which marginals CALM asks, of how many users each: from epsilon, the number of users and the
domain alone.

Sections 4 and 5 of the paper were not at hand; what is said to be printed here follows its
published summary, and the two error formulas that the abridged text leads to. `printed_design` is
that reconstruction. `design` is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log, pi, prod, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from ...privacy import Domain
from ...privacy.local import Randomizer

__all__ = ["Cover", "cover", "covers", "design", "noise_error", "predicted_error", "printed_design"]

Sets = list[tuple[str, ...]]
Numbers = npt.NDArray[np.float64]

MOST_ATTRIBUTES: Final = 6
SHARES: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Of the users for the one-way tables: at most half, which costs the rest a factor of sqrt(2) at
most; or all.
"""
ALONE: Final = 1.1
"""How much better single attributes alone have to be: pairs learn from one another, which the
prediction does not see. Chosen looking at Adult and the demo people."""
LEAST_USERS: Final = 50
"""Of a set, on average."""
DEPENDENCE: Final = (0.02, 0.05, 0.1, 0.2)
"""How far a pair may be from independent, in total variation: unknown, so evenly in logarithms."""
HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x|, x standard normal."""


def cover(domain: Domain, *, of: int, most: int, cells: float) -> Sets:
    """Cover all sets of `of` attributes by sets of at most `most` attributes and `cells` cells,
    greedily.

    Begin with the largest set that is not covered, in cells; add the attribute that covers most for
    the logarithm of its labels. One that is too large already stands alone.
    """
    places = {name: at for at, name in enumerate(domain.attributes)}
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))

    def size(own: Sequence[str]) -> int:
        return prod(sizes[name] for name in own)

    left, found = {frozenset(own) for own in combinations(domain.attributes, of)}, []
    seeds = sorted(
        combinations(domain.attributes, of),
        key=lambda own: (-size(own), [-places[name] for name in own]),
    )
    for seed in seeds:
        if frozenset(seed) not in left:
            continue
        chosen = list(seed)
        while len(chosen) < most:
            gains = [
                (
                    sum(frozenset((*part, name)) in left for part in combinations(chosen, of - 1))
                    / log(sizes[name]),
                    -places[name],
                )
                for name in domain.attributes
                if name not in chosen and size(chosen) * sizes[name] <= cells and sizes[name] > 1
            ]
            if not gains or max(gains)[0] == 0:
                break
            chosen.append(domain.attributes[-max(gains)[1]])
        own = tuple(sorted(chosen, key=places.__getitem__))
        found.append(own)
        left -= {frozenset(part) for part in combinations(own, of)}
    return found


def noise_error(domain: Domain, sets: Sets, *, users: int, epsilon: float) -> float:
    """Compute NE = d L g / (N l): the squared error of a one-way table that is the average of all
    sets that have it.

    L g, cells times variance, is averaged over the sets: of many labels and few alike.
    """
    variance = [domain.cells(own) * _printed_variance(domain.cells(own), epsilon) for own in sets]
    attributes = sum(map(len, sets)) / len(sets)
    return len(domain.attributes) * sum(variance) / len(sets) / (users * attributes)


def printed_design(domain: Domain, *, users: int, epsilon: float, ways: int, theta: float) -> Sets:
    """Choose as the paper is summarised: the largest sets whose noise is bearable, then as many as
    sampling allows.

    L: the most cells of a set up to which NE is at most theta (for binary attributes, L = 2^l), 0
    where not even pairs are. Then sets that cover all t attributes, t from `ways` down, the first
    that are few enough for the sampling error of a table: a group is N / m of the users, so its
    squared error is m / N at most. The specification's own wording adds the noise of a single set
    here, which would leave one-way tables at any epsilon, and contradicts that noise does not
    depend on m.
    """
    bound = 0
    for cells in (1 << power for power in range(1, 21)):
        sets = cover(domain, of=min(2, ways), most=MOST_ATTRIBUTES, cells=cells)
        if noise_error(domain, sets, users=users, epsilon=epsilon) > theta:
            break
        bound = cells
    for of in range(ways, 0, -1):
        sets = cover(domain, of=of, most=max(of, MOST_ATTRIBUTES), cells=bound)
        if len(sets) / users <= theta:
            break
    return sets


@dataclass(frozen=True, slots=True)
class Cover:
    """Sets that have all pairs, of at most so many attributes and cells."""

    most: int
    cells: int
    sets: Sets


def covers(domain: Domain) -> list[Cover]:
    """List the covers of all pairs that are worth a thought: the pairs themselves, and sets of
    three or four.
    """
    bounds = [(2, 0), *((most, 1 << power) for most in (3, 4) for power in range(6, 13))]
    found: dict[tuple[tuple[str, ...], ...], Cover] = {}
    for most, cells in bounds if len(domain.attributes) > 1 else ():
        sets = cover(domain, of=2, most=most, cells=cells)
        found.setdefault(tuple(sets), Cover(most, cells, sets))
    return [*found.values()]


def design(
    domain: Domain,
    *,
    users: int,
    randomizer: Callable[[int], Randomizer],
    choices: Sequence[Cover] | None = None,
) -> tuple[dict[tuple[str, ...], float], tuple[int, int, float]]:
    """Choose the least predicted error: a weight for each set; and the most attributes, the most
    cells, the one-way share.

    `choices`: the covers to choose from, if they have been made (`covers`).
    """
    ones: Sets = [(name,) for name in domain.attributes]
    own_one, _ = _precisions(domain, ones, randomizer)
    alone = (
        predicted_error(domain, ones=users * own_one, pairs=np.zeros((len(ones), len(ones))))
        if len(ones) > 1
        else 0.0
    )
    found: list[tuple[float, tuple[int, int, float], Sets]] = [(alone * ALONE, (1, 0, 1.0), [])]
    for choice in covers(domain) if choices is None else choices:
        if len(ones) + len(choice.sets) > users // LEAST_USERS:
            continue
        one, two = _precisions(domain, choice.sets, randomizer)
        for share in SHARES:
            error = predicted_error(
                domain,
                ones=users * (share * own_one + (1 - share) * one),
                pairs=users * (1 - share) * two,
            )
            found.append((error, (choice.most, choice.cells, share), choice.sets))
    _, chosen, sets = min(found, key=lambda one: one[0])
    share = chosen[2]
    weights = dict.fromkeys(ones, share / len(ones))
    for own in sets:
        weights[own] = weights.get(own, 0.0) + (1 - share) / len(sets)
    return weights, chosen


def predicted_error(domain: Domain, *, ones: Numbers, pairs: Numbers) -> float:
    """Predict the distance of a pair's table, after shrinkage, on average over pairs and over how
    dependent they may be.

    `ones`, `pairs`: 1 / variance of a cell, of one-way tables and of pairs. The errors of both margins and of the dependence
    add up in squares; that of the dependence is its noise or the dependence itself, whichever is less, as
    1 / sqrt(1 / rho^2 + 1 / noise^2). It ranks designs; it is no error bar.
    """
    sizes = np.array(domain.shape(domain.attributes), float)
    left, right = np.triu_indices(len(sizes), 1)
    margins = (HALF * sizes) ** 2 / ones
    noise = HALF * sizes[left] * sizes[right] / np.sqrt(np.maximum(pairs[left, right], 1e-100))
    each = [
        np.sqrt(margins[left] + margins[right] + 1 / (1 / rho**2 + 1 / noise**2)).mean()
        for rho in DEPENDENCE
    ]
    return float(np.mean(each))


def _precisions(
    domain: Domain, sets: Sets, randomizer: Callable[[int], Randomizer]
) -> tuple[Numbers, Numbers]:
    """Add up, for a user in all, what equal groups say of each attribute and pair: 1 / variance of
    a cell, all alike.
    """
    places = {name: at for at, name in enumerate(domain.attributes)}
    one, two = np.zeros(len(places)), np.zeros((len(places), len(places)))
    for own in sets:
        asked = randomizer(domain.cells(own))
        base = asked.variance()
        slope = asked.variance(frequency=1.0) - base + 1
        for name in own:
            size = domain.cells((name,))
            one[places[name]] += 1 / len(sets) / (asked.cells / size * base + slope / size)
        for pair in combinations(own, 2):
            size = domain.cells(pair)
            two[places[pair[0]], places[pair[1]]] += (
                1 / len(sets) / (asked.cells / size * base + slope / size)
            )
    return one, two


def _printed_variance(cells: int, epsilon: float) -> float:
    """Compute g: the variance of a rare cell by the adaptive choice, of one user."""
    e = exp(min(epsilon, 350.0))  # whose square is a number still
    return min(4 * e, cells - 2 + e) / (e - 1) ** 2
