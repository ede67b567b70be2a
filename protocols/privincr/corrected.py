"""PrivIncr with the paper's errors corrected: `learning=tests`.

Wang et al., "PrivIncr: multi-dimensional data publishing with local differential privacy" (EDBT
2023), sections 5.2 to 5.4, with these corrections of the specification:

    Algorithm 1   10     reports on one table add up (E1)                 `accumulation`
                  11-14  an edge is judged by a chi-squared test (E2)     `pruning`
    Algorithm 2          each factor is measured once (E8)                `factoring`
    Algorithm 3   4-7    small cliques are measured, too, what the rounds tell of them is kept, and
                         all tables are made to agree (E10)               `cliques`
"""

from __future__ import annotations

from typing import ClassVar, Final

from ...curator import Curator, dependency_graph, junction_tree
from ...parties import Party
from ...privacy.local import OptimisedUnary
from ...privacy.local.assignment import share_out
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from ..survey import CuratorSurvey, MarginalQuestions, PartySurvey
from .cliques import (
    agreed_tables,
    clique_questions,
    draw_table,
    largest_sets,
    sets_of,
    trivial_tables,
)
from .factoring import factorise_cliques
from .graph import CorrectedGraph
from .parameters import (
    Accumulation,
    CliqueChoice,
    Learning,
    PrivIncrParameters,
    Projection,
    Test,
    refuse_foreign,
)
from .variant import (
    PrivIncrVariant,
    RoundRecord,
    askable,
    by_cells,
    by_power,
    model_of,
    predict_rounds,
    round_questions,
    summary_of,
)

__all__ = ["CorrectedPrivIncr"]

WEIGHTS: Final = {"domain": by_cells, "power": by_power}


class CorrectedPrivIncr(PrivIncrVariant):
    """Learn the graph by tests in rounds, and draw a table along its junction tree."""

    learning: ClassVar[Learning] = "tests"
    test: ClassVar[Test] = "chi-squared"
    projection: ClassVar[Projection] = "norm-sub"
    accumulation: ClassVar[Accumulation] = "counts"
    cliques: ClassVar[CliqueChoice] = "all"

    def __init__(self, parameters: PrivIncrParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        refuse_foreign(parameters, variant="learning=tests")
        self.rounds = parameters.rounds or 6
        self.weight = WEIGHTS[parameters.groups]

    def party(self, me: Party) -> None:
        kind = MarginalQuestions(me.records.domain)
        with me.phase("users"):
            survey = PartySurvey(me, self.parameters)
        # Algorithm 1, line 8: a user of a group reports her cell of the group's pair.
        for number in range(1, self.rounds + 1):
            with me.phase(f"round {number}"):
                survey.answer(survey.plan(kind, randomizer=self.randomizer))
        # Algorithm 2, line 12: the other users report their cells of the cliques' tables.
        with me.phase("cliques"):
            survey.answer(survey.plan(kind, randomizer=self.randomizer))

    def curator(self, desk: Curator) -> Outcome:
        p, domain, kind = self.parameters, askable(desk.domain), MarginalQuestions(desk.domain)
        with desk.phase("users"):
            survey = CuratorSurvey(desk, p)
        # Algorithm 3, line 1; Algorithm 1, lines 1 to 3.
        parts = share_out(round(p.graph_users * survey.users), [1.0] * self.rounds)
        graph = CorrectedGraph(domain=domain, phi=p.phi, alpha=p.alpha, base=p.base)
        rounds = []
        for number, users in enumerate(parts, start=1):
            with desk.phase(f"round {number}"):
                # Lines 4 to 8.
                weights = {edge: self.weight(domain, edge) for edge in graph.edges}
                questions = round_questions(
                    domain, weights, users=users, randomizer=self.randomizer
                )
                answers = survey.collect(survey.plan(questions, kind))
                # Lines 9 to 14.
                graph.accumulate(answers)
                graph.prune(last=number == self.rounds)
            rounds.append(RoundRecord(questions, graph.edges))
        # Algorithm 3, line 3.
        tree = junction_tree(desk.domain, dependency_graph(desk.domain, graph.pairs))
        with desk.phase("cliques"):
            # Lines 4 to 7.
            factors = factorise_cliques(
                tree,
                information=graph.information(),
                users=survey.remaining,
                variance=OptimisedUnary(2, epsilon=self.epsilon).variance(),
                search=p.factorisation,
            )
            sets = sets_of(
                desk.domain, [factor for pieces in factors.values() for factor in pieces]
            )
            questions = clique_questions(
                desk.domain,
                largest_sets(sets),
                users=survey.remaining,
                weight=lambda cells: cells ** (2 / 3),  # the sum of all tables' errors is least
                randomizer=self.randomizer,
            )
            answers = survey.collect(survey.plan(questions, kind))
            tables = agreed_tables(desk.domain, answers, graph.answers)
        # Line 8.
        rows = min(p.synthetic_rows, survey.reporting)
        tables += trivial_tables(desk.domain)
        return Outcome(
            synthetic=draw_table(desk, tree, factors, tables, rows=rows),
            model=model_of(rounds, questions, tree, factors),
            summary=summary_of(domain, rounds, questions, tree, users=survey.reporting),
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        return predict_rounds(self, public, phases=["cliques"])
