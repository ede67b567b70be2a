"""AIM: the table that fits worst is measured next, and a graphical model fits all measured tables.

    trust       No one sees a record. The curator sees sums of all parties with full noise, and
                choices that are private. With one party this is AIM of one trusted holder.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with
                the curator.
    who learns  The curator learns the noisy tables. The parties learn which tables are measured,
                and a party on turn learns the model of those before. The public learns the choices
                and the synthetic table.
    messages    keys; a batch of secure sums for single attributes; then in each round Turn and
                Measured to all parties, Candidates and Chosen between the curator and the party
                on turn, and a secure sum of one table
    rounds      5, and 4 for each table that is measured
    privacy     epsilon for each record, except with probability delta. Neighbours replace a
                record. All noise is Gaussian, and choices are counted in rho, so delta must be
                above 0.
    error       of the noise, and of the pairs that were never measured together

McKenna, Mullins, Sheldon, Miklau, "AIM: an adaptive and iterative mechanism for differentially
private synthetic data" (VLDB 2022). The steps, in the order of the paper:

    1  initialise   every single attribute is measured, and a model is fitted to their tables
    then in rounds, until the budget is spent:
    2  candidates   the tables with which the model stays small
    3  select       a candidate by the exponential mechanism: its distance from the model, less
                    the expected noise of its table, times its weight in the workload
    4  measure      its table with Gaussian noise
    5  estimate     the model is fitted to all tables
    6  anneal       half the noise, if the table changed the model less than noise would; the last
                    round takes all that is left
    7  generate     rows are drawn of the last model

What differs:

*Neighbours* replace a record; in the paper they add or remove one. So a table's noise has twice the
variance at the same rho, and a distance has twice the sensitivity. The number of rows is public,
and every table is corrected to it.

*Noise* is discrete, and parties make it together.

*Choices* are made in turn. The party on turn has AIM's exponential mechanism on its own records
alone, and compares their tables with the model scaled to its number of rows. Parties' records are
disjoint, so each of them has the whole budget of choices for its turns (`budget`).

*The model* is fitted by `curator.model_fitting`; the paper leaves this to Private-PGM. The bound
on its size is in cells, and grows as in the paper with the budget that has been spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec
import numpy as np

from ...curator import Curator, Estimate
from ...curator.estimates import rescaled
from ...curator.graphical_model import GraphicalModel
from ...curator.model_fitting import fit_closely, fit_model
from ...curator.model_rows import draw_rows
from ...messages import CURATOR, MessageError, Private
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.exponential import choose
from ..cost import Cost, Public
from ..outcome import Outcome
from ..secure_sum import ConcentratedProtocol, CuratorSums, Family, PartySums, predict_keys
from .candidates import fitting
from .cost import predict_rounds
from .messages import Messages
from .parameters import AIMParameters, Published, Round
from .plan import RunPlan, table_of
from .reading import check_cost, places, read_family, read_model, write_model
from .workload import DISTANCE_CHANGE, Counts, distances, expected_noise

__all__ = ["AIM"]


class AIM(ConcentratedProtocol[AIMParameters]):
    """Publish a table of all parties' records, whose worst pairs were measured one by one."""

    name = "aim"
    summary = "a synthetic table from the pairs that fitted worst, of one holder or of many parties"
    paper = "McKenna, Mullins, Sheldon, Miklau 2022 (AIM)"
    goes_on = True
    only_played = "asks one party in each round, and chance says which"
    uses = (Messages,)

    def party(self, me: Party) -> None:
        records, plan = me.records, self.plan(me.records.domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("single attributes"):  # 1
            if plan.workload.attributes:
                plan.singles.contribute(records, sums)
        if not plan.has_pairs:
            return
        families, allowed = [*plan.workload.weights], plan.choices
        tables = dict(zip(families, records.marginals(families), strict=True))
        with me.phase("rounds"):
            while (turn := me.receive(Messages.Turn, source=CURATOR)).party:
                if turn.party == me.number:  # 3
                    allowed -= self.choose_table(me, plan, tables, allowed=allowed)
                check_cost(turn.rho, plan.whole, where=me.where)
                measured = me.receive(Messages.Measured, source=CURATOR).attributes
                if not measured:
                    continue  # the party on turn was lost, and another one chooses
                family = read_family(measured, plan.workload, where=me.where)
                table_of(plan.domain, family, rho=turn.rho).contribute(records, sums)  # 4

    def curator(self, desk: Curator) -> Outcome:
        plan, singles, rounds = self.plan(desk.domain), list[Estimate](), list[Round]()
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("single attributes"):  # 1
            if plan.workload.attributes:
                singles = plan.singles.receive(sums)
            model = fit_model(plan.domain, singles, total=sums.rows)
        if plan.has_pairs:
            with desk.phase("rounds"):  # 2 to 6
                model, rounds = self.measure(desk, sums, plan, singles, start=model)
        with desk.phase("synthesis"):  # 7
            codes = draw_rows(
                model,
                rows=self.parameters.synthetic_rows or sums.rows,
                generator=desk.randomness("sampling").generator(),
                progress=desk.progress,
            )
        pairs = {frozenset(entry.attributes) for entry in rounds if len(entry.attributes) > 1}
        return Outcome(
            synthetic=plan.domain.rows(codes),
            model={
                "rounds": [msgspec.structs.asdict(entry) for entry in rounds],
                "tree": model.tree.junction_tree.to_builtins(),
            },
            summary={
                "rounds": len(rounds),
                "pairs": f"{len(pairs)} measured",
                "cells": model.cells,
            },
        )

    def measure(
        self,
        desk: Curator,
        sums: CuratorSums,
        plan: RunPlan,
        singles: Sequence[Estimate],
        *,
        start: GraphicalModel,
    ) -> tuple[GraphicalModel, list[Round]]:
        """Measure tables until the budget is spent; give the last model. Called by the curator."""
        domain, total = plan.domain, sums.rows
        model, estimates, rounds = start, [*singles], list[Round]()
        budget = plan.start(sums.rows_by_party)
        while budget.left > 0:
            living = [party for party in desk.parties if party not in desk.lost]
            desk.require_enough(living, consequence="no table is measured without them")
            budget.lost = desk.lost
            party, cost = budget.next_round()
            if not cost:
                break
            batch = table_of(domain, plan.workload.attributes[:1], rho=budget.table).batch
            noise_share = sums.noise_share(batch, members=living)
            candidates = fitting(  # 2
                plan.workload, model, max_cells=plan.max_cells * budget.spent_share
            )
            desk.broadcast(Messages.Turn(party, budget.table))
            message = write_model(model, candidates, rho=cost, noise_share=noise_share)
            family = self.receive_choice(desk, message, candidates, party=party)  # 3
            desk.broadcast(Messages.Measured(places(domain, family)))
            if not family:
                continue
            measured = table_of(domain, family, rho=budget.table).receive(sums)  # 4
            estimates = [*rescaled(estimates, rows=total, total=sums.rows), *measured]
            total = sums.rows
            rounds.append(Round(attributes=family, rho=budget.table, party=party))
            budget.spend()
            before = model.marginal(family)
            model = fit_model(domain, estimates, total=total, start=model)  # 5
            change = 2 * total * model.marginal(family).distance(before)
            deviation = sqrt(measured[0].variance)  # of the parties whose tables have arrived
            if change <= expected_noise(domain, [family], deviation=deviation)[0]:
                budget.halve_noise()  # 6
            desk.progress(budget.measured_share, of=1)
        desk.broadcast(Messages.Turn(0, 0.0))
        return fit_closely(domain, estimates, total=total, start=model), rounds

    def receive_choice(
        self,
        desk: Curator,
        message: Messages.Candidates,
        candidates: Sequence[Family],
        *,
        party: int,
    ) -> Family:
        """Ask the party on turn for one of the candidates. Called by the curator.

        The choice is empty if the party is lost before it has chosen, where the run may go on.

        Raises:
            MessageError: the party named none of them.
        """
        desk.send(message, to=party)
        answer = desk.receive_in_turn(Messages.Chosen, source=party)
        if answer is None:
            return ()
        index = answer.index
        if not 0 <= index < len(candidates):
            raise MessageError(
                f"expected one of {len(candidates)} candidates, found number ",
                Private(index),
                where=desk.where,
            )
        return candidates[index]

    def choose_table(
        self,
        me: Party,
        plan: RunPlan,
        tables: Mapping[Family, Counts],
        *,
        allowed: float,
    ) -> float:
        """Choose the next table by the party's own; give what it costs. Called on turn.

        Raises:
            MessageError: the candidates are none of the workload's, the model is malformed, or the
                choice would cost more than the party has left for choices.
        """
        workload, where, count = plan.workload, me.where, len(me.records)
        message = me.receive(Messages.Candidates, source=CURATOR)
        check_cost(message.rho, Budget("rho", allowed), where=where)
        candidates = [read_family(family, workload, where=where) for family in message.candidates]
        model = read_model(message, workload, max_cells=plan.max_accepted_cells, where=where)
        weights = np.array([workload.weights[family] for family in candidates])
        noise = expected_noise(plan.domain, candidates, deviation=message.noise_share * count)
        errors = distances(tables, model, candidates, rows=count) - noise
        choice = choose(
            weights * errors,
            sensitivity=DISTANCE_CHANGE * float(weights.max()),
            budget=Budget("rho", message.rho),
        )
        # The choice is released to the curator, and so to the public.
        me.send(Messages.Chosen(me.release(choice, to=CURATOR)), to=CURATOR)
        return message.rho

    def predict(self, public: Public) -> list[Cost]:
        """Predict the messages, those of the rounds only once their tables are published."""
        if public.domain is None:
            return []
        parameters, noise, plan = self.parameters, self.noise, self.plan(public.domain)
        lines = predict_keys(parameters, public, noise=noise, phase="keys")
        if plan.workload.attributes:
            lines += plan.singles.predict(
                parameters, public, noise=noise, phase="single attributes"
            )
        published = public.published(Published)
        if published is not None and plan.has_pairs:
            lines += predict_rounds(parameters, public, published, domain=plan.domain, noise=noise)
        return lines

    def plan(self, domain: Domain) -> RunPlan:
        """Make the plan, the same for all roles."""
        return RunPlan.of(domain, self.parameters, whole=self.whole)
