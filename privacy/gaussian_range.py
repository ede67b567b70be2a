"""The Gaussian loss of choices and of pure mechanisms, which is paid beside that of noise.

A mechanism has the bounded range epsilon if, between two neighbouring datasets, the logarithms of
the ratios of all answers' probabilities span epsilon at most. The exponential mechanism has it, and
a mechanism of pure epsilon / 2 as well.

*Claim.* Such a mechanism is mu-Gaussian differentially private (Dong, Roth and Su 2022) with
mu = sqrt(2 pi) epsilon / 4. So its Gaussian loss mu^2 / 2 is pi epsilon^2 / 16, which is pi / 2
times its rho. Gaussian losses add up, also where releases are chosen by the answers of earlier
ones.

*Proof.* Let P and Q be the laws of the answer on the two datasets. All ratios P / Q lie between
e^(t - epsilon) and e^t for some t. Under Q the ratio has the mean 1, and every divergence that
trade-offs follow from is the mean of a convex function of it. So an adversary can distinguish no
pair of laws better than the one in which the ratio has these two values alone. There the larger
ratio has the chance q under Q and p under P, with

    ln(p / (1 - p)) - ln(q / (1 - q)) = epsilon

The trade-off function of these two laws (the least error of one kind, given that of the other) is
linear but for one kink, at (q, 1 - p). That of Gaussian noise is convex and has the same ends. So
it lies below if it does so at the kink, which means mu >= z(p) - z(q), where z is the inverse of
Phi. With x the middle of the two logits,

    z(p) - z(q) = the integral of h from x - epsilon / 2 to x + epsilon / 2
    h = Phi(z) Phi(-z) / phi(z) at z = z(1 / (1 + e^-y))

h is at most its value at z = 0, which is sqrt(2 pi) / 4. For h is even in z, and its logarithm has
the derivative -k(z) / (Phi(z) Phi(-z)) by z, with

    k(z) = phi(z) (2 Phi(z) - 1) - z Phi(z) Phi(-z)
    k'(z) = 2 phi(z)^2 - Phi(z) Phi(-z)

k is 0 at z = 0 and in the limit of large z. The ratio 2 phi^2 / (Phi(z) Phi(-z)) falls with z > 0:
its logarithm has the derivative r(z) - r(-z) - 2z, where r = phi / Phi(-z) has a derivative
below 1. So k' is first positive and then negative, and k is nowhere negative. QED.
"""

from __future__ import annotations

import math

__all__ = ["gaussian_of_range", "range_of_gaussian"]


def gaussian_of_range(epsilon: float) -> float:
    """Compute the Gaussian loss of a mechanism whose log-ratios span epsilon at most.

    >>> round(gaussian_of_range(0.1) / (0.1**2 / 8), 4)
    1.5708
    """
    return math.pi * epsilon * epsilon / 16


def range_of_gaussian(loss: float) -> float:
    """Compute the epsilon of a choice that costs this Gaussian loss.

    >>> round(range_of_gaussian(gaussian_of_range(0.1)), 12)
    0.1
    """
    return 4 * math.sqrt(loss / math.pi)
