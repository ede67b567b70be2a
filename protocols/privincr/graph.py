"""What the rounds know: F and n of Algorithm 1, and which edges that keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ...curator import Marginal, correlation_threshold
from ...curator.projections import norm_mul, norm_sub
from ...privacy import Domain
from ..survey import Answer
from .accumulation import Accumulated, accumulate, margins, printed, printed_view
from .pruning import Base, Edge, Test, associated, information, proven, relaxed, worth_asking

__all__ = ["Graph"]


@dataclass(kw_only=True)
class Graph:
    """The dependency graph while it is learned. `as_printed`: by the paper's equations 6 to 13, 14
    and 18.
    """

    domain: Domain
    phi: float
    alpha: float
    base: Base
    test: Test
    clip: bool
    """Whether tables become distributions by clipping and rescaling, which is the paper's likely
    choice, and bad.
    """
    as_printed: bool
    edges: list[Edge] = field(init=False)
    said: dict[Edge, Answer] = field(default_factory=dict)
    told: dict[Edge, Accumulated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = list(combinations(self.domain.attributes, 2))  # Algorithm 1, line 1

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(one, other) for one, other in self.edges]

    def accumulate(self, answers: Iterable[Answer]) -> None:
        """Lines 9 and 10: supports and users add up; as printed, frequencies are averaged."""
        answers = list(answers)
        self.said = accumulate(self.said, answers)
        for own in answers:
            edge, new = own.question.attributes, printed(self.domain, own)
            self.told[edge] = self.told[edge] + new if edge in self.told else new

    def prune(self, *, last: bool) -> None:
        """Lines 11 to 14. An edge of which nobody was asked stays while there are rounds to
        come.
        """
        ones = margins(self.domain, self.said.values()) if self.test == "chi-squared" else {}
        self.edges = [
            edge
            for edge in self.edges
            if (self._keeps(edge, ones, last=last) if edge in self.said else not last)
        ]

    def table(self, attributes: Sequence[str]) -> Marginal:
        """Say what is known of an edge or an attribute: a distribution."""
        if self.as_printed:
            return self.distribution(
                printed_view(self.domain, self.told.values(), tuple(attributes))
            )
        own = self.said.get(tuple(attributes))
        if own is not None:
            return self.distribution(
                Marginal.of(self.domain, own.question.attributes, own.frequencies())
            )
        return margins(self.domain, self.said.values())[attributes[0]]

    def information(self) -> dict[frozenset[str], float]:
        """Line 11 for all pairs, in bits; of a pair of which nobody was asked nothing is known."""
        known = dict.fromkeys(map(frozenset, combinations(self.domain.attributes, 2)), 0.0)
        ones = margins(self.domain, self.said.values()) if self.test == "chi-squared" else {}
        for edge, own in self.said.items():
            known[frozenset(edge)] = (
                associated(self.domain, own, ones).bits
                if self.test == "chi-squared"
                else information(self.table(edge).values, edge)
            )
        return known

    def _keeps(self, edge: Edge, ones: dict[str, Marginal], *, last: bool) -> bool:
        if self.test == "chi-squared":
            found = associated(self.domain, self.said[edge], ones)
            keep = proven if last else worth_asking
            return keep(found, self.domain, edge, phi=self.phi, alpha=self.alpha, base=self.base)
        if self.test == "relaxed":
            users = self.told[edge].users
            least = relaxed(self.domain, edge, users=users, phi=self.phi, alpha=self.alpha)
        else:
            least = correlation_threshold(self.domain, *edge, phi=self.phi)
        return information(self.table(edge).values, edge) >= least

    def distribution(self, table: Marginal) -> Marginal:
        """Make noisy frequencies a distribution."""
        return table.map(norm_mul if self.clip else norm_sub)
