"""One-way tables: a synthetic table with noisy single attributes and no dependence: the baseline.

    trust       No one sees a record. The curator sees sums of all parties with full noise; parties
                see nothing of each other.
    collusion   As for any secure sum: see `noisy_marginals`.
    who learns  The curator and the public learn the noisy tables of single attributes.
    messages    keys: K(K+1) introductions, K^2 numbers of rows, K keys; count: K for each page
    rounds      as `noisy_marginals`
    privacy     epsilon for each record; neighbours replace a record. d tables have sensitivity 2 d,
                and sqrt(2 d) in L2.
    error       that of the noise; all dependence is lost

A protocol that learns dependences must have a smaller error than this one at the same epsilon.
Otherwise what it learnt is not worth its budget.
"""

from __future__ import annotations

from ..curator import BayesianNetwork, Curator, agree, synthesise
from ..messages import UsageError
from ..parties import Party
from ..privacy import Domain
from ..privacy.budget import Unit
from .cost import Cost, Public
from .options import Epsilon
from .outcome import Outcome
from .secure_sum import (
    CuratorSums,
    PartySums,
    SummingProtocol,
    SumOptions,
    Tables,
    colluding,
    predict_keys,
)

__all__ = ["OneWay"]


class OneWayParameters(SumOptions):
    epsilon: Epsilon = 1.0


class OneWay(SummingProtocol[OneWayParameters]):
    """Count every attribute by itself, and draw each from its own table."""

    name = "one-way"
    summary = "a synthetic table of independent attributes: the baseline"
    paper = "the baseline of Su et al. 2016 (spec E22)"
    goes_on = True
    all_gaussian = True

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("count"):
            tables = self.tables(me.records.domain, parties=len(me.parties))
            tables.contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            counted = self.tables(domain, parties=len(desk.parties)).receive(sums)
        with desk.phase("synthesis"):
            agreed = [estimate.table for estimate in agree(counted, total=sums.rows)]
            chain = BayesianNetwork(domain, {}).fit(agreed)
            drawn = synthesise(chain, sums.rows, generator=desk.randomness("sampling").generator())
        return Outcome(synthetic=domain.rows(drawn.codes), summary={"tables": len(agreed)})

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        tables = self.tables(public.domain, parties=public.parties)
        counted = tables.predict(self.parameters, public, noise=self.noise, phase="count")
        return [*predict_keys(self.parameters, public, noise=self.noise, phase="keys"), *counted]

    def tables(self, domain: Domain, *, parties: int) -> Tables:
        """Describe the batch of so many parties: a table of every attribute."""
        if not domain.attributes:
            raise UsageError("expected at least one attribute, found none")
        families = tuple((name,) for name in domain.attributes)
        plans = [Tables(domain, families, budget, weighted=True) for budget in self.budgets]
        threshold = colluding(self.parameters, parties=parties)
        return min(plans, key=lambda plan: plan.error_among(parties=parties, colluding=threshold))

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        return self.tables(public.domain, parties=public.parties).budget.unit
