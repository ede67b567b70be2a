"""Structures: networks from families and edges, and what a run published of its structure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from ...curator import BayesianNetwork, dependency_graph
from ...privacy import Domain
from ..secure_sum import Family

__all__ = ["Structure", "directed", "structure_of"]


class Structure(msgspec.Struct, frozen=True, kw_only=True):
    """How the structure came about; model.json has it beside the network's parents."""

    initial: tuple[Family, ...]
    """N_0: each attribute after its parents, or the edges of a forest."""
    frontiers: tuple[tuple[Family, ...], ...] = ()
    """The families of each search frontier that were counted."""
    counted: tuple[Family, ...]
    """The families that were counted for the network's parameters."""


def structure_of(domain: Domain, families: Sequence[Family]) -> BayesianNetwork:
    """Read a network from families, each an attribute after its parents."""
    return BayesianNetwork(domain, {family[-1]: family[:-1] for family in families})


def directed(domain: Domain, edges: Sequence[Family]) -> BayesianNetwork:
    """Direct a forest away from the first attribute of each tree."""
    graph = dependency_graph(domain, [(first, second) for first, second in edges])
    parents: dict[str, tuple[str, ...]] = {}
    for name in domain.attributes:
        if name not in parents:
            parents[name] = ()
            pending = deque([name])
            while pending:
                parent = pending.popleft()
                children = [child for child in graph[parent] if child not in parents]
                parents |= dict.fromkeys(children, (parent,))
                pending += children
    return BayesianNetwork(domain, parents)
