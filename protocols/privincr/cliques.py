"""The cliques' distributions: which tables the second part of the users is asked for.

The specification corrects section 5.3 and Algorithm 3. Every clique is measured, small ones too,
and each factor once. What the rounds tell is kept: of a factor's own pair, of pairs within a
factor, and of single attributes. All tables are made to agree. As printed, cliques of one or two
attributes come from the rounds alone, and nothing is made to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...curator import Curator, JunctionTree, Marginal, agree, combine, synthesise
from ...curator.sampling import Step
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.domain import LabelledRows
from ...privacy.local import Randomizer
from ...privacy.local.assignment import share_out
from ..survey import Answer, Question
from .factoring import Factor
from .pruning import Edge

__all__ = [
    "agreed_tables",
    "clique_questions",
    "draw_table",
    "largest_sets",
    "sampling_steps",
    "sets_of",
    "trivial_tables",
]

Set = tuple[str, ...]


def sets_of(domain: Domain, factors: Iterable[Factor]) -> list[Set]:
    """List the attribute sets of factors of more than one cell, in the domain's order."""
    places = {name: place for place, name in enumerate(domain.attributes)}
    distinct = {factor.attributes for factor in factors}
    ordered = [tuple(sorted(names, key=places.__getitem__)) for names in distinct]
    return sorted(
        (names for names in ordered if domain.cells(names) > 1),
        key=lambda names: [places[name] for name in names],
    )


def largest_sets(sets: Sequence[Set]) -> list[Set]:
    """Leave out sets that are contained in another."""
    return [names for names in sets if not any({*names} < {*other} for other in sets)]


def clique_questions(
    domain: Domain,
    sets: Iterable[Set],
    *,
    users: int,
    weight: Callable[[int], float],
    randomizer: Callable[[int], Randomizer],
) -> list[Question]:
    """Give each table its users, by the weight of its cells.

    Raises:
        UsageError: there is not a user for each table.
    """
    ordered = sorted(sets, key=domain.cells)  # tables of equal size share a randomizer
    if not ordered:
        return []
    sizes = share_out(users, [weight(domain.cells(names)) for names in ordered])
    if min(sizes) < 1:
        raise UsageError(
            f"expected at least a user for each of {len(sizes):,} tables of cliques, "
            f"found {users:,}"
        )
    return [
        Question(names, randomizer(domain.cells(names)), size)
        for names, size in zip(ordered, sizes, strict=True)
    ]


def agreed_tables(
    domain: Domain, answers: Sequence[Answer], edges: Mapping[Edge, Answer]
) -> list[Marginal]:
    """Combine the answers on factors and on edges to distributions that agree."""
    sets = {answer.question.attributes for answer in answers}
    factors = [
        answer + edges[answer.question.attributes]
        if answer.question.attributes in edges
        else answer
        for answer in answers
    ]
    others = [answer for edge, answer in edges.items() if edge not in sets]
    within, beside = list[Answer](), list[Answer]()
    for answer in others:
        contained = any({*answer.question.attributes} <= {*names} for names in sets)
        (within if contained else beside).append(answer)
    # Pairs that no factor has still tell of their attributes.
    estimates = [answer.estimate(domain) for answer in beside]
    singles = [
        combine(estimates, (name,))
        for name in domain.attributes
        if any(estimate.table.covers((name,)) for estimate in estimates)
    ]
    tables = [*(answer.estimate(domain) for answer in (*factors, *within)), *singles]
    return [estimate.table for estimate in agree(tables, total=1.0, sweeps=3)]


def trivial_tables(domain: Domain) -> list[Marginal]:
    """Make the tables of attributes with a single label, of which nobody is asked."""
    names = [name for name in domain.attributes if domain.cells((name,)) == 1]
    return [Marginal.uniform(domain, (name,)) for name in names]


def sampling_steps(factors: Iterable[Factor], tables: Sequence[Marginal]) -> list[Step]:
    """Find each factor's table: the smallest that has all of it."""
    steps = []
    for factor in factors:
        covering = [table for table in tables if table.covers((*factor.given, *factor.heads))]
        steps.append(Step(factor.heads, factor.given, min(covering, key=lambda table: table.cells)))
    return steps


def draw_table(
    desk: Curator,
    tree: JunctionTree,
    factors: Mapping[int, Sequence[Factor]],
    tables: Sequence[Marginal],
    *,
    rows: int,
) -> LabelledRows | None:
    """Draw rows along the tree: Algorithm 3, line 8. Without rows there is no such phase."""
    if not rows:
        return None
    with desk.phase("synthesis"):
        steps = {number: sampling_steps(parts, tables) for number, parts in factors.items()}
        generator = desk.randomness("sampling").generator()
        sample = synthesise(tree.chain_of_steps(steps), rows, generator=generator)
        return desk.domain.rows(sample.codes)
