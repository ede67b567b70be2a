"""DP-CCBN as printed (Su et al. 2016, section V): all candidates are counted in every iteration.

    1  structure     for i = 1, ..., d - 1: T learns noisy tables of all (d - i) C(i, k)
                     candidates, adds the best one to the network, and sends it to all
    2  parameters    T learns noisy tables of the network's maximal families
    3  synthesis     T draws the table

    trust       No one sees a record. T sees sums of all parties with full noise.
    collusion   As for any secure sum: see `noisy_marginals`.
    who learns  T learns the noisy tables, parties learn the network, the public learns the
                synthetic table.
    rounds      a secure sum for each attribute, and one for the parameters
    privacy     epsilon for each record; neighbours replace a record. Half pays for the structure
                (eps1), half for the parameters.

Each iteration is a release of A_i tables with eps1 / (d - 1), so its noise has the scale
2 A_i (d - 1) / eps1. (The text says eps / (d - 1), which would spend eps1 twice: spec E15.) The
same sets of attributes come back in every later iteration, and are counted again: `oneshot` avoids
that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...curator import Curator
from ...messages import CURATOR
from ...parties import Party
from ..dp_subn.structure import structure_of
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, Tables
from .options import Candidates
from .plan import CandidatePlan
from .scores import scores_of
from .variant import Variant, first_family

__all__ = ["Iterative"]


class Iterative(Variant):
    """Learn the network candidate by candidate, each from a batch of its own."""

    def party(self, me: Party) -> None:
        records = self.form.records(me)
        domain = records.domain
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(me.parties))
        plan.check_iterations()
        chosen: list[Family] = []
        if plan.degree:
            with me.phase("structure"):  # 1
                chosen += me.receive(Candidates.Chosen, source=CURATOR).families
                for step in range(1, len(domain.attributes)):
                    plan.iteration(plan.candidates(chosen)).contribute(records, sums)
                    chosen += me.receive(Candidates.Chosen, source=CURATOR).families
                    me.progress(step + 1, of=len(domain.attributes))
        with me.phase("parameters"):  # 2
            plan.parameters(structure_of(domain, chosen)).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = self.form.domain(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        plan.check_iterations()
        chosen: list[Family] = []
        if plan.degree:
            with desk.phase("structure"):  # 1
                chosen.append(first_family(desk, domain))
                desk.broadcast(Candidates.Chosen(tuple(chosen)))
                for _ in domain.attributes[1:]:
                    candidates = plan.candidates(chosen)
                    counted = plan.iteration(candidates).receive(sums)
                    scores = scores_of(counted, candidates, domain, rows=sums.rows)
                    chosen.append(candidates[int(np.argmax(scores))])
                    desk.broadcast(Candidates.Chosen((chosen[-1],)))
        network = structure_of(domain, chosen)
        with desk.phase("parameters"):  # 2
            counted = plan.parameters(network).receive(sums)
        with desk.phase("synthesis"):  # 3
            return self.publish(desk, network, counted, chosen=chosen, rows=sums.rows)

    # The forecast: what `predict` of both searches needs to know of this one.

    def structure_batches(self, plan: CandidatePlan, chosen: Sequence[Family]) -> list[Tables]:
        return [plan.iteration(plan.candidates(chosen[:step])) for step in range(1, len(chosen))]

    def announcements(self, chosen: Sequence[Family]) -> list[Sequence[Family]]:
        return [[family] for family in chosen]
