"""DP-SUBN on the original attributes with `init=forest`: the parties choose a forest of edges.

Tables of pairs of original attributes are so large that it is cheaper to choose correlations than
to count them. So the parties choose edges, and only the tables of these edges are counted. The
phases keep the numbers of section VI-A; there is no phase 3.

    1  correlations      T learns noisy tables of single attributes        eps1    sum of all
    2  initialisation    parties -> T: edges, chosen in at most 5 turns     eps2    each party's
                                                                                   own records
    4  parameters        T -> all: the network; T learns noisy tables of   eps4    sum of all
                         its edges
    5  synthesis         T makes all tables agree, and draws the table

    trust       No one sees a record. T sees sums of all parties with full noise, and choices that
                are private.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with the
                curator.
    who learns  T learns the noisy tables, parties learn the edges. The public learns the network,
                with its edges, and the synthetic table.
    rounds      a secure sum for each of the phases 1 and 4, and at most five hops of phase 2
    privacy     epsilon for each record, except with probability delta where noise is Gaussian;
                neighbours replace a record. The phases compose sequentially, the parties
                in parallel.

At most as many edges are chosen as are worth their noise. If that is none, phase 1 spends the whole
budget, and attributes are drawn independently.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from ...curator import BayesianNetwork, Curator, agree
from ...curator.estimates import rescaled
from ...messages import CURATOR
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public, add_up
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, PartySums, predict_keys
from .budget import PhaseBudgets
from .cost import predict_choices, predict_parameters
from .forest_plan import ForestPlan, plan_forest
from .initial import choose_edges, choosing_circle, receive_edges, turns_of
from .messages import Messages
from .options import DPSUBNParameters, Profile
from .structure import Structure, directed
from .synthesis import publish
from .usefulness import inflation_of
from .variant import Variant

__all__ = ["Forest"]

PHASES: Final = ("correlations", "initialisation", "parameters")

BY_SIZE: Final = "by size"
"""The value of `budget` that splits epsilon by the sizes of the tables."""


class Forest(Variant):
    """DP-SUBN on the original attributes, by a forest of edges that the parties choose."""

    goes_on = True

    usual = Profile(
        attributes="original",
        views="one-way",
        init="forest",
        update="none",
        score="R",
        budget=BY_SIZE,
        theta=3.5,
        theta_frontier=4.0,
    )
    designs = ("one-way",)
    combination = (
        "attributes=original goes with views=one-way, init=forest, update=none and score=R"
    )

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        for budget in self.budgets:  # wrong shares are refused before any role begins
            self._split(budget)

    def party(self, me: Party) -> None:
        records = me.records
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        plan = self.plan(records.domain, rows=sums.rows, parties=len(me.parties))
        with me.phase("correlations"):  # 1
            plan.single_attributes.contribute(records, sums)
        if not plan.edges:
            return
        with me.phase("initialisation"):  # 2
            choose_edges(
                me,
                records,
                edges=plan.edges,
                cell_noise=plan.cell_noise,
                budget=plan.budget.initialisation,
                score="R",
                circle=choosing_circle(sums.circle, sums.members),
            )
        with me.phase("parameters"):  # 4
            families = me.receive(Messages.Network, source=CURATOR).families
            plan.parameters(families).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        with desk.phase("correlations"):  # 1
            single = plan.single_attributes.receive(sums)
            counted_rows = sums.rows
        if not plan.edges:
            with desk.phase("synthesis"):  # 5
                tables = [estimate.table for estimate in agree(single, total=sums.rows)]
                network = BayesianNetwork(domain, {})
                rows = self.parameters.synthetic_rows or sums.rows
                return publish(desk, network, tables, rows=rows, binary=None, structure=None)
        with desk.phase("initialisation"):  # 2
            circle = choosing_circle(sums.circle, sums.members)
            edges = receive_edges(desk, turns=turns_of(circle, edges=plan.edges))
            network = directed(domain, edges)
        with desk.phase("parameters"):  # 4
            families = plan.to_count(network)
            desk.broadcast(Messages.Network(families))
            counted = plan.parameters(families).receive(sums)
        with desk.phase("synthesis"):  # 5
            single = rescaled(single, rows=counted_rows, total=sums.rows)
            agreed = agree([*single, *counted], total=sums.rows)
            tables = [estimate.table for estimate in agreed]
            structure = Structure(initial=tuple(edges), counted=families)
            rows = self.parameters.synthetic_rows or sums.rows
            return publish(desk, network, tables, rows=rows, binary=None, structure=structure)

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        options, noise = self.parameters, self.noise
        plan = self.plan(public.domain, rows=public.rows, parties=public.parties)
        lines = [
            *predict_keys(options, public, noise=self.noise, phase="keys"),
            *plan.single_attributes.predict(options, public, noise=noise, phase="correlations"),
        ]
        if not plan.edges:
            return lines
        structure = public.published(Structure)
        lines += predict_choices(
            None if structure is None else structure.initial[: plan.edges],
            edges=plan.edges,
            pairs=[*combinations(public.domain.attributes, 2)],
            options=options,
            public=public,
        )
        if structure is None:
            return add_up(lines)
        # A forecast for many parties has the edges of a run with few, which may be more.
        counted = plan.parameters(structure.counted[: plan.edges])
        return add_up([*lines, *predict_parameters(counted, options, public, noise=noise)])

    def plan(self, domain: Domain, *, rows: int, parties: int) -> ForestPlan:
        """Plan the run on these attributes. All roles compute the same."""
        plans = [
            plan_forest(
                domain,
                whole=whole,
                budget=self._split(whole),
                theta=self.profile.theta,
                rows=rows,
                inflation=inflation_of(self.parameters, noise=self.noise, parties=parties),
            )
            for whole in self.budgets
        ]
        return min(plans, key=lambda plan: plan.error)

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        plan = self.plan(public.domain, rows=public.rows, parties=public.parties)
        return plan.budget.correlations.unit

    def _split(self, whole: Budget) -> PhaseBudgets | None:
        """Split a budget by the parameter; `None` where the sizes of tables decide."""
        if self.profile.budget == BY_SIZE:
            return None
        return PhaseBudgets.split(whole, self.profile.budget, phases=PHASES)
