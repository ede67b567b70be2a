"""Which marginals CALM asks for, of how many users each: from public figures alone.

These are epsilon, the number of users and the domain. Sections 4 and 5 of the paper were not
available. `printed_design` reconstructs them from their published summary, and from the two error
formulas to which the abridged text leads. `design` is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, inf, pi, prod, sqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator.pair_planning import DEPENDENCE
from ...privacy import Domain
from ...privacy.local import Randomizer
from .covering import cover, least_sets

__all__ = [
    "Cover",
    "Design",
    "covers",
    "design",
    "noise_error",
    "predicted_error",
    "printed_design",
]

Sets: TypeAlias = list[tuple[str, ...]]
Numbers: TypeAlias = npt.NDArray[np.float64]

MAX_ATTRIBUTES: Final = 6
"""Most attributes of a set."""
SHARES: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Shares of the users for the one-way tables. Half of them cost the others a factor of sqrt(2)."""
SINGLES_FACTOR: Final = 1.1
"""The factor by which single attributes alone must be better than a design with pairs.

Pairs help each other, which the prediction does not see. Chosen with Adult and the demo people.
"""
MIN_USERS: Final = 50
"""Least users of a set, on average."""
HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x| for a standard normal x."""


def noise_error(domain: Domain, sets: Sets, *, users: int, epsilon: float) -> float:
    """Compute NE = d L g / (N l), the squared error of a one-way table.

    The table is the average of all sets that have it. L g, cells times variance, is averaged over
    the sets: with many labels and with few.
    """
    cells = [domain.cells(names) for names in sets]
    variance = [size * _printed_variance(size, epsilon) for size in cells]
    attributes = sum(map(len, sets)) / len(sets)
    return len(domain.attributes) * sum(variance) / len(sets) / (users * attributes)


def printed_design(domain: Domain, *, users: int, epsilon: float, ways: int, theta: float) -> Sets:
    """Choose the largest sets with bearable noise, and then as many as sampling allows.

    L is the largest number of cells of a set up to which NE is at most theta (for binary
    attributes L = 2^l). It is 0 if not even pairs are bearable. Then t goes down from `ways`. The
    sets cover all t attributes, and the first that are few enough for the sampling error are
    taken: a group is N / m of the users, so the squared error of its table is at most m / N.

    The specification's own wording adds the noise of a single set here. That would leave one-way
    tables at any epsilon, and contradicts that noise does not depend on m.
    """
    limit = 0
    for cells in (1 << power for power in range(1, 21)):
        sets = cover(domain, of=min(2, ways), most=MAX_ATTRIBUTES, cells=cells)
        if noise_error(domain, sets, users=users, epsilon=epsilon) > theta:
            break
        limit = cells
    for of in range(ways, 0, -1):
        if (
            of > 1
            and least_sets(len(domain.attributes), of=of, most=max(of, MAX_ATTRIBUTES)) / users
            > theta
        ):
            continue
        sets = cover(domain, of=of, most=max(of, MAX_ATTRIBUTES), cells=limit)
        if len(sets) / users <= theta:
            break
    return sets


@dataclass(frozen=True, slots=True)
class Cover:
    """Sets that cover all pairs, of at most `most` attributes and `cells` cells."""

    most: int
    cells: int
    sets: Sets


def covers(domain: Domain, *, max_sets: float = inf) -> list[Cover]:
    """List the covers of all pairs that a design may choose: pairs, and sets of three or four.

    Covers that must have more than `max_sets` sets are left out.
    """
    limits = [(2, 0), *((most, 1 << power) for most in (3, 4) for power in range(6, 13))]
    attributes = len(domain.attributes)
    different: dict[tuple[tuple[str, ...], ...], Cover] = {}
    for most, cells in limits if attributes > 1 else ():
        if least_sets(attributes, of=2, most=most) > max_sets:
            continue
        sets = cover(domain, of=2, most=most, cells=cells)
        different.setdefault(tuple(sets), Cover(most, cells, sets))
    return [*different.values()]


class Design(NamedTuple):
    """Sets with their weights, and how they were chosen."""

    weights: dict[tuple[str, ...], float]
    """Share of the users for each set."""
    most: int
    """Most attributes of a set."""
    cells: int
    """Most cells of a set."""
    single_share: float
    """Share of the users for the one-way tables."""


def design(
    domain: Domain,
    *,
    users: int,
    randomizer: Callable[[int], Randomizer],
    choices: Sequence[Cover] | None = None,
) -> Design:
    """Choose the sets with the least predicted error.

    `choices` are the covers to choose from, if they have been computed (`covers`).
    """
    singles: Sets = [(name,) for name in domain.attributes]
    of_singles, _ = _precisions(domain, singles, randomizer)
    no_pairs = np.zeros((len(singles), len(singles)))
    alone = (
        predicted_error(domain, ones=users * of_singles, pairs=no_pairs)
        if len(singles) > 1
        else 0.0
    )
    best, least = (Cover(1, 0, []), 1.0), alone * SINGLES_FACTOR
    max_sets = users // MIN_USERS - len(singles)
    for choice in covers(domain, max_sets=max_sets) if choices is None else choices:
        if len(choice.sets) > max_sets:
            continue
        ones, pairs = _precisions(domain, choice.sets, randomizer)
        for share in SHARES:
            error = predicted_error(
                domain,
                ones=users * (share * of_singles + (1 - share) * ones),
                pairs=users * (1 - share) * pairs,
            )
            if error < least:
                best, least = (choice, share), error
    chosen, share = best
    weights = dict.fromkeys(singles, share / len(singles))
    for names in chosen.sets:
        weights[names] = weights.get(names, 0.0) + (1 - share) / len(chosen.sets)
    return Design(weights, chosen.most, chosen.cells, share)


def predicted_error(domain: Domain, *, ones: Numbers, pairs: Numbers) -> float:
    """Predict the distance of a pair's table after shrinkage.

    The distance is averaged over pairs, and over how dependent they may be. `ones` and `pairs` hold
    1 / variance of a cell, for one-way tables and for pairs.

    The errors of both margins and of the dependence add up in squares. That of the dependence is
    its noise or the dependence itself, whichever is less, as 1 / sqrt(1 / rho^2 + 1 / noise^2). The
    prediction ranks designs; it is no error bar.
    """
    sizes = np.array(domain.shape(domain.attributes), float)
    left, right = np.triu_indices(len(sizes), 1)
    margins = (HALF * sizes) ** 2 / ones
    noise = HALF * sizes[left] * sizes[right] / np.sqrt(np.maximum(pairs[left, right], 1e-100))
    errors = [
        np.sqrt(margins[left] + margins[right] + 1 / (1 / rho**2 + 1 / noise**2)).mean()
        for rho in DEPENDENCE
    ]
    return float(np.mean(errors))


def _precisions(
    domain: Domain, sets: Sets, randomizer: Callable[[int], Randomizer]
) -> tuple[Numbers, Numbers]:
    """Add up 1 / variance of a cell, of each attribute and each pair, for one user in all.

    The sets have equal groups.
    """
    places = {name: place for place, name in enumerate(domain.attributes)}
    ones, pairs = np.zeros(len(places)), np.zeros((len(places), len(places)))
    share = 1 / len(sets) if sets else 0.0
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    noise: dict[int, tuple[float, float]] = {}
    """Variance of a cell, and its slope by the cell's frequency, by the cells of a table."""
    for names in sets:
        cells = prod(sizes[name] for name in names)
        if cells not in noise:
            response = randomizer(cells)
            base = response.variance()
            noise[cells] = base, response.variance(frequency=1.0) - base + 1
        base, slope = noise[cells]
        for name in names:
            size = sizes[name]
            ones[places[name]] += share / (cells / size * base + slope / size)
        for left, right in combinations(names, 2):
            size = sizes[left] * sizes[right]
            variance = cells / size * base + slope / size
            pairs[places[left], places[right]] += share / variance
    return ones, pairs


def _printed_variance(cells: int, epsilon: float) -> float:
    """Compute g: the variance of a rare cell by the adaptive choice, for one user."""
    e = exp(min(epsilon, 350.0))  # its square is still a number
    return min(4 * e, cells - 2 + e) / (e - 1) ** 2
