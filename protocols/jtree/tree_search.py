"""The default way to the dependency graph: a tree, then triangles within it, edge by edge.

Margins of single attributes are published first. An edge's worth is its distance from the product
of these margins, less the noise that its table will have. Each search has both sides:

HolderSearch   one holder of all records chooses every edge, by the exponential mechanism
SumSearch      several parties add up their distances in a secure sum, and the curator chooses
VoteSearch     every party chooses a tree by itself, and the curator counts the edges as votes
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...curator import Curator
from ...messages import CURATOR, UsageError
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.exponential import choose
from ...privacy.sensitivity import choice_sensitivity
from ..cost import Cost, Public
from ..secure_sum import CuratorSums, NoiseKind, PartySums
from .budget import Parts
from .graph_messages import count_votes, gather_edges, send_edges
from .growing import Candidates, Fits, fitting, grow_tree, highest
from .parameters import JTreeParameters
from .score_sums import ScoreSum
from .scores import Pair, Scores, away, away_by_chance, pairs_of, penalties

__all__ = ["HolderSearch", "SumSearch", "TreeSearch", "VoteSearch", "tree_search"]

MIN_VOTES: Final = 0.3
"""Share of all votes that an edge of a tree must have."""

Margins = Mapping[str, Scores]


class TreeSearch(ABC):
    """Both sides of a search for a tree, in a domain of at least one pair of attributes."""

    def __init__(self, domain: Domain, budget: Parts) -> None:
        self.domain = domain
        self.budget = budget
        self.pairs = pairs_of(domain)

    @abstractmethod
    def party(self, me: Party, margins: Margins, sums: PartySums) -> Budget:
        """Take part in the search; return the budget that is left for the clusters."""

    @abstractmethod
    def curator(self, desk: Curator, sums: CuratorSums) -> tuple[list[Pair], Budget]:
        """Return the tree's edges, and the budget that is left for the clusters."""

    def predict(
        self,
        parameters: JTreeParameters,  # noqa: ARG002 - for subclasses
        public: Public,  # noqa: ARG002 - for subclasses
        *,
        noise: NoiseKind,  # noqa: ARG002 - for subclasses
    ) -> list[Cost]:
        """Predict the messages that follow from public figures."""
        return []

    def penalties(self, *, rows: int) -> Scores:
        """Compute what every edge's table costs."""
        return penalties(
            self.pairs,
            self.domain,
            noise_scale=self.budget.noise_scale(),
            rows=rows,
            unit=self.budget.clusters.unit,
        )

    def choose_tree(self, me: Party, worth: Scores, *, rows: int) -> tuple[list[Pair], int]:
        """Choose a tree by these values on one party's own records, and count the choices."""
        choices = 0

        def choose_edge(candidates: Candidates, fits: Fits) -> int | None:
            nonlocal choices
            candidates = fitting(candidates, fits, domain=self.domain, pairs=self.pairs)
            if not len(candidates):
                return None
            choices += 1
            scores = np.append(worth[candidates], 0.0)  # the last one: no edge is worth it
            # One record moves 1 / n from one cell to another. Margins and penalties are public.
            choice = choose(
                scores,
                sensitivity=choice_sensitivity([1 / len(me.records)] * len(candidates)),
                epsilon=self.budget.epsilon_of_choice,
            )
            index = me.release(choice, to=CURATOR)
            return None if index == len(candidates) else int(candidates[index])

        edges = grow_tree(
            self.domain, self.budget, rows=rows, choose=choose_edge, progress=me.progress
        )
        return edges, choices


class HolderSearch(TreeSearch):
    """One holder of all records chooses the tree; the clusters get what it did not need."""

    def party(self, me: Party, margins: Margins, sums: PartySums) -> Budget:
        worth = away(me.records, self.pairs, margins) - self.penalties(rows=sums.rows)
        edges, choices = self.choose_tree(me, worth, rows=sums.rows)
        send_edges(me, edges, choices=choices)
        return self.budget.clusters_after(choices)

    def curator(self, desk: Curator, sums: CuratorSums) -> tuple[list[Pair], Budget]:  # noqa: ARG002
        ((edges, choices),) = gather_edges(desk, most=self.budget.choices).values()
        return edges, self.budget.clusters_after(choices)


class SumSearch(TreeSearch):
    """The parties' distances are added up secretly, and the curator chooses by the sum."""

    @property
    def score_sum(self) -> ScoreSum:
        """The secure sum of the scores."""
        return ScoreSum(changes=[1.0] * len(self.pairs), budget=self.budget.graph)

    def party(self, me: Party, margins: Margins, sums: PartySums) -> Budget:
        scores = distances(me, self.pairs, margins)
        self.score_sum.contribute(scores, rows=len(me.records), sums=sums)
        return self.budget.clusters

    def curator(self, desk: Curator, sums: CuratorSums) -> tuple[list[Pair], Budget]:
        values, deviation = self.score_sum.receive(sums)
        worth = values - self.penalties(rows=sums.rows)
        choose_edge = highest(worth, above=deviation / 2)
        edges = grow_tree(
            self.domain, self.budget, rows=sums.rows, choose=choose_edge, progress=desk.progress
        )
        return edges, self.budget.clusters

    def predict(
        self, parameters: JTreeParameters, public: Public, *, noise: NoiseKind
    ) -> list[Cost]:
        return self.score_sum.predict(parameters, public, noise=noise)


class VoteSearch(TreeSearch):
    """Every party chooses a tree, and the edges with enough votes make the common one."""

    def party(self, me: Party, margins: Margins, sums: PartySums) -> Budget:
        worth = distances(me, self.pairs, margins) - self.penalties(rows=sums.rows)
        edges, choices = self.choose_tree(me, worth, rows=sums.rows)
        send_edges(me, edges, choices=choices)
        return self.budget.clusters

    def curator(self, desk: Curator, sums: CuratorSums) -> tuple[list[Pair], Budget]:
        most = self.budget.choices
        answers = gather_edges(desk, most=most)
        named = [edges for edges, _ in answers.values()]
        rows = [sums.rows_by_party[party - 1] for party in answers]
        votes = count_votes(self.domain, named, rows, most=most)
        choose_edge = highest(votes, above=MIN_VOTES)
        edges = grow_tree(
            self.domain, self.budget, rows=sums.rows, choose=choose_edge, progress=desk.progress
        )
        return edges, self.budget.clusters


def tree_search(
    domain: Domain, parameters: JTreeParameters, budget: Parts, *, parties: int
) -> TreeSearch:
    """Pick the search: `together` decides, or the budget, where there are several parties.

    Raises:
        UsageError: `together` is set for a single party.
    """
    together = parameters.together
    if parties == 1:
        if together is not None:
            raise UsageError(
                "expected together with structure=tree and several parties, "
                "found one party: leave it out, or --parties 2"
            )
        return HolderSearch(domain, budget)
    if together is None:
        together = "votes" if budget.low else "sums"
    searches: Mapping[str, type[TreeSearch]] = {"sums": SumSearch, "votes": VoteSearch}
    return searches[together](domain, budget)


def distances(me: Party, pairs: Sequence[Pair], margins: Margins) -> Scores:
    """Compute the pairs' distances from independence, less those of a few rows by chance.

    A few rows are away from any product. How far they are by chance is public.
    """
    by_chance = away_by_chance(pairs, margins, rows=len(me.records))
    return away(me.records, pairs, margins) - by_chance
