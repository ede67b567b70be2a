"""Bayesian networks: directed acyclic graphs with conditional distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..privacy.domain import Domain
from .marginal import Marginal
from .sampling import Chain, Fallback, Step

__all__ = ["BayesianNetwork", "maximal"]


class BayesianNetwork:
    """The structure of a network: the parents of each attribute.

    >>> domain = Domain({name: ("0", "1") for name in "abc"})
    >>> BayesianNetwork(domain, {"c": ("a",), "a": ("b",)}).families
    (('b',), ('b', 'a'), ('a', 'c'))
    """

    def __init__(self, domain: Domain, parents: Mapping[str, Sequence[str]]) -> None:
        self.domain = domain
        self.parents = {name: tuple(parents.get(name, ())) for name in domain.attributes}
        for name in parents:
            domain.shape([name, *parents[name]])
            if len(set(parents[name])) < len(parents[name]):
                raise ValueError(
                    f"expected different parents of {name}, found {', '.join(parents[name])}"
                )
        self.order = _topological(self.parents)
        """All attributes, parents before children, otherwise in the domain's order."""

    @property
    def families(self) -> tuple[tuple[str, ...], ...]:
        """Each attribute after its parents, in topological order."""
        return tuple((*self.parents[name], name) for name in self.order)

    @property
    def degree(self) -> int:
        """The largest number of parents."""
        return max(map(len, self.parents.values()), default=0)

    @property
    def degree_text(self) -> str:
        """The largest number of parents in words.

        >>> domain = Domain({name: ("0", "1") for name in "abc"})
        >>> BayesianNetwork(domain, {"c": ("a",)}).degree_text
        'at most 1 parent'
        >>> BayesianNetwork(domain, {"c": ("a", "b")}).degree_text
        'at most 2 parents'
        """
        return f"at most {self.degree} parent{'' if self.degree == 1 else 's'}"

    @property
    def maximal_families(self) -> tuple[tuple[str, ...], ...]:
        """Families that no other family contains.

        The tables of all others are sums of theirs. The attributes of each are in the domain's
        order, so that all roles that know the network list the same.
        """
        places = {name: place for place, name in enumerate(self.domain.attributes)}
        return maximal([tuple(sorted(family, key=places.__getitem__)) for family in self.families])

    def fit(self, tables: Sequence[Marginal], *, empty: Fallback = "uniform") -> Chain:
        """Take each family's conditional distribution from the smallest table that covers it."""
        steps = []
        for family in self.families:
            covering = [table for table in tables if table.covers(family)]
            if not covering:
                raise ValueError(f"expected a table that covers {', '.join(family)}, found none")
            smallest = min(covering, key=lambda table: table.cells)
            steps.append(Step(family[-1:], family[:-1], smallest.project(family)))
        return Chain(self.domain, steps, empty=empty)


def maximal(sets: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Drop every set that another one contains, and all but the first of equal ones.

    >>> maximal([("a",), ("b", "a"), ("c",), ("a", "b")])
    (('b', 'a'), ('c',))
    """
    members = [frozenset(names) for names in sets]

    def is_maximal(index: int) -> bool:
        return not any(
            members[index] < other or (members[index] == other and earlier < index)
            for earlier, other in enumerate(members)
        )

    return tuple(names for index, names in enumerate(sets) if is_maximal(index))


def _topological(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """List attributes after their parents; of those that may come next always the first one.

    Raises:
        ValueError: there is a cycle.
    """
    order: dict[str, None] = {}
    while len(order) < len(parents):
        left = [name for name in parents if name not in order]
        following = next((name for name in left if order.keys() >= {*parents[name]}), None)
        if following is None:
            cycle = _cycle(
                {name: [each for each in parents[name] if each in left] for name in left}
            )
            raise ValueError(
                f"expected a network without cycles, found {' -> '.join([*cycle, cycle[0]])}"
            )
        order[following] = None
    return tuple(order)


def _cycle(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Find a cycle, parents first, among attributes all of which have a parent."""
    path: list[str] = []
    name = next(iter(parents))
    while name not in path:
        path.append(name)
        name = parents[name][0]
    return path[path.index(name) :][::-1]
