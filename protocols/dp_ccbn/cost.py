"""The cost of DP-CCBN: the paper's formulas, printed and corrected (section VI-F).

The sum over i of (d - i) C(i, k) is C(d + 1, k + 2), not d C(d, k + 1). The corrected lines count
the cells that the run really counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

from ..cost import Formula, Public

__all__ = ["evaluate_formulas", "printed"]


def printed(*, d: int, k: int, parties: int, t1: int) -> dict[str, tuple[float, float]]:
    """Evaluate the paper's formulas as printed: rounds, and bytes, by phase.

    `t1` is the size of a ciphertext in bits.

    >>> total = printed(d=52, k=2, parties=3, t1=1024).values()
    >>> round(sum(rounds for rounds, _ in total)), round(sum(size for _, size in total) / 1e6, 2)
    (9194000, 7060.99)
    """
    bits = parties * t1
    return {
        "structure": (
            d * comb(d, k + 1) * 2.0 ** (k + 1),
            d * bits * comb(d, k + 1) * 2 ** (k + 2) / 8,
        ),
        "parameters": ((d - k) * 2.0 ** (k + 1), bits * (d - k) * 2 ** (k + 2) / 8),
    }


def evaluate_formulas(
    cells: Mapping[str, int], public: Public, *, attributes: int, degree: int
) -> list[Formula]:
    """Evaluate the formulas for a run, in which each phase counted so many cells."""
    ciphertext = 2 * -(-public.key_bits // 8)
    as_printed = printed(d=attributes, k=degree, parties=public.parties, t1=8 * ciphertext)
    return [
        Formula(
            phase=phase,
            printed_rounds=rounds,
            printed_bytes=size,
            corrected_rounds=cells[phase],
            corrected_bytes=2 * public.parties * ciphertext * cells[phase],
        )
        for phase, (rounds, size) in as_printed.items()
    ]
