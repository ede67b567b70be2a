"""LabelDP: every user tells her attributes as they are, and her label by randomized response
(Chaudhuri, Hsu 2011; a baseline).

    trust       everybody with all attributes; nobody with a label that does not follow from them
    who learns  LEAK: the aggregator learns every user's attributes; everybody the classifier
    privacy     epsilon of the label alone, of a user whose attributes are known anyhow; of the whole record infinity
    cost        one report a user: ceil(log2 K) bits of an attribute with K values, and of the label
    publishes   model.json: a naive Bayes classifier; `sottovoce predict` applies it

What CLLDP is compared with (Xue et al. 2024, sections 2.2 and 7). Randomized response is subset
selection of two labels, and of some more. Pr[l, a] is (c[l~, a] - q c[a]) / ((p - q) n), without
bias, where c counts the labels that were said.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as annotations of messages

from ..curator import Curator
from ..curator.naive_bayes import LabelTable, naive_bayes
from ..messages import CURATOR, USER_BITS, MessageError, Shape, message
from ..parties import Party
from ..parties.clear import ClearReports
from ..privacy import Domain
from ..privacy.local import packed_size, unpack
from ..privacy.local.clear import ClearAttributes
from .clldp.settings import label_of
from .local import SurveyOptions, enlist, muster, predict_users
from .local.asking import Surveyed
from .protocol import Cost, Mode, Outcome, Protocol, Public, UserTraffic

__all__ = ["LabelDP"]


class LabelDPParameters(SurveyOptions):
    simulate: Annotated[Literal["reports"], msgspec.Meta(description="every report is made")] = (
        "reports"
    )
    label: Annotated[
        str, msgspec.Meta(description="the attribute that is protected; default: the last")
    ] = ""


class LabelDP(Protocol[LabelDPParameters]):
    """Learn naive Bayes from clear attributes and randomized labels."""

    name = "label-dp"
    summary = "a naive Bayes classifier, from users who tell all attributes and randomize the label: a baseline"
    paper = "Chaudhuri and Hsu 2011; LabelDP in Xue et al. 2024"
    trust = "everybody with attributes; nobody with a label that does not follow from them"
    neighbours = "label-alone"
    needs_schema = True
    uses = (Surveyed,)
    modes = ("rigorous", "paper")  # the same

    @message
    class Clear:
        """LEAK: some users' attributes as they are, with their reports of the label, packed; the
        last ones or not.
        """

        users: int
        bits: Annotated[int, USER_BITS]
        packed: Annotated[NDArray[np.uint8], Shape(None)]
        last: bool

    def __init__(self, parameters: LabelDPParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)

    def how(self, domain: Domain) -> tuple[str, tuple[str, ...], ClearAttributes]:
        """Say what is told of a record: from public knowledge alone."""
        label = label_of(domain, self.parameters.label)
        names = tuple(
            name for name in domain.attributes if name != label and domain.cells((name,)) > 1
        )
        own = ClearAttributes(
            domain.shape(names), labels=domain.cells((label,)), epsilon=self.parameters.epsilon
        )
        return label, names, own

    def party(self, me: Party) -> None:
        with me.phase("users"):
            enlisted = enlist(me, self.parameters)
        with me.phase("reports"):
            label, names, how = self.how(me.records.domain)
            words = me.words_of_users(f"release {len(me.accountant.releases)}")

            def told(done: int, of: int) -> None:
                me.progress(done, of=of)

            reports = ClearReports(enlisted.cohort, names, label, how, enlisted.users, told, words)
            for window in me.release(reports, to=CURATOR, users=reports.users):
                me.send(
                    self.Clear(int(window.users[0]), window.bits, window.packed, window.last),
                    to=CURATOR,
                )

    def curator(self, desk: Curator) -> Outcome:
        label, names, how = self.how(desk.domain)
        with desk.phase("users"):
            mustered = muster(desk, self.parameters)
        counts = [np.zeros((how.label.cells, size), np.int64) for size in how.sizes]
        with desk.phase("reports"):
            speaking, heard = [*desk.parties], 0
            while speaking:
                for rank in [*speaking]:
                    said = desk.receive(self.Clear, source=rank)
                    try:
                        counts = [
                            whole + own
                            for whole, own in zip(counts, _counted(said, how), strict=True)
                        ]
                    except ValueError as error:
                        raise MessageError(
                            f"malformed reports from cohort {rank}: {error}", where=desk.where
                        ) from None
                    heard += said.users
                    desk.progress(float(heard), of=mustered.users)
                    if said.last:
                        speaking.remove(rank)
        if heard != mustered.users:
            raise MessageError(
                f"expected {mustered.users} users to report, found {heard}", where=desk.where
            )
        joints = [how.joint(own) for own in counts]
        tables = [
            LabelTable(name, own, 1.0, heard) for name, own in zip(names, joints, strict=True)
        ]
        model = naive_bayes(tables)
        return Outcome(
            model={
                **model.to_builtins(),
                "label": label,
                "labels": desk.domain.labels[label],
                "attributes": desk.domain.project(names).labels,
            },
            summary={"users": heard, "label": label, "attributes": len(names)},
            user_traffic=UserTraffic(
                users=heard,
                reports=heard,
                bits=heard * how.bits,
                least=how.bits,
                most=how.bits,
                simulate="reports",
            ),
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, whose number of messages depends on who is in which cohort."""
        return predict_users(public, phase="users", users=self.parameters.users or public.rows)

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        return [
            (
                "label-dp tells every user's attributes as they are; epsilon is of the label alone, and says nothing of what "
                "follows from the attributes"
            )
        ]


def _counted(said: Any, how: ClearAttributes) -> list[NDArray[np.int64]]:
    """Take some reports apart."""
    if said.users < 0 or said.bits != said.users * how.bits or not (said.users or said.last):
        raise ValueError(
            f"expected {how.bits} bits of each of some users, found {said.bits} of {said.users}"
        )
    if len(said.packed) != packed_size(said.users, bits=how.bits):
        raise ValueError(
            f"expected {packed_size(said.users, bits=how.bits)} bytes of reports, found {len(said.packed)}"
        )
    return how.counts(unpack(said.packed, bits=how.bits, reports=said.users))
