"""Exact noise in bulk, against single draws and against floating point."""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sottovoce.crypto import RandomTree
from sottovoce.privacy.laplace import two_sided_geometric
from sottovoce.privacy.negative_binomial import NegativeBinomial

COUNT = 200_000


def rate(act: Callable[[], object], count: int) -> float:
    started = time.process_time()
    act()
    return count / (time.process_time() - started)


def main() -> None:
    secret = RandomTree(None, role=1).stream(phase="bench", purpose="noise")
    seeded = RandomTree(1, role=1).stream(phase="bench", purpose="noise")
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
            lambda s=scale: [two_sided_geometric(Fraction(1, s), secret) for _ in range(2000)], 2000
        )  # type: ignore[misc]
        floats = rate(
            lambda r=float(shape), s=scale: generator.negative_binomial(
                r, -np.expm1(-1 / s), COUNT
            ),  # type: ignore[misc]
            COUNT,
        )
        name = f"NB({shape}, exp(-1/{scale}))"
        print(
            f"{name:<34}{ready * 1e3:>10.1f}"
            f"{bulk:>14,.0f}{again:>14,.0f}{single:>12,.0f}{floats:>14,.0f}"
        )
    print(
        "\none by one: the exact variable of Canonne, Kamath and Steinke (two-sided)"
        "\nnumpy float: neither exact nor secret"
    )


if __name__ == "__main__":
    main()
