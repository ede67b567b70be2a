"""Private schemas: bins and categories of all parties' tables, learnt with noise.

    trust       No one sees a record. The curator sees sums of all parties' histograms with full
                noise, and of each party the texts that are frequent there.
    collusion   As for any secure sum: see `noisy_marginals`. Texts are covered by their party's
                own noise.
    who learns  The curator and the public learn the schema, and the noisy counts behind it.
    messages    schema: K plans, and keys and rows as for any secure sum; then a secure sum of first
                histograms; then once or twice K questions and a secure sum of finer ones, and in
                the first of these rounds K lists of texts; in the end K schemas
    privacy     epsilon for each record, except with probability delta; neighbours replace a record
    error       see `benchmarks/private_schema.py`

A column of numbers is counted on a grid that does not depend on data, and then in finer cells where
the noisy counts show rows (`grid`). A text is listed where so many rows of one party have it that a
single record does not decide, except with probability delta (`privacy.histogram`).

What is public without a release: the names and the order of the columns, the number of rows of each
party, and which attributes have rules in the plan.

What an adversary learns. Bins and the kinds of columns are computed from noisy sums, so epsilon
covers them. A text that many records of a party have is published on purpose, and the curator
learns which party has it; delta bounds the chance that a text of a single record appears. A learnt
rule refuses no value, so no later error tells of a record. A value that a public rule of the plan
refuses ends the run before the first message, as with any public schema.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from ...curator import Curator
from ...messages import MisuseError, UsageError
from ...parties import Bins, Party, SchemaPlan
from ...privacy.budget import Budget, Unit
from ..cost import Public
from ..options import Epsilon, Mode
from ..outcome import Outcome
from ..secure_sum import SummingProtocol, SumOptions, colluding
from .budget import delta_of_rest, expected_domain, rest_of_budget, whole_budget
from .curator import learn_as_curator, unknown_ranges
from .messages import SchemaLearning
from .party import learn_as_party
from .rounds import Rounds

__all__ = ["PrivateSchema", "PrivateSchemaParameters"]


class PrivateSchemaParameters(SumOptions):
    epsilon: Epsilon = 0.1


class PrivateSchema(SummingProtocol[PrivateSchemaParameters]):
    """Learn a schema and publish it. `--schema private` plays it before another protocol."""

    name = "private-schema"
    summary = "a schema: quantile bins of numbers, and frequent texts"
    paper = "Korolova et al. 2009 for texts"
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous",)
    needs_schema = False
    goes_on = True
    learns_schema = True
    uses: ClassVar[tuple[type, ...]] = (SchemaLearning,)

    def __init__(
        self,
        parameters: PrivateSchemaParameters,
        *,
        mode: Mode,
        share: float = 1.0,
        after: SummingProtocol[Any] | None = None,
    ) -> None:
        super().__init__(parameters, mode=mode)
        self.share = share
        """Part of the budget that is spent; the protocol that comes after has the rest."""
        self._after = after
        self._whole: Budget | None = None

    def party(self, me: Party) -> None:
        with me.phase("schema"):
            schema = learn_as_party(me, self.parameters, noise=self.noise, rounds_of=self.rounds)
            me.records = me.records.encode(schema)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("schema"):
            schema = learn_as_curator(
                desk, self.parameters, noise=self.noise, rounds_of=self.rounds
            )
        desk.adopt(schema.domain)
        rules = schema.attributes.values()
        summary: dict[str, object] = {
            "numbers": sum(isinstance(rule, Bins) for rule in rules),
            "texts": sum(not isinstance(rule, Bins) for rule in rules),
            "labels": sum(len(rule.labels) for rule in rules),
        }
        if unknown := unknown_ranges(schema):
            summary["range unknown"] = ", ".join(unknown)
        return Outcome(schema=schema, summary=summary)

    def rounds(self, plan: SchemaPlan, public: Public) -> Rounds:
        """Plan the histograms and releases of a schema.

        Raises:
            UsageError: a column may hold texts, and the run has no delta to release any.
        """
        delta = self.parameters.delta
        kinds = {name: rule.kind for name, rule in plan.learnt.items()}
        may_be_texts = [name for name, kind in kinds.items() if kind in ("any", "categories")]
        if may_be_texts and delta == 0:
            raise UsageError(
                f"expected a delta above 0 to learn {may_be_texts[0]!r}, as a rare text may pass a "
                "threshold, found 0: say --delta 1e-9, list its categories in --schema, or write "
                '{"private": "numbers"} there'
            )
        unit: Unit | None = None
        if self._after is not None:
            expected = replace(public, domain=expected_domain(plan))
            unit = self._after.unit_of_budget(expected) or "epsilon"
        among = colluding(self.parameters, parties=public.parties)

        def rounds(whole: Budget) -> Rounds:
            return Rounds(plan, whole.share(self.share), delta)

        def variance(whole: Budget) -> float:
            return rounds(whole).variance(parties=public.parties, rows=public.rows, colluding=among)

        self._whole = whole_budget(self.budgets, unit=unit, variance=variance)
        return rounds(self._whole)

    @property
    def budgets(self) -> list[Budget]:
        rest = delta_of_rest(self.delta)
        match self.parameters.noise:
            case "laplace":
                return [Budget.pure(self.epsilon)]
            case "gaussian":
                return [Budget.of(self.epsilon, delta=rest)]
        return Budget.candidates(self.epsilon, delta=rest)

    @property
    def rest(self) -> dict[str, Any]:
        """The parameters of the protocol that comes after, once this one has been played."""
        if self._whole is None:
            raise MisuseError("expected the rest of a budget after its stage, found it before")
        return rest_of_budget(self._whole, share=self.share, delta=self.parameters.delta)
