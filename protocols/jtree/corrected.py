"""JTree with the paper's errors corrected, of one holder or of several parties.

Chen, Xiao, Zhang, Xu, "Differentially private high-dimensional data publication via sampling-based
inference" (KDD 2015), sections 4.1 to 4.4, with these corrections of the specification:

    4.1   a private way to the graph, without sampling (J1, J2): `ranking`
          a bound on the cells of a clique, of which the paper has none (J11)
    4.2   clusters over all components at once: every record is in each of them (J6)
    4.3   tables that agree in the end (J5)
"""

from __future__ import annotations

from ...curator import Curator, Estimate, dependency_graph, junction_tree, synthesise
from ...messages import UsageError
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, PartySums, Tables, predict_keys
from .budget import Parts, corrected_budget, least_noise
from .growing import grow
from .parameters import JTreeParameters, Structure, refuse_foreign
from .ranking import RANKINGS, Ranking
from .scores import Pair
from .tables import agreeing_tables
from .variant import (
    JTreeVariant,
    merge_cliques,
    outcome_of,
    predict_clusters,
    receive_clusters,
    trivial_tables,
)

__all__ = ["CorrectedJTree"]


class CorrectedJTree(JTreeVariant):
    """Publish a table of all parties' records, with a private ranking of the edges."""

    goes_on = True

    def __init__(self, parameters: JTreeParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.structure: Structure = parameters.structure or "top"
        refuse_foreign(parameters, structure=self.structure)
        if self.structure == "gauss":
            _require_gaussian(parameters)
        self._ranking = RANKINGS[self.structure]

    def party(self, me: Party) -> None:
        domain = me.records.domain
        budget = self.budget(domain, parties=len(me.parties))
        ranking = self.ranking(domain, budget)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        # 4.1
        with me.phase("graph"):
            if ranking.pairs:
                ranking.party(me, sums)
            # 4.2
            clusters = receive_clusters(me, budget=budget.clusters)
        # 4.3
        if clusters:
            with me.phase("clusters"):
                Tables(domain, clusters, budget.clusters).contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        budget = self.budget(domain, parties=len(desk.parties))
        ranking = self.ranking(domain, budget)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        # 4.1
        with desk.phase("graph"):
            ranked: list[Pair] = ranking.curator(desk, sums) if ranking.pairs else []
            edges = grow(domain, ranked, max_cells=budget.max_cells(sums.rows))
            # 4.2
            tree = junction_tree(domain, dependency_graph(domain, edges))
            clusters = merge_cliques(tree, least=1, budgets="equal", way_out="usefulness")
            desk.broadcast(self.Clusters(tuple(clusters), budget.clusters.amount))
        # 4.3
        counted: list[Estimate] = []
        if clusters:
            with desk.phase("clusters"):
                counted = Tables(domain, tuple(clusters), budget.clusters).receive(sums)
        # 4.4
        with desk.phase("synthesis"):
            tables = agreeing_tables(counted, total=sums.rows)
            sample = synthesise(
                tree.chain([*tables, *trivial_tables(domain)]),
                self.parameters.synthetic_rows or sums.rows,
                generator=desk.randomness("sampling").generator(),
            )
        return outcome_of(
            tree,
            edges=edges,
            clusters=clusters,
            budget=budget.clusters,
            codes=sample.codes,
            undefined=sample.undefined,
        )

    def budget(self, domain: Domain, *, parties: int) -> Parts:
        """Divide the budget. Every role, and the report, do so alike."""
        graph = self._ranking.graph_share(parties=parties)
        divided = [
            corrected_budget(self.parameters, whole, domain=domain, parties=parties, graph=graph)
            for whole in self.budgets
        ]
        return least_noise(divided, domain=domain)

    @property
    def budgets(self) -> list[Budget]:
        return [
            whole for whole in super().budgets if whole.concentrated or self.structure != "gauss"
        ]

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        return self.budget(public.domain, parties=public.parties).clusters.unit

    def ranking(self, domain: Domain, budget: Parts) -> Ranking:
        """Make both sides of the ranking of edges."""
        return self._ranking(domain, self.parameters, budget)

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        lines = predict_keys(self.parameters, public, noise=self.noise, phase="keys")
        ranking = self.ranking(public.domain, self.budget(public.domain, parties=public.parties))
        if ranking.pairs:
            lines += ranking.predict(public, noise=self.noise)
        return [*lines, *predict_clusters(self, public, weighted=False)]


def _require_gaussian(parameters: JTreeParameters) -> None:
    """Refuse what structure=gauss cannot have: its scores have Gaussian noise.

    Raises:
        UsageError: delta is 0, or the noise of the sums is not Gaussian.
    """
    if not parameters.delta:
        raise UsageError(
            "expected a delta above 0 for structure=gauss, found 0: --delta 1e-9, or another "
            "structure"
        )
    if parameters.noise == "laplace":
        raise UsageError(
            "expected noise=gaussian or auto for structure=gauss, found laplace: leave noise out, "
            "or take structure=laplace"
        )
