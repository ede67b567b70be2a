"""JTree: a synthetic table along a junction tree, by one trusted holder or by many parties (KDD
2015).

    trust       one party: it holds all records, and nobody else sees more than what it releases
                several: nobody with a record; the curator sees sums of all parties with full noise
    who learns  the curator and everybody: single attributes' noisy tables, the graph, the clusters' noisy tables
    messages    keys; then a batch of secure sums each for single attributes and for clusters, and between them the graph
    privacy     epsilon for each record, neighbours by replacing one. Shares of it compose: single attributes, graph, clusters
    error       that of the noise, and of the model: what no clique has is taken to be independent given what lies between

Chen, Xiao, Zhang, Xu, "Differentially private high-dimensional data publication via sampling-based
inference":

    4.1   the dependency graph                          Algorithm 1: `structure`, `choosing`
    4.2   its junction tree, and cliques merged into clusters whose tables get more of the budget       `curator.merging`
    4.3   the clusters' tables with noise, made to agree                                                `tables`
    4.4   rows drawn along the tree

Three ways. `mode=paper` is the printed algorithm of one holder, whose threshold mechanism is
private for no epsilon (theorem 4 is false: spec J1). structure=top, svt, laplace and gauss correct
what the specification corrects: another way to the graph, a bound on cliques (the paper has none),
clusters over all components at once (the paper gives each component all of epsilon: J6), and tables
that agree in the end. structure=tree, the default, is ours: single attributes are measured first,
so that scores are of published margins and a third as sensitive, and clusters are believed as far
as their noise allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...curator import Curator, Estimate, Marginal, dependency_graph, junction_tree, synthesise
from ...curator.merging import merge
from ...curator.projections import norm_sub
from ...curator.raking import rake
from ...messages import CURATOR, MessageError, UsageError, Where, message
from ...parties import Party
from ...privacy import Domain
from ..protocol import Cost, Outcome, Public
from ..secure_sum import (
    CuratorSums,
    Family,
    PartySums,
    SecureSums,
    SummingProtocol,
    Tables,
    predict_keys,
    predict_sum,
)
from .choosing import pairs_of
from .scores import Scores
from .settings import Choices, Settings, settle, structure_of
from .structure import Structured, find_edges, name_edges, scored
from .tables import agreeing, as_printed, believed

__all__ = ["JTree"]

MOST_CELLS: Final = 1 << 24
"""Of all clusters: what everybody can hold."""
LEAST_ROWS: Final = 200_000
"""That are drawn of the model and raked to its tables, before as many as wanted are kept: it takes
much of the sampling's own error away."""


class JTree(SummingProtocol[Choices]):
    """Publish a table of all parties' records, drawn along a junction tree."""

    name = "jtree"
    summary = "a synthetic table along a junction tree, of one holder's records or of many parties'"
    paper = "Chen, Xiao, Zhang, Xu 2015 (JTree)"
    uses = (SecureSums, Structured)

    @message
    class Margins:
        """To the parties: counts of single attributes' labels, as they are believed; one after
        another.
        """

        cells: NDArray[np.int64]

    @message
    class Clusters:
        """To the parties: sets of attributes whose tables are wanted, and how much of epsilon there
        is for them.
        """

        sets: tuple[tuple[str, ...], ...]
        epsilon: float

    def party(self, me: Party) -> None:
        domain, s = me.records.domain, self.settle(me.records.domain, parties=len(me.parties))
        margins: Mapping[str, Scores] = {}
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        if s.one_way:
            with me.phase("single attributes"):
                self.single(domain, s).contribute(me.records, sums)
                margins = _read_margins(
                    domain, me.receive(self.Margins, source=CURATOR), where=me.where
                )
        # 4.1
        with me.phase("graph"):
            epsilon = s.left(name_edges(me, margins, sums, self.parameters, s))
            # 4.2
            clusters = me.receive(self.Clusters, source=CURATOR)
            _check(domain, clusters, epsilon=epsilon, where=me.where)
        # 4.3
        if clusters.sets:
            with me.phase("clusters"):
                self.counted(domain, clusters.sets, s, epsilon=epsilon).contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain, s = desk.domain, self.settle(desk.domain, parties=len(desk.parties))
        ones: list[Estimate] = []
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        if s.one_way:
            with desk.phase("single attributes"):
                ones = self.single(domain, s).receive(sums)
                margins = [np.rint(norm_sub(own.table.values, sums.rows)) for own in ones]
                desk.broadcast(self.Margins(np.concatenate(margins).astype(np.int64)))
        # 4.1
        with desk.phase("graph"):
            edges, made = find_edges(desk, sums, s)
            # 4.2
            tree = junction_tree(domain, dependency_graph(domain, edges))
            cliques = [
                own
                for own in tree.cliques
                if domain.cells(own) > 1 and (len(own) > 1 or not s.one_way)
            ]
            sets = merge(cliques, domain, budgets="by size" if s.one_way else "equal")
            if (cells := sum(map(domain.cells, sets))) > MOST_CELLS:
                raise UsageError(
                    f"expected clusters of at most {MOST_CELLS:,} cells, found {cells:,} in {len(sets)}: "
                    f"a larger --set {'phi' if s.printed else 'usefulness'}= makes them smaller"
                )
            epsilon = s.left(made)
            desk.broadcast(self.Clusters(tuple(sets), epsilon))
        # 4.3
        counted: list[Estimate] = []
        if sets:
            with desk.phase("clusters"):
                counted = self.counted(domain, sets, s, epsilon=epsilon).receive(sums)
        # 4.4
        with desk.phase("synthesis"):
            if s.one_way:
                tables = believed(counted, ones, total=sums.rows)
            else:
                tables = (as_printed if s.printed else agreeing)(counted, total=sums.rows)
            alone = [
                Marginal.uniform(domain, (name,))
                for name in domain.attributes
                if domain.cells((name,)) == 1
            ]
            rows = self.parameters.synthetic_rows or sums.rows
            chain = tree.chain([*tables, *alone])
            generator = desk.randomness("sampling").generator()
            made_up = synthesise(
                chain, max(rows, LEAST_ROWS) if s.one_way else rows, generator=generator
            )
            codes = made_up.codes
            if s.one_way:
                wanted = {own.attributes: own / own.total for own in tables}
                codes = rake(
                    domain, codes, wanted, rows=rows, generator=generator, progress=desk.progress
                )
        # J12: where a table has nothing that goes with what was drawn, its attributes are drawn by
        # themselves.
        undefined = {"undefined": f"{made_up.undefined:,} draws"} if made_up.undefined else {}
        return Outcome(
            synthetic=domain.decode(codes),
            model={
                "edges": edges,
                "tree": tree.to_builtins(),
                "clusters": sets,
                "epsilon of clusters": epsilon,
            },
            summary={
                "edges": len(edges),
                "cliques": f"{len(tree.cliques)}, of at most {max(map(len, tree.cliques))} attributes",
                "clusters": f"{len(sets)}, of {sum(map(domain.cells, sets)):,} cells",
                **undefined,
            },
        )

    # What all roles, and the report, compute alike.

    def settle(self, domain: Domain, *, parties: int) -> Settings:
        colluding = min(self.colluding, parties - 1)
        return settle(
            self.parameters, domain=domain, mode=self.mode, parties=parties, colluding=colluding
        )

    def single(self, domain: Domain, s: Settings) -> Tables:
        """The batch of single attributes."""
        return Tables(
            domain, tuple((name,) for name in domain.attributes), s.one_way, weighted=True
        )

    def counted(
        self, domain: Domain, sets: Sequence[Family], s: Settings, *, epsilon: float
    ) -> Tables:
        """The batch of clusters; with noise that goes by their sizes where single attributes were
        counted before.
        """
        return Tables(domain, tuple(sets), epsilon, weighted=bool(s.one_way))

    def chosen(self) -> dict[str, Any]:
        return {**super().chosen(), "structure": structure_of(self.parameters, mode=self.mode)}

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        s = self.settle(public.domain, parties=public.parties)
        pairs = pairs_of(public.domain)
        lines = predict_keys(self.parameters, public, phase="keys")
        if s.one_way:
            single = self.single(public.domain, s)
            lines += single.predict(
                self.parameters, public, noise=self.noise, phase="single attributes"
            )
        if pairs and not s.by_votes:
            batch = scored(pairs, s)
            lines += predict_sum(self.parameters, public, batch, noise=self.noise, phase="graph")
        if public.model is not None and public.model["clusters"]:
            sets = [tuple(own) for own in public.model["clusters"]]
            counted = self.counted(
                public.domain, sets, s, epsilon=public.model["epsilon of clusters"]
            )
            lines += counted.predict(self.parameters, public, noise=self.noise, phase="clusters")
        return lines

    def warnings(self, public: Public) -> list[str]:
        said = super().warnings(public)
        if self.mode == "paper":
            said.append(
                "structure=threshold is not differentially private: JTree's theorem 4 does not hold. Of 50 attributes, two "
                "tables that differ in one record can be told apart by a factor of e^31, at a claimed epsilon of 0.1"
            )
        if self.parameters.structure == "gauss":
            said.append(
                f"structure=gauss: epsilon holds but for a chance of {self.parameters.delta:g} (delta)"
            )
        return said


def _read_margins(domain: Domain, said: JTree.Margins, *, where: Where) -> dict[str, Scores]:
    """Read the published margins, and make each sum to 1."""
    sizes = domain.shape(domain.attributes)
    if (
        said.cells.size != sum(sizes)
        or said.cells.min(initial=0) < 0
        or said.cells.max(initial=0) > 1 << 50
    ):
        raise MessageError(
            f"expected {sum(sizes)} counts, found {said.cells.size}, or some that cannot be",
            where=where,
        )
    parts = np.split(said.cells, np.cumsum(sizes)[:-1])
    return {
        name: own / max(int(own.sum()), 1)
        for name, own in zip(domain.attributes, parts, strict=True)
    }


def _check(domain: Domain, said: JTree.Clusters, *, epsilon: float, where: Where) -> None:
    """Refuse clusters that are none, that nobody can count, or that would cost more than there
    is.
    """
    if abs(said.epsilon - epsilon) > 1e-9 * epsilon:
        raise MessageError(
            f"expected clusters for epsilon {epsilon:g}, found {said.epsilon:g}", where=where
        )
    if len(set(map(frozenset, said.sets))) < len(said.sets):
        raise MessageError(
            f"expected different clusters, found one twice among {len(said.sets)}", where=where
        )
    for own in said.sets:
        if not own or len(set(own)) < len(own) or not set(own) <= set(domain.attributes):
            raise MessageError(
                f"expected sets of different attributes, found {', '.join(own) or 'none'}",
                where=where,
            )
    if (cells := sum(map(domain.cells, said.sets))) > MOST_CELLS:
        raise MessageError(
            f"expected clusters of at most {MOST_CELLS:,} cells, found {cells:,}", where=where
        )
