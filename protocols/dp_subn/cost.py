"""What a run costs: predicted to the byte from what is public, and by the paper's formulas (section
VI-F) beside it.

The paper counts a round and two ciphertexts of t1 bits a party for each scalar cell (Enc(u_k) down,
the product up):

    phase                 rounds                 bits
    correlations          n_v 2^(|v|+1)          K t1 n_v 2^(|v|+2)            n_v = C(d, 2) / C(|v|, 2)
    update                K (d-1) 2^(k'+1)       K t1 (d-1) 2^(k'+2)
    parameters            (d-k) 2^(k+1)          K t1 (d-k) 2^(k+2)

What is wrong with them (spec E17): a view of |v| bits has 2^|v| cells, not 2^(|v|+1); families
contained in others are not counted, so the number of tables is not d - 1 or d - k; t1 = 1024 bits
means a modulus of 512. (The update's K stands for K frontiers, each of which takes two hops of one
party.) Corrected, each line is for the cells that the run really counted. What it sends is less
again: many cells share a ciphertext, and all of a batch goes in one round.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

from ...crypto.sealed import TAG_BYTES
from ...messages import encoded_size
from ...privacy import Domain
from ..noise_replacement import predict_replacement
from ..protocol import Cost, Formula, Public, add_up
from ..secure_sum import Family, predict_keys
from .initial import Initialisation, quotas
from .plan import Plan
from .settings import Choices, Settings
from .updates import Updates, own_batch

__all__ = ["formulas", "predict", "printed"]

ARRAY = 16
"""Bytes before the cells of a message that is one array."""


def predict(choices: Choices, settings: Settings, plan: Plan, public: Public) -> list[Cost]:
    """Predict the messages, of the later phases as they follow from the structure that was
    published.

    Left out is a forest's initialisation: how many edges stand in a message depends on who found
    none worth its noise.
    """
    profile, noise, parties = settings.profile, settings.noise, public.parties
    lines = predict_keys(choices, public, phase="keys")
    if plan.budget.correlations:
        lines += plan.correlations.predict(choices, public, noise=noise, phase="correlations")
    if plan.flat or public.model is None:
        return lines
    if profile.init == "em":
        # Between parties it is sealed, once they have been introduced.
        seal = 0 if choices.aggregator == "clear" else TAG_BYTES
        lines += _predict_turns(
            _families(public.model["initial"]), plan, parties=parties, seal=seal
        )
    frontiers = [_families(asked) for asked in public.model["frontiers"]]
    if profile.update == "replace":
        lines += predict_replacement(
            frontiers, public, domain=plan.domain, phase="update", epsilon=plan.budget.update
        )
    for asked in frontiers if profile.update in ("joint", "sequential") else ():
        told = parties if profile.update == "joint" else 1
        size = encoded_size(Updates.Candidates(asked))
        lines.append(
            Cost(phase="update", kind="Candidates", messages=told, payload_bytes=told * size)
        )
        if profile.update == "joint":
            lines += plan.frontier(asked).predict(choices, public, noise=noise, phase="update")
        else:
            cells = own_batch(plan.domain, asked, rows=plan.rows, epsilon=plan.budget.update).cells
            lines.append(
                Cost(phase="update", kind="Noisy", messages=1, payload_bytes=ARRAY + 8 * cells)
            )
    counted = _families(public.model["counted"])
    size = encoded_size(Updates.Candidates(counted))  # Network's one field is alike
    lines.append(
        Cost(phase="parameters", kind="Network", messages=parties, payload_bytes=parties * size)
    )
    return add_up(
        [
            *lines,
            *plan.parameters(counted).predict(choices, public, noise=noise, phase="parameters"),
        ]
    )


def _predict_turns(initial: Sequence[Family], plan: Plan, *, parties: int, seal: int) -> list[Cost]:
    """Predict N_0's way from party to party: each hop has what was chosen so far."""
    lines, chosen = [], 1
    # In the order of choice the first attribute stands alone and every parent stands before its
    # children.
    for turn, mine in enumerate(quotas(len(plan.domain.attributes) - 1, parties=parties), start=1):
        chosen += mine
        size = encoded_size(Initialisation.Chosen(tuple(initial[:chosen])))
        lines.append(
            Cost(
                phase="initialisation",
                kind="Chosen",
                messages=1,
                payload_bytes=size + (seal if turn < parties else 0),
            )
        )
    return add_up(lines)


def _families(written: Any) -> tuple[Family, ...]:
    """Read families as the model has them, in JSON or not."""
    return tuple(tuple(family) for family in written)


def printed(
    *, d: int, k: int, frontier: int, view: float, parties: int, t1: int
) -> dict[str, tuple[float, float]]:
    """Evaluate the paper's formulas as they stand: rounds, and bytes, by phase. `frontier` is k',
    `view` |v|, `t1` in bits.

    >>> total = printed(d=52, k=2, frontier=4, view=6, parties=3, t1=1024).values()
    >>> round(sum(rounds for rounds, _ in total)), round(sum(size for _, size in total) / 1e6, 2)
    (16611, 10.25)
    """
    views = (
        comb(d, 2) / (view * (view - 1) / 2) if view > 1 else 0.0
    )  # tables of single attributes it does not know
    bits = parties * t1
    return {
        "correlations": (views * 2 ** (view + 1), bits * views * 2 ** (view + 2) / 8),
        "update": (
            parties * (d - 1) * 2.0 ** (frontier + 1),
            bits * (d - 1) * 2 ** (frontier + 2) / 8,
        ),
        "parameters": ((d - k) * 2.0 ** (k + 1), bits * (d - k) * 2 ** (k + 2) / 8),
    }


def formulas(settings: Settings, plan: Plan, public: Public) -> list[Formula]:
    """Evaluate the formulas for this run, t1 being the size of its ciphertexts."""
    domain, parties = plan.domain, public.parties
    if public.model is None:
        return []
    ciphertext = 2 * -(-public.key_bits // 8)
    said = printed(
        d=len(domain.attributes),
        k=plan.degree,
        frontier=plan.wide_degree,
        parties=parties,
        t1=8 * ciphertext,
        view=sum(map(len, plan.views)) / len(plan.views),
    )
    frontiers = [family for asked in public.model["frontiers"] for family in _families(asked)]
    counted = {
        "correlations": plan.views,
        "update": tuple(frontiers),
        "parameters": _families(public.model["counted"]),
    }
    lines = []
    for phase, families in counted.items():
        cells = _cells(domain, families)
        # A frontier of one party in turn goes two hops of its own, a joint one as the views do.
        turns = (
            1
            if phase == "update" and settings.profile.update in ("sequential", "replace")
            else parties
        )
        corrected = 2 * turns * ciphertext * cells
        rounds, size = said[phase] if families else (0.0, 0.0)
        lines.append(
            Formula(
                phase=phase,
                printed_rounds=rounds,
                printed_bytes=size,
                corrected_rounds=cells,
                corrected_bytes=corrected,
            )
        )
    return lines


def _cells(domain: Domain, families: Sequence[Family]) -> int:
    return sum(domain.cells(family) for family in families)
