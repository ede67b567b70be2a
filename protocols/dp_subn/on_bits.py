"""DP-SUBN on bits, with the paper's faults mended: the phases are those of section VI-A.

    1  correlations      T learns noisy views, which contain every pair    eps1    sum of all
                         once (NOCD, the design with the least error)
    2  initialisation    T takes the spanning tree of the correlations     0
                         for N_0
    3  update            T -> all: the search frontier; T learns noisy     eps3    sum of all
                         tables of it and selects a better network
    4  parameters        T -> all: the network; T learns noisy tables of   eps4    sum of all
                         its families
    5  synthesis         T makes the tables agree, and draws the table

    trust       No one sees a record. T sees sums of all parties with full noise.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with
                the curator.
    who learns  T learns the noisy tables, parties learn the frontier's families and the network,
                the public learns the network, its frontier and the synthetic table.
    rounds      a secure sum for each of the phases 1, 3 and 4
    privacy     epsilon for each record; neighbours replace a record. The phases compose
                sequentially, the parties in parallel.

Where k = 0 no network is worth its noise: phases 2 to 4 are left out, and phase 1 spends the whole
budget on the tables of single bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...curator import BayesianNetwork, Curator, agree
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import BinaryEncoding, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Formula, Public, add_up
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, predict_keys
from .bits_plan import BitsPlan, Frontiers, pick_design, plan_bits
from .budget import PhaseBudgets
from .cost import evaluate_formulas, predict_candidates, predict_parameters
from .learning import Search, correlations_of, tree_of
from .messages import Messages
from .options import DPSUBNParameters, Profile
from .structure import Structure
from .synthesis import publish
from .usefulness import inflation_of
from .variant import Variant

__all__ = ["OnBits"]

PHASES: Final = ("correlations", "update", "parameters")


class OnBits(Variant):
    """DP-SUBN on bits, corrected: one joint update, or as many as `updates`."""

    goes_on = True

    usual = Profile(
        attributes="binary",
        views="nocd",
        init="mst",
        update="joint",
        score="I",
        budget="0.3,0,0.1,0.6",
        theta=12.0,
        theta_frontier=4.0,
    )
    designs = ("nocd", "algorithm-2", "priview", "pairs")
    combination = (
        "attributes=binary goes with views=nocd, algorithm-2, priview or pairs, init=mst, "
        "update=joint or sequential, and score=I"
    )

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        for budget in self.budgets:  # wrong shares are refused before any role begins
            PhaseBudgets.split(budget, self.profile.budget, phases=PHASES)
        self.design = pick_design(parameters, self.profile)

    def party(self, me: Party) -> None:
        records = me.records.binary()
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        plan = self.plan(records.domain, rows=sums.rows, parties=len(me.parties))
        with me.phase("correlations"):  # 1
            plan.correlations.contribute(records, sums)
        if not plan.degree:
            return
        with me.phase("update"):  # 3
            self.count_frontiers(me, records, sums, plan)
        with me.phase("parameters"):  # 4
            families = me.receive(Messages.Network, source=CURATOR).families
            plan.parameters(families).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        binary = BinaryEncoding(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        plan = self.plan(binary.bits, rows=sums.rows, parties=len(desk.parties))
        with desk.phase("correlations"):  # 1
            views = plan.correlations.receive(sums)
        if not plan.degree:
            with desk.phase("synthesis"):  # 5
                tables = [estimate.table for estimate in agree(views, total=sums.rows)]
                network = BayesianNetwork(plan.domain, {})
                rows = self.parameters.synthetic_rows or sums.rows
                return publish(desk, network, tables, rows=rows, binary=binary, structure=None)
        information = correlations_of(plan.domain, views, rows=sums.rows)
        with desk.phase("initialisation"):  # 2
            root = desk.randomness("root").below(len(plan.domain.attributes))
            network = tree_of(information, plan, root=root)
            initial = network.families
        with desk.phase("update"):  # 3
            search = Search(plan, information, extended=True)
            network, frontiers = self.update_network(desk, network, search, sums)
        with desk.phase("parameters"):  # 4
            families = network.maximal_families
            desk.broadcast(Messages.Network(families))
            counted = plan.parameters(families).receive(sums)
        with desk.phase("synthesis"):  # 5
            # The views of phase 1 are left out: with many times the noise in a cell, they would
            # add next to nothing to the tables of phase 4.
            tables = [estimate.table for estimate in agree(counted, total=sums.rows)]
            structure = Structure(initial=tuple(initial), frontiers=frontiers, counted=families)
            rows = self.parameters.synthetic_rows or sums.rows
            return publish(desk, network, tables, rows=rows, binary=binary, structure=structure)

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        options, noise = self.parameters, self.noise
        plan = self.plan(
            BinaryEncoding(public.domain).bits, rows=public.rows, parties=public.parties
        )
        lines = [
            *predict_keys(options, public, noise=self.noise, phase="keys"),
            *plan.correlations.predict(options, public, noise=noise, phase="correlations"),
        ]
        structure = public.published(Structure) if plan.degree else None
        if structure is None:
            return lines
        for frontier in self.frontiers_of(structure, public):
            lines += self.predict_frontier(frontier, public, plan)
        counted = plan.parameters(structure.counted)
        return add_up([*lines, *predict_parameters(counted, options, public, noise=noise)])

    def formulas(self, public: Public) -> list[Formula]:
        if public.domain is None:
            return []
        plan = self.plan(
            BinaryEncoding(public.domain).bits, rows=public.rows, parties=public.parties
        )
        if not plan.degree:
            return []
        return evaluate_formulas(
            plan, public, parties_of_a_frontier=self.parties_of_a_frontier(public)
        )

    # Phase 3, both sides and the forecast.

    def count_frontiers(self, me: Party, records: Records, sums: PartySums, plan: BitsPlan) -> None:
        """Count every frontier that T sends, in a secure sum. Called by every party."""
        for _ in range(plan.updates):
            families = me.receive(Messages.Candidates, source=CURATOR).families
            plan.frontier(families).contribute(records, sums)

    def update_network(
        self, desk: Curator, network: BayesianNetwork, search: Search, sums: CuratorSums
    ) -> tuple[BayesianNetwork, Frontiers]:
        """Send frontiers and select the network by their tables. Called by the curator."""
        frontiers: list[tuple[Family, ...]] = []
        for _ in range(search.plan.updates):
            frontier = search.around(network)
            families = frontier.maximal_families
            desk.broadcast(Messages.Candidates(families))
            network = search.within(frontier, search.plan.frontier(families).receive(sums))
            frontiers.append(families)
        return network, tuple(frontiers)

    def predict_frontier(
        self, frontier: Sequence[Family], public: Public, plan: BitsPlan
    ) -> list[Cost]:
        """Predict the messages of one frontier."""
        tables = plan.frontier(frontier)
        return [
            predict_candidates(frontier, receivers=public.parties),
            *tables.predict(self.parameters, public, noise=self.noise, phase="update"),
        ]

    def frontiers_of(self, structure: Structure, public: Public) -> Sequence[Sequence[Family]]:  # noqa: ARG002 - for subclasses
        """List the frontiers that are counted."""
        return structure.frontiers

    def parties_of_a_frontier(self, public: Public) -> int:
        """Give the number of parties that count each frontier."""
        return public.parties

    # What all roles compute alike.

    def plan(self, domain: Domain, *, rows: int, parties: int) -> BitsPlan:
        """Plan the run on these bits. All roles compute the same."""
        plans = [
            plan_bits(
                domain,
                self.profile,
                whole=whole,
                budget=PhaseBudgets.split(whole, self.profile.budget, phases=PHASES),
                design=self.design,
                rows=rows,
                inflation=inflation_of(self.parameters, noise=self.noise, parties=parties),
                updates=self.parameters.updates,
            )
            for whole in self.budgets
        ]
        return min(plans, key=lambda plan: plan.error)

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        bits = BinaryEncoding(public.domain).bits
        plan = self.plan(bits, rows=public.rows, parties=public.parties)
        return plan.budget.correlations.unit
