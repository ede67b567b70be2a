"""DistDiffGen with choices from noisy tables: what mode rigorous runs.

    1  tables           T learns every attribute by class, with noise                  eps / 2
    2  specialisation   T -> all: h times the best node of a taxonomy by the noisy tables is
                        replaced by its children
    3  leaves           T learns every group by class, with noise of scale 4 / eps     eps / 2
    4  synthesis        T draws the table, inside a leaf all labels alike

    trust       No one sees a record. The curator may collude with `colluding` parties.
    collusion   As for any secure sum: see `noisy_marginals`.
    who learns  The curator and the public learn the noisy tables, the choices, so the leaves, and
                their noisy counts.
    rounds      paillier and masks: 6, clear: 5
    privacy     epsilon for each record; neighbours replace a record. Half pays for the tables, half
                for the leaves.

No two-party computation is needed. A node is specialised in every group in which it stands. So its
score depends on the class counts of its attribute over all records, and on no earlier choice. One
secure sum of d - 1 tables, which a replaced record changes by 2 (d - 1) in L1, serves all choices.
The tables are made to agree and the best node is taken, all by post-processing.
"""

from __future__ import annotations

import numpy as np

from ...curator import Curator, agree
from ...curator.projections import norm_sub
from ...messages import CURATOR
from ...parties import Party
from ..cost import Cost, Public
from ..outcome import Outcome
from ..secure_sum import CuratorSums, PartySums, predict_keys
from .descent import pick_best, specialise
from .leaves import count_leaves
from .options import Messages
from .variant import Variant, predict_cuts, publish, receive_cuts

__all__ = ["NoisyTables"]


class NoisyTables(Variant):
    """Choose by noisy tables of all records; *gain* tells more of them than *max*."""

    usual_score = "gain"
    goes_on = True

    def party(self, me: Party) -> None:
        plan = self.plan(me.records.domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("tables"):  # 1
            plan.tables.contribute(me.records, sums)
        with me.phase("specialisation"):  # 2
            cuts = receive_cuts(me, plan, source=CURATOR)
        with me.phase("leaves"):  # 3
            sums.contribute([count_leaves(me.records, plan, cuts)], plan.leaves(cuts))

    def curator(self, desk: Curator) -> Outcome:
        plan = self.plan(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("tables"):  # 1
            agreed = agree(plan.tables.receive(sums), total=sums.rows)
        with desk.phase("specialisation"):  # 2
            tables = {estimate.attributes[0]: estimate.table.values for estimate in agreed}
            cuts = specialise(plan, tables, pick=pick_best)
            desk.broadcast(Messages.Specialised(tuple(cuts.values())))
        with desk.phase("leaves"):  # 3
            counts = sums.total(plan.leaves(cuts))
        with desk.phase("synthesis"):  # 4
            # The nearest table of n rows without counts below 0.
            return publish(
                desk,
                plan,
                cuts,
                counts=counts,
                projected=norm_sub(counts.astype(np.float64), float(sums.rows)),
                rows=sums.rows,
                generator=desk.randomness("sampling").generator(),
            )

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the choices: all but the leaves."""
        if public.domain is None:
            return []
        plan = self.plan(public.domain)
        tables = plan.tables.predict(self.parameters, public, noise=self.noise, phase="tables")
        keys = predict_keys(self.parameters, public, noise=self.noise, phase="keys")
        return [*keys, *tables, *predict_cuts(plan)]
