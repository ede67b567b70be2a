"""JTree's default variant: single attributes first, then a tree, then clusters as far as they pay.

It is ours, in the frame of Chen, Xiao, Zhang, Xu, "Differentially private high-dimensional data
publication via sampling-based inference" (KDD 2015):

    first  tables of single attributes are counted and published
    4.1    edges are scored against published margins, which a record changes a third as much as R
           (`tree_search`): first a tree, then triangles within it
    4.2    cliques are merged into clusters, with noise by their sizes
    4.3    every cluster's table is believed as far as its noise allows (`tables`)
    4.4    rows are drawn along the tree, then raked to the tables
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...curator import Curator, Estimate, dependency_graph, junction_tree, synthesise
from ...curator.estimates import rescaled
from ...curator.projections import norm_sub
from ...curator.raking import rake
from ...messages import CURATOR, MessageError, message
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, Tables, predict_keys
from .budget import Parts, least_noise, tree_budget
from .parameters import JTreeParameters, Structure, refuse_foreign
from .scores import Pair, Scores
from .tables import believed_tables
from .tree_search import TreeSearch, tree_search
from .variant import (
    JTreeVariant,
    merge_cliques,
    outcome_of,
    predict_clusters,
    receive_clusters,
    trivial_tables,
)

__all__ = ["TreeJTree"]

MIN_DRAWN_ROWS: Final = 200_000
"""Rows that are drawn of the model and raked, before as many as wanted are kept.

Many rows take much of the sampling's own error away.
"""


class TreeJTree(JTreeVariant):
    """Publish a table of all parties' records, drawn along a tree that was worth its noise."""

    structure: ClassVar[Structure] = "tree"
    goes_on = True

    @message
    class Margins:
        """To the parties: the curator's estimates of single attributes' counts, in a row."""

        cells: NDArray[np.int64]

    def __init__(self, parameters: JTreeParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        refuse_foreign(parameters, structure="tree")

    def party(self, me: Party) -> None:
        domain = me.records.domain
        budget = self.budget(domain, parties=len(me.parties))
        search = self.search(domain, budget, parties=len(me.parties))
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("single attributes"):
            single_tables(domain, budget).contribute(me.records, sums)
            margins = receive_margins(me)
        # 4.1
        with me.phase("graph"):
            left = search.party(me, margins, sums) if search.pairs else budget.clusters
            # 4.2
            clusters = receive_clusters(me, budget=left)
        # 4.3
        if clusters:
            with me.phase("clusters"):
                cluster_tables(domain, clusters, budget=left).contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        budget = self.budget(domain, parties=len(desk.parties))
        search = self.search(domain, budget, parties=len(desk.parties))
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("single attributes"):
            singles = single_tables(domain, budget).receive(sums)
            counted_rows = sums.rows
            margins = [np.rint(norm_sub(one_way.table.values, sums.rows)) for one_way in singles]
            desk.broadcast(self.Margins(np.concatenate(margins).astype(np.int64)))
        # 4.1
        with desk.phase("graph"):
            edges, left = list[Pair](), budget.clusters
            if search.pairs:
                edges, left = search.curator(desk, sums)
            # 4.2
            tree = junction_tree(domain, dependency_graph(domain, edges))
            clusters = merge_cliques(tree, least=2, budgets="by size", way_out="usefulness")
            desk.broadcast(self.Clusters(tuple(clusters), left.amount))
        # 4.3
        counted: list[Estimate] = []
        if clusters:
            with desk.phase("clusters"):
                counted = cluster_tables(domain, clusters, budget=left).receive(sums)
        # 4.4
        with desk.phase("synthesis"):
            singles = rescaled(singles, rows=counted_rows, total=sums.rows)
            tables = believed_tables(counted, singles, total=sums.rows)
            rows = self.parameters.synthetic_rows or sums.rows
            generator = desk.randomness("sampling").generator()
            sample = synthesise(
                tree.chain([*tables, *trivial_tables(domain)]),
                max(rows, MIN_DRAWN_ROWS),
                generator=generator,
            )
            codes = rake(
                domain,
                sample.codes,
                {table.attributes: table / table.total for table in tables},
                rows=rows,
                generator=generator,
                progress=desk.progress,
            )
        return outcome_of(
            tree,
            edges=edges,
            clusters=clusters,
            budget=left,
            codes=codes,
            undefined=sample.undefined,
        )

    def budget(self, domain: Domain, *, parties: int) -> Parts:
        """Divide the budget. Every role, and the report, do so alike."""
        divided = [
            tree_budget(self.parameters, whole, domain=domain, parties=parties)
            for whole in self.budgets
        ]
        return least_noise(divided, domain=domain)

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        return self.budget(public.domain, parties=public.parties).clusters.unit

    def search(self, domain: Domain, budget: Parts, *, parties: int) -> TreeSearch:
        """Make both sides of the search for edges, which depends on the number of parties."""
        return tree_search(domain, self.parameters, budget, parties=parties)

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        parameters, noise = self.parameters, self.noise
        budget = self.budget(public.domain, parties=public.parties)
        search = self.search(public.domain, budget, parties=public.parties)
        single = single_tables(public.domain, budget)
        lines = predict_keys(parameters, public, noise=self.noise, phase="keys")
        lines += single.predict(parameters, public, noise=noise, phase="single attributes")
        if search.pairs:
            lines += search.predict(parameters, public, noise=noise)
        return [*lines, *predict_clusters(self, public, weighted=True)]


def single_tables(domain: Domain, budget: Parts) -> Tables:
    """Make the batch of single attributes' tables, with noise by their sizes."""
    families = tuple((name,) for name in domain.attributes)
    return Tables(domain, families, budget.single, weighted=True)


def cluster_tables(domain: Domain, clusters: Sequence[Family], *, budget: Budget) -> Tables:
    """Make the batch of the clusters' tables, with noise by their sizes."""
    return Tables(domain, tuple(clusters), budget, weighted=True)


def receive_margins(me: Party) -> Mapping[str, Scores]:
    """Receive the published margins, and make each sum to 1.

    Raises:
        MessageError: there are not as many counts as labels, or a count is negative or too large.
    """
    domain, answer = me.records.domain, me.receive(TreeJTree.Margins, source=CURATOR)
    sizes, cells = domain.shape(domain.attributes), answer.cells
    if cells.size != sum(sizes) or cells.min(initial=0) < 0 or cells.max(initial=0) > 1 << 50:
        raise MessageError(
            f"expected {sum(sizes)} counts, found {cells.size}, or some that cannot be",
            where=me.where,
        )
    tables = np.split(cells, np.cumsum(sizes)[:-1])
    return {
        # Python integers do not wrap around, as a sum of many large counts might.
        name: table / max(sum(table.tolist()), 1)
        for name, table in zip(domain.attributes, tables, strict=True)
    }
