"""DistDiffGen: two parties' records generalised into groups, and each group counted by class with
noise.

Alhadidi, Mohammed, Fung, Debbabi, "Secure distributed framework for achieving epsilon-differential
privacy" (PETS 2012): DiffGen (Mohammed, Chen, Fung, Yu, "Differentially private data release for
data mining", KDD 2011) for two parties with different records of the same attributes. A baseline of
Su et al. (2016). What it publishes serves one classifier, of `target`.

    trust       nobody with a record (rigorous); party 2 trusts party 1 with exact counts (paper, which simulates: see below)
    collusion   as for any secure sum: `noisy_marginals` says it
    who learns  the curator and everybody: the choices, so the leaves, and their noisy counts; party 1 in mode paper: the class
                counts of party 2, exactly
    rounds      masks: 5, paillier: 7, in both modes
    privacy     epsilon for each record, neighbours by replacing one: half for the choices, half for the leaves

    1  tables           every attribute by class                                                            eps / 2
         rigorous       P_1, P_2 -> T: their sum, with noise
         paper          P_2 -> P_1: exactly
    2  specialisation   h times a node of a taxonomy is replaced by its children (`taxonomy`)
         rigorous       T -> all: what the noisy tables say is best
         paper          P_1 -> all: what the exponential mechanism draws, eps' = eps / 2(|numeric| + 2h) a choice
    3  leaves           P_1, P_2 -> T: every group by class, the sum with noise of scale 4 / eps                 eps / 2
    4  synthesis        T draws the table, inside a leaf all labels alike

The scores of step 2 are sums over both parties' records. The paper draws by them in a two-party
computation, which this project does not have. *Mode paper* only simulates it: P_2 tells P_1 its
counts. What a secure computation would have protected is not protected, and the report says so:
infinity against another party. Everything that leaves the two parties is as it would be.

*Mode rigorous* needs no such computation. A node is specialised in every group in which it stands,
so its score depends on the class counts of its attribute over all records, and on nothing chosen
before. One secure sum of d - 1 tables, which a replaced record changes by 2 (d - 1) in L1, serves
all choices; made to agree, they are post-processing, and so is the best of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as annotations of messages

from ...crypto import RandomStream
from ...crypto.sealed import TAG_BYTES
from ...curator import Curator, agree
from ...curator.marginal import Numbers
from ...curator.projections import norm_mul, norm_sub
from ...messages import CURATOR, MessageError, Role, UsageError, encoded_size, message, role_name
from ...parties import Party
from ...privacy import Domain, coalition, with_curator
from ..introductions import introduce, predict_introductions
from ..protocol import Cost, Epsilon, Mode, Outcome, Public
from ..secure_sum import (
    CuratorSums,
    PartySums,
    SummingProtocol,
    SumOptions,
    predict_keys,
)
from .leaves import count_leaves, describe, draw_rows, spread
from .scores import Score, choose_together
from .taxonomy import Cuts, Plan, specialise

__all__ = ["DistDiffGen"]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Exact counts for another party, from whom nothing hides them. They stand for a two-party
    computation of choices.

    Whoever sees those choices alone is told no more than `epsilon` of the records.
    """

    counts: NDArray[np.int64] = field(repr=False)
    sensitivity: float
    epsilon: float

    name = "exact-counts"
    scale = 0.0
    delta = 0.0
    by_users = ()
    whole_record = None

    @property
    def seen(self) -> Mapping[str, float]:
        return {
            coalition(1): float("inf"),
            with_curator(1): float("inf"),
            "public": self.epsilon,
            "curator": self.epsilon,
        }

    def draw(self, randomness: RandomStream) -> NDArray[np.int64]:  # noqa: ARG002 - nothing is drawn
        """Hand the counts over. Called by `Accountant.release` alone."""
        return np.asarray(self.counts)


class DistDiffGenParameters(SumOptions):
    epsilon: Epsilon = 1.0
    specialisations: Annotated[
        int, msgspec.Meta(ge=1, le=1000, description="h: how often a node is specialised")
    ] = 10
    target: Annotated[
        str | None, msgspec.Meta(description="the class attribute; the last one, if not said")
    ] = None
    score: Annotated[
        Score | None,
        msgspec.Meta(
            description="max (paper): most frequent classes; gain (rigorous): information gain; by the mode"
        ),
    ] = None
    most_cells: Annotated[
        int, msgspec.Meta(ge=2, le=1 << 24, description="leaves times classes, at most")
    ] = 1 << 20


class DistDiffGen(SummingProtocol[DistDiffGenParameters]):
    """Publish a generalised table of two parties' records, made to learn one attribute from the
    others.
    """

    name = "dist-diff-gen"
    summary = "a synthetic table of two parties' records, generalised for one classifier"
    paper = "Alhadidi, Mohammed, Fung, Debbabi 2012"
    trust = "nobody with a record; paillier: the curator colludes with no party; paper: party 1 sees party 2's counts"
    least_parties = 2
    most_parties = 2

    @message
    class ClassCounts:
        """From party 2 to party 1, in mode paper: every predictor's labels by class, exactly.
        Sealed.
        """

        cells: NDArray[np.int64]

    @message
    class Specialised:
        """To all: the borders of the ranges into which each predictor is divided."""

        borders: tuple[tuple[int, ...], ...]

    def __init__(self, parameters: DistDiffGenParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.simulated = mode == "paper"
        # Of noisy tables gain tells more. Drawn by the exponential mechanism it tells nothing: it
        # may change by all that it is.
        self.score: Score = parameters.score or ("max" if self.simulated else "gain")

    def plan(self, domain: Domain) -> Plan:
        """Plan the run from public figures."""
        p = self.parameters
        if not domain.attributes:
            raise UsageError("expected at least two attributes, found none")
        target = domain.attributes[-1] if p.target is None else p.target
        domain.shape([target])
        return Plan(domain, target, p.epsilon, p.specialisations, self.score, p.most_cells)

    def party(self, me: Party) -> None:
        plan = self.plan(me.records.domain)
        counted: Mapping[str, Numbers] = {}
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
            if self.simulated:
                introduce(me)  # what P_2 tells P_1 is sealed, whoever hides the leaves
        with me.phase("tables"):  # 1
            if not self.simulated:
                plan.tables.contribute(me.records, sums)
            elif me.number == 2:
                disclose(me, plan)
            else:
                counted = count_both(me, plan)
        with me.phase("specialisation"):  # 2
            if self.simulated and me.number == 1:
                cuts = draw_cuts(me, plan, counted)
                me.broadcast(self.Specialised(tuple(cuts.values())))
            else:
                cuts = receive_cuts(me, plan, source=1 if self.simulated else CURATOR)
        with me.phase("leaves"):  # 3
            sums.contribute([count_leaves(me.records, plan, cuts)], plan.leaves(cuts))

    def curator(self, desk: Curator) -> Outcome:
        plan = self.plan(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        if self.simulated:
            with desk.phase("specialisation"):  # 2
                cuts = receive_cuts(desk, plan, source=1)
        else:
            with desk.phase("tables"):  # 1
                settled = agree(plan.tables.receive(sums), total=sums.rows)
            with desk.phase("specialisation"):  # 2
                tables = {estimate.attributes[0]: estimate.table.values for estimate in settled}
                cuts = specialise(plan, tables, pick=best)
                desk.broadcast(self.Specialised(tuple(cuts.values())))
        with desk.phase("leaves"):  # 3
            counts = sums.total(plan.leaves(cuts))
        with desk.phase("synthesis"):  # 4
            generator = desk.randomness("sampling").generator()
            # As printed, what is below 0 is cut off and the rest keeps its proportions; the nearest
            # table of n rows is better.
            project = norm_mul if self.simulated else norm_sub
            rows = spread(
                project(counts.astype(np.float64), float(sums.rows)), sums.rows, generator=generator
            )
            return Outcome(
                synthetic=plan.domain.decode(draw_rows(plan, cuts, rows, generator=generator)),
                model=describe(plan, cuts, counts),
                summary={
                    "target": plan.target,
                    "specialisations": plan.ended(cuts),
                    "leaves": plan.leaf_cells(cuts) // plan.classes,
                },
            )

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the choices: all but the leaves."""
        if public.domain is None:
            return []
        p, plan = self.parameters, self.plan(public.domain)
        lines = predict_keys(p, public, phase="keys")
        if self.simulated:
            if p.aggregator == "clear":  # which does without
                lines.append(predict_introductions(parties=public.parties, phase="keys"))
            told = (
                encoded_size(self.ClassCounts(np.zeros(plan.tables.batch.cells, np.int64)))
                + TAG_BYTES
            )
            lines.append(Cost(phase="tables", kind="ClassCounts", messages=1, payload_bytes=told))
        else:
            lines += plan.tables.predict(p, public, noise=self.noise, phase="tables")
        if (made := plan.always_made) is not None:
            first, *others = ((0, 0) for _ in plan.predictors)
            size = encoded_size(self.Specialised(((*first, *(0,) * made), *others)))
            sealed = TAG_BYTES if self.simulated else 0  # the one to P_2; the other goes to T
            lines.append(
                Cost(
                    phase="specialisation",
                    kind="Specialised",
                    messages=2,
                    payload_bytes=2 * size + sealed,
                )
            )
        return lines

    def warnings(self, public: Public) -> list[str]:
        said = super().warnings(public)
        if self.simulated:
            said.append(
                "mode paper simulates the two-party computation of the choices: party 2 told party 1 its exact class counts, "
                "which a secure computation would have kept from it, so no epsilon holds for party 2 against party 1; the "
                "bytes, rounds and seconds of the choices are those of the simulation, not of the paper's computation"
            )
        return said


def best(scores: Sequence[Numbers]) -> list[int]:
    """Pick the best of each list, the first of several: *max* has many equals, which differ in
    their last digits only.
    """
    return [int(own.round(9).argmax()) for own in scores]


def disclose(me: Party, plan: Plan) -> None:
    """Tell party 1 the exact class counts. Called by party 2, in mode paper."""
    tables = plan.tables
    counts = np.concatenate(list(me.records.marginals(tables.families)))
    released = Disclosure(counts, float(tables.batch.sensitivity), plan.epsilon / 2)
    # The leak of the simulation: exact counts, readable by party 1 and, as they are sealed, by
    # nobody else.
    me.send(DistDiffGen.ClassCounts(me.release(released, to=1)), to=1)


def count_both(me: Party, plan: Plan) -> dict[str, Numbers]:
    """Add party 2's class counts to one's own. Called by party 1, in mode paper."""
    families = plan.tables.families
    mine = np.concatenate(list(me.records.marginals(families)))
    theirs = me.receive(DistDiffGen.ClassCounts, source=2).cells
    if len(theirs) != len(mine) or theirs.min() < 0:
        raise MessageError(
            f"expected {len(mine)} counts of {role_name(2)}, none below 0, found {len(theirs)}: do both have the same schema?",
            where=me.where,
        )
    ends = np.cumsum([plan.domain.cells(family) for family in families])[:-1]
    both = np.split((mine + theirs).astype(np.float64), ends)
    return {
        name: own.reshape(-1, plan.classes) for (name, _), own in zip(families, both, strict=True)
    }


def draw_cuts(me: Party, plan: Plan, counted: Mapping[str, Numbers]) -> Cuts:
    """Choose the specialisations by both parties' counts. Called by party 1, in mode paper."""

    def pick(scores: Sequence[Numbers]) -> Sequence[int]:
        choice = choose_together(scores, score=plan.score, epsilon=plan.of_one_choice)
        # Released to the curator, and so to all. What it costs party 2's records party 2 recorded
        # when it told its counts.
        return me.release(choice, to=CURATOR)

    return specialise(plan, counted, pick=pick)


def receive_cuts(role: Role, plan: Plan, *, source: int) -> Cuts:
    """Receive what was chosen."""
    said = role.receive(DistDiffGen.Specialised, source=source)
    try:
        return plan.read(said.borders)
    except ValueError as error:
        raise MessageError(f"{error}, from {role_name(source)}", where=role.where) from None
