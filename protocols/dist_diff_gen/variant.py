"""What both variants of DistDiffGen share: the plan, the messages of cuts, and the synthesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...curator import Curator
from ...curator.marginal import Numbers
from ...messages import MessageError, Private, Role, UsageError, role_name
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..secure_sum import SumBatch, SummingProtocol
from .leaves import describe, draw_rows, spread
from .options import DistDiffGenParameters, Messages
from .plan import SpecialisationPlan
from .scores import Score
from .taxonomy import Cuts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Variant", "predict_cuts", "publish", "receive_cuts"]


class Variant(SummingProtocol[DistDiffGenParameters]):
    """A variant of DistDiffGen, with both sides of the protocol and the forecast."""

    name = "dist-diff-gen"
    summary = "a synthetic table of two parties' records, generalised for one classifier"
    paper = "Alhadidi, Mohammed, Fung, Debbabi 2012"
    trust = (
        "no one sees a record; the curator may collude with up to `colluding` parties; mode paper: "
        "party 1 sees party 2's counts"
    )
    least_parties = 2
    most_parties = 2
    uses = (Messages,)
    usual_score: ClassVar[Score]

    def __init__(self, parameters: DistDiffGenParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.score: Score = parameters.score or self.usual_score

    def plan(self, domain: Domain) -> SpecialisationPlan:
        """Plan the run from public figures."""
        p = self.parameters
        if not domain.attributes:
            raise UsageError("expected at least two attributes, found none")
        target = domain.attributes[-1] if p.target is None else p.target
        domain.shape([target])
        whole = min(self.budgets, key=_noise_of_leaves)
        return SpecialisationPlan(
            domain, target, whole, p.specialisations, self.score, p.most_cells
        )

    def unit_of_budget(self, public: Public) -> Unit | None:  # noqa: ARG002 - the same for every table
        return min(self.budgets, key=_noise_of_leaves).unit


def _noise_of_leaves(whole: Budget) -> float:
    """Compute the noise in a leaf, which has half of the budget."""
    return SumBatch.of(whole.share(1 / 2), cells=1, sensitivity=2, squares=2).deviation


def receive_cuts(role: Role, plan: SpecialisationPlan, *, source: int) -> Cuts:
    """Receive the cuts that another role chose."""
    borders = role.receive(Messages.Specialised, source=source).borders
    try:
        return plan.read(borders)
    except ValueError as error:
        raise MessageError(
            Private(error), f", from {role_name(source)}", where=role.where
        ) from None


def predict_cuts(plan: SpecialisationPlan) -> list[Cost]:
    """Predict the two messages with cuts, where their size does not depend on the choices."""
    if (number := plan.certain_specialisations) is None:
        return []
    first, *others = ((0, 0) for _ in plan.predictors)
    message = Messages.Specialised(((*first, *(0,) * number), *others))
    return [Cost.of(message, phase="specialisation", messages=2)]


def publish(
    desk: Curator,
    plan: SpecialisationPlan,
    cuts: Cuts,
    *,
    counts: npt.NDArray[np.int64],
    projected: Numbers,
    rows: int,
    generator: np.random.Generator,
) -> Outcome:
    """Phase 4: draw the table from the leaves, and publish both.

    `counts` are the noisy counts of the leaves, `projected` what is drawn from: none below 0, and
    `rows` in all.
    """
    of_leaves = spread(projected, rows, generator=generator)
    drawn = draw_rows(plan, cuts, of_leaves, generator=generator)
    return Outcome(
        synthetic=desk.domain.rows(drawn),
        model=describe(plan, cuts, counts),
        summary={
            "target": plan.target,
            "specialisations": plan.summary(cuts),
            "leaves": plan.leaf_cells(cuts) // plan.classes,
        },
    )
