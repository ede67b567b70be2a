"""The choice of a randomizer for a table.

The paper's rule (CALM, 2.2.3) takes GRR if K - 2 < 3 e^epsilon, else OUE: it compares the variances
of a rare cell. The exact rule takes the least total variance of all cells. At epsilon 1, 2 and 4 it
takes GRR for K up to 9, 20 and 134 by the formulas, where the paper's rule does up to 10, 24 and
165. The few digits of OUE's q make 134 a 133. At epsilon 8 it prefers SUE to OUE, if OUE's q has
all its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp
from typing import Final

from ...messages import UsageError
from .direct import DirectEncoding
from .hadamard import HadamardBit, HadamardResponse
from .hashing import LocalHashing
from .randomizer import Randomizer
from .subset import SubsetSelection
from .unary import OptimisedUnary, SymmetricUnary

__all__ = ["RANDOMIZERS", "best", "printed_choice"]

RANDOMIZERS: Final[Mapping[str, type[Randomizer]]] = {
    kind.name: kind
    for kind in (
        DirectEncoding,
        OptimisedUnary,
        SymmetricUnary,
        LocalHashing,
        SubsetSelection,
        HadamardResponse,
        HadamardBit,
    )
}
"""Randomizers of this package, by name."""


def printed_choice(cells: int, *, epsilon: float) -> Randomizer:
    """Choose by CALM's printed rule.

    >>> [printed_choice(cells, epsilon=1.0).name for cells in (10, 11)]
    ['grr', 'oue']
    """
    is_direct = cells - 2 < 3 * exp(min(epsilon, 700.0))
    return (DirectEncoding if is_direct else OptimisedUnary)(cells, epsilon=epsilon)


def best(
    cells: int,
    *,
    epsilon: float,
    among: Sequence[Callable[..., Randomizer]] = (DirectEncoding, OptimisedUnary, SymmetricUnary),
) -> Randomizer:
    """Choose the randomizer with the least total variance; of equal ones the first.

    >>> [best(cells, epsilon=1.0).name for cells in (6, 12)], best(64, epsilon=8.0).name
    (['grr', 'oue'], 'grr')
    """
    if not among:
        raise UsageError("expected at least one randomizer to choose from, found none")
    candidates = [kind(cells, epsilon=epsilon) for kind in among]
    return min(candidates, key=lambda randomizer: randomizer.total_variance)
