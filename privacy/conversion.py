"""Conversion between rho of zero-concentrated differential privacy and (epsilon, delta).

rho-zCDP implies (epsilon, delta) for every order a > 1 of Renyi divergence with

    epsilon = a rho + (ln(1 / delta) + (a - 1) ln(1 - 1/a) - ln a) / (a - 1)

(Canonne, Kamath, Steinke 2020, proposition 12), which is the best closed form that is known. Every
order gives a valid bound, so the best one of a grid is valid, too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from .gaussian_loss import epsilon_of_gaussian
from .loss import Loss

__all__ = ["epsilon_at", "epsilon_of", "rho_of"]

ORDERS: Final = 1 + np.geomspace(1e-4, 1e6, 20_000)
"""Orders among which the best one is taken."""
_ADDED: Final = ((ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS)) / (ORDERS - 1)


@lru_cache(maxsize=1024)
def epsilon_of(rho: float, *, delta: float) -> float:
    """Compute the epsilon that rho-zCDP implies except with probability delta.

    The usual bound, which is rho + 2 sqrt(rho ln(1 / delta)), is larger:

    >>> round(epsilon_of(0.005, delta=1e-6), 3), round(0.005 + 2 * (0.005 * 13.8155) ** 0.5, 3)
    (0.43, 0.531)
    """
    if rho == 0:
        return 0.0
    if not delta > 0 or math.isinf(rho):
        return math.inf
    epsilons = ORDERS * rho + _ADDED - math.log(delta) / (ORDERS - 1)
    return max(0.0, float(epsilons.min()))


@lru_cache(maxsize=256)
def rho_of(epsilon: float, *, delta: float) -> float:
    """Compute the largest rho that implies at most epsilon, rounded down."""
    if not 0 < delta < 1:
        raise ValueError(f"expected a delta between 0 and 1, found {delta:g}")
    low, high = 0.0, max(epsilon, 1.0) * 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta=delta) <= epsilon else (low, middle)
    return low


def epsilon_at(loss: Loss, *, delta: float) -> float:
    """Give the epsilon of a loss, except with probability delta at most.

    It is the smallest of five bounds. Pure epsilons add up, so a run of pure releases stays pure.
    The rho of all releases implies an epsilon, and so does their Gaussian loss. So does the rho of
    those that no epsilon bounds, to which the others add their epsilons, and so does the Gaussian
    loss of those. It is infinity where the losses' own delta is larger.

    >>> epsilon_at(Loss.pure(1.0), delta=1e-9)
    1.0
    """
    left = delta - loss.delta
    if left < -1e-9 * delta:
        return math.inf
    left = max(left, 0.0)
    other = min(
        epsilon_of(loss.other_rho, delta=left),
        epsilon_of_gaussian(loss.other_gaussian, delta=left),
    )
    return min(
        loss.epsilon,
        epsilon_of(loss.rho, delta=left),
        epsilon_of_gaussian(loss.gaussian, delta=left),
        loss.pure_part + other,
    )
