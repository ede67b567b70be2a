"""What both searches of DP-CCBN share: their plan, the fitted network, and the cost formulas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from ...curator import BayesianNetwork, Curator, Estimate, agree, synthesise
from ...privacy import Domain
from ...privacy.budget import Unit
from ..cost import Cost, Formula, Public, add_up
from ..dp_subn.attribute_form import BITS, ORIGINAL
from ..dp_subn.structure import structure_of
from ..dp_subn.usefulness import inflation_of, useful_sizes
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import Family, SummingProtocol, Tables, predict_keys
from .cost import evaluate_formulas
from .options import Candidates, DPCCBNParameters
from .plan import CandidatePlan

__all__ = ["Variant", "first_family", "published_families"]

Reconcile: TypeAlias = Callable[[Sequence[Estimate], float], Sequence[Estimate]]
"""Prepares noisy tables, of so many rows in all, for the fit of the network."""


class _Structure(msgspec.Struct, frozen=True):
    """The part of the published model from which the batches of a run follow."""

    chosen: tuple[Family, ...]
    """The families of the network, in the order of choice; empty where no network was learnt."""


class Variant(SummingProtocol[DPCCBNParameters]):
    """A search of DP-CCBN, with both sides of the protocol and the forecast."""

    name = "dp-ccbn"
    summary = "a synthetic table, by a network from all candidates' tables: the baseline"
    paper = "Su et al. 2016, section V"
    goes_on = True
    uses = (Candidates,)

    def __init__(self, parameters: DPCCBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        printed = mode == "paper"
        binary = (parameters.attributes or ("binary" if printed else "original")) == "binary"
        self.form = BITS if binary else ORIGINAL
        self.weighted = not printed and not binary
        self.min_parents = int(printed)
        self.reconcile: Reconcile = _as_they_come if printed else _made_to_agree

    @abstractmethod
    def structure_batches(self, plan: CandidatePlan, chosen: Sequence[Family]) -> list[Tables]:
        """List the batches of phase 1, as they follow from the network that was published."""

    @abstractmethod
    def announcements(self, chosen: Sequence[Family]) -> list[Sequence[Family]]:
        """List the families of each message from T to all, as they follow from the network."""

    def plan(self, domain: Domain, *, rows: int, parties: int) -> CandidatePlan:
        """Plan the run. k follows from usefulness for the half that pays for the parameters."""
        p, plans = self.parameters, []
        for whole in self.budgets:
            sizes, degree = useful_sizes(
                domain,
                rows=rows,
                # There are about as many tables as attributes.
                epsilon=whole.share(1 / 2).laplace_epsilon(tables=len(domain.attributes)),
                theta=p.theta,
                max_parents=p.most_parents,
                inflation=inflation_of(p, noise=self.noise, parties=parties),
                min_parents=self.min_parents,
            )
            plans.append(
                CandidatePlan(
                    domain=domain,
                    sizes=sizes,
                    degree=degree,
                    budget=whole,
                    weighted=self.weighted,
                )
            )
        return min(plans, key=lambda plan: plan.error)

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        domain = self.form.domain(public.domain)
        return self.plan(domain, rows=public.rows, parties=public.parties).budget.unit

    def publish(
        self,
        desk: Curator,
        network: BayesianNetwork,
        counted: Sequence[Estimate],
        *,
        chosen: Sequence[Family],
        rows: int,
    ) -> Outcome:
        """Phase 3: fit the network to its tables, draw the synthetic table, and publish both."""
        tables = [estimate.table for estimate in self.reconcile(counted, rows)]
        drawn = synthesise(
            network.fit(tables),
            rows,
            generator=desk.randomness("sampling").generator(),
            binary=self.form.decoder(desk.domain),
        )
        return Outcome(
            synthetic=desk.domain.rows(drawn.codes),
            model={"parents": network.parents, "chosen": list(chosen)},
            summary={
                "network": network.degree_text
                if chosen
                else "none worth its noise: one-way tables",
                **({"rejected": drawn.rejected} if drawn.rejected else {}),
            },
        )

    def predict(self, public: Public) -> list[Cost] | None:
        chosen = published_families(public)
        if public.domain is None or chosen is None:
            return None
        domain = self.form.domain(public.domain)
        plan = self.plan(domain, rows=public.rows, parties=public.parties)
        options, noise = self.parameters, self.noise
        lines = predict_keys(options, public, noise=self.noise, phase="keys")
        for tables in self.structure_batches(plan, chosen):
            lines += tables.predict(options, public, noise=noise, phase="structure")
        parameters = plan.parameters(structure_of(domain, chosen))
        lines += parameters.predict(options, public, noise=noise, phase="parameters")
        for families in self.announcements(chosen):
            lines.append(predict_chosen(families, parties=public.parties))
        return add_up(lines)

    def formulas(self, public: Public) -> list[Formula]:
        chosen = published_families(public)
        if public.domain is None or chosen is None or self.form is not BITS:
            return []
        domain = self.form.domain(public.domain)
        plan = self.plan(domain, rows=public.rows, parties=public.parties)
        if not plan.degree:
            return []
        structure = self.structure_batches(plan, chosen)
        cells = {
            "structure": sum(tables.batch.cells for tables in structure),
            "parameters": plan.parameters(structure_of(domain, chosen)).batch.cells,
        }
        return evaluate_formulas(
            cells, public, attributes=len(domain.attributes), degree=plan.degree
        )

    def chosen(self, public: Public) -> dict[str, str | int | float]:
        return {
            **super().chosen(public),
            "attributes": "binary" if self.form is BITS else "original",
        }


def first_family(desk: Curator, domain: Domain) -> Family:
    """Draw the first attribute. That looks at no table and costs nothing."""
    return (domain.attributes[desk.randomness("first attribute").below(len(domain.attributes))],)


def published_families(public: Public) -> tuple[Family, ...] | None:
    """Read the network's families from the published model; `None` before the run."""
    structure = public.published(_Structure)
    return None if structure is None else structure.chosen


def predict_chosen(families: Sequence[Family], *, parties: int) -> Cost:
    """Predict a message to all parties with families that were added to the network."""
    return Cost.of(Candidates.Chosen(tuple(families)), phase="structure", messages=parties)


def _as_they_come(counted: Sequence[Estimate], rows: float) -> Sequence[Estimate]:  # noqa: ARG001
    return counted


def _made_to_agree(counted: Sequence[Estimate], rows: float) -> Sequence[Estimate]:
    return agree(counted, total=rows)
