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
from math import comb
from typing import Final

from ...privacy import Domain
from ..cost import Cost, Formula, Public, add_up
from ..secure_sum import Family, NoiseKind, SumOptions, Tables
from .bits_plan import BitsPlan
from .initial import quotas
from .messages import Messages
from .structure import Structure

__all__ = [
    "ARRAY",
    "evaluate_formulas",
    "predict_candidates",
    "predict_parameters",
    "predict_turns",
    "printed",
]

ARRAY: Final = 16
"""Bytes before the cells of a message that is one array."""


def predict_turns(initial: Sequence[Family], *, parties: int) -> list[Cost]:
    """Predict N_0's way from party to party: each message has all choices so far.

    In the order of choice the first attribute stands alone, and every parent stands before its
    children.
    """
    lines, chosen = [], 1
    for quota in quotas(len(initial) - 1, parties=parties):
        chosen += quota
        message = Messages.Chosen(tuple(initial[:chosen]))
        lines.append(Cost.of(message, phase="initialisation", messages=1))
    return add_up(lines)


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
