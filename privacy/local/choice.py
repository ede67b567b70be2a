"""Which randomizer for which table.

The paper's rule (CALM, 2.2.3) asks by GRR if K - 2 < 3 e^epsilon, else by OUE: where GRR's variance
of a rare cell is the smaller. The exact rule takes the least total variance of all cells: GRR for K
up to 9, 20, 134 instead of 10, 24, 165 at epsilon 1, 2, 4, and SUE before OUE at epsilon 8, if
OUE's q has all its digits.
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
"""Those that come with sottovoce, by name."""


def printed_choice(cells: int, *, epsilon: float) -> Randomizer:
    """Choose as CALM prints it.

    >>> [printed_choice(cells, epsilon=1.0).name for cells in (10, 11)]
    ['grr', 'oue']
    """
    return (DirectEncoding if cells - 2 < 3 * exp(min(epsilon, 700.0)) else OptimisedUnary)(
        cells, epsilon=epsilon
    )


def best(
    cells: int,
    *,
    epsilon: float,
    among: Sequence[Callable[..., Randomizer]] = (DirectEncoding, OptimisedUnary, SymmetricUnary),
) -> Randomizer:
    """Choose the least total variance; of equal ones the first.

    >>> [best(cells, epsilon=1.0).name for cells in (6, 12)], best(64, epsilon=8.0).name
    (['grr', 'oue'], 'grr')
    """
    if not among:
        raise UsageError("expected some randomizer to choose from, found none")
    return min((kind(cells, epsilon=epsilon) for kind in among), key=lambda own: own.total_variance)
