"""PrivIncr: a synthetic table from users, through a dependency graph that is learned in rounds
(EDBT 2023).

    trust       nobody: every user randomizes her own value
    who learns  the aggregator and everybody: noisy tables of pairs and of cliques, the graph, the synthetic table
    messages    users: who there is; then a plan and reports in each of T rounds, and once more for the cliques
    rounds      2 T + 3; where learning is adaptive nobody is left for the cliques, and it is 2 T + 1
    privacy     epsilon for each user, who reports once: rounds ask different users (theorem 5.3; that a plan follows from
                earlier reports does not matter, as each user's randomizer is epsilon-private whatever she is asked)
    error       that of the noise, and of the model: what no clique has is taken to be independent given what lies between

Wang et al., "PrivIncr: multi-dimensional data publishing with local differential privacy", sections
5.2 to 5.4:

    Algorithm 3   1      users into N1 = omega N and N2
                  2      the dependency graph from N1                                     Algorithm 1
    Algorithm 1   1-2    all pairs of attributes are edges; nothing is known of them
                  3      N1 into T parts
                  4-5    in each round, its part into a group for each edge left          `groups`
                  7-8    the group reports its pair's cell
                  10     what is said is added to what was said                           `accumulation`
                  11-14  edges that are not worth keeping go                              `pruning`
    Algorithm 3   3      the graph's junction tree
                  4-7    its cliques from N2; large ones as products                      Algorithm 2: `factoring`, `cliques`
                  8      rows drawn along the tree

`mode=paper` follows the print, in equations 6, 11 and 18, and in what is measured (spec E1, E2, E8,
E10); `learning=tests` is the same, corrected. The default, `learning=adaptive`, is ours: rounds ask
users where they help most (`planning`), and rows are raked to all pairs (`local.rows`), so that
neither a threshold decides nor a tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np

from ...curator import Curator, JunctionTree, Marginal, dependency_graph, junction_tree, synthesise
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.local import OptimisedUnary, Randomizer
from ...privacy.local.assignment import share_out
from ..local import (
    LocalOptions,
    LocalProtocol,
    SyntheticRows,
    choose_randomizer,
    draw_rows,
)
from ..protocol import Cost, Mode, Outcome, Public
from ..survey import (
    Answer,
    CuratorSurvey,
    MarginalQuestions,
    PartySurvey,
    Question,
    predict_opening,
    predict_round,
)
from .adaptive import ask_adaptively
from .cliques import measured, settled, steps
from .factoring import Factor, clique_size, factorise, nested
from .graph import Graph
from .pruning import Base, Edge, Test

__all__ = ["NoIncremental", "PrivIncr"]

Learning = Literal["adaptive", "tests"]
OF_TESTS: Final = ("graph_users", "phi", "alpha", "base", "test", "projection", "cliques", "groups")
"""Parameters that mean nothing to adaptive rounds."""


class PrivIncrParameters(LocalOptions):
    learning: Annotated[
        Learning | None,
        msgspec.Meta(
            description="adaptive (users where they help most) or tests (Algorithms 1 to 3)"
        ),
    ] = None
    rounds: Annotated[
        int,
        msgspec.Meta(ge=0, le=100, description="T; 0: 3 where learning is adaptive, else 6"),
    ] = 0
    graph_users: Annotated[
        float, msgspec.Meta(gt=0, lt=1, description="omega: share of the users for the graph")
    ] = 0.5
    phi: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="dependence of two attributes that is worth an edge"),
    ] = 0.3
    alpha: Annotated[
        float, msgspec.Meta(gt=0, lt=0.5, description="how often a test may be wrong")
    ] = 0.05
    base: Annotated[
        Base, msgspec.Meta(description="in which information is compared with phi^2 / 2")
    ] = "bits"
    test: Annotated[
        Test | None,
        msgspec.Meta(
            description="chi-squared, relaxed (equation 18) or plain (equation 15); by the mode"
        ),
    ] = None
    projection: Annotated[
        Literal["norm-sub", "norm-mul"] | None,
        msgspec.Meta(description="of noisy tables, where none is said; by the mode"),
    ] = None
    cliques: Annotated[
        Literal["all", "large"] | None,
        msgspec.Meta(description="which ones the other users are asked; by the mode"),
    ] = None
    groups: Annotated[
        Literal["domain", "power"],
        msgspec.Meta(description="users of an edge: by its cells, or for tests of like power"),
    ] = "domain"
    synthetic_rows: SyntheticRows = 100_000


class PrivIncr(LocalProtocol[PrivIncrParameters]):
    """Learn which attributes belong together in rounds, and draw a table along their junction
    tree.
    """

    name = "privincr"
    summary = "a synthetic table from users, by a dependency graph that is learned in rounds"
    paper = "Wang et al. 2023 (PrivIncr)"

    def __init__(self, parameters: PrivIncrParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        default: Learning = "tests" if mode == "paper" else "adaptive"
        self.learning: Learning = parameters.learning or default
        if self.learning == "adaptive" and mode == "paper":
            raise UsageError(
                "expected learning=tests in mode paper, found adaptive, which is no paper's"
            )
        usual = PrivIncr.Parameters()
        for name in OF_TESTS if self.learning == "adaptive" else ():
            if getattr(parameters, name) != getattr(usual, name):
                raise UsageError(
                    f"expected {name} with learning=tests, found learning=adaptive, which has no use for it"
                )

    @property
    def rounds(self) -> int:
        return self.parameters.rounds or (3 if self.learning == "adaptive" else 6)

    @property
    def test(self) -> Test:
        own: Test | None = self.parameters.test
        return own or ("relaxed" if self.mode == "paper" else "chi-squared")

    def choose_randomizer(self, cells: int) -> Randomizer:
        """Choose how a question is asked: as printed by OUE, which is not the best in all cases
        (spec E5).
        """
        if self.mode == "paper":
            return choose_randomizer(cells, self.parameters, rule=OptimisedUnary)
        return super().choose_randomizer(cells)

    def party(self, me: Party) -> None:
        with me.phase("users"):
            survey = PartySurvey(me, self.parameters)
        kind = MarginalQuestions(me.records.domain)
        # Algorithm 1, line 8: who is asked in a round reports the cell of her group's pair.
        for number in range(1, self.rounds + 1):
            with me.phase(f"round {number}"):
                survey.answer(survey.plan(kind, randomizer=self.randomizer))
        # Algorithm 2, line 12: all others are asked the cells of the cliques' tables.
        if self.learning == "tests":
            with me.phase("cliques"):
                survey.answer(survey.plan(kind, randomizer=self.randomizer))

    def curator(self, desk: Curator) -> Outcome:
        p, domain = self.parameters, _several(desk.domain)
        if not domain.attributes:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        with desk.phase("users"):
            survey = CuratorSurvey(desk, p)
        if self.learning == "adaptive":
            return self.adapting(desk, survey, domain)
        kind, rounds = MarginalQuestions(desk.domain), []
        # Algorithm 3, line 1; Algorithm 1, lines 1 to 3.
        parts = share_out(round(p.graph_users * survey.users), [1.0] * self.rounds)
        graph = Graph(
            domain=domain,
            phi=p.phi,
            alpha=p.alpha,
            base=p.base,
            test=self.test,
            clip=self._clips,
            as_printed=self.mode == "paper",
        )
        # Lines 4 to 14.
        for number, users in enumerate(parts, start=1):
            with desk.phase(f"round {number}"):
                questions = self.groups(domain, graph.edges, users=users)
                answers = survey.collect(survey.plan(questions, kind))
                graph.accumulate(answers)
                graph.prune(last=number == self.rounds)
            rounds.append({**_told(questions), "edges": graph.edges})
        # Algorithm 3, line 3.
        tree = junction_tree(desk.domain, dependency_graph(desk.domain, graph.pairs))
        with desk.phase("cliques"):
            # Lines 4 to 7.
            factors = self.factors(desk, tree, graph, users=survey.remaining)
            questions = self.cliques(graph, tree, factors, users=survey.remaining)
            answers = survey.collect(survey.plan(questions, kind))
            tables = self.tables(desk.domain, tree, graph, answers)
        # Line 8.
        synthetic = None
        if rows := min(p.synthetic_rows, survey.users):
            with desk.phase("synthesis"):
                chain = tree.chain_of_steps({at: steps(own, tables) for at, own in factors.items()})
                made = synthesise(chain, rows, generator=desk.randomness("sampling").generator())
                synthetic = desk.domain.decode(made.codes)
        kept = [len(own["edges"]) for own in rounds]
        return Outcome(
            synthetic=synthetic,
            model={"rounds": rounds, "cliques": _told(questions), "tree": _drawn(tree, factors)},
            summary={
                "users": survey.users,
                "edges": f"{', '.join(map(str, kept))} of {len(domain.attributes) * (len(domain.attributes) - 1) // 2}",
                "cliques": len(tree.cliques),
                "largest clique": f"{max(map(len, tree.cliques))} attributes",
                "tables": len(questions),
            },
            user_traffic=survey.traffic,
        )

    def adapting(self, desk: Curator, survey: CuratorSurvey, domain: Domain) -> Outcome:
        """Ask in rounds those who help most, and draw rows of all pairs' tables: ours, in place of
        lines 2 to 8.
        """
        learned = ask_adaptively(self, desk, survey, domain, rounds=self.rounds)
        known, users = learned.known, survey.users
        synthetic, tree = None, None
        if rows := min(self.parameters.synthetic_rows, users):
            with desk.phase("synthesis"):
                generator = desk.randomness("sampling").generator()
                codes, tree = draw_rows(
                    domain,
                    known.pairs,
                    known.singles,
                    rows=rows,
                    generator=generator,
                    progress=desk.progress,
                )
                drawn = dict(zip(domain.attributes, codes, strict=True))
                none = np.zeros(rows, np.uint8)  # of an attribute of one label
                synthetic = desk.domain.decode(
                    [drawn.get(name, none) for name in desk.domain.attributes]
                )
        pairs = len(domain.attributes) * (len(domain.attributes) - 1) // 2
        return Outcome(
            synthetic=synthetic,
            model={"rounds": learned.rounds, "tree": None if tree is None else tree.to_builtins()},
            summary={
                "users": users,
                "sets": ", ".join(str(len(own["asked"])) for own in learned.rounds),
                "pairs asked": f"{', '.join(str(len(own['edges'])) for own in learned.rounds)} of {pairs}",
                **({} if tree is None else {"cliques": len(tree.cliques)}),
            },
            user_traffic=survey.traffic,
        )

    def groups(self, domain: Domain, edges: Sequence[Edge], *, users: int) -> list[Question]:
        """Give each edge its users: line 5. One whose share is less than a user is kept, and asked
        of nobody.
        """
        by_cells = self.parameters.groups == "domain"
        ordered = sorted(edges, key=domain.cells)  # those of as many cells share a randomizer
        weights = [
            own if by_cells else own**1.5 / (few - 1) for own, few in _sizes(domain, ordered)
        ]
        sizes = share_out(users, weights) if ordered else []
        return [
            Question(own, self.randomizer(domain.cells(own)), size)
            for own, size in zip(ordered, sizes, strict=True)
            if size
        ]

    def factors(
        self, desk: Curator, tree: JunctionTree, graph: Graph, *, users: int
    ) -> dict[int, list[Factor]]:
        """Take every clique apart, given what it shares with the one before: Algorithm 2, lines 1
        to 11.
        """
        noise = OptimisedUnary(2, epsilon=self.epsilon).variance()
        sigma = clique_size(users / len(tree.cliques), variance=noise)
        known = graph.information()
        generator = desk.randomness("heads").generator()
        found = {}
        for at, shared in tree.walk():
            own = factorise(
                tree.cliques[at], shared, domain=tree.domain, information=known, sigma=sigma
            )
            if self.mode == "paper":
                own = nested(own, choose=lambda heads: heads[int(generator.integers(len(heads)))])
            found[at] = own
        return found

    def cliques(
        self,
        graph: Graph,
        tree: JunctionTree,
        factors: Mapping[int, Sequence[Factor]],
        *,
        users: int,
    ) -> list[Question]:
        """Give each table its users: as printed alike, else by K^(2/3), which makes the sum of all
        distances least.
        """
        domain = tree.domain
        asked = [
            own
            for at, parts in factors.items()
            if not self._small(tree.cliques[at], graph)
            for own in parts
        ]
        sets = [
            own
            for own in measured(domain, asked, drop_contained=self.mode != "paper")
            if domain.cells(own) > 1
        ]
        ordered = sorted(sets, key=domain.cells)
        weights = [1.0 if self.mode == "paper" else domain.cells(own) ** (2 / 3) for own in ordered]
        sizes = share_out(users, weights) if ordered else []
        if ordered and min(sizes) < 1:
            raise UsageError(
                f"expected at least a user for each of {len(sizes):,} tables of cliques, found {users:,}"
            )
        return [
            Question(own, self.randomizer(domain.cells(own)), size)
            for own, size in zip(ordered, sizes, strict=True)
        ]

    def tables(
        self, domain: Domain, tree: JunctionTree, graph: Graph, answers: Sequence[Answer]
    ) -> list[Marginal]:
        """Say how the cliques' attributes are distributed: Algorithm 2, line 13, and Algorithm 3,
        line 5.
        """
        alone = [
            Marginal.uniform(domain, (name,))
            for name in domain.attributes
            if domain.cells((name,)) == 1
        ]
        small = [own for own in tree.cliques if self._small(own, graph) and domain.cells(own) > 1]
        if self.mode != "paper":
            return [*settled(domain, answers, graph.said, small=small), *alone]
        own = [
            graph.distribution(Marginal.of(domain, one.question.attributes, one.frequencies()))
            for one in answers
        ]
        return [*own, *(graph.table(one) for one in small), *alone]

    def _small(self, clique: Sequence[str], graph: Graph) -> bool:
        """Say whether the rounds, if they have, are all that is asked of a clique."""
        return (
            self.chosen()["cliques"] == "large"
            and len(clique) < 3
            and any({*clique} <= {*edge} for edge in graph.said)
        )

    @property
    def _clips(self) -> bool:
        return bool(self.chosen()["projection"] == "norm-mul")

    def chosen(self) -> dict[str, Any]:
        p, printed = self.parameters, self.mode == "paper"
        cliques = p.cliques or ("large" if printed else "all")
        projection = p.projection or ("norm-mul" if printed else "norm-sub")
        return {**super().chosen(), "cliques": cliques, "projection": projection}

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None or public.model is None:
            return []
        kind = MarginalQuestions(public.domain)
        rounds = [(f"round {at}", own) for at, own in enumerate(public.model["rounds"], start=1)]
        lines = predict_opening(public, self.parameters, phase="users")
        if "cliques" in public.model:
            rounds.append(("cliques", public.model["cliques"]))
        for phase, told in rounds:
            sets = [tuple(own) for own in told["asked"]]
            questions = [
                Question(own, self.randomizer(public.domain.cells(own)), size)
                for own, size in zip(sets, told["users"], strict=True)
            ]
            lines += predict_round(public, questions, kind, self.parameters, phase=phase)
        return lines


class NoIncrementalParameters(PrivIncrParameters):
    learning: Annotated[
        Literal["tests"], msgspec.Meta(description="as PrivIncr's Algorithms 1 to 3")
    ] = "tests"
    rounds: Annotated[int, msgspec.Meta(ge=1, le=1, description="T: one")] = 1


class NoIncremental(PrivIncr):
    """The same with all edges asked at once: the paper's baseline, and with the corrected test an
    honest one.
    """

    name = "no-incremental"
    Parameters = NoIncrementalParameters
    summary = "PrivIncr in one round: the baseline without increments"
    paper = "Wang et al. 2023, section 6.1"

    @property
    def test(self) -> Test:
        own: Test | None = self.parameters.test
        return own or ("plain" if self.mode == "paper" else "chi-squared")


def _several(domain: Domain) -> Domain:
    """Leave out attributes of one label: nobody has to be asked."""
    return domain.project([name for name in domain.attributes if domain.cells((name,)) > 1])


def _sizes(domain: Domain, edges: Sequence[Edge]) -> list[tuple[int, int]]:
    return [(domain.cells(own), min(domain.shape(own))) for own in edges]


def _told(questions: Sequence[Question]) -> dict[str, Any]:
    return {
        "asked": [own.attributes for own in questions],
        "users": [own.users for own in questions],
    }


def _drawn(tree: JunctionTree, factors: Mapping[int, Sequence[Factor]]) -> dict[str, Any]:
    return tree.to_builtins() | {
        "factors": [[own.heads, own.given] for parts in factors.values() for own in parts]
    }
