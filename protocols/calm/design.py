"""Which marginals CALM asks for, of how many users each: from public figures alone.

These are epsilon, the number of users and the domain. Sections 4 and 5 of the paper were not
available. `printed_design` reconstructs them from their published summary: noise chooses how large
the sets are, sampling how many there may be. `design` is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
    "printed_family",
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
BOUNDS: Final = tuple(1 << power for power in range(6, 13))
"""Bounds of the cells of a set, of which the best is taken: 64 to 4,096."""
MIN_USERS: Final = 50
"""Least users of a set, on average."""
HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x| for a standard normal x."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Sets that cover all pairs, of at most `most` attributes and `cells` cells."""

    most: int
    cells: int
    sets: Sets


def noise_error(domain: Domain, sets: Sets, *, users: int, epsilon: float, targets: Sets) -> float:
    """Predict the distance of the tables that are asked for, from noise and sampling alone.

    The users are divided evenly among the sets. The squared error of a set's table of L cells, and
    of every table within it, is (L g + 1) / n with n users: L g of noise, 1 at most of sampling.
    A table that several sets have is their average by precision. Its distance is half the mean of
    the noise's absolute values, and at most 1. A table that no set has counts as 1.
    """
    group = users / len(sets)
    precision = dict.fromkeys(targets, 0.0)
    for names in sets:
        cells = domain.cells(names)
        share = group / (cells * _printed_variance(cells, epsilon) + 1)
        for target in combinations(names, len(targets[0])):
            if target in precision:
                precision[target] += share
    distances = [
        min(1.0, HALF * sqrt(domain.cells(target) / share)) if share else 1.0
        for target, share in precision.items()
    ]
    return sum(distances) / len(distances)


def printed_design(
    domain: Domain,
    *,
    users: int,
    epsilon: float,
    ways: int,
    theta: float,
    most: int,
    cells: int,
) -> Sets:
    """Choose sets by the noise of what is asked for, and then as many as sampling allows.

    Of a family of covers the one with the least `noise_error` is taken. `most` and `cells` bound
    the attributes and the cells of a set instead, if they are not 0. t goes down from `ways`: sets
    cover all t attributes, and the first that are few enough for the sampling error are taken. A
    group is N / m of the users, so the squared error of its table is at most m / N.

    The specification bounds the noise of one-way tables instead. At epsilon 8 it takes tables of
    62,720 cells, with more error than at 4: what is asked for are tables of `ways` attributes.
    """
    for of in range(ways, 1, -1):
        largest = max(of, MAX_ATTRIBUTES)
        if least_sets(len(domain.attributes), of=of, most=largest) > theta * users:
            continue
        targets = list(combinations(domain.attributes, of))
        sets = min(
            (cover.sets for cover in printed_family(domain, of=of, most=most, cells=cells)),
            key=partial(noise_error, domain, users=users, epsilon=epsilon, targets=targets),
        )
        if len(sets) <= theta * users:
            return sets
    return [(name,) for name in domain.attributes]


def printed_family(domain: Domain, *, of: int, most: int, cells: int) -> list[Cover]:
    """List the covers of which CALM as printed takes one: sets of `of` to 6 attributes.

    Their cells are bounded by `BOUNDS`, or as given by numbers above 0.
    """
    bounds = [cells] if cells else BOUNDS
    mosts = [max(most, of)] if most else range(of, max(of, MAX_ATTRIBUTES) + 1)
    limits = [(most, bound) for most in mosts for bound in (bounds if most > of else [0])]
    return different_covers(domain, of=of, limits=limits)


def covers(domain: Domain, *, max_sets: float = inf) -> list[Cover]:
    """List the covers of all pairs that a design may choose: pairs, and sets of three or four.

    Covers that must have more than `max_sets` sets are left out.
    """
    limits = [(2, 0), *((most, cells) for most in (3, 4) for cells in BOUNDS)]
    attributes = len(domain.attributes)
    possible = [
        (most, cells)
        for most, cells in limits
        if attributes > 1 and least_sets(attributes, of=2, most=most) <= max_sets
    ]
    return different_covers(domain, of=2, limits=possible)


def different_covers(
    domain: Domain, *, of: int, limits: Iterable[tuple[int, float]]
) -> list[Cover]:
    """Cover all sets of `of` attributes within each limit; equal covers are listed once."""
    different: dict[tuple[tuple[str, ...], ...], Cover] = {}
    for most, cells in limits:
        sets = cover(domain, of=of, most=most, cells=cells)
        different.setdefault(tuple(sets), Cover(most, int(cells), sets))
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

    There is a set at least, and all have equal groups.
    """
    places = {name: place for place, name in enumerate(domain.attributes)}
    ones, pairs = np.zeros(len(places)), np.zeros((len(places), len(places)))
    share = 1 / len(sets)
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
