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
private synthetic data" (VLDB 2022). The steps have the line numbers of its algorithm 1.

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
from typing import Final

import msgspec
import numpy as np

from ...curator import Curator, Estimate
from ...curator.graphical_model import GraphicalModel
from ...curator.model_fitting import fit_model
from ...curator.raking import rake
from ...curator.sampling import SampleCodes, synthesise
from ...messages import CURATOR, MessageError, Private, UsageError, encoded_size
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.exponential import choose
from ..cost import Cost, Public, add_up
from ..protocol import Mode, Outcome
from ..secure_sum import (
    CuratorSums,
    Family,
    PartySums,
    SummingProtocol,
    Tables,
    predict_keys,
)
from .budget import CHOICES, ROUNDS, RunBudget, choice_budget, single_budget
from .candidates import fitting
from .messages import Messages
from .parameters import AIMParameters, Published, Round
from .reading import check_cost, places, read_family, read_model, write_model
from .workload import DISTANCE_CHANGE, Counts, Workload, distances, expected_noise, workload_of

__all__ = ["AIM"]

MIN_DRAWN_ROWS: Final = 200_000
"""Rows that are drawn of the model and raked, before as many as wanted are kept."""
MIN_ACCEPTED_CELLS: Final = 1 << 22
"""Cells of a model that every party accepts: 32 MiB."""
LAST_ITERATIONS: Final = 300
"""Steps of the last fit."""
LAST_TOLERANCE: Final = 0.005


class AIM(SummingProtocol[AIMParameters]):
    """Publish a table of all parties' records, whose worst pairs were measured one by one."""

    name = "aim"
    summary = "a synthetic table from the pairs that fitted worst, of one holder or of many parties"
    paper = "McKenna, Mullins, Sheldon, Miklau 2022 (AIM)"
    modes = ("rigorous",)
    uses = (Messages,)

    def __init__(self, parameters: AIMParameters, *, mode: Mode) -> None:
        if not parameters.delta:
            raise UsageError(
                "expected a delta above 0 for aim, whose noise is Gaussian, found 0: --delta 1e-9, "
                "or take dp-subn, which keeps a pure epsilon"
            )
        if parameters.noise not in (None, "auto", "gaussian"):
            raise UsageError(
                f"expected noise=gaussian for aim, found {parameters.noise}: leave it out, or take "
                "dp-subn"
            )
        super().__init__(parameters, mode=mode)
        self._whole = Budget.of(self.epsilon, delta=self.delta)

    @property
    def budgets(self) -> list[Budget]:
        return [self._whole]

    def party(self, me: Party) -> None:
        domain = me.records.domain
        workload = self.workload(domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("single attributes"):  # lines 4 to 6
            if workload.attributes:
                self.single_tables(workload).contribute(me.records, sums)
        if not pairs_in(workload):
            return
        allowed = choice_budget(
            self._whole, attributes=len(workload.attributes), rounds=self.rounds(workload)
        )
        tables = dict(zip(workload.weights, me.records.marginals([*workload.weights]), strict=True))
        with me.phase("rounds"):
            while (turn := me.receive(Messages.Turn, source=CURATOR)).party:
                if turn.party == me.number:
                    allowed -= self.choose_table(
                        me, workload, tables, allowed=allowed, rows=sums.rows
                    )
                check_cost(turn.rho, self._whole, where=me.where)
                measured = me.receive(Messages.Measured, source=CURATOR).attributes
                family = read_family(measured, workload, where=me.where)
                table_of(domain, family, rho=turn.rho).contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        workload = self.workload(domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        singles: list[Estimate] = []
        with desk.phase("single attributes"):  # lines 4 to 6
            if workload.attributes:
                singles = self.single_tables(workload).receive(sums)
        rounds: list[Round] = []
        if pairs_in(workload):
            with desk.phase("rounds"):
                model, rounds = self.measure(desk, sums, workload, singles)
        else:
            model = fit_model(domain, singles, total=sums.rows)
        with desk.phase("synthesis"):
            codes = self.draw(desk, model, rows=self.parameters.synthetic_rows or sums.rows)
        sets = {frozenset(entry.attributes) for entry in rounds if len(entry.attributes) > 1}
        return Outcome(
            synthetic=domain.decode(codes),
            model={
                "rounds": [msgspec.structs.asdict(entry) for entry in rounds],
                "tree": model.tree.junction_tree.to_builtins(),
            },
            summary={
                "rounds": len(rounds),
                "pairs": f"{len(sets)} measured",
                "cells": model.cells,
            },
        )

    def measure(
        self,
        desk: Curator,
        sums: CuratorSums,
        workload: Workload,
        singles: Sequence[Estimate],
    ) -> tuple[GraphicalModel, list[Round]]:
        """Measure tables until the budget is spent."""
        domain, total = workload.domain, sums.rows
        estimates, rounds = [*singles], list[Round]()
        model = fit_model(domain, estimates, total=total)  # line 7
        budget = RunBudget.start(
            self._whole,
            attributes=len(workload.attributes),
            rounds=self.rounds(workload),
            rows=sums.rows_by_party,
        )
        tables = (1 - CHOICES) * self._whole.amount
        while budget.left > 0:  # line 8
            party, cost = budget.next_round()
            # line 10
            batch = table_of(domain, workload.attributes[:1], rho=budget.table)
            deviation = sqrt(sums.variance(batch.batch))
            spent = 1 - (budget.left - budget.table) / tables
            candidates = fitting(workload, model, max_cells=self.parameters.max_cells * spent)
            # line 11
            desk.broadcast(Messages.Turn(party, budget.table))
            message = write_model(model, candidates, rho=cost, deviation=deviation)
            desk.send(message, to=party)
            index = desk.receive(Messages.Chosen, source=party).index
            if not 0 <= index < len(candidates):
                raise MessageError(
                    f"expected one of {len(candidates)} candidates, found number ",
                    Private(index),
                    where=desk.where,
                )
            family = candidates[index]
            # line 12
            desk.broadcast(Messages.Measured(places(domain, family)))
            estimates += table_of(domain, family, rho=budget.table).receive(sums)
            rounds.append(Round(attributes=family, rho=budget.table, party=party))
            budget.spend()
            before = model.marginal(family)
            model = fit_model(domain, estimates, total=total, start=model)  # line 13
            # lines 14 to 17
            change = 2 * total * model.marginal(family).distance(before)
            noise = expected_noise(domain, [family], deviation=deviation)
            if change <= noise[0]:
                budget.halve_noise()
            desk.progress(tables - budget.left, of=tables)
        desk.broadcast(Messages.Turn(0, 0.0))
        model = fit_model(
            domain,
            estimates,
            total=total,
            start=model,
            iterations=LAST_ITERATIONS,
            tolerance=LAST_TOLERANCE,
        )
        return model, rounds

    def choose_table(
        self,
        me: Party,
        workload: Workload,
        tables: Mapping[Family, Counts],
        *,
        allowed: float,
        rows: int,
    ) -> float:
        """Choose the next table by the party's own tables; give what it costs. On turn alone.

        Raises:
            MessageError: the candidates are none of the workload's, the model is malformed, or the
                choice would cost more than the party has left for choices.
        """
        domain, where = me.records.domain, me.where
        message = me.receive(Messages.Candidates, source=CURATOR)
        check_cost(message.rho, Budget("rho", allowed), where=where)
        candidates = [read_family(family, workload, where=where) for family in message.candidates]
        model = read_model(message, workload, max_cells=self.max_model(workload), where=where)
        weights = np.array([workload.weights[family] for family in candidates])
        noise = expected_noise(domain, candidates, deviation=message.deviation)
        count = len(me.records)
        errors = distances(tables, model, candidates, rows=count) - noise * count / max(rows, 1)
        choice = choose(
            weights * errors,
            sensitivity=DISTANCE_CHANGE * float(weights.max()),
            budget=Budget("rho", message.rho),
        )
        # The choice is released to the curator, and so to the public.
        me.send(Messages.Chosen(me.release(choice, to=CURATOR)), to=CURATOR)
        return message.rho

    def draw(self, desk: Curator, model: GraphicalModel, *, rows: int) -> Sequence[SampleCodes]:
        """Draw rows of the model. Raking takes most of the sampling's own error away."""
        generator = desk.randomness("sampling").generator()
        drawn = synthesise(model.chain(), max(rows, MIN_DRAWN_ROWS), generator=generator)
        tables = {family: model.marginal(family) for family in model.parameters}
        return rake(
            model.domain,
            drawn.codes,
            tables,
            rows=rows,
            generator=generator,
            progress=desk.progress,
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict the messages, without those to and from the party on turn.

        The rounds follow from what was published.
        """
        if public.domain is None:
            return []
        parameters, noise, parties = self.parameters, self.noise, public.parties
        workload = self.workload(public.domain)
        lines = predict_keys(parameters, public, noise=noise, phase="keys")
        if workload.attributes:
            lines += self.single_tables(workload).predict(
                parameters, public, noise=noise, phase="single attributes"
            )
        published = public.published(Published)
        if published is None or not pairs_in(workload):
            return lines
        rounds = published.rounds
        turn = encoded_size(Messages.Turn(0, 0.0))
        turns = parties * (len(rounds) + 1)
        lines.append(Cost(phase="rounds", kind="Turn", messages=turns, payload_bytes=turn * turns))
        for entry in rounds:
            size = encoded_size(Messages.Measured(places(public.domain, entry.attributes)))
            lines.append(
                Cost(
                    phase="rounds",
                    kind="Measured",
                    messages=parties,
                    payload_bytes=parties * size,
                )
            )
            table = table_of(public.domain, entry.attributes, rho=entry.rho)
            lines += table.predict(parameters, public, noise=noise, phase="rounds")
        return add_up(lines)

    def workload(self, domain: Domain) -> Workload:
        """Make the workload, the same for all roles."""
        return workload_of(domain, max_cells=self.parameters.max_cells)

    def max_model(self, workload: Workload) -> int:
        """Bound the cells of a model that a party accepts; single attributes are always in it."""
        single = sum(workload.domain.shape(workload.domain.attributes))
        return single + max(4 * self.parameters.max_cells, MIN_ACCEPTED_CELLS)

    def rounds(self, workload: Workload) -> int:
        """Give the number of rounds for which the first noise is made.

        The single attributes get at most a half of the budget, however few rounds are asked for.
        """
        attributes = len(workload.attributes)
        return max(self.parameters.rounds or ROUNDS * attributes, 2 * attributes)

    def single_tables(self, workload: Workload) -> Tables:
        """Make the batch of single attributes' tables.

        Without pairs it is all there is, and takes the whole budget.
        """
        attributes = workload.attributes
        budget = self._whole
        if pairs_in(workload):
            rounds = self.rounds(workload)
            budget = single_budget(budget, attributes=len(attributes), rounds=rounds)
        return Tables(workload.domain, tuple((name,) for name in attributes), budget)


def pairs_in(workload: Workload) -> bool:
    """Tell whether there is any pair to approximate."""
    return any(len(family) == 2 for family in workload.weights)


def table_of(domain: Domain, family: Family, *, rho: float) -> Tables:
    """Make the batch of one table."""
    return Tables(domain, (family,), Budget("rho", rho))
