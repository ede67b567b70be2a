"""DP-SUBN on the original attributes, the default: the parties choose edges, not only of a forest.

It is ours, in the frame of section VI-A; there is no phase 3.

    1  correlations      T learns noisy tables of single attributes         eps1    sum of all
                         T -> all: their counts. All roles merge the labels
                         of attributes that have too many
    2  initialisation    parties -> T: edges, chosen in at most 5 turns      eps2    each party's
                         against the published counts                               own records
    4  parameters        T -> all: the edges; T learns noisy tables of them  eps4    sum of all
    5  synthesis         T shrinks the tables by their noise, draws rows
                         along the strongest forest of them, rakes the rows
                         to all tables, and spreads groups over their labels

    trust       No one sees a record. T sees sums of all parties with full noise, and choices that
                are private.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with the
                curator.
    who learns  T learns the noisy tables, parties learn the counts of single attributes and the
                edges. The public learns the edges, the groups and the synthetic table.
    rounds      a secure sum for each of the phases 1 and 4, a message with counts, and at most five
                hops of phase 2
    privacy     epsilon for each record, except with probability delta where noise is Gaussian;
                neighbours replace a record. The phases compose sequentially, the parties
                in parallel.

How the budget is divided, how many edges there are, and how far labels are merged follows from
public figures (`edge_plan`). If no table of two attributes is worth its noise, phase 1 spends the
whole budget, and attributes are drawn independently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...curator import Curator, Estimate, synthesise
from ...curator.edge_tables import shrunk_tables, strongest_forest
from ...curator.estimates import rescaled
from ...curator.label_groups import LabelGroups
from ...curator.raking import rake
from ...messages import CURATOR, encoded_size
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public, add_up
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import CuratorSums, Family, PartySums, predict_keys
from .budget import PhaseBudgets
from .cost import EdgeModel, predict_choices, predict_parameters
from .edge_choice import all_edges, choose_edges_in_turn, receive_chosen_edges
from .edge_margins import merge_single, receive_groups, smooth_counts
from .edge_plan import EdgeFigures, EdgePlan, plan_edges
from .initial import choosing_circle, turns_of
from .messages import Messages
from .options import DPSUBNParameters, Profile
from .structure import directed
from .usefulness import inflation_of
from .variant import Variant

__all__ = ["Edges"]

PHASES: Final = ("correlations", "initialisation", "parameters")
BY_ERROR: Final = "by error"
"""The value of `budget` that divides epsilon by the predicted errors."""
MIN_DRAWN_ROWS: Final = 200_000
"""Rows that are drawn along the forest and raked, before as many as wanted are kept."""
MAX_RAKED: Final = 120_000_000
"""Drawn rows times tables, unless more rows are wanted: a sweep over them takes a few seconds."""
MAX_NAMES: Final = 12
"""Most attributes that the summary lists by name."""


class Edges(Variant):
    """DP-SUBN on the original attributes, by edges that the parties choose."""

    goes_on = True

    usual = Profile(
        attributes="original",
        views="one-way",
        init="edges",
        update="none",
        score="R",
        budget=BY_ERROR,
        theta=4.0,
        theta_frontier=4.0,
    )
    designs = ("one-way",)
    combination = (
        "attributes=original goes with views=one-way, init=edges or forest, update=none and score=R"
    )

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        for budget in self.budgets:  # wrong shares are refused before any role begins
            self._split(budget)

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        plan = self.plan(me.records.domain, rows=sums.rows, parties=len(me.parties))
        with me.phase("correlations"):  # 1
            plan.single_attributes.contribute(me.records, sums)
            if not plan.edges:
                return
            groups = receive_groups(me, plan=plan)
        records = me.records.grouped(groups.groups)
        if plan.chosen:
            with me.phase("initialisation"):  # 2
                choose_edges_in_turn(
                    me,
                    records,
                    plan=plan,
                    power=0.5 if plan.budget.parameters.concentrated else 1.0,
                    margins={name: groups.shares(name) for name in groups.domain.attributes},
                    circle=choosing_circle(sums.circle, sums.members),
                )
        with me.phase("parameters"):  # 4
            families = me.receive(Messages.Network, source=CURATOR).families
            if families:
                plan.parameters(groups.grouped, families).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        with desk.phase("correlations"):  # 1
            single = plan.single_attributes.receive(sums)
            counted_rows = sums.rows
            counts = smooth_counts(single, rows=sums.rows)
            groups = LabelGroups.of(domain, counts, most=plan.groups)
            if plan.edges:
                cells = [count for name in domain.attributes for count in counts[name]]
                desk.broadcast(Messages.Margins(np.array(cells, np.int64)))
        edges: Sequence[Family] = ()
        counted: list[Estimate] = []
        if plan.edges:
            edges = all_edges(domain)
            if plan.chosen:
                with desk.phase("initialisation"):  # 2
                    circle = choosing_circle(sums.circle, sums.members)
                    turns = turns_of(circle, edges=plan.edges)
                    edges = receive_chosen_edges(desk, turns=turns)
            with desk.phase("parameters"):  # 4
                desk.broadcast(Messages.Network(tuple(edges)))
                if edges:
                    counted = plan.parameters(groups.grouped, edges).receive(sums)
        with desk.phase("synthesis"):  # 5
            single = rescaled(single, rows=counted_rows, total=sums.rows)
            return self._publish(desk, groups, single, counted, total=sums.rows)

    def _publish(
        self,
        desk: Curator,
        groups: LabelGroups,
        single: Sequence[Estimate],
        counted: Sequence[Estimate],
        *,
        total: int,
    ) -> Outcome:
        """Draw rows from the tables, and publish them with the edges."""
        domain, merged = groups.domain, groups.grouped
        rows = self.parameters.synthetic_rows or total
        generator = desk.randomness("sampling").generator()
        margins = [merge_single(estimate, groups, total=total) for estimate in single]
        tables = (
            shrunk_tables(counted, margins, total=total)
            if counted
            else [estimate.table for estimate in margins]
        )
        network = directed(merged, strongest_forest(tables))
        count = max(rows, min(MIN_DRAWN_ROWS, MAX_RAKED // len(tables)))
        drawn = synthesise(network.fit(tables), count, generator=generator)
        codes = rake(
            merged,
            drawn.codes,
            {table.attributes: table / table.total for table in tables},
            rows=rows,
            generator=generator,
            progress=desk.progress,
        )
        families = tuple(estimate.attributes for estimate in counted)
        joined = {name for family in families for name in family}
        alone = [name for name in domain.attributes if name not in joined]
        many = "" if len(families) == 1 else "s"
        summary: dict[str, object] = {
            "network": f"{len(families)} edge{many}, at most 1 parent"
            if families
            else "none worth its noise: one-way tables"
        }
        if groups.groups:
            summary["labels merged"] = ", ".join(
                f"{name} {len(labels)} -> {labels[-1] + 1}"
                for name, labels in list(groups.groups.items())[:MAX_NAMES]
            )
        if alone and len(domain.attributes) > 1:
            more = f" and {len(alone) - MAX_NAMES} more" if len(alone) > MAX_NAMES else ""
            summary["no edge"] = ", ".join(alone[:MAX_NAMES]) + more
        return Outcome(
            synthetic=domain.rows(groups.spread(codes, generator=generator)),
            model={
                "parents": network.parents,
                "counted": families,
                "groups": dict(groups.groups),
            },
            summary=summary,
        )

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        options, noise = self.parameters, self.noise
        plan = self.plan(public.domain, rows=public.rows, parties=public.parties)
        lines = [
            *predict_keys(options, public, noise=noise, phase="keys"),
            *plan.single_attributes.predict(options, public, noise=noise, phase="correlations"),
        ]
        if plan.edges:
            labels = sum(public.domain.shape(public.domain.attributes))
            size = encoded_size(Messages.Margins(np.zeros(labels, np.int64)))
            lines.append(
                Cost(
                    phase="correlations",
                    kind="Margins",
                    messages=public.parties,
                    payload_bytes=public.parties * size,
                )
            )
        model = public.published(EdgeModel) if plan.edges else None
        # A forecast for many parties has the edges of a run with few, which may be more.
        families = None if model is None else model.counted[: plan.edges]
        if plan.chosen:
            lines += predict_choices(
                families,
                edges=plan.edges,
                pairs=all_edges(public.domain),
                options=options,
                public=public,
            )
        if model is None or families is None:
            return add_up(lines)
        grouped = LabelGroups(public.domain, {}, model.groups).grouped
        counted = plan.parameters(grouped, families)
        return add_up([*lines, *predict_parameters(counted, options, public, noise=noise)])

    def plan(self, domain: Domain, *, rows: int, parties: int) -> EdgePlan:
        """Plan the run on these attributes. All roles compute the same."""
        plans = [
            plan_edges(
                EdgeFigures(
                    domain=domain,
                    whole=whole,
                    rows=rows,
                    parties=parties,
                    inflation=inflation_of(self.parameters, noise=self.noise, parties=parties),
                    theta=self.profile.theta,
                ),
                budget=self._split(whole),
            )
            for whole in self.budgets
        ]
        return min(plans, key=lambda plan: plan.usual_noise)

    def warnings(self, public: Public) -> list[str]:
        warnings = super().warnings(public)
        if public.domain is None:
            return warnings
        plan = self.plan(public.domain, rows=public.rows, parties=public.parties)
        if not plan.edges and len(public.domain.attributes) > 1:
            warnings.append(
                f"at epsilon {self.epsilon:g} and {public.rows:,} rows no table of two attributes "
                "is worth its noise: attributes are published as independent, as by one-way; take "
                "a larger epsilon or more rows"
            )
        return warnings

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        plan = self.plan(public.domain, rows=public.rows, parties=public.parties)
        return plan.budget.correlations.unit

    def _split(self, whole: Budget) -> PhaseBudgets | None:
        """Split a budget by the parameter; `None` where the predicted errors decide."""
        if self.profile.budget == BY_ERROR:
            return None
        return PhaseBudgets.split(whole, self.profile.budget, phases=PHASES)
