"""Junction trees: the cliques of a chordal graph of dependences, joined to a tree.

The joint distribution of a chordal graph is the product of its cliques' distributions over that of
the separators. So rows are drawn clique by clique, each conditional on the separator from the one
before. Nothing larger than a clique is ever built, and a clique that is too large can have several
steps of its own (`JunctionTree.chain_of_steps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ..privacy.domain import Domain
from .marginal import Marginal
from .sampling import Chain, Step
from .triangulation import DependencyGraph, triangulate

__all__ = ["JunctionTree", "junction_tree"]


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques, and the edges of a forest over them."""

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[int, int, tuple[str, ...]], ...]
    """The numbers of two cliques, and the attributes that these share."""

    @property
    def separators(self) -> tuple[tuple[str, ...], ...]:
        return tuple(shared for _, _, shared in self.edges)

    @property
    def cells(self) -> int:
        """Number of cells of all cliques."""
        return sum(self.domain.cells(clique) for clique in self.cliques)

    def to_builtins(self) -> dict[str, object]:
        """Make the entries of model.json."""
        return {"cliques": self.cliques, "edges": [list(edge) for edge in self.edges]}

    def walk(self) -> list[tuple[int, tuple[str, ...]]]:
        """List the cliques in the order in which they are drawn.

        Each has its number and its separator from the one before, which is () at a root.
        """
        neighbours: dict[int, list[tuple[int, tuple[str, ...]]]] = {
            number: [] for number in range(len(self.cliques))
        }
        for first, second, shared in self.edges:
            neighbours[first].append((second, shared))
            neighbours[second].append((first, shared))
        separators: dict[int, tuple[str, ...]] = {}
        for root in range(len(self.cliques)):
            pending: list[tuple[int, tuple[str, ...]]] = (
                [(root, ())] if root not in separators else []
            )
            while pending:
                number, shared = pending.pop()
                separators[number] = shared
                pending += [
                    (neighbour, separator)
                    for neighbour, separator in reversed(neighbours[number])
                    if neighbour not in separators
                ]
        return list(separators.items())

    def chain(self, tables: Sequence[Marginal]) -> Chain:
        """Make the joint distribution from tables that cover the cliques.

        If several tables cover a clique, the smallest is taken.
        """
        steps = {}
        for number, separator in self.walk():
            clique = self.cliques[number]
            covering = [table for table in tables if table.covers(clique)]
            if not covering:
                raise ValueError(f"expected a table that covers {', '.join(clique)}, found none")
            smallest = min(covering, key=lambda table: table.cells)
            heads = tuple(name for name in clique if name not in separator)
            steps[number] = [Step(heads, separator, smallest.project(clique))]
        return self.chain_of_steps(steps)

    def chain_of_steps(self, steps: Mapping[int, Sequence[Step]]) -> Chain:
        """Make the joint distribution from steps for each clique, by its number.

        The steps of a clique must draw its attributes outside of the separator, each conditional on
        the separator and on what was drawn before.
        """
        return Chain(self.domain, [step for number, _ in self.walk() for step in steps[number]])


def junction_tree(domain: Domain, graph: DependencyGraph) -> JunctionTree:
    """Triangulate, and join the cliques by a spanning forest of the largest separators.

    Ties go to the separator with more cells, then to the order of the cliques.
    """
    _, cliques = triangulate(domain, graph)
    places = {name: place for place, name in enumerate(domain.attributes)}
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    candidates = []
    for first, second in combinations(range(len(cliques)), 2):
        if shared := tuple(sorted({*cliques[first]} & {*cliques[second]}, key=places.__getitem__)):
            cells = prod(sizes[name] for name in shared)
            candidates.append((-len(shared), -cells, first, second, shared))
    components = list(range(len(cliques)))
    """The component of each clique in the forest so far."""
    edges = []
    for _, _, first, second, shared in sorted(candidates):
        if components[first] != components[second]:
            edges.append((first, second, shared))
            old, new = components[second], components[first]
            components = [new if component == old else component for component in components]
    return JunctionTree(domain, cliques, tuple(edges))
