"""CALM: consistent adaptive local marginals (Zhang, Wang, Li, He, Chen, CCS 2018), for users who
trust nobody.

    trust       nobody: every user randomizes her own value of one set of attributes
    who learns  the aggregator and everybody: noisy tables of the sets, and what follows from them
    privacy     epsilon for each user, who reports once (section 2.1)
    cost        one report a user, of as many bits as her set's randomizer needs; one round
    publishes   marginals.csv, all marginals of `ways` attributes; and a synthetic table, which the paper has not

1. Choose m sets of at most l attributes, from epsilon, N and the domain alone (section 4.3)            `design`
2. Divide the users into m groups; each reports her cell of her group's marginal, with all of epsilon, by the adaptive choice
   between GRR and OUE (section 2.2.3)                                                                      `local`
3. Estimate the m tables, and make them agree where they overlap (section 4.4)                         `estimates.agree`
4. Make them distributions (section 4.4)
5. Reconstruct any marginal: from a table that has it, else by maximum entropy, or least squares (section 4.5)

Of the paper, sections 1 to 3 were at hand; 4 and 5 are reconstructed from their summary and the
specification, and `mode=paper` is that reconstruction, m and l included. The default has its own
design and its own way from noisy tables to marginals (`believing`): on Adult with 1.5 million users
the paper's is worse than tables of single attributes below about epsilon 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Annotated, Literal

import msgspec
import numpy as np

from ...curator import Curator, Estimate, Marginal, agree
from ...curator.least_squares import least_squares
from ...curator.maximum_entropy import fit, reconstruct
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ..local import (
    Answer,
    LocalOptions,
    OneSurvey,
    Question,
    SyntheticRows,
    Ways,
    believe,
    check_size,
    published,
    questions_for,
    rows_of,
)
from ..protocol import Outcome
from .design import design, printed_design

__all__ = ["CALM"]

Reconstruction = Literal["maximum-entropy", "least-squares"]
Tables = Callable[[tuple[str, ...]], Marginal]


class CALMParameters(LocalOptions):
    ways: Ways = 2
    synthetic_rows: SyntheticRows = 100_000
    theta: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="bearable squared error of a table, for the printed choice of m and l",
        ),
    ] = 0.0001
    reconstruction: Annotated[
        Reconstruction,
        msgspec.Meta(
            description="of marginals that no table has: maximum-entropy or least-squares"
        ),
    ] = "maximum-entropy"


class CALM(OneSurvey[CALMParameters]):
    """Ask each user for one set of attributes, and reconstruct all marginals."""

    name = "calm"
    summary = "all marginals of a few attributes, and a synthetic table, from users"
    paper = "Zhang et al. 2018 (CALM); sections 4 and 5 reconstructed"

    def questions(self, domain: Domain, users: int) -> list[Question]:
        check_size(domain, min(self.parameters.ways, len(domain.attributes)))
        # 1.
        asked = domain.project([name for name in domain.attributes if domain.cells((name,)) > 1])
        if not asked.attributes:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        if (
            self.parameters.ways == 1 and self.mode != "paper"
        ):  # nobody wants more than single attributes
            weights: dict[tuple[str, ...], float] = {(name,): 1.0 for name in asked.attributes}
        elif self.mode == "paper":
            ways = min(self.parameters.ways, len(asked.attributes))
            sets = printed_design(
                asked, users=users, epsilon=self.epsilon, ways=ways, theta=self.parameters.theta
            )
            weights = dict.fromkeys(sets, 1.0)
        else:
            weights, _ = design(asked, users=users, randomizer=self.randomizer)
        # Sets of as many cells stand together: they share a randomizer.
        ordered = dict(sorted(weights.items(), key=lambda own: domain.cells(own[0])))
        return questions_for(users, ordered, lambda own: self.randomizer(domain.cells(own)))

    def party(self, me: Party) -> None:
        # 2. Each user of the cohort says the cell of her group's marginal in which she stands, by its randomizer.
        self.respond(me)

    def curator(self, desk: Curator) -> Outcome:
        # 2. Groups by a public permutation; what all users of a group say is counted.
        domain, ways = desk.domain, min(self.parameters.ways, len(desk.domain.attributes))
        answers, said = self.survey(desk)
        with desk.phase("reconstruction"):
            table = (self.printed if self.mode == "paper" else self.believing)(desk, answers)
            wanted = list(combinations(domain.attributes, ways))
            tables = []
            for own in wanted:
                tables.append(table(own))
                desk.progress(len(tables), of=len(wanted))
        synthetic = None
        if rows := min(self.parameters.synthetic_rows, said.users):
            with desk.phase("synthesis"):
                singles = {name: table((name,)) for name in domain.attributes}
                pairs: dict[tuple[str, ...], Marginal] = {
                    own: table(own) for own in combinations(domain.attributes, 2)
                }
                generator = desk.randomness("sampling").generator()
                codes, _ = rows_of(
                    domain,
                    pairs,
                    singles,
                    rows=rows,
                    generator=generator,
                    told=lambda done, of: desk.progress(done, of=of),
                )
                synthetic = domain.decode(codes)
        sets = [own.question for own in answers]
        summary = {
            "users": said.users,
            "sets": len(sets),
            "attributes of a set": max(len(own.attributes) for own in sets),
            "cells of a set": max(own.randomizer.cells for own in sets),
            "users of a set": min(own.users for own in sets),
            "randomizers": ", ".join(dict.fromkeys(own.randomizer.name for own in sets)),
            "marginals": len(tables),
        }
        marginals = published(domain, tables, users=said.users)
        return Outcome(marginals=marginals, synthetic=synthetic, summary=summary, user_traffic=said)

    def printed(self, desk: Curator, answers: Sequence[Answer]) -> Tables:
        """Steps 3 to 5 as the paper is summarised."""
        domain = desk.domain
        # 3. and 4., in turns; the last is a projection.
        estimates = agree([own.estimate(domain) for own in answers], total=1.0, sweeps=3)
        asked = {name for own in estimates for name in own.attributes}
        alone = [
            Estimate(Marginal.uniform(domain, (name,)), 1.0)
            for name in domain.attributes
            if name not in asked
        ]

        # 5.
        def table(own: tuple[str, ...]) -> Marginal:
            covered = any(estimate.table.covers(own) for estimate in estimates)
            if covered or self.parameters.reconstruction == "maximum-entropy":
                return reconstruct(domain, own, [*estimates, *alone])
            parts = [
                estimate.table.project([name for name in own if name in estimate.attributes])
                for estimate in (*estimates, *alone)
                if set(own) & set(estimate.attributes)
            ]
            return least_squares(domain, own, parts)

        return table

    def believing(self, desk: Curator, answers: Sequence[Answer]) -> Tables:
        """Steps 3 to 5 as `believing` says; larger marginals from their pairs."""
        domain = desk.domain
        generator = desk.randomness("latent classes").generator()
        known = believe(domain, answers, generator=generator)
        ones, pairs = known.ones, known.pairs
        by_maximum_entropy = self.parameters.reconstruction == "maximum-entropy"
        reconstructed = fit if by_maximum_entropy else least_squares

        def table(own: tuple[str, ...]) -> Marginal:
            known = [name for name in own if name in ones]
            if len(known) < len(own):  # attributes of one label
                return (table(tuple(known)) if known else Marginal((), np.array(1.0))).expand(
                    domain, own
                )
            if len(own) == 1:
                return ones[own[0]]
            within = [
                pairs[pair] if pair in pairs else pairs[pair[::-1]] for pair in combinations(own, 2)
            ]
            return within[0].project(own) if len(own) == 2 else reconstructed(domain, own, within)

        return table
