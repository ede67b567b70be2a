"""PrivIncr's rounds with users where they help most: the aggregator's side. The cohorts' is the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from ...curator import Curator
from ...privacy import Domain
from ...privacy.local.assignment import share_out
from ..calm.design import covers, design
from ..local import LocalProtocol, PairTables, estimate_pairs
from ..survey import Answer, CuratorSurvey, MarginalQuestions, Question
from .accumulation import accumulate
from .planning import Planning, candidates

__all__ = ["Learned", "ask_adaptively"]

FIRST: Final = 0.3
"""Share of the users who are asked before anything is known: as CALM would ask all of them; later
rounds share the rest.
"""


@dataclass(frozen=True, slots=True)
class Learned:
    """What all rounds say together, and what they asked."""

    known: PairTables
    rounds: list[dict[str, Any]]


def ask_adaptively(
    protocol: LocalProtocol[Any],
    desk: Curator,
    survey: CuratorSurvey,
    domain: Domain,
    *,
    rounds: int,
) -> Learned:
    """Ask, estimate all pairs, and plan the next round by them."""
    choices = covers(domain)
    weights = design(
        domain, users=survey.users, randomizer=protocol.randomizer, choices=choices
    ).weights
    planning = Planning(domain, [*(candidates(domain, choices) | weights)], protocol.randomizer)
    parts = share_out(
        survey.users,
        [1.0] if rounds == 1 else [FIRST, *[(1 - FIRST) / (rounds - 1)] * (rounds - 1)],
    )
    generator = desk.randomness("latent classes").generator()
    said: dict[tuple[str, ...], Answer] = {}
    told = []
    for number, users in enumerate(parts, start=1):
        with desk.phase(f"round {number}"):
            questions = _questions(protocol, domain, weights, users=users)
            answers = survey.collect(survey.plan(questions, MarginalQuestions(desk.domain)))
            said = accumulate(said, answers)
            known = estimate_pairs(
                domain, [*said.values()], generator=generator, passes=2 if number == rounds else 1
            )
            if number < rounds:
                planning.learn(known)
                weights = planning.share_out(
                    {own: one.question.users for own, one in said.items()}, max(parts[number], 1)
                )
        sets = [own.attributes for own in questions]
        edges = dict.fromkeys(pair for own in sets for pair in combinations(own, 2))
        told.append({"asked": sets, "users": [own.users for own in questions], "edges": [*edges]})
    return Learned(known, told)


def _questions(
    protocol: LocalProtocol[Any],
    domain: Domain,
    weights: Mapping[tuple[str, ...], float],
    *,
    users: int,
) -> Sequence[Question]:
    """Give each set its users; one whose share is less than a user is not asked."""
    if not users:
        return []
    ordered = sorted(weights, key=domain.cells)  # those of as many cells share a randomizer
    sizes = share_out(users, [weights[own] for own in ordered])
    return [
        Question(own, protocol.randomizer(domain.cells(own)), size)
        for own, size in zip(ordered, sizes, strict=True)
        if size
    ]
