"""PrivIncr's default variant: rounds ask users where they help most.

It is ours, in the frame of Wang et al., "PrivIncr: multi-dimensional data publishing with local
differential privacy" (EDBT 2023). It replaces lines 2 to 8 of Algorithm 3: neither a threshold
decides nor a tree. After each round the tables are believed as far as their noise allows
(`curator.pair_tables`), and the next round's users go where the errors fall most
(`curator.pair_planning`). In the end rows are raked to the tables of all pairs
(`curator.pair_rows`).
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar, Final

from ...curator import Curator, JunctionTree
from ...curator.decoding import decode_rows
from ...curator.pair_planning import Planning
from ...curator.pair_rows import draw_rows
from ...curator.pair_tables import PairTables, estimate_pairs
from ...parties import Party
from ...privacy import Domain
from ...privacy.domain import LabelledRows
from ...privacy.local.assignment import share_out
from ..calm.design import covers, design
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..survey import Answer, CuratorSurvey, MarginalQuestions, PartySurvey
from .accumulation import accumulate
from .parameters import (
    Accumulation,
    CliqueChoice,
    Learning,
    PrivIncrParameters,
    Projection,
    Test,
    refuse_foreign,
)
from .planning import MIN_USERS, candidate_sets, noise_of_users
from .variant import PrivIncrVariant, RoundRecord, askable, predict_rounds, round_questions

__all__ = ["AdaptivePrivIncr"]

FIRST: Final = 0.3
"""Share of the users who are asked first, as CALM asks all users. Later rounds share the rest."""


class AdaptivePrivIncr(PrivIncrVariant):
    """Learn the tables of all pairs in rounds, and draw a table that has them."""

    learning: ClassVar[Learning] = "adaptive"
    # Reports show these for parameters that were left open; adaptive rounds do not use them.
    test: ClassVar[Test] = "chi-squared"
    projection: ClassVar[Projection] = "norm-sub"
    accumulation: ClassVar[Accumulation] = "counts"
    cliques: ClassVar[CliqueChoice] = "all"

    def __init__(self, parameters: PrivIncrParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        refuse_foreign(parameters, variant="learning=adaptive")
        self.rounds = parameters.rounds or 3

    def party(self, me: Party) -> None:
        kind = MarginalQuestions(me.records.domain)
        with me.phase("users"):
            survey = PartySurvey(me, self.parameters)
        for number in range(1, self.rounds + 1):
            with me.phase(f"round {number}"):
                survey.answer(survey.plan(kind, randomizer=self.randomizer))

    def curator(self, desk: Curator) -> Outcome:
        domain, kind = askable(desk.domain), MarginalQuestions(desk.domain)
        with desk.phase("users"):
            survey = CuratorSurvey(desk, self.parameters)
        choices = covers(domain)
        weights = design(
            domain, users=survey.users, randomizer=self.randomizer, choices=choices
        ).weights
        planning = Planning(
            domain,
            [*(candidate_sets(domain, choices) | weights)],
            noise_of_users(self.randomizer),
        )
        parts = share_out(survey.users, round_shares(self.rounds))
        generator = desk.randomness("latent classes").generator()
        answers: dict[tuple[str, ...], Answer] = {}
        rounds = []
        for number, users in enumerate(parts, start=1):
            last = number == self.rounds
            with desk.phase(f"round {number}"):
                questions = round_questions(
                    domain, weights, users=users, randomizer=self.randomizer
                )
                answers = accumulate(answers, survey.collect(survey.plan(questions, kind)))
                tables = estimate_pairs(
                    domain,
                    [answer.noisy(domain) for answer in answers.values()],
                    generator=generator,
                    passes=2 if last else 1,
                )
                if not last:
                    planning.learn(tables)
                    groups = {names: answer.question.users for names, answer in answers.items()}
                    weights = planning.share_out(groups, max(parts[number], 1), least=MIN_USERS)
            sets = [question.attributes for question in questions]
            pairs = dict.fromkeys(pair for names in sets for pair in combinations(names, 2))
            rounds.append(RoundRecord(questions, [*pairs]))
        rows = min(self.parameters.synthetic_rows, survey.reporting)
        synthetic, tree = draw_raked(desk, domain, tables, rows=rows)
        attributes = len(domain.attributes)
        asked_pairs = ", ".join(str(len(record.edges)) for record in rounds)
        return Outcome(
            synthetic=synthetic,
            model={
                "rounds": [record.to_builtins() for record in rounds],
                "tree": None if tree is None else tree.to_builtins(),
            },
            summary={
                "users": survey.reporting,
                "sets": ", ".join(str(len(record.questions)) for record in rounds),
                "pairs asked": f"{asked_pairs} of {attributes * (attributes - 1) // 2}",
                **({} if tree is None else {"cliques": len(tree.cliques)}),
            },
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        return predict_rounds(self, public, phases=[])


def round_shares(rounds: int) -> list[float]:
    """Return the rounds' shares of the users."""
    if rounds == 1:
        return [1.0]
    return [FIRST, *[(1 - FIRST) / (rounds - 1)] * (rounds - 1)]


def draw_raked(
    desk: Curator, domain: Domain, tables: PairTables, *, rows: int
) -> tuple[LabelledRows | None, JunctionTree | None]:
    """Draw rows that have the tables of all pairs. Without rows there is no such phase."""
    if not rows:
        return None, None
    with desk.phase("synthesis"):
        codes, tree = draw_rows(
            domain,
            tables.pairs,
            tables.singles,
            rows=rows,
            generator=desk.randomness("sampling").generator(),
            progress=desk.progress,
        )
        return decode_rows(desk.domain, domain.attributes, codes), tree
