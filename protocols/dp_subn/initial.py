"""Structure initialisation (Su et al. 2016, section VI-A, phase 2): the parties choose N_0 in turn,
each on its own records.

    P_1      -> P_2      what P_1 chose              each choice by the exponential mechanism, eps2 / q_k of P_k's budget
    P_k      -> P_(k+1)  all choices so far
    P_K      -> T        N_0

A choice is private when it is made, so whoever hears it learns nothing more about the records.
Every party spends eps2 on its own records alone; the q_k picks of one party compose sequentially.
Of d attributes the first needs no pick, so there are d - 1, shared out evenly (the printed d_1 =
floor(d / K) is one too many in all, and leaves everything to the last party when K > d: spec E9).

*em*, as printed: an attribute of V and parents from U, by mutual information. *forest*: any edge
that closes no circle, at most as many as are worth their noise, by the distance from independence
less the noise that the edge's table will have. The distance has a far smaller sensitivity than
information has, for what it tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR, message
from ...parties import Party, Records
from ...privacy import Domain
from ...privacy.exponential import choose
from ..secure_sum import Family
from .plan import Plan, Sizes
from .scores import score_families, sensitivity_of
from .settings import Score

__all__ = [
    "Initialisation",
    "choose_forest",
    "choose_parents",
    "first_attribute",
    "pick_parents",
    "quotas",
    "receive_structure",
]


NO_EDGE: Final[Family] = ()
"""Chosen when no edge is worth its table's noise."""


class Initialisation:
    """What is said."""

    @message
    class Chosen:
        """Families so far, each an attribute after its parents, in the order in which they were
        chosen.
        """

        families: tuple[tuple[str, ...], ...]


def quotas(picks: int, *, parties: int) -> list[int]:
    """Share out picks among the parties.

    >>> quotas(51, parties=3), quotas(9, parties=4)
    ([17, 17, 17], [3, 2, 2, 2])
    """
    return [picks // parties + (k < picks % parties) for k in range(parties)]


def choose_parents(
    me: Party, records: Records, plan: Plan, *, epsilon: float, score: Score
) -> None:
    """Take one's turn in *em*: choose an attribute and its parents, as often as is one's share."""
    mine = quotas(len(records.domain.attributes) - 1, parties=len(me.parties))[me.number - 1]
    chosen = _heard(me) or [first_attribute(me, records.domain)]
    _pass_on(
        me,
        pick_parents(
            me,
            records,
            chosen,
            picks=mine,
            sizes=plan.sizes,
            degree=plan.degree,
            epsilon=epsilon,
            score=score,
        ),
    )


def first_attribute(me: Party, domain: Domain) -> Family:
    """Choose where to begin: at random, which looks at nothing and costs nothing."""
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
    """Add so many families to those chosen, each by the exponential mechanism on one's own
    records.
    """
    found = list(chosen)
    scored: dict[Family, float] = {}
    for pick in range(picks):
        candidates = sizes.extensions([family[-1] for family in found], degree=degree)
        # The records stay the same, so what was scored for an earlier pick need not be again.
        new = [family for family in candidates if family not in scored]
        scored.update(zip(new, score_families(records, new, score=score).tolist(), strict=True))
        scores = np.array([scored[family] for family in candidates])
        found.append(_choose(me, records, candidates, scores, epsilon=epsilon / picks, score=score))
        me.progress(pick + 1, of=picks)
    return found


def choose_forest(me: Party, records: Records, plan: Plan, *, epsilon: float, score: Score) -> None:
    """Take one's turn in *forest*: choose edges, as often as is one's share.

    What is subtracted for an edge's noise is public, like the number of its cells.
    """
    domain = records.domain
    mine = quotas(plan.edges, parties=len(me.parties))[me.number - 1]
    chosen = _heard(me)
    tree = {name: name for name in domain.attributes}
    for one, other in chosen:
        _join(tree, one, other)
    for pick in range(mine):
        candidates = [
            pair for pair in combinations(domain.attributes, 2) if tree[pair[0]] != tree[pair[1]]
        ]
        cost = np.array([domain.cells(pair) * plan.noise_of_a_cell for pair in candidates])
        worth = np.append(score_families(records, candidates, score=score) - cost, 0.0)
        edge = _choose(
            me, records, [*candidates, NO_EDGE], worth, epsilon=epsilon / mine, score=score
        )
        if edge != NO_EDGE:
            chosen.append(edge)
            _join(tree, *edge)
        me.progress(pick + 1, of=mine)
    _pass_on(me, chosen)


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
    # Released to the curator, and so to all: the next party hears of it first.
    return candidates[
        me.release(choose(scores, sensitivity=sensitivity, epsilon=epsilon), to=CURATOR)
    ]


def _heard(me: Party) -> list[Family]:
    if me.number == 1:
        return []
    return list(me.receive(Initialisation.Chosen, source=me.rank - 1).families)


def _pass_on(me: Party, chosen: Sequence[Family]) -> None:
    """Tell the next party, or the curator, what was chosen so far."""
    me.send(
        Initialisation.Chosen(tuple(chosen)),
        to=me.rank + 1 if me.number < len(me.parties) else CURATOR,
    )


def receive_structure(desk: Curator) -> list[Family]:
    """Receive N_0. Called by the curator."""
    return list(desk.receive(Initialisation.Chosen, source=len(desk.parties)).families)


def _join(tree: dict[str, str], one: str, other: str) -> None:
    gone, kept = tree[other], tree[one]
    for name, root in tree.items():
        if root == gone:
            tree[name] = kept
