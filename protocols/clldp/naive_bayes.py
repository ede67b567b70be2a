"""Naive Bayes under CLLDP: a classifier from users whose label is protected (Xue et al. 2024,
section 5, Algorithm 3).

    trust       nobody with a label; the collector with omega, up to `record_cap`
    who learns  the aggregator and everybody: a noisy table of the label with each attribute, and the classifier
    privacy     epsilon-CLLDP for each user's label (Theorem 4); of the whole record the report's `whole_record`
    cost        one report a user, about one attribute that a public order gives her
    publishes   model.json: Pr[l] and Pr[a | l]; `sottovoce predict` applies it

Lines 1 to 4    users: one attribute each, and its cell with the label by kHR with all of epsilon      `protocol.LabelProtocol`
Lines 5 to 9    collector: tables, Pr[a | l], and Pr[l] as their mean                                   `curator.naive_bayes`
"""

from __future__ import annotations

from ...curator import Curator
from ...curator.naive_bayes import LabelTable, naive_bayes
from ...privacy import Domain
from ..protocol import Outcome
from .protocol import LabelProtocol, of_users
from .settings import LabelOptions

__all__ = ["LabelNaiveBayes"]


class LabelNaiveBayes(LabelProtocol[LabelOptions]):
    """Learn a naive Bayes classifier."""

    name = "clldp-naive-bayes"
    summary = "a naive Bayes classifier, from users whose label is protected"

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single(domain)

    def curator(self, desk: Curator) -> Outcome:
        learnt = self.learn(desk)
        labels = desk.domain.labels[learnt.label]
        tables = []
        for own, table in zip(learnt.estimates, learnt.tables, strict=True):
            # A sum of a line's cells varies as they do together (`variance_of_set`), less by what
            # was pooled.
            of_line = table.variance_of(own.joint.shape[1]) * own.variance / table.variance
            tables.append(LabelTable(own.attributes[0], own.joint, of_line, own.users))
        model = naive_bayes(tables, as_printed=self.mode == "paper")
        return Outcome(
            model={
                **model.to_builtins(),
                "label": learnt.label,
                "labels": labels,
                "attributes": desk.domain.project([own.attribute for own in tables]).labels,
                "asked": self.told(learnt),
            },
            summary={**self.figures(learnt), "attributes": len(tables)},
            user_traffic=of_users(learnt.mustered.users, learnt.surveys, self.parameters),
        )
