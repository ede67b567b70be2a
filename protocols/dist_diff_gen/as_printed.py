"""DistDiffGen as printed, with the two-party computation of the choices simulated.

Alhadidi, Mohammed, Fung, Debbabi, "Secure distributed framework for achieving epsilon-differential
privacy" (PETS 2012).

    1  tables           P_2 -> P_1: every attribute by class, exactly
    2  specialisation   P_1 -> all: h times a node of a taxonomy is replaced by its children, which
                        the exponential mechanism draws, eps' = eps / 2(|numeric| + 2h) each
    3  leaves           T learns every group by class, with noise of scale 4 / eps       eps / 2
    4  synthesis        T draws the table, inside a leaf all labels alike

    trust       No one but the parties sees a record. Party 2 trusts party 1 with exact counts.
    collusion   As for any secure sum: see `noisy_marginals`.
    who learns  The curator and the public learn the choices, so the leaves, and their noisy counts.
                Party 1 learns the class counts of party 2, exactly.
    rounds      paillier: 8, masks and clear: 6
    privacy     epsilon for each record; neighbours replace a record. Half pays for the choices,
                half for the leaves. Against party 1 no epsilon holds for party 2.

The scores of phase 2 are sums over both parties' records. The paper draws by them in a two-party
computation, which this project does not have. Here P_2 sends P_1 its counts instead. So what a
secure computation would protect is not protected: the report shows infinity against another party.
Everything that leaves the two parties is as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Final

import numpy as np

from ...curator import Curator
from ...curator.marginal import Numbers
from ...curator.projections import norm_mul
from ...messages import CURATOR
from ...parties import Party
from ..cost import Cost, Public
from ..introductions import introduce, predict_introductions
from ..outcome import Outcome
from ..secure_sum import CuratorSums, PartySums, predict_keys
from .descent import specialise
from .disclosure import add_counts, disclose
from .leaves import count_leaves
from .options import Messages
from .plan import SpecialisationPlan
from .scores import choose_together
from .taxonomy import Cuts
from .variant import Variant, predict_cuts, publish, receive_cuts

__all__ = ["AsPrinted"]


SIMULATED: Final = (
    "mode paper simulates the two-party computation of the choices: party 2 sent party 1 its exact "
    "class counts, which a secure computation would have kept secret, so no epsilon holds for "
    "party 2 against party 1; the bytes, rounds and seconds of the choices are those of the "
    "simulation, not of the paper's computation"
)


class AsPrinted(Variant):
    """Choose by the exponential mechanism, on exact counts that party 2 sends to party 1."""

    usual_score = "max"
    needs_all = "party 1 draws the cuts, by the counts of party 2"

    def party(self, me: Party) -> None:
        plan = self.plan(me.records.domain)
        with me.phase("keys"):
            introduce(me, others=me.others)  # P_2's message to P_1 is sealed in any case
            sums = PartySums(me, self.parameters, noise=self.noise)
        if me.number == 1:
            with me.phase("tables"):  # 1
                tables = add_counts(me, plan)
            with me.phase("specialisation"):  # 2
                cuts = draw_cuts(me, plan, tables)
                me.broadcast(Messages.Specialised(tuple(cuts.values())))
        else:
            with me.phase("tables"):  # 1
                disclose(me, plan)
            with me.phase("specialisation"):  # 2
                cuts = receive_cuts(me, plan, source=1)
        with me.phase("leaves"):  # 3
            sums.contribute([count_leaves(me.records, plan, cuts)], plan.leaves(cuts))

    def curator(self, desk: Curator) -> Outcome:
        plan = self.plan(desk.domain)
        with desk.phase("keys"):
            introduce(desk, others=desk.parties)
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("specialisation"):  # 2
            cuts = receive_cuts(desk, plan, source=1)
        with desk.phase("leaves"):  # 3
            counts = sums.total(plan.leaves(cuts))
        with desk.phase("synthesis"):  # 4
            # Counts below 0 are set to 0, and the others keep their proportions.
            return publish(
                desk,
                plan,
                cuts,
                counts=counts,
                projected=norm_mul(counts.astype(np.float64), float(sums.rows)),
                rows=sums.rows,
                generator=desk.randomness("sampling").generator(),
            )

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the choices: all but the leaves."""
        if public.domain is None:
            return []
        plan = self.plan(public.domain)
        lines = predict_keys(self.parameters, public, noise=self.noise, phase="keys")
        if self.parameters.aggregator == "clear":  # its keys have no introductions
            lines.append(predict_introductions(edges=comb(public.parties + 1, 2), phase="keys"))
        counts = Messages.ClassCounts(np.zeros(plan.tables.batch.cells, np.int64))
        lines.append(Cost.of(counts, phase="tables", messages=1))
        return [*lines, *predict_cuts(plan)]

    def warnings(self, public: Public) -> list[str]:
        return [
            *super().warnings(public),
            SIMULATED,
        ]


def draw_cuts(me: Party, plan: SpecialisationPlan, tables: Mapping[str, Numbers]) -> Cuts:
    """Draw the specialisations by both parties' counts. Called by party 1."""

    def pick(scores: Sequence[Numbers]) -> Sequence[int]:
        choice = choose_together(scores, score=plan.score, epsilon=plan.epsilon_of_choice)
        # The choice is released to the curator, and so to the public. Party 2 recorded its cost for
        # party 2's records when it sent its counts.
        return me.release(choice, to=CURATOR)

    return specialise(plan, tables, pick=pick)
