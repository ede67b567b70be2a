"""The dependency graph while it is learned: F, n and the edges of Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from ...curator import Marginal
from ...curator.marginal import Numbers
from ...privacy import Domain
from ..survey import Answer
from .accumulation import AccumulatedTable, accumulate, aggregate, pooled_margins
from .parameters import Base
from .pruning import (
    Edge,
    Threshold,
    edge_association,
    is_proven,
    is_worth_asking,
    plug_in_information,
)

__all__ = ["CorrectedGraph", "Information", "PrintedGraph"]

Information: TypeAlias = dict[frozenset[str], float]
"""Mutual information of all pairs of attributes, in bits; 0 where nobody was asked."""


@dataclass(kw_only=True)
class PrintedGraph:
    """The graph as printed: equations 5 to 13 for the tables, a threshold for the edges."""

    domain: Domain
    phi: float
    alpha: float
    threshold: Threshold
    project: Callable[[Numbers], Numbers]
    """Makes a distribution of noisy frequencies."""
    accumulated: type[AccumulatedTable] = AccumulatedTable
    """How tables of several rounds are accumulated."""
    edges: list[Edge] = field(init=False)
    tables: dict[Edge, AccumulatedTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = every_pair(self.domain)  # line 1

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(left, right) for left, right in self.edges]

    def accumulate(self, answers: Iterable[Answer]) -> None:
        """Accumulate the tables: lines 9 and 10."""
        for answer in answers:
            edge, table = answer.question.attributes, self.accumulated.of(self.domain, answer)
            self.tables[edge] = self.tables[edge] + table if edge in self.tables else table

    def prune(self, *, last: bool) -> None:
        """Remove edges: lines 11 to 14. Before the last round an edge nobody was asked stays."""
        self.edges = [
            edge
            for edge in self.edges
            if (self.is_above(edge) if edge in self.tables else not last)
        ]

    def is_above(self, edge: Edge) -> bool:
        """Compare an edge's information with its threshold."""
        users = self.tables[edge].users
        threshold = self.threshold(self.domain, edge, users=users, phi=self.phi, alpha=self.alpha)
        return plug_in_information(self.table(edge).values, edge) >= threshold

    def table(self, attributes: tuple[str, ...]) -> Marginal:
        """Estimate the distribution of an edge or of an attribute."""
        return aggregate(self.domain, self.tables.values(), attributes).map(self.project)

    def covers(self, clique: tuple[str, ...]) -> bool:
        """Check whether a table of the rounds has all of a clique."""
        return any({*clique} <= {*edge} for edge in self.tables)

    def information(self) -> Information:
        """Compute line 11 for all pairs."""
        measured = {
            frozenset(edge): plug_in_information(self.table(edge).values, edge)
            for edge in self.tables
        }
        return no_information(self.domain) | measured


@dataclass(kw_only=True)
class CorrectedGraph:
    """The graph by reports that add up, and by chi-squared tests."""

    domain: Domain
    phi: float
    alpha: float
    base: Base
    edges: list[Edge] = field(init=False)
    answers: dict[Edge, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = every_pair(self.domain)  # line 1

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(left, right) for left, right in self.edges]

    def accumulate(self, answers: Iterable[Answer]) -> None:
        """Add reports and users up: lines 9 and 10."""
        self.answers = accumulate(self.answers, answers)

    def prune(self, *, last: bool) -> None:
        """Remove edges: lines 11 to 14. Before the last round an edge nobody was asked stays."""
        margins = pooled_margins(self.domain, self.answers.values())
        keeps = is_proven if last else is_worth_asking
        kept = []
        for edge in self.edges:
            if edge in self.answers:
                measured = edge_association(self.domain, self.answers[edge], margins)
                keep = keeps(
                    measured, self.domain, edge, phi=self.phi, alpha=self.alpha, base=self.base
                )
            else:
                keep = not last
            if keep:
                kept.append(edge)
        self.edges = kept

    def information(self) -> Information:
        """Estimate line 11 for all pairs, without the bias of noise."""
        margins = pooled_margins(self.domain, self.answers.values())
        measured = {
            frozenset(edge): edge_association(self.domain, answer, margins).bits
            for edge, answer in self.answers.items()
        }
        return no_information(self.domain) | measured


def every_pair(domain: Domain) -> list[Edge]:
    """List all pairs of attributes."""
    return list(combinations(domain.attributes, 2))


def no_information(domain: Domain) -> Information:
    """Make the information of all pairs before anybody is asked."""
    return dict.fromkeys(map(frozenset, combinations(domain.attributes, 2)), 0.0)
