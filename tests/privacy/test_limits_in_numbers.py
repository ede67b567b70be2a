"""Limits where messages and documentation say that they are: the last number passes, no other one.

Numbers are written out here. A test that takes a limit from the code would follow it anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from math import inf, log, nextafter
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import Permutation, RandomStream
from sottovoce.messages import SottovoceError
from sottovoce.privacy import Domain, laplace
from sottovoce.privacy.arguments import whole_numbers
from sottovoce.privacy.batch import Batch
from sottovoce.privacy.clipping import make_clipping
from sottovoce.privacy.discrete_gaussian import DiscreteGaussian
from sottovoce.privacy.exponential import on_grid
from sottovoce.privacy.gaussian_loss import (
    epsilon_of_gaussian,
    gaussian_loss,
    gaussian_of,
    variance_for,
)
from sottovoce.privacy.gaussian_shares import share_variance_for
from sottovoce.privacy.local.bloom import BloomFilters
from sottovoce.privacy.local.direct import DirectEncoding
from sottovoce.privacy.local.hadamard import HadamardResponse
from sottovoce.privacy.local.hashed_heads import HashedHeads
from sottovoce.privacy.local.hashing import LocalHashing
from sottovoce.privacy.local.randomizer import coins, threshold
from sottovoce.privacy.local.subset import SubsetSelection
from sottovoce.privacy.local.unary import OptimisedUnary
from sottovoce.privacy.number_grid import number_grid
from sottovoce.privacy.quantiles import quantiles


def batch(**more: Any) -> Batch:
    return Batch(**{"cells": 1, "sensitivity": 1, "rows": 9, "parties": 2, "colluding": 1, **more})


LIMITS: dict[str, tuple[Callable[[Any], object], Any, Any]] = {
    "Laplace noise scale": (
        lambda scale: laplace(0, sensitivity=scale, epsilon=1.0), 2**40, 2**40 + 1
    ),
    "scale of a sum": (
        lambda scale: batch(sensitivity=scale, epsilon=1.0), 2**40, 2**40 + 1
    ),
    "variance of a law": (
        lambda variance: DiscreteGaussian(variance=Fraction(variance)), 2**92, 2**92 + 1
    ),
    "deviation of shares": (
        lambda squares: share_variance_for(0.5, shares=1, l2_squared=squares, cells=1),
        2**80, 2**80 + 2**40,
    ),
    "whole numbers": (
        lambda number: whole_numbers(np.array([number, 1 - number]), mechanism="m"),
        2**62 - 1, 2**62,
    ),
    "whole numbers below 0": (
        lambda number: whole_numbers(np.array([number]), mechanism="m"), 1 - 2**62, -(2**62)
    ),
    "labels": (lambda count: Domain({"a": tuple(map(str, range(count)))}), 65_536, 65_537),
    "grid": (lambda steps: number_grid((0, 1), Fraction(1, steps)), 2**50, 2**50 + 1),
    "steps of a value": (
        lambda top: make_clipping(columns=1, bounds=(0, top), resolution=1), 2**50, 2**50 + 1
    ),
    "norm": (
        lambda norm: make_clipping(columns=2, bound=norm, resolution=1), 2**30, 2**30 + 1
    ),
    "sum": (
        lambda rows: make_clipping(columns=1, bounds=(0, 2**50), resolution=1).sums(
            np.zeros((rows, 1)), mechanism="m"
        ),
        2**11, 2**11 + 1,
    ),
    "permuted numbers": (lambda size: Permutation(size, key=b"k"), 2**60, 2**60 + 1),
    "cells of direct encoding": (
        lambda cells: DirectEncoding(cells, epsilon=1.0), 2**24, 2**24 + 1
    ),
    "cells of Hadamard response": (
        lambda cells: HadamardResponse(cells, epsilon=1.0), 2**24 - 1, 2**24
    ),
    "cells of unary encoding": (
        lambda cells: OptimisedUnary(cells, epsilon=1.0), 2**22, 2**22 + 1
    ),
    "cells of subset selection": (
        lambda cells: SubsetSelection(cells, epsilon=12.0), 2**22, 2**22 + 1
    ),
    "digits of unary encoding": (
        lambda digits: OptimisedUnary(4, epsilon=1.0, digits=digits), 32, 33
    ),
    "bits of filters": (
        lambda bits: BloomFilters([2, 2], epsilon=1.0, hashes=1, bits_per_value=bits, key=b"k"),
        2**20, 2**20 + 1,
    ),
    "values of hashed heads": (
        lambda values: HashedHeads(2 * values, epsilon=1.0, labels=2, belief=0.5, hashes=4),
        16_384, 16_385,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_number_passes_and_the_next_does_not(name: str) -> None:
    make, last, beyond = LIMITS[name]
    make(last)
    with pytest.raises((SottovoceError, ValueError), match="expected"):
        make(beyond)


def test_a_gaussian_loss_is_stated_from_a_deviation_of_20_up_to_a_loss_of_40() -> None:
    """Up to a variance of 2^100; below 20 the noise of whole numbers is not close enough."""
    twenty = 400.0  # s^2 of the continuous noise, whose variance on whole numbers is larger
    narrow, wide = Fraction(twenty), Fraction(twenty + 0.1)
    assert gaussian_loss(narrow, l2_squared=1) == inf
    assert gaussian_loss(wide, l2_squared=1) == pytest.approx(1 / 800, rel=1e-3)
    assert variance_for(1e9, l2_squared=1) == pytest.approx(twenty, rel=1e-3)
    assert variance_for(1 / 1000, l2_squared=1) == pytest.approx(500, rel=1e-3)
    assert gaussian_loss(Fraction(2) ** 100, l2_squared=1) < 1e-29
    assert gaussian_loss(Fraction(2) ** 100 * (1 + Fraction(1, 2**40)), l2_squared=1) == inf
    variance = Fraction(10) ** 6
    assert gaussian_loss(variance, l2_squared=79_999_000) == pytest.approx(40, rel=1e-4)
    assert gaussian_loss(variance, l2_squared=80_001_000) == inf
    # A larger loss is not looked for, and no epsilon beyond 500.
    assert gaussian_of(1e6, delta=0.5) == pytest.approx(40, rel=1e-6)
    assert 400 < epsilon_of_gaussian(300.0, delta=0.01) < 500 + 0.05 * 300
    assert epsilon_of_gaussian(600.0, delta=1e-9) == inf


def test_scores_reach_as_far_as_64_bits_allow() -> None:
    """A grid has 2^20 steps in a sensitivity, and 2^60 on each side of 0."""
    steps, step = on_grid([2.0**40, -(2.0**40), 1e300, 2.0**39], sensitivity=1.0, epsilon=1.0)
    assert steps.tolist() == [2**60, -(2**60), 2**60, 2**59]
    assert step == 2.0**-20


@pytest.mark.parametrize(
    ("quantile", "fraction"),
    [
        (0.5, Fraction(1, 2)),
        (1 / 3, Fraction(1, 3)),
        (1e-6, Fraction(1, 10**6)),
        (1 - 1e-6, 1 - Fraction(1, 10**6)),
        (0.4e-6, Fraction(0)),
        (Fraction(1, 10**6 + 1), Fraction(1, 10**6)),
    ],
)
def test_quantiles_are_fractions_of_at_most_a_million(quantile: float, fraction: Fraction) -> None:
    mechanism = quantiles(
        [1.0, 2.0], [quantile], bounds=(0, 4), neighbours="replace-one", epsilon=1.0
    )
    assert [*mechanism.fractions] == [fraction]


def test_a_number_of_hashes_is_e_to_epsilon_and_one() -> None:
    """It has 16 bits at most; so epsilon above 11.09 makes no more of them."""
    for epsilon in (0.1, 1.0, 2.0, 5.0, 11.0):
        assert LocalHashing(9, epsilon=epsilon).hashes == max(2, round(np.exp(epsilon) + 1))
    assert LocalHashing(9, epsilon=log(65_536)).hashes == 65_536
    assert LocalHashing(9, epsilon=100.0).hashes == 65_536


def test_the_next_float_of_a_scale_is_refused() -> None:
    laplace(0, sensitivity=1, epsilon=2.0**-40)
    with pytest.raises(SottovoceError, match=r"at most 2\*\*40"):
        laplace(0, sensitivity=1, epsilon=nextafter(2.0**-40, 0))


def test_drawing_at_the_largest_scale_fits_into_64_bits() -> None:
    drawn = laplace([2**62 - 1, 1 - 2**62], sensitivity=2**40, epsilon=1.0).draw(
        RandomStream(b"k" * 32)
    )
    assert drawn.dtype == np.int64
    assert (abs(drawn.astype(object) - [2**62 - 1, 1 - 2**62]) < 2**60).all()


@pytest.mark.parametrize("below", [0, 1, 2**31, 2**32 - 1, 2**32])
def test_a_coin_falls_with_the_probability_of_its_threshold(below: int) -> None:
    """The upper half of a word decides; 0 and 1 are probabilities, too."""
    halves = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint64)
    for lower in (0, 2**32 - 1):
        words = (halves << np.uint64(32)) | np.uint64(lower)
        assert coins(words, below=below).tolist() == [half < below for half in halves.tolist()]
    assert threshold(Fraction(below, 2**32)) == threshold(Fraction(below, 2**32), up=True) == below


@pytest.mark.parametrize("bits", [1, 8, 32])
def test_a_probability_is_rounded_to_the_side_that_is_asked_for(bits: int) -> None:
    for number in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Fraction(1, 1000)):
        down, up = threshold(number, bits=bits), threshold(number, bits=bits, up=True)
        assert Fraction(down, 2**bits) <= number <= Fraction(up, 2**bits)
        assert up - down == ((number * 2**bits).denominator > 1)


def test_signatures_follow_from_the_public_key_by_their_formula() -> None:
    """Version 1: Philox, seeded with a hash of the key, its length and the attribute's number."""
    filters = BloomFilters([2, 3], epsilon=4.0, hashes=2, bits_per_value=4, key=b"a public key")
    for attribute, (size, width) in enumerate(((2, 8), (3, 12))):
        digest = hashlib.sha256(
            b"sottovoce bloom v1"
            + (12).to_bytes(8, "little")
            + b"a public key"
            + attribute.to_bytes(8, "little")
        ).digest()
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([*digest])))
        rows = [sorted(generator.choice(width, 2, replace=False).tolist()) for _ in range(size)]
        assert len({tuple(row) for row in rows}) == size, "take a key whose first attempt succeeds"
        assert filters._signatures[attribute].tolist() == rows
