"""One-way tables: a synthetic table in which every attribute is right and nothing belongs together.
The floor.

    trust       nobody with a record: the curator sees sums of all parties with full noise; parties see nothing of each other
    collusion   as for any secure sum: `noisy_marginals` says it
    who learns  the curator and everybody: the noisy tables of single attributes
    privacy     epsilon for each record, neighbours by replacing one: d tables have sensitivity 2 d
    error       that of the noise, and all dependence is lost

Whatever learns how attributes belong together has to be better than this at the same epsilon, or it
has learnt nothing.
"""

from __future__ import annotations

from ..curator import BayesianNetwork, Curator, agree, synthesise
from ..messages import UsageError
from ..parties import Party
from ..privacy import Domain
from .protocol import Cost, Epsilon, Outcome, Public
from .secure_sum import CuratorSums, PartySums, SummingProtocol, SumOptions, Tables, predict_keys

__all__ = ["OneWay"]


class OneWayParameters(SumOptions):
    epsilon: Epsilon = 1.0


class OneWay(SummingProtocol[OneWayParameters]):
    """Count every attribute by itself, and draw each from its own table."""

    name = "one-way"
    summary = "a synthetic table of independent attributes: the floor"
    paper = "the floor of Su et al. 2016 (spec E22)"

    def tables(self, domain: Domain) -> Tables:
        """What everybody knows of the one batch."""
        if not domain.attributes:
            raise UsageError("expected at least one attribute, found none")
        return Tables(
            domain,
            tuple((name,) for name in domain.attributes),
            self.parameters.epsilon,
            weighted=True,
        )

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("count"):
            self.tables(me.records.domain).contribute(me.records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            counted = self.tables(domain).receive(sums)
        with desk.phase("synthesis"):
            settled = [estimate.table for estimate in agree(counted, total=sums.rows)]
            chain = BayesianNetwork(domain, {}).fit(settled)
            made = synthesise(chain, sums.rows, generator=desk.randomness("sampling").generator())
        return Outcome(synthetic=domain.decode(made.codes), summary={"tables": len(settled)})

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        counted = self.tables(public.domain).predict(
            self.parameters, public, noise=self.noise, phase="count"
        )
        return [*predict_keys(self.parameters, public, phase="keys"), *counted]
