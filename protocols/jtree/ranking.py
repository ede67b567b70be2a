"""The corrected ways to the dependency graph: pairs of attributes are ranked by R.

top       the c pairs of largest R, as c choices by the exponential mechanism
svt       the pairs whose R is above a threshold, by the sparse vector technique
laplace   all R with Laplace noise, as a secure sum of n_k R_k (the R of a union is no sum of R_k)
gauss     all R with Gaussian noise: epsilon may fail with probability delta

Each class has both sides. Parties with top and svt name edges, which the curator counts as votes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from ...curator import Curator
from ...messages import CURATOR
from ...parties import Party
from ...privacy import Domain
from ...privacy.exponential import choose
from ...privacy.noisy_scores import gaussian_scores
from ...privacy.sensitivity import choice_sensitivity
from ...privacy.sparse_vector import sparse_vector
from ..cost import Cost, Public
from ..secure_sum import CuratorSums, NoiseKind, PartySums
from .budget import Parts
from .graph_messages import GraphMessages, count_votes, gather_edges, gather_scores, send_edges
from .parameters import JTreeParameters, Structure
from .score_sums import ScoreSum
from .scores import Pair, Scores, pairs_of, r_bounds, r_of

__all__ = ["RANKINGS", "Ranking"]


class Ranking(ABC):
    """Both sides of a ranking of all pairs of attributes."""

    several_share: ClassVar[float] = 0.2
    """Default share of the budget for the graph, with several parties; one party has 0.2."""

    def __init__(self, domain: Domain, parameters: JTreeParameters, budget: Parts) -> None:
        self.domain = domain
        self.parameters = parameters
        self.budget = budget
        self.pairs = pairs_of(domain)

    @classmethod
    def graph_share(cls, *, parties: int) -> float:
        """Return the default share of the budget for the graph."""
        return cls.several_share if parties > 1 else 0.2

    @abstractmethod
    def party(self, me: Party, sums: PartySums) -> None:
        """Take part in a ranking of at least one pair."""

    @abstractmethod
    def curator(self, desk: Curator, sums: CuratorSums) -> list[Pair]:
        """Rank the pairs, of which there is at least one."""

    def predict(self, public: Public, *, noise: NoiseKind) -> list[Cost]:  # noqa: ARG002 - for subclasses
        """Predict the messages that follow from public figures."""
        return []

    def best(self, values: Scores) -> list[Pair]:
        """List the pairs of the highest values, in order, as many as may become edges."""
        ranking = np.argsort(-values, kind="stable")[: self.budget.edges]
        return [self.pairs[index] for index in ranking.tolist()]


class VoteRanking(Ranking):
    """A ranking by the edges that each party names."""

    @abstractmethod
    def edges(self, me: Party) -> list[Pair]:
        """Choose edges on one party's own records; what is returned was released."""

    def party(self, me: Party, sums: PartySums) -> None:  # noqa: ARG002 - no sum is needed
        send_edges(me, self.edges(me))

    def curator(self, desk: Curator, sums: CuratorSums) -> list[Pair]:
        answers = gather_edges(desk, most=self.budget.edges)
        named = [edges for edges, _ in answers.values()]
        rows = [sums.rows_by_party[party - 1] for party in answers]
        votes = count_votes(self.domain, named, rows, most=self.budget.edges)
        return [pair for pair in self.best(votes) if votes[self.pairs.index(pair)] > 0]


class TopRanking(VoteRanking):
    """The pairs of largest R, chosen one by one."""

    def edges(self, me: Party) -> list[Pair]:
        scores = r_of(me.records, self.pairs)
        bounds = r_bounds(self.domain, self.pairs, rows=len(me.records))
        chosen: list[int] = []
        is_left = np.ones(len(self.pairs), np.bool_)
        for _ in range(min(self.budget.edges, len(self.pairs))):
            left = np.flatnonzero(is_left)
            choice = choose(
                scores[left],
                sensitivity=choice_sensitivity(bounds[left].tolist()),
                epsilon=self.budget.epsilon_of_choice,
            )
            chosen.append(int(left[me.release(choice, to=CURATOR)]))
            is_left[chosen[-1]] = False
        return [self.pairs[index] for index in chosen]


class SparseVectorRanking(VoteRanking):
    """The pairs whose R is above a threshold that is fixed beforehand."""

    def edges(self, me: Party) -> list[Pair]:
        pairs = sorted(self.pairs, key=self.domain.cells)  # small tables are asked about first
        queries = sparse_vector(
            r_of(me.records, pairs),
            np.full(len(pairs), self.parameters.least),
            epsilon=self.budget.graph.of_pure,
            cutoff=self.budget.edges,
            sensitivity=float(r_bounds(self.domain, pairs, rows=len(me.records)).max()),
        )
        return [pairs[index] for index in me.release(queries, to=CURATOR)]


class LaplaceRanking(Ranking):
    """All R with Laplace noise in a secure sum."""

    several_share = 0.3

    @property
    def score_sum(self) -> ScoreSum:
        """The secure sum of the scores."""
        # In a party of any size a record changes a pair's n_k R_k by less than 3, or less than 2.
        changes = [2.0 if min(self.domain.shape(pair)) <= 2 else 3.0 for pair in self.pairs]
        return ScoreSum(changes=changes, budget=self.budget.graph)

    def party(self, me: Party, sums: PartySums) -> None:
        self.score_sum.contribute(r_of(me.records, self.pairs), rows=len(me.records), sums=sums)

    def curator(self, desk: Curator, sums: CuratorSums) -> list[Pair]:  # noqa: ARG002 - sums has it
        values, _ = self.score_sum.receive(sums)
        return self.best(values)

    def predict(self, public: Public, *, noise: NoiseKind) -> list[Cost]:
        return self.score_sum.predict(self.parameters, public, noise=noise)


class GaussianRanking(Ranking):
    """All R with Gaussian noise, from each party."""

    def party(self, me: Party, sums: PartySums) -> None:  # noqa: ARG002 - no sum is needed
        bounds = r_bounds(self.domain, self.pairs, rows=len(me.records))
        scores = gaussian_scores(
            r_of(me.records, self.pairs),
            sensitivity=float(np.sqrt(np.mean(bounds**2))),  # all scores have the same noise
            rho=self.budget.graph.amount,
        )
        me.send(GraphMessages.Noisy(me.release(scores, to=CURATOR)), to=CURATOR)

    def curator(self, desk: Curator, sums: CuratorSums) -> list[Pair]:
        return self.best(gather_scores(desk, rows=sums.rows_by_party))


RANKINGS: Final[Mapping[Structure, type[Ranking]]] = {
    "top": TopRanking,
    "svt": SparseVectorRanking,
    "laplace": LaplaceRanking,
    "gauss": GaussianRanking,
}
