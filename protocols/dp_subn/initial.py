"""Structure initialisation (Su et al. 2016, section VI-A, phase 2): the parties choose N_0 in turn.

    P_1  -> P_2        the choices of P_1
    P_k  -> P_(k+1)    all choices so far
    P_K  -> T          N_0

Where a party may be lost, choices of edges go to T, which passes them on to the next turn.

Each choice is made by the exponential mechanism on the party's own records, with eps2 / q_k of its
budget for each of its q_k picks. A choice is private when it is made, so the messages leak nothing
more. The picks of one party compose sequentially.

Of d attributes the first needs no pick. The d - 1 picks that remain are shared out evenly. (The
printed d_1 = floor(d / K) is one pick too many in all, and leaves everything to the last party when
K > d: spec E9.)

*Parents*, as printed: a party picks an attribute of V and parents from U, by mutual information.

*Edges*: a party picks any edge that closes no circle. The score of an edge is its distance from
independence less the noise that its table will have. This distance has a far smaller sensitivity
than mutual information, relative to its range. At most as many edges are picked as are worth their
noise.

Each turn is a round, so there are at most five turns. Where more parties choose, several share a
turn. They divide the candidates among them, and of edges that close a circle together the later
ones are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import Final

import numpy as np

from ...curator import Curator
from ...curator.spanning_forest import SpanningForest
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import Budget, Domain
from ...privacy.exponential import choose
from ..secure_sum import Family
from ..secure_sum.graph import Circle
from .family_scores import ScoredFamilies, scores_of_families
from .messages import Messages
from .options import Score
from .scores import score_families, sensitivity_of
from .usefulness import Sizes

__all__ = [
    "choices_before",
    "choices_of_turns",
    "choosing_circle",
    "choose_edges",
    "choose_parents",
    "first_attribute",
    "merge_edges",
    "pass_on",
    "pick_parents",
    "quotas",
    "receive_edges",
    "receive_structure",
    "turn_of",
    "turns_of",
]


MAX_TURNS: Final = 5
"""Number of turns in which parties choose edges, one after another."""

NO_EDGE: Final[Family] = ()
"""The choice where no edge is worth its table's noise."""


def quotas(picks: int, *, parties: int) -> list[int]:
    """Share out picks among the parties.

    >>> quotas(51, parties=3), quotas(9, parties=4)
    ([17, 17, 17], [3, 2, 2, 2])
    """
    return [picks // parties + (k < picks % parties) for k in range(parties)]


def choose_parents(
    me: Party, records: Records, *, sizes: Sizes, degree: int, budget: Budget, score: Score
) -> None:
    """Take the party's turn: choose attributes and their parents, up to the party's quota."""
    quota = quotas(len(records.domain.attributes) - 1, parties=len(me.parties))[me.number - 1]
    chosen = _structure_before(me) or [first_attribute(me, records.domain)]
    _pass_on(
        me,
        pick_parents(
            me,
            records,
            chosen,
            picks=quota,
            sizes=sizes,
            degree=degree,
            budget=budget,
            score=score,
        ),
    )


def first_attribute(me: Party, domain: Domain) -> Family:
    """Draw the first attribute. That looks at no record and costs nothing."""
    return (domain.attributes[me.randomness("first attribute").below(len(domain.attributes))],)


def pick_parents(
    me: Party,
    records: Records,
    chosen: Sequence[Family],
    *,
    picks: int,
    sizes: Sizes,
    degree: int,
    budget: Budget,
    score: Score,
) -> list[Family]:
    """Add families to those chosen, each by the exponential mechanism on the party's records."""
    families = list(chosen)
    search = scores_of_families(records, sizes=sizes, degree=degree, score=score)
    for pick in range(picks):
        scored = search.candidates([family[-1] for family in families])
        families.append(_choose(me, scored, budget=budget.share(1 / picks)))
        me.progress(pick + 1, of=picks)
    return families


def choose_edges(
    me: Party,
    records: Records,
    *,
    edges: int,
    cell_noise: float,
    budget: Budget,
    score: Score,
    circle: Circle,
) -> None:
    """Take the party's turn: choose edges of a forest, up to the party's quota of all `edges`.

    Parties have their turns in the order of the circle. `cell_noise` is the error of a cell in the
    table of an edge. What is subtracted for an edge's noise is public, as is the number of its
    cells.
    """
    domain = records.domain
    turn = turn_of(me.number, circle, edges=edges)
    if turn is None:
        return
    forest = SpanningForest(merge_edges(choices_before(me, turn)))
    pairs = [pair for pair in combinations(domain.attributes, 2) if forest.joins(*pair)]
    pairs = pairs[turn.candidates]
    noise = np.array([domain.cells(pair) * cell_noise for pair in pairs])
    # The records stay the same, so scores are computed once for all picks.
    worth = score_families(records, pairs, score=score) - noise
    for pick in range(turn.quota):
        left = [index for index, pair in enumerate(pairs) if forest.joins(*pair)]
        candidates = [*(pairs[index] for index in left), NO_EDGE]
        scores = np.append(worth[left], 0.0)
        part = budget.share(1 / turn.quota)
        sensitivity = sensitivity_of(records, candidates, score=score)
        edge = _choose(me, ScoredFamilies(candidates, scores, sensitivity), budget=part)
        if edge != NO_EDGE:
            forest.add(*edge)
        me.progress(pick + 1, of=turn.quota)
    pass_on(me, turn, forest.edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a party does in its turn; it follows from public figures."""

    quota: int
    """Number of edges that the party may choose."""
    candidates: slice
    """The party's part of the candidates, which the parties of a turn divide among them."""
    before: list[int]
    """The parties whose choices it receives."""
    after: list[int]
    """The ranks to which it sends all choices so far."""


def turn_of(party: int, circle: Circle, *, edges: int) -> Turn | None:
    """Find the turn of a party, and `None` if it has none."""
    turns = turns_of(circle, edges=edges)
    choosing = [number for parties in turns for number in parties]
    for before, parties, after in zip([[], *turns], turns, [*turns[1:], [CURATOR]], strict=False):
        if party in parties:
            return Turn(
                quota=quotas(edges, parties=len(choosing))[choosing.index(party)],
                candidates=slice(parties.index(party), None, len(parties)),
                before=before,
                after=after,
            )
    return None


def choices_before(me: Party, turn: Turn) -> list[Sequence[Family]]:
    """Receive what the parties of the turn before chose; the first turn has nothing to receive.

    Where a party may be lost the curator passes choices on.
    """
    if not turn.before:
        return []
    if me.min_parties is not None:
        return [me.receive(Messages.ChosenBefore, source=CURATOR).families]
    return [choices.families for choices in me.gather(Messages.Chosen, sources=turn.before)]


def pass_on(me: Party, turn: Turn, chosen: Sequence[Family]) -> None:
    """Send all choices so far to the next turn.

    Where a party may be lost they go to the curator alone. Its edge has the release before the
    choice, so no choice is used whose cost is not known.
    """
    to = turn.after if me.min_parties is None else [CURATOR]
    me.broadcast(Messages.Chosen(tuple(chosen)), to=to)


def choices_of_turns(desk: Curator, turns: Sequence[Sequence[int]]) -> list[Sequence[Family]]:
    """Receive the choices of the last turn. Called by the curator.

    Where parties may be lost it receives those of all turns, and passes them on to the next one.
    """
    if desk.min_parties is None:
        received = desk.gather(Messages.Chosen, sources=turns[-1])
        return [choices.families for choices in received]
    lists: list[Sequence[Family]] = []
    for number, parties in enumerate(turns):
        if number:
            families = dict.fromkeys(family for choices in lists for family in choices)
            desk.broadcast(Messages.ChosenBefore(tuple(families)), to=parties)
        answers = [desk.receive_in_turn(Messages.Chosen, source=party) for party in parties]
        lists += [choices.families for choices in answers if choices is not None]
    return lists


def choosing_circle(circle: Circle, members: Sequence[int]) -> Circle:
    """Leave out who was lost before the turns; all roles know the members of the last sum."""
    order = tuple(party for party in circle.order if party in members)
    return Circle(order, min(circle.degree, len(order) - 1))


def turns_of(circle: Circle, *, edges: int) -> list[list[int]]:
    """List the parties of each turn. Nobody has a turn without an edge to choose.

    Each party sends its choices to all parties of the next turn. On a sparse mask graph turns are
    so small that these are neighbours on the circle, which have a sealed channel.

    >>> circle = Circle(tuple(range(1, 31)), 29)
    >>> turns_of(circle, edges=3), turns_of(circle, edges=13)
    ([[1], [2], [3]], [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11], [12, 13]])
    """
    choosing = list(circle.order[:edges])
    if circle.degree < circle.parties - 1:
        choosing = choosing[: MAX_TURNS * (circle.degree // 4)]
    ends = list(accumulate(quotas(len(choosing), parties=min(MAX_TURNS, len(choosing)))))
    return [choosing[start:end] for start, end in pairwise([0, *ends])]


def merge_edges(lists: Iterable[Sequence[Family]]) -> list[Family]:
    """Merge the choices of parties that shared a turn into a forest. All roles merge alike."""
    forest = SpanningForest()
    for edge in (edge for edges in lists for edge in edges):
        if forest.joins(*edge):
            forest.add(*edge)
    return forest.edges


def receive_edges(desk: Curator, *, turns: Sequence[Sequence[int]]) -> list[Family]:
    """Receive the forest that the parties chose in these turns. Called by the curator."""
    return merge_edges(choices_of_turns(desk, turns))


def receive_structure(desk: Curator) -> list[Family]:
    """Receive N_0 from the last party. Called by the curator."""
    return list(desk.receive(Messages.Chosen, source=len(desk.parties)).families)


def _choose(me: Party, scored: ScoredFamilies, *, budget: Budget) -> Family:
    choice = choose(scored.scores, sensitivity=scored.sensitivity, epsilon=budget.of_choice)
    # The choice is released to the curator, and so to the public; the next party gets it first.
    return scored.families[int(me.release(choice, to=CURATOR))]


def _structure_before(me: Party) -> list[Family]:
    """Receive what the earlier parties chose; the first party has nothing to receive."""
    if me.number == 1:
        return []
    return list(me.receive(Messages.Chosen, source=me.rank - 1).families)


def _pass_on(me: Party, chosen: Sequence[Family]) -> None:
    """Send all choices to the next party, or from the last party to the curator."""
    successor = me.rank + 1 if me.number < len(me.parties) else CURATOR
    me.send(Messages.Chosen(tuple(chosen)), to=successor)
