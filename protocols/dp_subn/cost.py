"""What a run costs: parts of the exact forecasts, and the paper's formulas (section VI-F).

The paper counts a round and two ciphertexts of t1 bits a party for each scalar cell (Enc(u_k) to
the party, the product back):

    phase           rounds            bits
    correlations    n_v 2^(|v|+1)     K t1 n_v 2^(|v|+2)         n_v = C(d, 2) / C(|v|, 2)
    update          K (d-1) 2^(k'+1)  K t1 (d-1) 2^(k'+2)
    parameters      (d-k) 2^(k+1)     K t1 (d-k) 2^(k+2)

The formulas have these faults (spec E17). A view of |v| bits has 2^|v| cells, not 2^(|v|+1).
Families contained in others are not counted, so the number of tables is not d - 1 or d - k.
t1 = 1024 bits means a modulus of 512. The K in the rounds of the update stands for K frontiers,
each of which takes two messages of one party.

The corrected lines count the cells that the run really counted. What the run sends is less again:
many cells share a ciphertext, and a batch takes one round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import comb
from typing import Final

import msgspec

from ...messages import CURATOR
from ...privacy import Domain
from ..cost import Cost, Formula, Hop, Public, add_up
from ..secure_sum import Family, NoiseKind, SumOptions, Tables
from ..secure_sum.graph import Circle
from ..secure_sum.options import colluding
from .bits_plan import BitsPlan
from .initial import quotas, turns_of
from .messages import Messages
from .structure import Structure

__all__ = [
    "ARRAY",
    "EdgeModel",
    "evaluate_formulas",
    "frontiers_in_turn",
    "predict_candidates",
    "predict_choices",
    "predict_parameters",
    "predict_turns",
    "printed",
]

ARRAY: Final = 16
"""Bytes before the cells of a message that is one array."""
TURNS: Final = "initialisation"
"""The phase in which parties choose families."""


class EdgeModel(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the published model from which the cost follows."""

    counted: tuple[Family, ...]
    """The edges whose tables were counted."""
    groups: dict[str, tuple[int, ...]]
    """The group of each label, for attributes whose labels were merged."""


def predict_turns(initial: Sequence[Family], *, parties: int) -> list[Cost]:
    """Predict N_0's way from party to party: each message has all choices so far.

    In the order of choice the first attribute stands alone, and every parent stands before its
    children.
    """
    lines, chosen = [], 1
    for quota in quotas(len(initial) - 1, parties=parties):
        chosen += quota
        message = Messages.Chosen(tuple(initial[:chosen]))
        lines.append(Cost.of(message, phase=TURNS, messages=1))
    return add_up(lines)


def predict_choices(
    chosen: Sequence[Family] | None,
    *,
    edges: int,
    pairs: Sequence[Family],
    options: SumOptions,
    public: Public,
) -> list[Cost]:
    """Predict the choices of edges that parties send each other in their turns.

    How many messages there are follows from public figures. A message has all edges of the turns
    before, and its sender's own. If all parties chose as many edges as they may, the order of
    choice shows which edges are whose. Otherwise nobody but the parties knows who chose fewer, or
    whose edge was left out, and the line is at most so long.

    Args:
        chosen: the edges that were published, in the order of choice; `None` before the run.
        edges: the most edges.
        pairs: the pairs of attributes that could be chosen.
        options: the options of secure sums, from which the circle of parties follows.
        public: the public figures.
    """
    parties = public.parties
    threshold = colluding(options, parties=parties)
    turns = turns_of(Circle.of(parties=parties, colluding=threshold, seed=b""), edges=edges)
    shares = iter(quotas(edges, parties=sum(map(len, turns))))
    picks = [[next(shares) for _ in turn] for turn in turns]
    starts = [0, *accumulate(sum(each) for each in picks)]
    longest = max(pairs, key=lambda pair: sum(len(name.encode()) for name in pair))
    is_complete = chosen is not None and len(chosen) == edges
    chosen = (longest,) * edges if chosen is None else tuple(chosen)
    lines = []
    for number, (turn, following) in enumerate(pairwise([*turns, [CURATOR]])):
        before = chosen[: starts[number]]
        place = starts[number]
        for quota in picks[number]:
            added = chosen[place : place + quota] if is_complete else (longest,) * quota
            place += quota
            sent = Messages.Chosen(before + added)
            receivers = 1 if public.lasting else len(following)
            lines.append(Cost.of(sent, phase=TURNS, messages=receivers))
        if public.lasting and number:
            passed = Messages.ChosenBefore(before)
            lines.append(Cost.of(passed, phase=TURNS, messages=len(turn)))
    hops = _hops_of(turns, is_passed_on=public.lasting)
    return [replace(line, at_most=not is_complete, hops=hops[line.kind]) for line in add_up(lines)]


def _hops_of(turns: Sequence[Sequence[int]], *, is_passed_on: bool) -> dict[str, tuple[Hop, ...]]:
    """List who sends choices to whom, turn by turn; the curator may pass them on."""
    if not is_passed_on:
        return {
            "Chosen": tuple(
                Hop(senders=tuple(turn), receivers=tuple(following))
                for turn, following in pairwise([*turns, [CURATOR]])
            )
        }
    return {
        "Chosen": tuple(Hop(senders=tuple(turn), receivers=(CURATOR,)) for turn in turns),
        "ChosenBefore": tuple(Hop(senders=(CURATOR,), receivers=tuple(turn)) for turn in turns[1:]),
    }


def frontiers_in_turn(structure: Structure, *, parties: int) -> list[tuple[Family, ...]]:
    """List the frontiers of all parties' turns.

    A forecast for many parties has those of a run with few. Then the later parties get the last
    one again, as a search that has seen many tables hardly changes its mind.
    """
    frontiers = [*structure.frontiers[:parties]]
    return frontiers + frontiers[-1:] * (parties - len(frontiers))


def predict_candidates(frontier: Sequence[Family], *, receivers: int) -> Cost:
    """Predict the messages with a search frontier."""
    return Cost.of(Messages.Candidates(tuple(frontier)), phase="update", messages=receivers)


def predict_parameters(
    counted: Tables, options: SumOptions, public: Public, *, noise: NoiseKind
) -> list[Cost]:
    """Predict phase 4: the messages with the network's families, and the batch of their tables."""
    network = Cost.of(
        Messages.Network(counted.families), phase="parameters", messages=public.parties
    )
    return [network, *counted.predict(options, public, noise=noise, phase="parameters")]


def printed(
    *, d: int, k: int, frontier: int, view: float, parties: int, t1: int
) -> dict[str, tuple[float, float]]:
    """Evaluate the paper's formulas as printed: rounds, and bytes, by phase.

    `frontier` is k', `view` is |v|, `t1` is in bits.

    >>> total = printed(d=52, k=2, frontier=4, view=6, parties=3, t1=1024).values()
    >>> round(sum(rounds for rounds, _ in total)), round(sum(size for _, size in total) / 1e6, 2)
    (16611, 10.25)
    """
    # The paper has no formula for tables of single attributes.
    views = comb(d, 2) / (view * (view - 1) / 2) if view > 1 else 0.0
    bits = parties * t1
    return {
        "correlations": (views * 2 ** (view + 1), bits * views * 2 ** (view + 2) / 8),
        "update": (
            parties * (d - 1) * 2.0 ** (frontier + 1),
            bits * (d - 1) * 2 ** (frontier + 2) / 8,
        ),
        "parameters": ((d - k) * 2.0 ** (k + 1), bits * (d - k) * 2 ** (k + 2) / 8),
    }


def evaluate_formulas(
    plan: BitsPlan, public: Public, *, parties_of_a_frontier: int
) -> list[Formula]:
    """Evaluate the formulas for a run, as printed and corrected, with its ciphertexts for t1.

    `parties_of_a_frontier` is the number of parties that count each frontier.
    """
    structure = public.published(Structure)
    if structure is None:
        return []
    ciphertext = 2 * -(-public.key_bits // 8)
    as_printed = printed(
        d=len(plan.domain.attributes),
        k=plan.degree,
        frontier=plan.wide_degree,
        parties=public.parties,
        t1=8 * ciphertext,
        view=sum(map(len, plan.views)) / len(plan.views),
    )
    frontiers = [family for frontier in structure.frontiers for family in frontier]
    counted = {
        "correlations": (plan.views, public.parties),
        "update": (frontiers, parties_of_a_frontier),
        "parameters": (structure.counted, public.parties),
    }
    lines = []
    for phase, (families, senders) in counted.items():
        cells = _cells(plan.domain, families)
        rounds, size = as_printed[phase]
        lines.append(
            Formula(
                phase=phase,
                printed_rounds=rounds,
                printed_bytes=size,
                corrected_rounds=cells,
                corrected_bytes=2 * senders * ciphertext * cells,
            )
        )
    return lines


def _cells(domain: Domain, families: Sequence[Family]) -> int:
    return sum(domain.cells(family) for family in families)
