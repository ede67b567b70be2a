"""Algorithm 2: a clique too large to be measured at once, as a product of smaller tables.

A clique is taken apart from its end: a head that needs few others, by minimal redundancy and
maximal relevance (Peng et al. 2005), goes, and so on until what is left is small enough for one
table. Heads are drawn in the reverse order. The paper does not say that heads are taken outside the
separator first, which sampling along the tree needs; nor when to stop adding to what a head is
given; and it measures the sets that are left nested within one another, each by users of its own
(spec E8, E9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Final

from ...privacy import Domain

__all__ = ["Factor", "clique_size", "factorise", "nested", "relevant"]

Information = Mapping[frozenset[str], float]

MOST_CELLS: Final = 4096
"""Of a head and what it is given."""
THETA: Final = 0.25
"""Noise of a table, in total variation, that is bearable."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Draw `heads` given `given`."""

    heads: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset((*self.heads, *self.given))


def clique_size(users: float, *, variance: float) -> float:
    """Compute sigma: the cells of a table whose noise, of so many users, is theta on average.

    The mean of |noise| is sqrt(2 / pi) of its deviation; half of it for each of K cells is the
    distance.

    >>> [round(clique_size(750_000 / 11, variance=v)) for v in (3.68269438, 0.724061661, 0.0760218298, 0.00134275125)]
    [85, 192, 593, 4465]
    """
    return 2 * THETA * sqrt(pi * users / (2 * variance))


def relevant(
    head: str, others: Sequence[str], *, domain: Domain, information: Information
) -> tuple[str, ...]:
    """Choose what a head is given: the most informative about it and the least about one another,
    until more is no gain.
    """
    places = {name: at for at, name in enumerate(domain.attributes)}
    chosen: list[str] = []
    while left := [name for name in others if name not in chosen]:

        def score(name: str) -> float:
            redundant = (
                sum(information[frozenset((name, own))] for own in chosen) / len(chosen)
                if chosen
                else 0.0
            )
            return information[frozenset((head, name))] - redundant

        best = min(left, key=lambda name: (-score(name), domain.cells((name,)), places[name]))
        if chosen and (score(best) <= 0 or domain.cells((head, best, *chosen)) > MOST_CELLS):
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
) -> list[Factor]:
    """Take a clique apart, given its separator: factors in the order in which they are drawn."""
    places = {name: at for at, name in enumerate(domain.attributes)}
    left = [name for name in domain.attributes if name in clique]
    found: list[Factor] = []
    while heads := [name for name in left if name not in separator]:
        if domain.cells(left) <= sigma or len(left) <= 2:
            found.append(Factor(tuple(heads), tuple(name for name in left if name in separator)))
            break
        given = {
            name: relevant(
                name, [own for own in left if own != name], domain=domain, information=information
            )
            for name in heads
        }
        head = min(heads, key=lambda name: (domain.cells((name, *given[name])), places[name]))
        found.append(Factor((head,), given[head]))
        left.remove(head)
    return found[::-1]


def nested(factors: Sequence[Factor], *, choose: Callable[[Sequence[str]], str]) -> list[Factor]:
    """Take blocks apart as lines 3 and 4 print it: any head given all that is left, then the next,
    each a set of its own.
    """
    found: list[Factor] = []
    for own in factors:
        heads, parts = [*own.heads], []
        while heads:
            head = choose(heads)
            heads.remove(head)
            parts.append(Factor((head,), (*own.given, *heads)))
        found += parts[::-1]
    return found
