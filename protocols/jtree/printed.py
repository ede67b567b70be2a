"""JTree as the paper prints it, of one trusted holder. No epsilon holds for it (spec J1).

Chen, Xiao, Zhang, Xu, "Differentially private high-dimensional data publication via sampling-based
inference" (KDD 2015), sections 4.1 to 4.4 and Algorithm 1. The threshold mechanism of Algorithm 1
is differentially private for no epsilon: theorem 4 is false. The amplification by sampling is that
of other neighbours (J2), and cutting every table by itself makes them disagree again (J5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

import numpy as np

from ...curator import (
    Curator,
    Estimate,
    correlation_threshold,
    dependency_graph,
    junction_tree,
    synthesise,
)
from ...messages import CURATOR, UsageError
from ...parties import Party, Records
from ...privacy import Budget, views
from ...privacy.sensitivity import mutual_information_sensitivity
from ...privacy.sparse_vector import threshold_mechanism
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, PartySums, Tables, predict_keys
from .budget import printed_budget
from .graph_messages import gather_edges, send_edges
from .parameters import JTreeParameters, Structure, refuse_foreign
from .scores import Pair, information, pairs_of, sample_size, sampled_epsilon
from .tables import printed_tables
from .variant import (
    JTreeVariant,
    merge_cliques,
    outcome_of,
    predict_clusters,
    receive_clusters,
    trivial_tables,
)

__all__ = ["PrintedJTree"]

Draw: TypeAlias = Callable[[Party, float, bool], tuple[Records, float]]
"""Lines 2 to 4: the rows to look at, and the epsilon to spend on them."""


class PrintedJTree(JTreeVariant):
    """Publish a table of one holder's records, with the printed threshold mechanism."""

    structure: ClassVar[Structure] = "threshold"
    needs_all = "it has one holder of all records"

    def __init__(self, parameters: JTreeParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        refuse_foreign(parameters, structure="threshold")
        self.graph_epsilon, self.clusters_epsilon = printed_budget(parameters)
        self.draw: Draw = draw_sample if parameters.sample else take_all

    def party(self, me: Party) -> None:
        require_one(len(me.parties))
        budget = Budget.pure(self.clusters_epsilon)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        # 4.1
        with me.phase("graph"):
            if pairs_of(me.records.domain):
                send_edges(me, self.threshold(me))
            # 4.2
            clusters = receive_clusters(me, budget=budget)
        # 4.3
        if clusters:
            with me.phase("clusters"):
                tables = Tables(me.records.domain, clusters, budget, as_printed=True)
                tables.contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        require_one(len(desk.parties))
        domain, budget = desk.domain, Budget.pure(self.clusters_epsilon)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        # 4.1
        with desk.phase("graph"):
            edges: list[Pair] = []
            if pairs := pairs_of(domain):
                ((edges, _),) = gather_edges(desk, most=len(pairs)).values()
            # 4.2
            tree = junction_tree(domain, dependency_graph(domain, edges))
            clusters = merge_cliques(tree, least=1, budgets="equal", way_out="phi")
            desk.broadcast(self.Clusters(tuple(clusters), budget.amount))
        # 4.3
        counted: list[Estimate] = []
        if clusters:
            with desk.phase("clusters"):
                counted = Tables(domain, tuple(clusters), budget, as_printed=True).receive(sums)
        # 4.4
        with desk.phase("synthesis"):
            tables = printed_tables(counted, total=sums.rows)
            sample = synthesise(
                tree.chain([*tables, *trivial_tables(domain)]),
                self.parameters.synthetic_rows or sums.rows,
                generator=desk.randomness("sampling").generator(),
            )
        return outcome_of(
            tree,
            edges=edges,
            clusters=clusters,
            budget=budget,
            codes=sample.codes,
            undefined=sample.undefined,
        )

    def threshold(self, me: Party) -> list[Pair]:
        """Name the pairs whose mutual information is above its threshold: Algorithm 1."""
        domain = me.records.domain
        pairs = pairs_of(domain)
        # Theorem 3 takes the larger bound if one attribute has more than two labels; two such
        # attributes are necessary (spec J8).
        binary = all(domain.cells((name,)) <= 2 for name in domain.attributes)
        # Lines 2 to 4.
        records, epsilon = self.draw(me, self.graph_epsilon, binary)
        # Lines 5 to 10.
        rows = max(2, len(records))
        answers = threshold_mechanism(
            information(records, pairs),
            [correlation_threshold(domain, *pair, phi=self.parameters.phi) for pair in pairs],
            sensitivity=mutual_information_sensitivity(rows, binary=binary, base=np.e),
            epsilon=epsilon,
            claimed=self.graph_epsilon,
            views=tuple(views(len(me.parties))),
        )
        # LEAK: whether each pair is above its threshold, for all pairs at once and any epsilon.
        # `log_likelihood` computes how much that is.
        return [pairs[index] for index in me.release(answers, to=CURATOR)]

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        keys = predict_keys(self.parameters, public, noise=self.noise, phase="keys")
        return [*keys, *predict_clusters(self, public, weighted=False, as_printed=True)]

    def warnings(self, public: Public) -> list[str]:
        warning = (
            "structure=threshold is not differentially private: JTree's theorem 4 does not hold. "
            "With 50 attributes, two tables that differ in one record can be distinguished by a "
            "factor of e^31, at a claimed epsilon of 0.1"
        )
        return [*super().warnings(public), warning]


def require_one(parties: int) -> None:
    """Refuse more than one holder, of which the paper knows nothing.

    Raises:
        UsageError: there are several parties.
    """
    if parties > 1:
        raise UsageError(
            f"expected one trusted holder in mode paper, found {parties} parties: --parties 1"
        )


def draw_sample(me: Party, epsilon: float, binary: bool) -> tuple[Records, float]:  # noqa: FBT001
    """Take every row with the probability that the paper chooses: lines 2 to 4."""
    rows = len(me.records)
    rate = sample_size(rows, epsilon=epsilon, binary=binary) / rows
    drawn = me.randomness("sample").generator().random(rows)
    return me.records.take(np.flatnonzero(drawn < rate)), sampled_epsilon(epsilon, rate=rate)


def take_all(me: Party, epsilon: float, binary: bool) -> tuple[Records, float]:  # noqa: ARG001, FBT001
    """Take all rows, in place of lines 2 to 4."""
    return me.records, epsilon
