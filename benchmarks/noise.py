"""Exact noise in bulk, against single draws, floating point and other libraries."""

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce.crypto import RandomStream, RandomTree
from sottovoce.privacy.discrete_gaussian import DiscreteGaussian
from sottovoce.privacy.laplace import bernoulli_exp, two_sided_geometric
from sottovoce.privacy.negative_binomial import NegativeBinomial

COUNT = 200_000
SINGLE = 2000
HONEST = 2
"""Shares that make the full noise: three parties, of which one may collude."""


def rate(act: Callable[[], object], count: int) -> float:
    started = time.process_time()
    act()
    return count / (time.process_time() - started)


def gaussian_one_by_one(variance: Fraction, randomness: RandomStream) -> int:
    """Draw as Canonne, Kamath and Steinke do (2020, algorithm 3)."""
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        candidate = two_sided_geometric(Fraction(1, t), randomness)
        if bernoulli_exp((abs(candidate) - variance / t) ** 2 / (2 * variance), randomness):
            return candidate


def opendp_gaussian(sigma: float) -> Callable[[list[int]], object] | None:
    """Make OpenDP's measurement of a vector, where OpenDP is installed."""
    try:
        import opendp.prelude as dp  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    dp.enable_features("contrib")
    measurement: Any = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64"), scale=sigma
    )
    return measurement  # type: ignore[no-any-return]


def measure_laplace(secret: RandomStream, seeded: RandomStream) -> None:
    generator = np.random.default_rng(1)
    print(
        f"{'law':<34}{'set-up ms':>10}{'draws/s':>14}{'seeded':>14}"
        f"{'one by one':>12}{'numpy float':>14}"
    )
    for shape, scale in (
        (Fraction(1), 40),
        (Fraction(1, 2), 40),
        (Fraction(1, 2), 2280),
        (Fraction(1, 15), 100_000),
    ):
        started = time.process_time()
        law = NegativeBinomial(shape=shape, rate=Fraction(1, scale))
        ready = time.process_time() - started
        bulk = rate(lambda law=law: law.draw(COUNT, randomness=secret), COUNT)  # type: ignore[misc]
        again = rate(lambda law=law: law.draw(COUNT, randomness=seeded), COUNT)  # type: ignore[misc]
        single = rate(
            lambda s=scale: [two_sided_geometric(Fraction(1, s), secret) for _ in range(SINGLE)],  # type: ignore[misc]
            SINGLE,
        )
        floats = rate(
            lambda r=float(shape), s=scale: generator.negative_binomial(  # type: ignore[misc]
                r, -np.expm1(-1 / s), COUNT
            ),
            COUNT,
        )
        name = f"NB({shape}, exp(-1/{scale}))"
        print(
            f"{name:<34}{ready * 1e3:>10.1f}"
            f"{bulk:>14,.0f}{again:>14,.0f}{single:>12,.0f}{floats:>14,.0f}"
        )


def measure_gaussian(secret: RandomStream, seeded: RandomStream) -> None:
    generator = np.random.default_rng(1)
    print(
        f"{'discrete Gaussian':<18}{'set-up ms':>10}{'draws/s':>14}{'seeded':>14}{'one by one':>12}"
        f"{'numpy float':>14}{'OpenDP':>12}{'Laplace share':>15}{'over OpenDP':>13}"
        f"{'over Laplace':>14}"
    )
    for sigma in (10, 1000, 10**6):
        started = time.process_time()
        law = DiscreteGaussian(variance=Fraction(sigma**2))
        ready = time.process_time() - started
        bulk = rate(lambda law=law: law.draw(COUNT, randomness=secret), COUNT)  # type: ignore[misc]
        again = rate(lambda law=law: law.draw(COUNT, randomness=seeded), COUNT)  # type: ignore[misc]
        single = rate(
            lambda s=sigma: [  # type: ignore[misc]
                gaussian_one_by_one(Fraction(s**2), secret) for _ in range(SINGLE)
            ],
            SINGLE,
        )
        floats = rate(
            lambda s=sigma: np.rint(generator.normal(0, s, COUNT)),  # type: ignore[misc]
            COUNT,
        )
        # A Laplace share with the same standard deviation of the full noise.
        part = NegativeBinomial(
            shape=Fraction(1, HONEST), rate=Fraction(math.sqrt(2) / (sigma * math.sqrt(HONEST)))
        )
        laplace = rate(
            lambda p=part: p.draw(COUNT, randomness=secret) - p.draw(COUNT, randomness=secret),  # type: ignore[misc]
            COUNT,
        )
        opendp = opendp_gaussian(float(sigma))
        other = opendp and rate(lambda o=opendp: o([0] * COUNT), COUNT)  # type: ignore[misc]
        print(
            f"{f'sigma {sigma:,}':<18}{ready * 1e3:>10.1f}{bulk:>14,.0f}{again:>14,.0f}"
            f"{single:>12,.0f}{floats:>14,.0f}{f'{other:,.0f}' if other else 'absent':>12}"
            f"{laplace:>15,.0f}{f'{bulk / other:.1f}' if other else '-':>13}{bulk / laplace:>14.1f}"
        )


def main() -> None:
    secret = RandomTree(None, role=1).stream(phase="bench", purpose="noise")
    seeded = RandomTree(1, role=1).stream(phase="bench", purpose="noise")
    measure_laplace(secret, seeded)
    print()
    measure_gaussian(secret, seeded)
    print(
        "\none by one: the exact variables of Canonne, Kamath and Steinke"
        "\nnumpy float: neither exact nor secret"
        "\nLaplace share: the difference of two negative binomial variables, per noisy count"
        "\nOpenDP: make_gaussian on a vector, if the package opendp is installed"
        "\ndp-accounting has no sampler: it only computes losses"
    )


if __name__ == "__main__":
    main()
