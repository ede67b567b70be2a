"""Algorithm 2: a clique that is too large for one table, as a product of smaller tables.

A clique is taken apart from its end. A head that needs few other attributes is removed, and so on
until one table holds the rest. The attributes that a head is given are chosen by minimal redundancy
and maximal relevance (Peng et al. 2005). Heads are drawn in the reverse order.

`exhaustive` compares all orders in which heads can be removed, as the end of section 5.3 proposes
for cliques of an acceptable dimension, and takes one whose tables have the fewest cells.

The paper leaves open that heads are taken outside of the separator first, which sampling along the
tree needs, and when a head is given enough. It measures the sets that are left nested within each
other, each with users of its own (spec E8, E9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import pi, sqrt
from typing import Final, Literal, TypeAlias

from ...curator import JunctionTree
from ...privacy import Domain

__all__ = [
    "Factor",
    "Search",
    "clique_size",
    "conditions_of",
    "factorise",
    "factorise_cliques",
    "is_block",
    "nested_factors",
]

Information: TypeAlias = Mapping[frozenset[str], float]
Search: TypeAlias = Literal["greedy", "exhaustive"]
"""How the order of heads is found: by Algorithm 2, or as the best of all."""

MAX_CELLS: Final = 4096
"""Most cells of a head and what it is given."""
THETA: Final = 0.25
"""Noise of a table, in total variation, that is bearable."""
MAX_SEARCHED: Final = 10
"""Most attributes of a clique of which all orders are compared; Algorithm 2 takes larger ones."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A conditional distribution: `heads` are drawn given `given`."""

    heads: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset((*self.heads, *self.given))


def clique_size(users: float, *, variance: float) -> float:
    """Compute sigma: the cells of a table whose noise, of so many users, is theta on average.

    The mean of |noise| is sqrt(2 / pi) of its deviation. Half of it for each of K cells is the
    distance.

    >>> variances = (3.68269438, 0.724061661, 0.0760218298, 0.00134275125)
    >>> [round(clique_size(750_000 / 11, variance=variance)) for variance in variances]
    [85, 192, 593, 4465]
    """
    return 2 * THETA * sqrt(pi * users / (2 * variance))


def conditions_of(
    head: str, others: Sequence[str], *, domain: Domain, information: Information
) -> tuple[str, ...]:
    """Choose what a head is given, until more is no gain.

    Each attribute is as informative about the head, and as little about the others, as possible.
    """
    places = {name: place for place, name in enumerate(domain.attributes)}
    chosen: list[str] = []
    while left := [name for name in others if name not in chosen]:

        def score(name: str) -> float:
            shared = [information[frozenset((name, condition))] for condition in chosen]
            redundancy = sum(shared) / max(1, len(chosen))
            return information[frozenset((head, name))] - redundancy

        best = min(left, key=lambda name: (-score(name), domain.cells((name,)), places[name]))
        if chosen and (score(best) <= 0 or domain.cells((head, best, *chosen)) > MAX_CELLS):
            break
        chosen.append(best)
    return tuple(sorted(chosen, key=places.__getitem__))


def factorise(
    clique: Sequence[str],
    separator: Sequence[str],
    *,
    domain: Domain,
    information: Information,
    sigma: float,
    search: Search = "greedy",
) -> list[Factor]:
    """Take a clique apart, given its separator: factors in the order in which they are drawn."""
    left = [name for name in domain.attributes if name in clique]
    if search == "exhaustive" and len(left) <= MAX_SEARCHED:
        return _best_factors(left, separator, domain=domain, information=information, sigma=sigma)
    places = {name: place for place, name in enumerate(domain.attributes)}
    factors: list[Factor] = []
    while heads := [name for name in left if name not in separator]:
        if is_block(left, domain=domain, sigma=sigma):
            factors.append(_block(left, separator))
            break
        conditions = {
            head: conditions_of(
                head,
                [name for name in left if name != head],
                domain=domain,
                information=information,
            )
            for head in heads
        }
        head = min(heads, key=lambda head: (domain.cells((head, *conditions[head])), places[head]))
        factors.append(Factor((head,), conditions[head]))
        left.remove(head)
    return factors[::-1]


def is_block(names: Sequence[str], *, domain: Domain, sigma: float) -> bool:
    """Check whether attributes are measured by one table: at most sigma cells, or a pair."""
    return domain.cells(names) <= sigma or len(names) <= 2


def _block(names: Sequence[str], separator: Sequence[str]) -> Factor:
    return Factor(
        tuple(name for name in names if name not in separator),
        tuple(name for name in names if name in separator),
    )


def _best_factors(
    clique: Sequence[str],
    separator: Sequence[str],
    *,
    domain: Domain,
    information: Information,
    sigma: float,
) -> list[Factor]:
    """Find the order of heads whose tables have the fewest cells, of all orders.

    What a head is given depends on the attributes that are left, and not on the order in which the
    others were removed. So the best order of what is left is found once for each set of it.
    """

    @cache
    def best(left: tuple[str, ...]) -> tuple[int, tuple[Factor, ...]]:
        heads = [name for name in left if name not in separator]
        if not heads:
            return 0, ()
        if is_block(left, domain=domain, sigma=sigma):
            return domain.cells(left), (_block(left, separator),)
        candidates = []
        for head in heads:
            rest = tuple(name for name in left if name != head)
            conditions = conditions_of(head, rest, domain=domain, information=information)
            cells, factors = best(rest)
            removed = Factor((head,), conditions)
            candidates.append((cells + domain.cells((head, *conditions)), (*factors, removed)))
        return min(candidates, key=lambda candidate: candidate[0])

    return [*best(tuple(clique))[1]]


def factorise_cliques(
    tree: JunctionTree,
    *,
    information: Information,
    users: int,
    variance: float,
    search: Search = "greedy",
) -> dict[int, list[Factor]]:
    """Take every clique apart, given what it shares with the one before: lines 1 to 11.

    `variance` is that of a cell, for one user; `users` are shared by all cliques.
    """
    sigma = clique_size(users / len(tree.cliques), variance=variance)
    return {
        number: factorise(
            tree.cliques[number],
            separator,
            domain=tree.domain,
            information=information,
            sigma=sigma,
            search=search,
        )
        for number, separator in tree.walk()
    }


def nested_factors(
    factors: Sequence[Factor], *, choose: Callable[[Sequence[str]], str]
) -> list[Factor]:
    """Take blocks apart as lines 3 and 4 print it.

    Any head is given all that is left, then the next. Each makes a set of its own.
    """
    nested: list[Factor] = []
    for factor in factors:
        heads, parts = [*factor.heads], []
        while heads:
            head = choose(heads)
            heads.remove(head)
            parts.append(Factor((head,), (*factor.given, *heads)))
        nested += parts[::-1]
    return nested
