"""DP-CCBN with one search: every set of k + 1 attributes is counted once.

    1  structure     T learns noisy tables of all C(d, k + 1) sets, and adds the best candidate to
                     the network again and again, all from these tables
    2  parameters    T learns noisy tables of the network's maximal families
    3  synthesis     T draws the table

    trust       No one sees a record. T sees sums of all parties with full noise.
    collusion   As for any secure sum: see `noisy_marginals`.
    who learns  T learns the noisy tables, parties learn the network, the public learns the
                synthetic table.
    rounds      two secure sums
    privacy     epsilon for each record; neighbours replace a record. Half pays for the structure
                (eps1), half for the parameters.

The noise of phase 1 has the scale 2 C(d, k + 1) / eps1. At d = 52 and k = 2 that is a 13th of the
noise that an iteration of `iterative` has on average, and a 23rd of the largest.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...curator import Curator
from ...messages import CURATOR
from ...parties import Party
from ..dp_subn.structure import structure_of
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, Tables
from .options import Candidates
from .plan import CandidatePlan
from .scores import choose_all
from .variant import Variant, first_family

__all__ = ["OneShot"]


class OneShot(Variant):
    """Learn the network from one batch of all sets of attributes."""

    def party(self, me: Party) -> None:
        records = self.form.records(me)
        domain = records.domain
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(me.parties))
        chosen: Sequence[Family] = []
        if plan.degree:
            with me.phase("structure"):  # 1
                plan.only_batch(plan.candidate_sets()).contribute(records, sums)
                chosen = me.receive(Candidates.Chosen, source=CURATOR).families
        with me.phase("parameters"):  # 2
            plan.parameters(structure_of(domain, chosen)).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = self.form.domain(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        chosen: list[Family] = []
        if plan.degree:
            with desk.phase("structure"):  # 1
                first = first_family(desk, domain)
                counted = plan.only_batch(plan.candidate_sets()).receive(sums)
                chosen = choose_all(counted, first, plan=plan, rows=sums.rows)
                desk.broadcast(Candidates.Chosen(tuple(chosen)))
        network = structure_of(domain, chosen)
        with desk.phase("parameters"):  # 2
            counted = plan.parameters(network).receive(sums)
        with desk.phase("synthesis"):  # 3
            return self.publish(desk, network, counted, chosen=chosen, rows=sums.rows)

    # The forecast: what `predict` of both searches needs to know of this one.

    def structure_batches(
        self,
        plan: CandidatePlan,
        chosen: Sequence[Family],  # noqa: ARG002 - the batch does not depend on the choice
    ) -> list[Tables]:
        return [plan.only_batch(plan.candidate_sets())] if plan.degree else []

    def announcements(self, chosen: Sequence[Family]) -> list[Sequence[Family]]:
        return [chosen] if chosen else []
