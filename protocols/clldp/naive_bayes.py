"""Naive Bayes under CLLDP, from users whose label is protected (Xue et al. 2024, section 5).

    trust       no one with a label; the curator with omega, up to `record_cap`
    who learns  the curator and everyone: a noisy table of the label with each attribute, and the
                classifier
    privacy     epsilon-CLLDP for each user's label (Theorem 4); of the whole record the report's
                `whole_record`
    cost        one report a user, about one attribute that a public order gives her
    publishes   model.json: Pr[l] and Pr[a | l]; `sottovoce predict` applies it

Algorithm 3:

Lines 1 to 4    users: one attribute each, and its cell with the label by kHR with all of epsilon
Lines 5 to 9    curator: tables, Pr[a | l], and Pr[l] as their mean     `curator.naive_bayes`
"""

from __future__ import annotations

from collections.abc import Sequence

from ...curator import Curator
from ...curator.naive_bayes import LabelTable, NaiveBayes, naive_bayes
from ...parties import Party
from ...privacy import Domain
from ..options import Mode
from ..outcome import Outcome
from .protocol import LabelProtocol, PrintedLabelProtocol, group_figures, summary_of
from .settings import LabelOptions
from .survey import CuratorLabelSurvey, PartyLabelSurvey

__all__ = ["LabelNaiveBayes"]


class LabelNaiveBayes(LabelProtocol[LabelOptions]):
    """Learn a naive Bayes classifier."""

    name = "clldp-naive-bayes"
    summary = "a naive Bayes classifier, from users whose label is protected"

    @classmethod
    def variant(
        cls,
        parameters: LabelOptions,  # noqa: ARG003 - of the signature
        *,
        mode: Mode,
    ) -> type[LabelNaiveBayes]:
        return PrintedNaiveBayes if mode == "paper" else LabelNaiveBayes

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single_attributes(domain)

    def learn(self, tables: Sequence[LabelTable]) -> NaiveBayes:
        """Learn the classifier from tables, by their variances (lines 5 to 9)."""
        return naive_bayes(tables)

    def party(self, me: Party) -> None:
        settings, sets = self.settings(me.records.domain), self.sets(me.records.domain)
        with me.phase("users"):
            survey = PartyLabelSurvey(me, settings)
        with me.phase("beliefs"):
            survey.answer_beliefs(sets)
        with me.phase("reports"):  # lines 1 to 4
            survey.answer()

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        settings, sets = self.settings(domain), self.sets(domain)
        with desk.phase("users"):
            survey = CuratorLabelSurvey(desk, settings)
        with desk.phase("beliefs"):
            beliefs = survey.find_beliefs(sets)
        with desk.phase("reports"):
            estimates = survey.ask_each_once(beliefs, survey.others)
        tables = []
        for pooled, estimate in zip(self.pooled(estimates, survey.sample), estimates, strict=True):
            # The cells of a line vary together (`variance_of_set`); pooling shrinks that variance.
            line = estimate.variance_of(pooled.joint.shape[1])
            line = line * pooled.variance / estimate.variance
            (name,) = pooled.attributes
            tables.append(LabelTable(name, pooled.joint, line, pooled.users))
        return Outcome(
            model={
                **self.learn(tables).to_builtins(),
                "label": settings.label,
                "labels": domain.labels[settings.label],
                "attributes": domain.project([table.attribute for table in tables]).labels,
                "asked": group_figures(estimates),
            },
            summary={
                **summary_of(estimates, users=survey.base.reporting, label=settings.label),
                "attributes": len(tables),
            },
            user_traffic=survey.traffic,
        )


class PrintedNaiveBayes(PrintedLabelProtocol[LabelOptions], LabelNaiveBayes):
    """The same as printed: tables count alike, whatever their noise."""

    def learn(self, tables: Sequence[LabelTable]) -> NaiveBayes:
        return naive_bayes(tables, as_printed=True)
