"""Head count: the number of people, or of those with one value.

It is the smallest protocol that uses every layer: read it to see what a protocol looks like.

    trust       no one: each party adds its own noise before it sends anything
    collusion   any: no party's privacy depends on another's noise
    who learns  The curator learns K noisy counts, the public learns their sum.
    messages    K, in 1 round, of 8 payload bytes
    privacy     epsilon for each record; neighbours add or remove a record, which is with one party
    error       The sum of K discrete Laplace variables has the standard deviation
                sqrt(2 K) / epsilon, approximately. Noise that does not grow with K needs secure
                aggregation.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..curator import Curator
from ..messages import CURATOR, UsageError, message
from ..parties import Party
from ..privacy import laplace
from .cost import Cost, Public
from .options import Epsilon, Options
from .outcome import Outcome
from .protocol import Protocol

__all__ = ["HeadCount"]


class HeadCountParameters(Options):
    epsilon: Epsilon = 1.0
    attribute: Annotated[
        str, msgspec.Meta(description="count the rows in which this attribute ...")
    ] = ""
    value: Annotated[
        str, msgspec.Meta(description="... has this value; without both, all rows")
    ] = ""

    def __post_init__(self) -> None:
        if bool(self.attribute) != bool(self.value):
            raise UsageError("expected attribute and value together, found one of them")


class HeadCount(Protocol[HeadCountParameters]):
    """Count people; each party answers with its own full noise."""

    name = "head-count"
    summary = "a noisy count of all rows, or of those with one value"
    paper = "Dwork, McSherry, Nissim, Smith 2006"
    trust = "nobody: noise at each party"
    neighbours = "add-or-remove-one"
    parties_talk = False
    goes_on = True

    @message
    class NoisyCount:
        count: int

    def party(self, me: Party) -> None:
        with me.phase("count"):
            attribute, value = self.parameters.attribute, self.parameters.value
            people = me.records.count(attribute, value) if attribute else len(me.records)
            # The curator sees this number; the noise in it is all that hides a record.
            noisy = me.release(
                laplace(people, sensitivity=1, epsilon=self.parameters.epsilon), to=CURATOR
            )
            me.send(self.NoisyCount(noisy), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            answers = desk.gather_answers(self.NoisyCount)
        people = sum(answer.count for answer in answers.values())
        row: dict[str, object] = {"count": people}
        if self.parameters.attribute:
            row = {
                "attribute_1": self.parameters.attribute,
                "value_1": self.parameters.value,
                **row,
            }
        return Outcome(marginals=[row], summary={"count": people})

    def predict(self, public: Public) -> list[Cost]:
        return [
            Cost(
                phase="count",
                kind="NoisyCount",
                messages=public.parties,
                payload_bytes=8 * public.parties,
            )
        ]
