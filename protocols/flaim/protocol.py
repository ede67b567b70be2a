"""FLAIM: every party chooses the table that fits its own records worst, in every round.

    trust       No one sees a record. The curator sees sums with full noise, and choices that are
                private.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with
                the curator.
    who learns  The curator learns the noisy tables and every party's choices. The parties learn
                the model of each round and which tables are measured. The public learns the
                choices and the synthetic table.
    messages    keys; a batch of secure sums for single attributes; then in each of T rounds Model
                to all parties, Chosen from all, Measured to all, and a secure sum
    rounds      4 T + 4
    privacy     epsilon for each record, except with probability delta. Neighbours replace a
                record. All noise is Gaussian, and choices are counted in rho, so delta must be
                above 0.
    error       of the noise, of tables that only some parties' records are in, and of the pairs
                that were never measured together

Maddock, Cormode, Maple, "FLAIM: AIM-based synthetic data generation in the federated setting" (KDD
2024). The steps of FLAIM, in the order of the paper:

    1  initialise   every single attribute is measured by all parties, and a model is fitted
    then in T rounds:
    2  broadcast    all parties get the model
    3  candidates   the tables with which the model stays small
    4  select       every party chooses a candidate by the exponential mechanism: the distance of
                    its own records from the model, less the expected noise, times the weight
    5  measure      each chosen table, by secure aggregation over the parties that chose it, with
                    Gaussian noise; scaled to all rows
    6  estimate     the model is fitted to all tables, each weighed by the rows behind it
    7  generate     rows are drawn of the last model

Records of different parties are disjoint, and a record is in one chosen table of a round. So a
round costs a record one choice and one table, however many tables are chosen.

What differs:

*Neighbours* replace a record; in the paper they add or remove one. So noise has twice the variance
at the same rho. Numbers of rows are public.

*Scores* change by twice what the paper's public code takes (`choosing`).

*Noise* is discrete, and all parties make it together, also those that did not choose the table.

*All parties* take part in every round, and choose once in it: the paper's p = 1 and s = 1. The
number of rounds is fixed, so noise is never annealed.

*The model's size* bounds the tables of a round together (`measurable`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from ...curator import Curator, Estimate
from ...curator.estimates import rescaled
from ...curator.graphical_model import GraphicalModel
from ...curator.model_fitting import fit_closely, fit_model
from ...curator.model_rows import draw_rows
from ...messages import CURATOR, MessageError, Private
from ...parties import Party
from ...privacy import Domain
from ...privacy.exponential import choose
from ..aim.candidates import fitting
from ..aim.reading import places, read_parameters, write_parameters
from ..aim.workload import DISTANCE_CHANGE, Counts, distances, expected_noise
from ..cost import Cost, Public
from ..outcome import Outcome
from ..secure_sum import ConcentratedProtocol, CuratorSums, Family, PartySums, predict_keys
from .choosing import measurable, shares_of
from .cost import predict_rounds
from .messages import Messages, read_measured, write_measured
from .parameters import Choice, FLAIMParameters, Published, Round
from .plan import RoundPlan
from .tables import counts_of_party, receive_tables

__all__ = ["FLAIM"]


class FLAIM(ConcentratedProtocol[FLAIMParameters]):
    """Publish a table of all parties' records; every party chooses by its own what is measured."""

    name = "flaim"
    summary = "a synthetic table from the pairs that every party chose by its own records"
    paper = "Maddock, Cormode, Maple 2024 (FLAIM)"
    goes_on = True
    uses = (Messages,)
    remeasures: ClassVar[bool] = False
    """Whether single attributes are measured again in every round but the last."""
    score_change: ClassVar[int] = DISTANCE_CHANGE
    """Most that an unweighted score changes when a record is replaced."""

    def party(self, me: Party) -> None:
        records, plan = me.records, self.plan(me.records.domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("single attributes"):  # 1
            if plan.workload.attributes:
                plan.singles.contribute(records, sums)
        if not plan.has_pairs:
            return
        families = [*plan.workload.weights]
        tables = dict(zip(families, records.marginals(families), strict=True))
        with me.phase("rounds"):
            for number in range(1, plan.rounds + 1):
                message = me.receive(Messages.Model, source=CURATOR)  # 2
                choice = self.choose_table(me, plan, tables, message, number=number)  # 3 and 4
                me.send(Messages.Chosen(places(plan.domain, choice)), to=CURATOR)
                announced = me.receive(Messages.Measured, source=CURATOR)
                measured = read_measured(announced, plan.workload, where=me.where)
                counts = counts_of_party(tables, plan.singles_in(number), measured, choice=choice)
                sums.contribute(counts, plan.batch(number, measured))  # 5

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
        tables = [family for entry in rounds for family in entry.measured]
        pairs = {family for family in tables if len(family) > 1}
        return Outcome(
            synthetic=plan.domain.rows(codes),
            model={
                "rounds": [msgspec.to_builtins(entry) for entry in rounds],
                "tree": model.tree.junction_tree.to_builtins(),
            },
            summary={
                "tables": f"{len(tables)} in {len(rounds)} rounds",
                "pairs": f"{len(pairs)} measured",
                "cells": model.cells,
            },
        )

    def measure(
        self,
        desk: Curator,
        sums: CuratorSums,
        plan: RoundPlan,
        singles: Sequence[Estimate],
        *,
        start: GraphicalModel,
    ) -> tuple[GraphicalModel, list[Round]]:
        """Play all rounds; give the last model. Called by the curator."""
        domain, total, rounds = plan.domain, sums.rows, list[Round]()
        model, estimates, shares = start, [*singles], [shares_of(singles, rows=total)]
        for number in range(1, plan.rounds + 1):
            sets, parameters = write_parameters(model)
            desk.broadcast(Messages.Model(sets, parameters, self.average(shares)))  # 2
            max_cells = plan.cells_allowed(number)
            candidates = self.candidates(plan, model, max_cells=max_cells)  # 3
            chosen = self.receive_choices(desk, candidates, rows=sums.rows_by_party)  # 4
            measured = measurable(
                domain,
                chosen,
                rows=sums.rows_by_party,
                terms=[*model.parameters],
                max_cells=max_cells,
            )
            desk.broadcast(write_measured(domain, measured))
            again, tables = receive_tables(sums, plan, chosen, measured, number=number)  # 5
            estimates = [*rescaled(estimates, rows=total, total=sums.rows), *again, *tables]
            total = sums.rows
            if again:
                shares.append(shares_of(again, rows=total))
            model = fit_model(domain, estimates, total=total, start=model)  # 6
            entries = [Choice(party=party, attributes=family) for party, family in chosen.items()]
            rounds.append(Round(choices=tuple(entries), measured=tuple(measured)))
            desk.progress(number, of=plan.rounds)
        return fit_closely(domain, estimates, total=total, start=model), rounds

    def receive_choices(
        self, desk: Curator, candidates: Sequence[Family], *, rows: Sequence[int]
    ) -> dict[int, Family]:
        """Receive every party's choice. Called by the curator.

        Raises:
            MessageError: a party chose another table than the candidates.
        """
        by_places = {places(desk.domain, family): family for family in candidates}
        chosen = {}
        for party, answer in desk.gather_answers(Messages.Chosen, rows=rows).items():
            if answer.attributes not in by_places:
                raise MessageError(
                    f"expected one of {len(candidates)} candidates from party {party}, found ",
                    Private(list(answer.attributes)),
                    where=desk.where,
                )
            chosen[party] = by_places[answer.attributes]
        return chosen

    def candidates(
        self, plan: RoundPlan, model: GraphicalModel, *, max_cells: float
    ) -> list[Family]:
        """List the candidates of a round, the same for all roles."""
        return fitting(plan.workload, model, max_cells=max_cells)

    def average(
        self,
        shares: Sequence[npt.NDArray[np.float64]],  # noqa: ARG002 - for AugFLAIM
    ) -> npt.NDArray[np.float64]:
        """Give the shares of labels that parties compare their own with: FLAIM has none."""
        return np.zeros(0)

    def corrections(
        self,
        me: Party,  # noqa: ARG002 - for AugFLAIM
        plan: RoundPlan,  # noqa: ARG002 - the same
        tables: Mapping[Family, Counts],  # noqa: ARG002 - the same
        message: Messages.Model,  # noqa: ARG002 - the same
        candidates: Sequence[Family],
    ) -> npt.NDArray[np.float64]:
        """Compute what is subtracted from each candidate's distance: FLAIM subtracts nothing."""
        return np.zeros(len(candidates))

    def choose_table(
        self,
        me: Party,
        plan: RoundPlan,
        tables: Mapping[Family, Counts],
        message: Messages.Model,
        *,
        number: int,
    ) -> Family:
        """Choose the party's table of a round by its own records.

        Raises:
            MessageError: the model is malformed.
        """
        workload, rows = plan.workload, len(me.records)
        model = read_parameters(
            message.sets,
            message.parameters,
            workload,
            max_cells=plan.max_accepted_cells,
            where=me.where,
        )
        candidates = self.candidates(plan, model, max_cells=plan.cells_allowed(number))
        weights = np.array([workload.weights[family] for family in candidates])
        deviation = plan.batch(number, ()).deviation
        errors = distances(tables, model, candidates, rows=rows)
        errors -= expected_noise(plan.domain, candidates, deviation=deviation)
        errors -= self.corrections(me, plan, tables, message, candidates)
        choice = choose(
            weights * errors,
            sensitivity=self.score_change * float(weights.max()),
            budget=plan.choice,
        )
        # The choice is released to the curator, and so to the public.
        return candidates[me.release(choice, to=CURATOR)]

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
            lines += predict_rounds(parameters, public, published, plan=plan, noise=noise)
        return lines

    def plan(self, domain: Domain) -> RoundPlan:
        """Make the plan, the same for all roles."""
        return RoundPlan.of(domain, self.parameters, whole=self.whole, remeasures=self.remeasures)
