"""DP-SUBN: a synthetic table of all parties' records, by a Bayesian network that parties and
curator learn together.

Su, Tang, Cheng, Chen, Wu, "Differentially private multi-party high-dimensional data publishing"
(ICDE 2016).

    trust       nobody with a record: the curator T sees sums of all parties with full noise, and choices that are private
    collusion   up to `colluding` parties may pool what they know of their own noise. aggregator=paillier assumes that the
                curator colludes with no party, aggregator=masks does not
    who learns  T: the noisy tables and N_0; parties: the frontier and the network; everybody: the synthetic table
    rounds      a secure sum for each of the phases 1, 3 and 4, and K hops of N_0
    privacy     epsilon for each record, neighbours by replacing one. The four phases that look at records compose
                sequentially, the parties in parallel

    1  correlations      T: noisy views, in which every pair stands once             eps1    sum of all parties
    2  initialisation    P_1 -> ... -> P_K -> T: N_0, chosen in turn                 eps2    each party's own records
    3  update            T -> all: the search frontier; noisy tables of it; a better network     eps3    sum of all, or in turn
    4  parameters        T -> all: the network; noisy tables of its families         eps4    sum of all parties
    5  synthesis         T draws the table

What is the paper's and what is not. *On bits* (attributes=binary) the phases are the paper's, with
its faults mended: views that cover every pair once, N_0 as the spanning tree of the noisy
correlations (init=mst, which needs no eps2), one joint update, shares of noise that hold against
insiders, and no network at all when it could not be worth its noise (k = 0). *On the original
attributes* (the default) the tables of pairs are so large that correlations are better chosen than
counted: phase 1 counts single attributes, in phase 2 the parties choose a forest of edges, as many
as are worth their noise, and phase 4 counts those. All tables are then made to agree before the
network is fitted to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...curator import BayesianNetwork, Curator, Estimate, Marginal, agree, synthesise
from ...messages import CURATOR, message
from ...parties import Party
from ...privacy import BinaryEncoding, Domain
from ..protocol import Cost, Formula, Mode, Outcome, Public
from ..secure_sum import CuratorSums, Family, PartySums, SummingProtocol
from .cost import formulas, predict
from .initial import Initialisation, choose_forest, choose_parents, receive_structure
from .learning import Search, correlations_of, directed, structure_of, tree_of
from .plan import Plan, plan_run
from .settings import Choices, Profile, settle
from .updates import (
    Updates,
    collect_in_turn,
    collect_jointly,
    count_in_turn,
    count_jointly,
    replace_in_turn,
    take_turns,
)

__all__ = ["DPSUBN"]


class DPSUBN(SummingProtocol[Choices]):
    """Publish a synthetic table of all parties' records."""

    name = "dp-subn"
    summary = "a synthetic table of all parties' records, from a Bayesian network"
    paper = "Su, Tang, Cheng, Chen, Wu 2016"
    uses = (Updates, Initialisation)

    @message
    class Network:
        """To all: the families whose tables are counted for its parameters."""

        families: tuple[tuple[str, ...], ...]

    def __init__(self, parameters: Choices, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.settings = settle(parameters, mode=mode)
        self.profile = self.settings.profile

    def party(self, me: Party) -> None:
        p, profile = self.parameters, self.profile
        records = me.records.binary() if self.settings.binary else me.records
        with me.phase("keys"):
            sums = PartySums(me, p, noise=self.noise)
        plan = self.plan(records.domain, rows=sums.rows, parties=len(me.parties))
        if plan.budget.correlations:
            with me.phase("correlations"):  # 1
                plan.correlations.contribute(records, sums)
        if plan.flat:
            return
        if eps2 := plan.budget.initialisation:
            with me.phase("initialisation"):  # 2
                if profile.init == "forest":
                    choose_forest(me, records, plan, epsilon=eps2, score=profile.score)
                else:
                    choose_parents(me, records, plan, epsilon=eps2, score=profile.score)
        if eps3 := plan.budget.update:
            with me.phase("update"):  # 3
                if profile.update == "joint":
                    count_jointly(me, records, sums, plan, updates=p.updates)
                elif profile.update == "sequential":
                    count_in_turn(me, records, rows=sums.rows, epsilon=eps3)
                else:
                    take_turns(me, records, sums, epsilon=eps3)
        with me.phase("parameters"):  # 4
            families = me.receive(self.Network, source=CURATOR).families
            plan.parameters(families).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        p, profile = self.parameters, self.profile
        domain = self.domain(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, p, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        views: list[Estimate] = []
        if plan.budget.correlations:
            with desk.phase("correlations"):  # 1
                views = plan.correlations.receive(sums)
        if plan.flat:
            with desk.phase("synthesis"):  # 5
                return self.synthesise(desk, BayesianNetwork(domain, {}), views, rows=sums.rows)
        information = None
        if profile.views != "one-way":
            information = correlations_of(
                domain, views, rows=sums.rows, averaged=self.mode == "rigorous"
            )
        with desk.phase("initialisation"):  # 2
            if profile.init == "mst" and information is not None:
                network = tree_of(
                    information, plan, root=desk.randomness("root").below(len(domain.attributes))
                )
                initial = list(network.families)
            else:
                initial = receive_structure(desk)
                network = (
                    directed(domain, initial)
                    if profile.init == "forest"
                    else structure_of(domain, initial)
                )
        frontiers: Sequence[Sequence[Family]] = ()
        if plan.budget.update and information is not None:
            with desk.phase("update"):  # 3
                search = Search(plan, information, extended=self.mode == "rigorous")
                if profile.update == "joint":
                    found = collect_jointly(desk, network, search, sums, updates=p.updates)
                elif profile.update == "sequential":
                    found = collect_in_turn(desk, network, search, rows=sums.rows)
                else:
                    found = replace_in_turn(desk, network, search, sums)
                network, frontiers = found.network, found.frontiers
        with desk.phase("parameters"):  # 4
            families = plan.to_count(network)
            desk.broadcast(self.Network(families))
            counted = plan.parameters(families).receive(sums)
        with desk.phase("synthesis"):  # 5
            # Views of pairs, with many times the noise in a cell, would add next to nothing to the
            # tables of phase 4.
            known = [*views, *counted] if profile.views == "one-way" else counted
            structure = {"initial": initial, "frontiers": frontiers, "counted": families}
            return self.synthesise(desk, network, known, rows=sums.rows, structure=structure)

    def synthesise(
        self,
        desk: Curator,
        network: BayesianNetwork,
        known: Sequence[Estimate],
        *,
        rows: int,
        structure: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Fit the network to its tables, and draw."""
        settled = agree(known, total=rows) if self.mode == "rigorous" else known
        tables: list[Marginal] = [estimate.table for estimate in settled]
        binary = BinaryEncoding(desk.domain) if self.settings.binary else None
        generator = desk.randomness("sampling").generator()
        made = synthesise(
            network.fit(tables),
            self.parameters.synthetic_rows or rows,
            generator=generator,
            binary=binary,
        )
        edges = sum(map(len, network.parents.values()))
        most = f"{network.degree} parent{'' if network.degree == 1 else 's'}"
        shape = (
            f"{edges} edges, at most {most}" if edges else "none worth its noise: one-way tables"
        )
        return Outcome(
            synthetic=desk.domain.decode(made.codes),
            model={"parents": network.parents, **(structure or {})},
            summary={"network": shape, **({"rejected": made.rejected} if made.rejected else {})},
        )

    # What all roles, and the report, compute alike.

    def domain(self, domain: Domain) -> Domain:
        return BinaryEncoding(domain).bits if self.settings.binary else domain

    def plan(self, domain: Domain, *, rows: int, parties: int) -> Plan:
        return plan_run(
            domain, self.parameters, self.settings, mode=self.mode, rows=rows, parties=parties
        )

    def chosen(self) -> dict[str, Any]:
        profile = {name: getattr(self.profile, name) for name in Profile.__slots__}
        return {
            "noise": self.settings.noise,
            "attributes": "binary" if self.settings.binary else "original",
            **profile,
        }

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        plan = self.plan(self.domain(public.domain), rows=public.rows, parties=public.parties)
        return predict(self.parameters, self.settings, plan, public)

    def formulas(self, public: Public) -> list[Formula]:
        if public.domain is None or not self.settings.binary:
            return []  # the paper has formulas for bits alone
        plan = self.plan(self.domain(public.domain), rows=public.rows, parties=public.parties)
        return [] if plan.flat else formulas(self.settings, plan, public)

    def warnings(self, public: Public) -> list[str]:
        said = super().warnings(public)
        budget, others = self.settings.budget, public.parties - 1
        if self.profile.update == "replace" and budget is not None and others:
            claimed, more = self.parameters.epsilon, others * budget.update
            said.append(
                f"update=replace claims epsilon {claimed:g} for every party, but each later party's turn releases the earlier "
                f"ones' records again: towards the curator party 1 pays {claimed + more:g}, {1 + more / claimed:.3g} times "
                "as much; against another party no epsilon holds"
            )
        return said
