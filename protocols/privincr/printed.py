"""PrivIncr as the paper prints it.

Wang et al., "PrivIncr: multi-dimensional data publishing with local differential privacy" (EDBT
2023), sections 5.2 to 5.4, with its equations 6, 11 and 18 and its choice of what is measured (spec
E1, E2, E8, E10). `CountingPrivIncr` is the same by equation 5, which contradicts equation 6:

    Algorithm 3   1      users into N1 = omega N and N2
                  2      the dependency graph from N1                     Algorithm 1
    Algorithm 1   1-2    all pairs of attributes are edges; nothing is known of them
                  3      N1 into T parts
                  4-6    in each round, its part into a group for each edge left
                  7-8    the group reports the cells of its pair
                  9-10   the reports are added to those before            `accumulation`
                  11-14  edges below their threshold are removed          `pruning`
    Algorithm 3   3      the graph's junction tree
                  4-7    its cliques from N2; large ones as products      Algorithm 2: `factoring`
                  8      rows drawn along the tree
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from ...curator import Curator, JunctionTree, Marginal, dependency_graph, junction_tree
from ...curator.marginal import Numbers
from ...curator.projections import norm_mul, norm_sub
from ...parties import Party
from ...privacy.local import OptimisedUnary, Randomizer
from ...privacy.local.assignment import share_out
from ..cost import Cost, Public
from ..local import choose_randomizer
from ..options import Mode
from ..outcome import Outcome
from ..survey import Answer, CuratorSurvey, MarginalQuestions, PartySurvey
from .accumulation import AccumulatedTable, CountedTable
from .cliques import clique_questions, draw_table, sets_of, trivial_tables
from .factoring import Factor, factorise_cliques, nested_factors
from .graph import PrintedGraph
from .parameters import Accumulation, Learning, PrivIncrParameters, Projection, Test, refuse_foreign
from .pruning import Threshold, plain_threshold, relaxed_threshold
from .variant import (
    PrivIncrVariant,
    RoundRecord,
    askable,
    by_cells,
    model_of,
    predict_rounds,
    round_questions,
    summary_of,
)

__all__ = ["CountingPrivIncr", "PrintedPrivIncr"]

THRESHOLDS: Final[Mapping[Test, Threshold]] = {
    "relaxed": relaxed_threshold,
    "plain": plain_threshold,
}
PROJECTIONS: Final[Mapping[Projection, Callable[[Numbers], Numbers]]] = {
    "norm-mul": norm_mul,
    "norm-sub": norm_sub,
}


class PrintedPrivIncr(PrivIncrVariant):
    """Learn the graph by a threshold in rounds, and draw a table along its junction tree."""

    learning: ClassVar[Learning] = "tests"
    default_test: ClassVar[Test] = "relaxed"
    accumulation: ClassVar[Accumulation] = "frequencies"
    accumulated: ClassVar[type[AccumulatedTable]] = AccumulatedTable

    def __init__(self, parameters: PrivIncrParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        refuse_foreign(parameters, variant="mode=paper")
        self.rounds = parameters.rounds or 6
        self.test: Test = parameters.test or self.default_test
        # Clipping and rescaling is the paper's likely choice, and bad.
        self.projection: Projection = parameters.projection or "norm-mul"
        self.cliques = parameters.cliques or "large"
        # Smaller cliques, which the rounds have measured, are not measured again.
        self.min_clique = {"large": 3, "all": 1}[self.cliques]

    def choose_randomizer(self, cells: int) -> Randomizer:
        """Ask by OUE, which the paper takes for the best in all cases (spec E5)."""
        return choose_randomizer(cells, self.parameters, rule=OptimisedUnary)

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
        graph = PrintedGraph(
            domain=domain,
            phi=p.phi,
            alpha=p.alpha,
            threshold=THRESHOLDS[self.test],
            project=PROJECTIONS[self.projection],
            accumulated=self.accumulated,
        )
        rounds = []
        for number, users in enumerate(parts, start=1):
            with desk.phase(f"round {number}"):
                # Lines 4 to 8.
                weights = {edge: by_cells(domain, edge) for edge in graph.edges}
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
            factors = self.factors(desk, tree, graph, users=survey.remaining)
            large = [
                factor
                for number, pieces in factors.items()
                for factor in pieces
                if not self.is_small(tree.cliques[number], graph)
            ]
            questions = clique_questions(
                desk.domain,
                sets_of(desk.domain, large),
                users=survey.remaining,
                weight=lambda cells: 1.0,  # noqa: ARG005 - alike, as printed
                randomizer=self.randomizer,
            )
            answers = survey.collect(survey.plan(questions, kind))
            tables = self.tables(tree, graph, answers)
        # Line 8.
        rows = min(p.synthetic_rows, survey.reporting)
        return Outcome(
            synthetic=draw_table(desk, tree, factors, tables, rows=rows),
            model=model_of(rounds, questions, tree, factors),
            summary=summary_of(domain, rounds, questions, tree, users=survey.reporting),
            user_traffic=survey.traffic,
        )

    def factors(
        self, desk: Curator, tree: JunctionTree, graph: PrintedGraph, *, users: int
    ) -> dict[int, list[Factor]]:
        """Take every clique apart, blocks at any head: Algorithm 2, lines 1 to 11."""
        factors = factorise_cliques(
            tree,
            information=graph.information(),
            users=users,
            variance=OptimisedUnary(2, epsilon=self.epsilon).variance(),
            search=self.parameters.factorisation,
        )
        generator = desk.randomness("heads").generator()
        return {
            number: nested_factors(
                pieces, choose=lambda heads: heads[int(generator.integers(len(heads)))]
            )
            for number, pieces in factors.items()
        }

    def is_small(self, clique: tuple[str, ...], graph: PrintedGraph) -> bool:
        """Check whether a clique's table comes from the rounds alone."""
        return len(clique) < self.min_clique and graph.covers(clique)

    def tables(
        self, tree: JunctionTree, graph: PrintedGraph, answers: list[Answer]
    ) -> list[Marginal]:
        """Estimate the cliques' tables: Algorithm 2, line 13, and Algorithm 3, line 5."""
        domain = tree.domain
        measured = [
            Marginal.of(domain, answer.question.attributes, answer.frequencies())
            for answer in answers
        ]
        small = [
            clique
            for clique in tree.cliques
            if self.is_small(clique, graph) and domain.cells(clique) > 1
        ]
        return [
            *(table.map(graph.project) for table in measured),
            *(graph.table(clique) for clique in small),
            *trivial_tables(domain),
        ]

    def predict(self, public: Public) -> list[Cost]:
        return predict_rounds(self, public, phases=["cliques"])


class CountingPrivIncr(PrintedPrivIncr):
    """The printed algorithm in the reading of property 5.1: counts of all rounds add up."""

    accumulation: ClassVar[Accumulation] = "counts"
    accumulated: ClassVar[type[AccumulatedTable]] = CountedTable
