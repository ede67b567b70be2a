"""CALM: consistent adaptive local marginals, from users who trust nobody.

Zhang, Wang, Li, He, Chen, CCS 2018.

    trust       nobody: every user randomizes her own value of one set of attributes
    who learns  the curator and everyone: noisy tables of the sets, and what follows from them
    privacy     epsilon for each user, who reports once (section 2.1)
    cost        one report a user, of as many bits as the randomizer of her set needs; one round
    publishes   marginals.csv, all marginals of `ways` attributes; and a synthetic table, which the
                paper does not publish

1. Choose m sets of at most l attributes, from epsilon, N and the domain alone   (4.3)     `design`
2. Divide the users into m groups. Each user reports the cell of her group's
   marginal, with all of epsilon, by the adaptive choice between GRR and OUE     (2.2.3)   `survey`
3. Estimate the m tables, and make them agree where they overlap        (4.4)     `reconstruction`
4. Make them distributions                                              (4.4)
5. Reconstruct any marginal: from a table that covers it, otherwise by
   maximum entropy or least squares                                     (4.5)

Sections 1 to 3 of the paper were available. Sections 4 and 5 are reconstructed from their summary
and the specification. `PrintedCALM` (`mode=paper`) is that reconstruction. `CALM` has its own
design, and its own way from noisy tables to marginals: on Adult with 1.5 million users the paper's
marginals are worse than tables of single attributes below about epsilon 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import msgspec

from ...curator import Curator, Marginal
from ...curator.pair_rows import draw_rows
from ...curator.pair_tables import estimate_pairs
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.local import Randomizer, printed_choice
from ..cost import Cost, Public
from ..local import (
    LocalOptions,
    LocalProtocol,
    SyntheticRows,
    Ways,
    check_marginals,
    choose_randomizer,
    intervals_of_answers,
    user_counts,
)
from ..options import Confidence, Mode
from ..outcome import Outcome
from ..survey import (
    Answer,
    CuratorSurvey,
    MarginalQuestions,
    PartySurvey,
    Question,
    predict_survey,
    questions_by_weight,
)
from .design import design, printed_design
from .reconstruction import (
    MarginalOf,
    PairReconstruction,
    PrintedReconstruction,
    Reconstruction,
)

__all__ = ["CALM", "CALMParameters", "PrintedCALM"]


class CALMParameters(LocalOptions):
    ways: Ways = 2
    synthetic_rows: SyntheticRows = 100_000
    theta: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="bearable squared error by sampling, which bounds m (mode paper)",
        ),
    ] = 0.0001
    most_attributes: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=6, description="l: most attributes of a set; 0: by noise (mode paper)"
        ),
    ] = 0
    most_cells: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1 << 20,
            description="L: most cells of a set of several; 0: by noise (mode paper)",
        ),
    ] = 0
    reconstruction: Annotated[
        Reconstruction,
        msgspec.Meta(
            description="of marginals that no table has: maximum-entropy or least-squares"
        ),
    ] = "maximum-entropy"
    confidence: Confidence = 0.95


class CALM(LocalProtocol[CALMParameters]):
    """Ask each user for one set of attributes, and reconstruct all marginals."""

    name = "calm"
    summary = "all marginals of a few attributes, and a synthetic table, from users"
    paper = "Zhang et al. 2018 (CALM); sections 4 and 5 reconstructed"

    @classmethod
    def variant(cls, parameters: CALMParameters, *, mode: Mode) -> type[CALM]:
        if mode == "paper":
            return PrintedCALM
        for name in ("most_attributes", "most_cells"):
            if value := getattr(parameters, name):
                raise UsageError(
                    f"expected {name}={value} with mode=paper, found mode=rigorous, "
                    "which chooses its sets by predicted errors"
                )
        return CALM

    goes_on = True

    def questions(self, domain: Domain, users: int) -> list[Question]:
        """Choose the sets, and how many users are asked for each (step 1)."""
        check_marginals(domain, min(self.parameters.ways, len(domain.attributes)))
        asked = domain.project([name for name in domain.attributes if domain.cells((name,)) > 1])
        if not asked.attributes:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        weights = self.weights(asked, users)
        # Sets of as many cells stand together, because they share a randomizer.
        ordered = dict(sorted(weights.items(), key=lambda entry: domain.cells(entry[0])))
        return questions_by_weight(
            users, ordered, lambda attributes: self.randomizer(domain.cells(attributes))
        )

    def weights(self, domain: Domain, users: int) -> dict[tuple[str, ...], float]:
        """Choose each set's share of the users, for the least predicted error."""
        if self.parameters.ways == 1:  # single attributes are all that is published
            return {(name,): 1.0 for name in domain.attributes}
        return design(domain, users=users, randomizer=self.randomizer).weights

    def marginals(self, desk: Curator, answers: Sequence[Answer]) -> MarginalOf:
        """Estimate all pairs together, and reconstruct from them (steps 3 to 5)."""
        generator = desk.randomness("latent classes").generator()
        noisy = [answer.noisy(desk.domain) for answer in answers]
        pairs = estimate_pairs(desk.domain, noisy, generator=generator)
        return PairReconstruction(desk.domain, pairs, self.parameters.reconstruction).marginal

    def party(self, me: Party) -> None:
        with me.phase("plan"):
            survey = PartySurvey(me, self.parameters)
            kind = MarginalQuestions(me.records.domain)
            plan = survey.plan(kind, randomizer=self.randomizer)
        # 2. Each user of the cohort reports her cell of her group's marginal, by its randomizer.
        with me.phase("reports"):
            survey.answer(plan)

    def curator(self, desk: Curator) -> Outcome:
        p, domain = self.parameters, desk.domain
        # 1.
        with desk.phase("plan"):
            survey = CuratorSurvey(desk, p)
            questions = self.questions(domain, survey.users)
            plan = survey.plan(questions, MarginalQuestions(domain))
        # 2. A public permutation makes the groups, and the reports of each group are counted.
        with desk.phase("reports"):
            answers = survey.collect(plan)
        # 3. to 5.
        with desk.phase("reconstruction"):
            marginal = self.marginals(desk, answers)
            wanted = list(combinations(domain.attributes, min(p.ways, len(domain.attributes))))
            tables = []
            for attributes in wanted:
                tables.append(marginal(attributes))
                desk.progress(len(tables), of=len(wanted))
            intervals = intervals_of_answers(domain, answers, wanted, confidence=p.confidence)
        synthetic = None
        if rows := min(p.synthetic_rows, survey.reporting):
            with desk.phase("synthesis"):
                singles = {name: marginal((name,)) for name in domain.attributes}
                pairs: dict[tuple[str, ...], Marginal] = {
                    pair: marginal(pair) for pair in combinations(domain.attributes, 2)
                }
                generator = desk.randomness("sampling").generator()
                codes, _ = draw_rows(
                    domain,
                    pairs,
                    singles,
                    rows=rows,
                    generator=generator,
                    progress=desk.progress,
                )
                synthetic = domain.rows(codes)
        return Outcome(
            marginals=user_counts(domain, tables, intervals, users=survey.reporting),
            synthetic=synthetic,
            summary={
                "users": survey.reporting,
                "sets": len(questions),
                "attributes of a set": max(len(question.attributes) for question in questions),
                "cells of a set": max(question.randomizer.cells for question in questions),
                "users of a set": min(answer.question.users for answer in answers),
                "randomizers": ", ".join(
                    dict.fromkeys(question.randomizer.name for question in questions)
                ),
                "marginals": len(tables),
                "interval": f"low to high, confidence {p.confidence:.4g} for each count",
            },
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        return predict_survey(public, self.parameters, self.questions, MarginalQuestions)


class PrintedCALM(CALM):
    """The same with the sets, the randomizers and the reconstruction of the paper."""

    def weights(self, domain: Domain, users: int) -> dict[tuple[str, ...], float]:
        """Choose m sets of at most l attributes (step 1), with as many users each."""
        sets = printed_design(
            domain,
            users=users,
            epsilon=self.epsilon,
            ways=min(self.parameters.ways, len(domain.attributes)),
            theta=self.parameters.theta,
            most=self.parameters.most_attributes,
            cells=self.parameters.most_cells,
        )
        return dict.fromkeys(sets, 1.0)

    def choose_randomizer(self, cells: int) -> Randomizer:
        """Choose between GRR and OUE (step 2)."""
        return choose_randomizer(cells, self.parameters, rule=printed_choice)

    def marginals(self, desk: Curator, answers: Sequence[Answer]) -> MarginalOf:
        """Make the tables agree, and reconstruct from them (steps 3 to 5)."""
        return PrintedReconstruction.of(
            desk.domain, answers, reconstruction=self.parameters.reconstruction
        ).marginal
