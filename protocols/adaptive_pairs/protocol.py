"""Adaptive pairs: a synthetic table close to the data in every pair of attributes.

    keys        introductions, numbers of rows, keys: see `secure_sum`
    round 1     all roles plan the tables of single attributes from public numbers of labels; T
                learns their noisy sums, and groups labels by them
    round 2...  T -> all: a plan of tables of pairs, in groups or label by label; T learns the noisy
                sums of these tables; in two rounds also
                T -> P_k: estimated tables of pairs; P_k -> T: the pairs that are farthest from its
                records, and how far they are (`choices`)
    synthesis   T estimates all pairs from all rounds, and draws the synthetic table

    trust       No one sees a record. T sees sums of all parties with full noise, and choices that
                are private; parties see nothing of each other.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with the
                curator.
    who learns  T learns the noisy tables, and which pairs parties name. Parties learn the plans,
                and the estimates of some pairs. The public learns the plans, the named pairs and
                the synthetic table.
    messages    keys as for any secure sum; in each round K plans (not in round 1), 2 K digests, and
                K for each page; with choices K estimates and K answers
    rounds      The protocol's rounds are measurements: a secure sum each, after a message with its
                plan. In messages, keys take 3, round 1 takes 1, and each later round takes 2:
                estimates are sent with a plan, and answers with a sum.
    privacy     epsilon for each record, except with probability delta where noise is Gaussian;
                neighbours replace a record. The rounds compose sequentially. A plan follows from
                what was released, so it costs nothing. Choices cost a twentieth of the budget; with
                Laplace noise there are none.
    error       Measured in docs/adaptive-pairs.md.

The protocol is ours. Its parts are known. Each party adds a share of Gaussian or Laplace noise.
Parties choose by the exponential mechanism, as in AIM (McKenna et al. 2022). A plan makes the sum
of the predicted errors least (`curator.pairs.planning`). An estimate lies between what was measured
and simpler models (`curator.pairs.estimate`). Rows are weighted until they have the tables of all
pairs (`curator.pair_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ...curator import Curator
from ...curator.pairs import Pair
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SummingProtocol,
    predict_keys,
    predict_sum,
)
from ..secure_sum.options import colluding
from .choice_messages import Choices
from .choices import (
    MAX_ESTIMATED_CELLS,
    Table,
    ask,
    collect_distances,
    name_pairs,
    predict_choices,
)
from .estimation import Estimation
from .messages import Plans, plan_message, receive_plan
from .options import AdaptivePairsParameters
from .publishing import RoundModel, RunModel, publish
from .rounds import Rounds, require_bounded
from .tables import count_tables, measured_tables

__all__ = ["AdaptivePairs"]

ROUNDS: Final[Mapping[Unit, int]] = {"rho": 5, "epsilon": 2}
"""Default number of rounds."""


class AdaptivePairs(SummingProtocol[AdaptivePairsParameters]):
    """Publish a synthetic table close to the data in every pair of attributes."""

    name = "adaptive-pairs"
    summary = "a synthetic table close to the data in every pair of attributes"
    paper = "ours"
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous",)
    goes_on = True
    all_gaussian = True
    uses: ClassVar[tuple[type, ...]] = (SecureSums, Plans, Choices)

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        rounds = self.rounds(me.records.domain, rows=sums.rows, parties=len(me.parties))
        tables = rounds.first_tables()
        for number in range(1, rounds.count + 1):
            with me.phase(f"round {number}"):
                if number > 1:
                    tables = receive_plan(me)
                if rounds.choices and me.number in rounds.choosers(number, sums.rows_by_party):
                    name_pairs(me, rounds.choices)
                sums.contribute(count_tables(me.records, tables), rounds.batch(number, tables))

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        rounds = self.rounds(desk.domain, rows=sums.rows, parties=len(desk.parties))
        domain = rounds.domain
        estimation = Estimation(domain, generator=desk.randomness("estimation").generator())
        tables, models = rounds.first_tables(), list[RoundModel]()
        for number in range(1, rounds.count + 1):
            with desk.phase(f"round {number}"):
                if number > 1:
                    tables = estimation.plan(
                        table_precision=rounds.table_precision(number), power=rounds.power
                    )
                    desk.broadcast(plan_message(desk.domain, tables))
                choosers = rounds.choosers(number, sums.rows_by_party)
                doubtful, named = dict[Pair, Table](), dict[Pair, float]()
                if rounds.choices and choosers:
                    doubtful = estimation.doubtful_pairs(max_cells=MAX_ESTIMATED_CELLS)
                    ask(desk, doubtful, to=choosers)
                    named = collect_distances(
                        desk,
                        rounds.choices,
                        doubtful,
                        of=choosers,
                        rows_by_party=sums.rows_by_party,
                    )
                    estimation.learn_distances(named)
                batch = rounds.batch(number, tables)
                cells = sums.total(batch)
                variance = sums.variance(batch)  # of the parties whose tables have arrived
                estimation.learn(
                    measured_tables(domain, tables, cells, variance=variance, rows=sums.rows)
                )
                models.append(
                    RoundModel.of(
                        tables,
                        choosers=choosers,
                        parties=len(desk.parties),
                        doubtful=doubtful,
                        named=named,
                    )
                )
        with desk.phase("synthesis"):
            estimate = estimation.estimate()
            rows = self.parameters.synthetic_rows or sums.rows
            return publish(
                desk, domain, estimate, models, rows=rows, predicted=estimation.predicted
            )

    def predict(self, public: Public) -> list[Cost]:
        """Predict the messages: before the run those of round 1, afterwards of all rounds."""
        if public.domain is None:
            return []
        rounds = self.rounds(public.domain, rows=public.rows, parties=public.parties)
        model = public.published(RunModel)
        models = [RoundModel.of(rounds.first_tables())] if model is None else [*model.rounds]
        lines = predict_keys(self.parameters, public, noise=self.noise, phase="keys")
        for number, entry in enumerate(models, start=1):
            phase, tables = f"round {number}", entry.planned()
            if number > 1:
                plan = plan_message(public.domain, tables)
                lines.append(Cost.of(plan, phase=phase, messages=public.parties))
            batch = rounds.batch(number, tables)
            lines += predict_sum(self.parameters, public, batch, noise=self.noise, phase=phase)
            if rounds.choices and entry.choosers:
                # A plan may follow from a play of fewer parties.
                choosers = round(entry.choosers * public.parties / entry.parties)
                sizes = (entry.doubtful_pairs, entry.doubtful_cells)
                lines += predict_choices(rounds.choices, *sizes, phase=phase, parties=choosers)
        return lines

    def rounds(self, domain: Domain, *, rows: int, parties: int) -> Rounds:
        """Divide the budget, in the unit that makes less noise. All roles compute the same.

        Raises:
            UsageError: no attribute has two labels, or all pairs have too many cells.
        """
        names = [name for name in domain.attributes if domain.cells((name,)) > 1]
        if not names:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        require_bounded(domain.project(names))
        choices = [
            Rounds(
                domain.project(names),
                budget,
                count=1 if len(names) == 1 else self.parameters.rounds or ROUNDS[budget.unit],
                rows=rows,
                parties=parties,
                colluding=colluding(self.parameters, parties=parties),
                noise=self.noise,
            )
            for budget in self.budgets
        ]
        return min(choices, key=Rounds.typical_deviation)

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        rounds = self.rounds(public.domain, rows=public.rows, parties=public.parties)
        return rounds.budget.unit

    def chosen(self, public: Public) -> Mapping[str, str | int | float]:
        values = super().chosen(public)
        if public.domain is None:
            return values
        rounds = self.rounds(public.domain, rows=public.rows, parties=public.parties)
        return {**values, "rounds": rounds.count}
