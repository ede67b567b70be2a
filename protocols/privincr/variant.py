"""What PrivIncr's variants share: their name, the rounds' questions, and the forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ...curator import JunctionTree
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.local import Randomizer
from ...privacy.local.assignment import share_out
from ..cost import Cost, Public
from ..local import LocalProtocol
from ..survey import MarginalQuestions, Question, predict_opening, predict_round
from .factoring import Factor
from .parameters import PrivIncrParameters
from .pruning import Edge

__all__ = [
    "PrivIncrVariant",
    "RoundRecord",
    "askable",
    "by_cells",
    "by_power",
    "model_of",
    "predict_rounds",
    "round_questions",
    "summary_of",
]


class PrivIncrVariant(LocalProtocol[PrivIncrParameters]):
    """One of PrivIncr's variants."""

    name = "privincr"
    summary = "a synthetic table from users, by a dependency graph that is learned in rounds"
    paper = "Wang et al. 2023 (PrivIncr)"
    goes_on = True


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """What a round asked, and the edges that were left after it."""

    questions: Sequence[Question]
    edges: Sequence[Edge]

    def to_builtins(self) -> dict[str, object]:
        """Make the round's entry of model.json."""
        return {**asked_sets(self.questions), "edges": self.edges}


def askable(domain: Domain) -> Domain:
    """Leave out attributes of one label, of which nobody has to be asked.

    Raises:
        UsageError: no attribute is left.
    """
    names = [name for name in domain.attributes if domain.cells((name,)) > 1]
    if not names:
        raise UsageError("expected at least one attribute of two labels or more, found none")
    return domain.project(names)


def round_questions(
    domain: Domain,
    weights: Mapping[tuple[str, ...], float],
    *,
    users: int,
    randomizer: Callable[[int], Randomizer],
) -> list[Question]:
    """Give each set of attributes its users by weight; a set without a whole user is not asked."""
    ordered = sorted(weights, key=domain.cells)  # tables of equal size share a randomizer
    sizes = share_out(users, [weights[names] for names in ordered])
    return [
        Question(names, randomizer(domain.cells(names)), size)
        for names, size in zip(ordered, sizes, strict=True)
        if size
    ]


def by_cells(domain: Domain, edge: Edge) -> float:
    """Weigh an edge by the cells of its table, as printed."""
    return domain.cells(edge)


def by_power(domain: Domain, edge: Edge) -> float:
    """Weigh an edge so that all edges' tests have about equal power."""
    return float(domain.cells(edge) ** 1.5) / (min(domain.shape(edge)) - 1)


def asked_sets(questions: Sequence[Question]) -> dict[str, object]:
    """Describe questions for model.json."""
    return {
        "asked": [question.attributes for question in questions],
        "users": [question.users for question in questions],
    }


def model_of(
    rounds: Sequence[RoundRecord],
    questions: Sequence[Question],
    tree: JunctionTree,
    factors: Mapping[int, Sequence[Factor]],
) -> dict[str, object]:
    """Make model.json: what was asked in each round and of the cliques, and the tree."""
    drawn = [[factor.heads, factor.given] for parts in factors.values() for factor in parts]
    return {
        "rounds": [record.to_builtins() for record in rounds],
        "cliques": asked_sets(questions),
        "tree": {**tree.to_builtins(), "factors": drawn},
    }


def summary_of(
    domain: Domain,
    rounds: Sequence[RoundRecord],
    questions: Sequence[Question],
    tree: JunctionTree,
    *,
    users: int,
) -> dict[str, object]:
    """Make the figures that the terminal shows."""
    pairs = len(domain.attributes) * (len(domain.attributes) - 1) // 2
    kept = ", ".join(str(len(record.edges)) for record in rounds)
    return {
        "users": users,
        "edges": f"{kept} of {pairs}",
        "cliques": len(tree.cliques),
        "largest clique": f"{max(map(len, tree.cliques))} attributes",
        "tables": len(questions),
    }


class RoundModel(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost of a round of questions follows."""

    asked: list[tuple[str, ...]]
    users: list[int]


def predict_rounds(
    protocol: PrivIncrVariant, public: Public, *, phases: Iterable[str]
) -> list[Cost]:
    """Predict the messages from what was published of the rounds, and of what came after them."""
    domain, model = public.domain, public.published(dict[str, object])
    if domain is None or model is None:
        return []
    rounds = msgspec.convert(model["rounds"], list[RoundModel])
    plans = [(f"round {number}", plan) for number, plan in enumerate(rounds, start=1)]
    plans += [(phase, msgspec.convert(model[phase], RoundModel)) for phase in phases]
    lines = predict_opening(public, protocol.parameters, phase="users")
    for phase, plan in plans:
        questions = [
            Question(tuple(names), protocol.randomizer(domain.cells(tuple(names))), size)
            for names, size in zip(plan.asked, plan.users, strict=True)
        ]
        lines += predict_round(
            public, questions, MarginalQuestions(domain), protocol.parameters, phase=phase
        )
    return lines
