"""Naive Bayes under CLLDP: a classifier from users whose label is protected (Xue et al. 2024, section 5, Algorithm 3).

    trust       nobody with a label; the collector with omega, up to `record_cap`
    who learns  the aggregator and everybody: a noisy table of the label with each attribute, and the classifier
    privacy     epsilon-CLLDP for each user's label (Theorem 4); of the whole record the report's `whole_record`
    cost        one report a user, about one attribute that a public order gives her
    publishes   model.json: Pr[l] and Pr[a | l]; `sottovoce predict` applies it

Lines 1 to 4    users: one attribute each, and its cell with the label by kHR with all of epsilon      `protocol.LabelProtocol`
Lines 5 to 9    collector: tables, Pr[a | l], and Pr[l] as their mean                                   `curator.naive_bayes`
"""

from __future__ import annotations

import numpy as np

from ...curator import Curator
from ...curator.naive_bayes import LabelTable, naive_bayes
from ...privacy import Domain
from ..protocol import Outcome
from .protocol import LabelProtocol, of_users

__all__ = ["LabelNaiveBayes"]


class LabelNaiveBayes(LabelProtocol):
    """Learn a naive Bayes classifier."""

    name = "clldp-naive-bayes"
    summary = "a naive Bayes classifier, from users whose label is protected"

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single(domain)

    def curator(self, desk: Curator) -> Outcome:
        learnt = self.learn(desk)
        labels = desk.domain.labels[learnt.label]
        # What was said for omega's sake is of the same law, and paid for: it counts, but as printed it is thrown away.
        more = {own.attributes: own for own in learnt.sampled} if self.mode != "paper" else {}
        tables = []
        for own in learnt.tables:
            joint, variance, users = own.joint.values, own.variance, own.users
            if (other := more.get(own.attributes)) is not None:
                weight = variance / (variance + other.variance)
                joint = (1 - weight) * joint + weight * other.joint.values
                variance, users = variance * (1 - weight), users + other.users
            size = own.joint.cells // len(labels)
            tables.append(
                LabelTable(own.attributes[0], np.asarray(joint), variance / own.variance * own.variance_of(size), users)
            )
        model = naive_bayes(tables, as_printed=self.mode == "paper")
        return Outcome(
            model={
                **model.told(),
                "label": learnt.label,
                "labels": labels,
                "attributes": desk.domain.project([own.attribute for own in tables]).labels,
                "asked": self.told(learnt),
            },
            summary={**self.figures(learnt), "attributes": len(tables)},
            said=of_users(learnt.mustered.users, learnt.surveys, self.parameters),
        )
