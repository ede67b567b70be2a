"""LabelDP: every user sends her attributes as they are, and her label by randomized response.

    trust       everyone with all attributes; no one with a label that the attributes do not
                determine
    who learns  LEAK: the curator learns every user's attributes; everyone learns the classifier
    privacy     epsilon of the label alone, for a user whose attributes are known anyway; of the
                whole record infinity
    cost        one report a user: ceil(log2 K) bits for an attribute with K values, and for the
                label
    publishes   model.json: a naive Bayes classifier; `sottovoce predict` applies it

Chaudhuri and Hsu 2011: a baseline, with which CLLDP is compared (Xue et al. 2024, sections 2.2 and
7). Randomized response is subset selection for two labels, and for some more. The estimate of
Pr[l, a] is (c[l~, a] - q c[a]) / ((p - q) n), without bias, where c counts the reported labels.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..curator import Curator
from ..curator.naive_bayes import LabelTable, naive_bayes
from ..messages import USER_BITS, Shape, message
from ..parties import Party
from ..parties.clear import ClearReports
from ..privacy import Domain
from ..privacy.local import packed_size, unpack
from ..privacy.local.clear import ClearAttributes
from .clldp.settings import label_of
from .cost import Cost, Public
from .outcome import Outcome
from .survey import (
    CuratorSurvey,
    PartySurvey,
    ReportBatch,
    SurveyOptions,
    SurveyProtocol,
    predict_opening,
)

__all__ = ["LabelDP"]

Tables: TypeAlias = list[NDArray[np.int64]]

LEAK: Final = (
    "label-dp sends every user's attributes as they are; epsilon is of the label alone, and says "
    "nothing of what follows from the attributes"
)


class LabelDPParameters(SurveyOptions):
    simulate: Annotated[Literal["reports"], msgspec.Meta(description="every report is made")] = (
        "reports"
    )
    label: Annotated[
        str, msgspec.Meta(description="the attribute that is protected; default: the last")
    ] = ""


class LabelDP(SurveyProtocol[LabelDPParameters]):
    """Learn naive Bayes from clear attributes and randomized labels."""

    name = "label-dp"
    summary = (
        "a naive Bayes classifier, from users who send all attributes and randomize the label: "
        "a baseline"
    )
    paper = "Chaudhuri and Hsu 2011; LabelDP in Xue et al. 2024"
    goes_on = True
    trust = "attributes are public; only what they do not determine of the label is protected"
    neighbours = "label-alone"
    modes = ("rigorous", "paper")  # the same

    @message
    class Clear:
        """LEAK: the attributes of some users as they are, with their randomized labels, packed.

        `last` marks the cohort's last message.
        """

        users: int
        bits: Annotated[int, USER_BITS]
        packed: Annotated[NDArray[np.uint8], Shape(None)]
        last: bool

    def encoding(self, domain: Domain) -> tuple[str, tuple[str, ...], ClearAttributes]:
        """Choose the label, the attributes and the encoding of a report, from the domain alone."""
        label = label_of(domain, self.parameters.label)
        names = tuple(
            name for name in domain.attributes if name != label and domain.cells((name,)) > 1
        )
        encoding = ClearAttributes(
            domain.shape(names), labels=domain.cells((label,)), epsilon=self.parameters.epsilon
        )
        return label, names, encoding

    def party(self, me: Party) -> None:
        with me.phase("users"):
            survey = PartySurvey(me, self.parameters)
        with me.phase("reports"):
            label, names, encoding = self.encoding(me.records.domain)
            survey.send(
                ClearReports(
                    survey.cohort,
                    names,
                    label,
                    encoding,
                    survey.users,
                    survey.progress,
                    survey.words(),
                ),
                lambda window: self.Clear(
                    int(window.users[0]), window.bits, window.packed, window.last
                ),
            )

    def curator(self, desk: Curator) -> Outcome:
        label, names, encoding = self.encoding(desk.domain)
        with desk.phase("users"):
            survey = CuratorSurvey(desk, self.parameters)
        with desk.phase("reports"):
            counts = [np.zeros((encoding.label.cells, size), np.int64) for size in encoding.sizes]
            sizes = np.array([survey.users])
            for batch in survey.receive(
                self.Clear, lambda message: _read(message, encoding), sizes=sizes
            ):
                counts = [sums + more for sums, more in zip(counts, batch, strict=True)]
        tables = [
            LabelTable(name, encoding.joint(table), 1.0, int(survey.sizes.sum()))
            for name, table in zip(names, counts, strict=True)
        ]
        return Outcome(
            model={
                **naive_bayes(tables).to_builtins(),
                "label": label,
                "labels": desk.domain.labels[label],
                "attributes": desk.domain.project(names).labels,
            },
            summary={"users": survey.reporting, "label": label, "attributes": len(names)},
            user_traffic=survey.traffic_of_reports(encoding.bits),
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, which depend on who is in which cohort."""
        return predict_opening(public, self.parameters, phase="users")

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - of the signature
        return [LEAK]


def _read(message: LabelDP.Clear, encoding: ClearAttributes) -> ReportBatch[Tables]:
    """Count the labels and values in packed reports."""
    users, size = message.users, len(message.packed)
    if message.bits != users * encoding.bits or not (users or message.last):
        raise ValueError(
            f"expected {encoding.bits} bits of each of some users, found {message.bits} of {users}"
        )
    if size != (expected := packed_size(users, bits=encoding.bits)):
        raise ValueError(f"expected {expected} bytes of reports, found {size}")
    reports = unpack(message.packed, bits=encoding.bits, reports=users)
    return ReportBatch(np.array([users]), encoding.counts(reports), message.last)
