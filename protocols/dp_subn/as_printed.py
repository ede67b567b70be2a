"""DP-SUBN as printed (Su et al. 2016, section VI-A), on bits. It costs more than it claims.

The phases have the paper's numbers. P_1, ..., P_K are the parties, T is the curator.

    1  correlations      T learns noisy views, which contain every pair    eps1
                         (NOCD, Algorithm 2)
    2  initialisation    P_1 -> ... -> P_K -> T: N_0, chosen in turn       eps2
    3  update            K rounds, one for each party: T -> P_k: the       eps3
                         search frontier F_(k-1); P_k adds its tables
                         and replaces the noise in the sum; T selects N_k
    4  parameters        T -> all: N_K; T learns noisy tables of it        eps4
    5  synthesis         T draws the table

    trust       No one sees a record. The curator must not collude with a party.
    collusion   none: with probability 1/K a party knows the noise in a sum
    who learns  T learns the noisy tables and N_0, parties learn the frontier's families in their
                turns and N_K, the public learns N_0, N_K and the synthetic table.
    rounds      a secure sum for phase 1 and for phase 4, K hops of N_0, K rounds of phase 3
    privacy     Claimed: epsilon for each record, a quarter for each phase; neighbours replace a
                record. In fact party k pays eps3 again for every later party's round
                (`noise_replacement`), and against another party no epsilon holds.

docs/dp-subn-errata.md lists what the paper prints wrongly. Three faults are mended, as the protocol
could not run with them: Algorithm 2 keeps to grids that cover all pairs (E4). The d - 1 picks of
phase 2 are shared out evenly (E9). A family that no earlier party counted starts with the current
party's records (E3). The network always has k >= 1.
"""

from __future__ import annotations

from typing import Final

from ...curator import Curator
from ...messages import CURATOR, UsageError
from ...parties import Party
from ...privacy import BinaryEncoding, Budget, Domain
from ..cost import Cost, Formula, Public, add_up
from ..noise_replacement import (
    CuratorReplacement,
    NoiseReplacement,
    PartyReplacement,
    predict_replacement,
)
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, predict_keys
from .bits_plan import BitsPlan, pick_design, plan_bits
from .budget import PhaseBudgets
from .cost import evaluate_formulas, frontiers_in_turn, predict_parameters, predict_turns
from .initial import choose_parents, receive_structure
from .learning import Search, correlations_of
from .messages import Messages
from .options import DPSUBNParameters, Profile
from .structure import Structure, structure_of
from .synthesis import publish
from .usefulness import inflation_of
from .variant import Variant

__all__ = ["AsPrinted"]

PHASES: Final = ("correlations", "initialisation", "update", "parameters")


class AsPrinted(Variant):
    """DP-SUBN to the letter of section VI-A."""

    uses = (NoiseReplacement, Messages)
    needs_all = "each party hands its noise, and its choices, to the next one"
    usual = Profile(
        attributes="binary",
        views="algorithm-2",
        init="em",
        update="replace",
        score="I",
        budget="0.25,0.25,0.25,0.25",
        theta=6.0,
        theta_frontier=2.0,
    )
    designs = ("algorithm-2",)
    combination = (
        "mode paper goes with attributes=binary, views=algorithm-2, init=em, update=replace and "
        "score=I"
    )

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        if parameters.aggregator != "paillier":
            raise UsageError(
                "expected aggregator=paillier for update=replace, which replaces noise under "
                f"encryption, found {parameters.aggregator}"
            )
        whole = Budget.pure(parameters.epsilon)
        self.budget = PhaseBudgets.split(whole, self.profile.budget, phases=PHASES)
        self.design = pick_design(parameters, self.profile)

    def party(self, me: Party) -> None:
        records = me.records.binary()
        with me.phase("keys"):
            # Parties hand noise to one another, so all pairs are introduced.
            sums = PartySums(me, self.parameters, noise=self.noise, all_pairs=True)
        plan = self.plan(records.domain, rows=sums.rows, parties=len(me.parties))
        with me.phase("correlations"):  # 1
            plan.correlations.contribute(records, sums)
        with me.phase("initialisation"):  # 2
            choose_parents(
                me,
                records,
                sizes=plan.sizes,
                degree=plan.degree,
                budget=plan.budget.initialisation,
                score="I",
            )
        with me.phase("update"):  # 3
            replacement = PartyReplacement(sums.keyed_party, domain=records.domain)
            for turn in me.parties:
                replacement.round(turn, count=records.marginal, epsilon=plan.budget.update.amount)
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
        information = correlations_of(plan.domain, views, rows=sums.rows, averaged=False)
        with desk.phase("initialisation"):  # 2
            initial = receive_structure(desk)
            network = structure_of(plan.domain, initial)
        with desk.phase("update"):  # 3
            search = Search(plan, information, extended=False)
            replacement = CuratorReplacement(sums.key_holder, domain=plan.domain, rows=sums.rows)
            frontiers: list[tuple[Family, ...]] = []
            for turn in desk.parties:
                frontier = search.around(network)
                frontiers.append(frontier.maximal_families)
                replacement.round(turn, frontiers[-1], epsilon=plan.budget.update.amount)
                network = search.within(frontier, replacement.estimates(frontiers[-1]))
        with desk.phase("parameters"):  # 4
            families = network.maximal_families
            desk.broadcast(Messages.Network(families))
            counted = plan.parameters(families).receive(sums)
        with desk.phase("synthesis"):  # 5
            return publish(
                desk,
                network,
                [estimate.table for estimate in counted],
                rows=self.parameters.synthetic_rows or sums.rows,
                binary=binary,
                structure=Structure(
                    initial=tuple(initial), frontiers=tuple(frontiers), counted=families
                ),
            )

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        plan = self.plan(
            BinaryEncoding(public.domain).bits, rows=public.rows, parties=public.parties
        )
        lines = [
            *predict_keys(self.parameters, public, noise=self.noise, phase="keys", all_pairs=True),
            *plan.correlations.predict(
                self.parameters, public, noise=self.noise, phase="correlations"
            ),
        ]
        structure = public.published(Structure)
        if structure is None:
            return lines
        replacement = predict_replacement(
            frontiers_in_turn(structure, parties=public.parties),
            public,
            domain=plan.domain,
            phase="update",
            epsilon=plan.budget.update.amount,
        )
        counted = plan.parameters(structure.counted)
        return add_up(
            [
                *lines,
                *predict_turns(structure.initial, parties=public.parties),
                *replacement,
                *predict_parameters(counted, self.parameters, public, noise=self.noise),
            ]
        )

    def formulas(self, public: Public) -> list[Formula]:
        if public.domain is None:
            return []
        plan = self.plan(
            BinaryEncoding(public.domain).bits, rows=public.rows, parties=public.parties
        )
        return evaluate_formulas(plan, public, parties_of_a_frontier=1)

    def warnings(self, public: Public) -> list[str]:
        warnings = super().warnings(public)
        if public.parties > 1:
            claimed = self.parameters.epsilon
            extra = (public.parties - 1) * self.budget.update.amount
            warnings.append(
                f"update=replace claims epsilon {claimed:g} for every party, but each later "
                "party's turn releases the earlier ones' records again: towards the curator "
                f"party 1 pays {claimed + extra:g}, {1 + extra / claimed:.3g} times as much; "
                "against another party no epsilon holds"
            )
        return warnings

    def plan(self, domain: Domain, *, rows: int, parties: int) -> BitsPlan:
        """Plan the run on these bits. All roles compute the same."""
        return plan_bits(
            domain,
            self.profile,
            whole=Budget.pure(self.parameters.epsilon),
            budget=self.budget,
            design=self.design,
            rows=rows,
            inflation=inflation_of(self.parameters, noise=self.noise, parties=parties),
            min_parents=1,
            as_printed=True,
        )
