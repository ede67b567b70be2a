"""The cliques' distributions: what the second part of the users is asked, and what that and the
rounds say together.

As the specification corrects section 5.3 and Algorithm 3: every clique is measured, small ones too,
each factor once; what the rounds have said is kept, of a factor's own pair, of pairs within a
factor, and of single attributes; and all tables are made to agree. As printed, cliques of one or
two attributes come from the rounds alone, and nothing is made to agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...curator import Marginal, agree, combine
from ...curator.sampling import Step
from ...privacy import Domain
from ..survey import Answer
from .factoring import Factor
from .pruning import Edge

__all__ = ["measured", "settled", "steps"]


def measured(
    domain: Domain, factors: Iterable[Factor], *, drop_contained: bool
) -> list[tuple[str, ...]]:
    """List the tables that are asked for, in the domain's order; of nested ones the largest, if so
    wanted.
    """
    places = {name: at for at, name in enumerate(domain.attributes)}
    sets = {own.attributes for own in factors}
    kept = [own for own in sets if not (drop_contained and any(own < other for other in sets))]
    ordered = [tuple(sorted(own, key=places.__getitem__)) for own in kept]
    return sorted(ordered, key=lambda own: [places[name] for name in own])


def settled(
    domain: Domain,
    answers: Sequence[Answer],
    edges: Mapping[Edge, Answer],
    *,
    small: Iterable[tuple[str, ...]] = (),
) -> list[Marginal]:
    """Put what was said of factors and of edges together: distributions that agree.

    `small`: cliques of which only the rounds say something.
    """
    sets = {own.question.attributes for own in answers}
    wanted = sets | {*small}
    estimates = [
        own + edges[own.question.attributes] if own.question.attributes in edges else own
        for own in answers
    ]
    others = [own for edge, own in edges.items() if edge not in sets]
    within = [own for own in others if any({*own.question.attributes} <= {*one} for one in wanted)]
    beside = [own.estimate(domain) for own in others if not any(own is one for one in within)]
    ones = [
        combine(beside, (name,))
        for name in domain.attributes
        if any(own.table.covers((name,)) for own in beside)
    ]
    known = [*(own.estimate(domain) for own in (*estimates, *within)), *ones]
    return [own.table for own in agree(known, total=1.0, sweeps=3)]


def steps(factors: Iterable[Factor], tables: Sequence[Marginal]) -> list[Step]:
    """Find each factor's table: the smallest that has all of it."""
    found = []
    for own in factors:
        covering = [table for table in tables if table.covers((*own.given, *own.heads))]
        found.append(Step(own.heads, own.given, min(covering, key=lambda table: table.cells)))
    return found
