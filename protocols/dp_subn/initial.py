"""Structure initialisation (Su et al. 2016, section VI-A, phase 2): the parties choose N_0 in turn.

    P_1  -> P_2        the choices of P_1
    P_k  -> P_(k+1)    all choices so far
    P_K  -> T          N_0

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
noise. At most six parties take a turn, as each turn is a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import Domain
from ...privacy.exponential import choose
from ..secure_sum import Family
from .messages import Messages
from .options import Score
from .scores import score_families, sensitivity_of
from .usefulness import Sizes

__all__ = [
    "choose_edges",
    "choose_parents",
    "first_attribute",
    "pick_parents",
    "quotas",
    "receive_structure",
    "turns_in",
]


MAX_TURNS: Final = 6
"""Number of parties that choose edges, one after another."""

NO_EDGE: Final[Family] = ()
"""The choice where no edge is worth its table's noise."""


def quotas(picks: int, *, parties: int) -> list[int]:
    """Share out picks among the parties.

    >>> quotas(51, parties=3), quotas(9, parties=4)
    ([17, 17, 17], [3, 2, 2, 2])
    """
    return [picks // parties + (k < picks % parties) for k in range(parties)]


def choose_parents(
    me: Party, records: Records, *, sizes: Sizes, degree: int, epsilon: float, score: Score
) -> None:
    """Take the party's turn: choose attributes and their parents, up to the party's quota."""
    quota = quotas(len(records.domain.attributes) - 1, parties=len(me.parties))[me.number - 1]
    chosen = _choices_before(me, me.parties) or [first_attribute(me, records.domain)]
    _pass_on(
        me,
        pick_parents(
            me,
            records,
            chosen,
            picks=quota,
            sizes=sizes,
            degree=degree,
            epsilon=epsilon,
            score=score,
        ),
        me.parties,
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
    epsilon: float,
    score: Score,
) -> list[Family]:
    """Add families to those chosen, each by the exponential mechanism on the party's records."""
    families = list(chosen)
    score_of: dict[Family, float] = {}
    for pick in range(picks):
        candidates = sizes.extensions([family[-1] for family in families], degree=degree)
        # The records stay the same, so the scores of earlier picks stay valid.
        new = [family for family in candidates if family not in score_of]
        score_of.update(zip(new, score_families(records, new, score=score).tolist(), strict=True))
        scores = np.array([score_of[family] for family in candidates])
        families.append(
            _choose(me, records, candidates, scores, epsilon=epsilon / picks, score=score)
        )
        me.progress(pick + 1, of=picks)
    return families


def choose_edges(
    me: Party,
    records: Records,
    *,
    edges: int,
    cell_noise: float,
    epsilon: float,
    score: Score,
    order: Sequence[int],
) -> None:
    """Take the party's turn: choose edges of a forest, up to the party's quota of all `edges`.

    Of the parties in this order the first `MAX_TURNS` take a turn. `cell_noise` is the error of a
    cell in the table of an edge. What is subtracted for an edge's noise is public, as is the number
    of its cells.
    """
    domain = records.domain
    turns = turns_in(order)
    if me.number not in turns:
        return
    quota = quotas(edges, parties=len(turns))[turns.index(me.number)]
    chosen = _choices_before(me, turns)
    tree_of = {name: name for name in domain.attributes}
    for first, second in chosen:
        _join(tree_of, first, second)
    for pick in range(quota):
        candidates = [
            (first, second)
            for first, second in combinations(domain.attributes, 2)
            if tree_of[first] != tree_of[second]
        ]
        noise = np.array([domain.cells(pair) * cell_noise for pair in candidates])
        worth = np.append(score_families(records, candidates, score=score) - noise, 0.0)
        edge = _choose(
            me, records, [*candidates, NO_EDGE], worth, epsilon=epsilon / quota, score=score
        )
        if edge != NO_EDGE:
            chosen.append(edge)
            _join(tree_of, *edge)
        me.progress(pick + 1, of=quota)
    _pass_on(me, chosen, turns)


def turns_in(order: Sequence[int]) -> list[int]:
    """List the parties that choose edges, in their turns; each turn is a round."""
    return list(order[:MAX_TURNS])


def receive_structure(desk: Curator, *, last: int) -> list[Family]:
    """Receive N_0 from the party that had the last turn. Called by the curator."""
    return list(desk.receive(Messages.Chosen, source=last).families)


def _choose(
    me: Party,
    records: Records,
    candidates: Sequence[Family],
    scores: npt.NDArray[np.float64],
    *,
    epsilon: float,
    score: Score,
) -> Family:
    sensitivity = sensitivity_of(records, candidates, score=score)
    choice = choose(scores, sensitivity=sensitivity, epsilon=epsilon)
    # The choice is released to the curator, and so to the public; the next party gets it first.
    return candidates[me.release(choice, to=CURATOR)]


def _choices_before(me: Party, turns: Sequence[int]) -> list[Family]:
    """Receive what the earlier parties chose; the first party has nothing to receive."""
    turn = turns.index(me.number)
    if not turn:
        return []
    return list(me.receive(Messages.Chosen, source=turns[turn - 1]).families)


def _pass_on(me: Party, chosen: Sequence[Family], turns: Sequence[int]) -> None:
    """Send all choices to the next party, or from the last party to the curator."""
    after = turns.index(me.number) + 1
    me.send(Messages.Chosen(tuple(chosen)), to=turns[after] if after < len(turns) else CURATOR)


def _join(tree_of: dict[str, str], first: str, second: str) -> None:
    """Join the trees of two attributes; a tree is named by one of its attributes."""
    removed, remaining = tree_of[second], tree_of[first]
    for name, tree in tree_of.items():
        if tree == removed:
            tree_of[name] = remaining
