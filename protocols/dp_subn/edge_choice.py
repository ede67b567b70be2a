"""Phase 2 with published margins: the parties choose edges in turn.

    P_1  -> P_2        the choices of P_1
    P_k  -> P_(k+1)    all choices so far
    P_K  -> T          all edges

Each choice is made by the exponential mechanism on the party's own records. The score of an edge is
its distance from the product of the published margins, less the noise that its table will have.
Margins and noise are public, so one record changes the score by at most 1/n, a third of what it
changes R. Edges may close circles. Two attributes that a path of edges joins already are related in
what was chosen before, so half of their distance counts. What a few rows are away from any product
by chance is public as well, and is subtracted.

Turns are those of `initial`: at most five, which more parties share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...curator.spanning_forest import SpanningForest
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import Domain
from ...privacy.exponential import choose
from ...privacy.sensitivity import choice_sensitivity
from ..jtree.scores import Scores, away, away_by_chance, pairs_of
from ..secure_sum import Family
from ..secure_sum.graph import Circle
from .edge_plan import EdgePlan
from .initial import choices_before, choices_of_turns, merge_edges, pass_on, turn_of

__all__ = ["all_edges", "choose_edges_in_turn", "receive_chosen_edges", "unite_edges"]

JOINED: Final = 0.5
"""The part of an edge's distance that counts where a path joins its attributes already."""
WORTH: Final = 0.8
"""The part of an edge's noise that counts against it: shrinkage takes some of it away."""


def all_edges(domain: Domain) -> tuple[Family, ...]:
    """List all pairs of attributes with two or more labels."""
    return tuple(pairs_of(domain))


def choose_edges_in_turn(
    me: Party,
    records: Records,
    *,
    plan: EdgePlan,
    power: float,
    margins: Mapping[str, Scores],
    circle: Circle,
) -> None:
    """Take the party's turn: choose edges, up to the party's quota.

    `power` says how the noise of a table grows with the number of tables.
    """
    turn = turn_of(me.number, circle, edges=plan.edges)
    if turn is None:
        return
    chosen = unite_edges(choices_before(me, turn))
    forest = SpanningForest(merge_edges([chosen]))
    before = set(chosen)
    pairs = [pair for pair in pairs_of(records.domain) if pair not in before]
    pairs = pairs[turn.candidates]
    cells = np.array([records.domain.cells(pair) for pair in pairs], float)
    # The records stay the same, so distances are computed once for all picks.
    rows = max(1, len(records))
    distances = away(records, pairs, margins) - away_by_chance(pairs, margins, rows=rows)
    part = _parts(forest, pairs)
    left = list(range(len(pairs)))
    for pick in range(turn.quota):
        noise = WORTH * plan.edge_noise * (len(chosen) + 1) ** power
        scores = np.append(distances[left] * part[left] - noise * cells[left], 0.0)
        # One record moves 1/n from one cell to another.
        choice = choose(
            scores,
            sensitivity=choice_sensitivity([1 / rows] * max(1, len(left))),
            epsilon=plan.budget.initialisation.share(1 / turn.quota).of_choice,
        )
        # The choice is released to the curator, and so to the public; the next party gets it first.
        index = me.release(choice, to=CURATOR)
        if index < len(left):  # otherwise no edge is worth its noise
            edge = pairs[left.pop(index)]
            chosen.append(edge)
            if forest.joins(*edge):
                forest.add(*edge)
                part = _parts(forest, pairs)
        me.progress(pick + 1, of=turn.quota)
    pass_on(me, turn, chosen)


def _parts(forest: SpanningForest, pairs: Sequence[Family]) -> npt.NDArray[np.float64]:
    """Give the part of its distance that each pair is worth: less if its ends are joined."""
    trees = [np.array(forest.trees(pair[end] for pair in pairs), str) for end in range(2)]
    return np.where(trees[0] != trees[1], 1.0, JOINED)


def receive_chosen_edges(desk: Curator, *, turns: Sequence[Sequence[int]]) -> list[Family]:
    """Receive the edges that the parties chose in these turns. Called by the curator."""
    return unite_edges(choices_of_turns(desk, turns))


def unite_edges(lists: Iterable[Sequence[Family]]) -> list[Family]:
    """Unite the choices of parties that shared a turn. All roles do so alike."""
    return list(dict.fromkeys(edge for edges in lists for edge in edges))
