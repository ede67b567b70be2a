"""Numbers of protocols that follow from something: each is compared with its reason.

Numbers that were chosen by measurements have no other reason: `tools/mutants/tuned.toml` has them.
"""

from __future__ import annotations

from math import comb, pi, prod, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from sottovoce.crypto.packing import Packing
from sottovoce.messages import UsageError
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.aim.budget import RunBudget
from sottovoce.protocols.dp_subn.usefulness import CELL_NOISE
from sottovoce.protocols.mst import MST
from sottovoce.protocols.mst.protocol import THIRD
from sottovoce.protocols.mst.rare_labels import MergedLabels
from sottovoce.protocols.private_schema import rounds
from sottovoce.protocols.secure_sum import RealBatch, SumBatch
from sottovoce.protocols.secure_sum.graph import degree
from sottovoce.protocols.secure_sum.hidden_plaintexts import hide_modulo
from sottovoce.protocols.secure_sum.keys import packing_of
from sottovoce.protocols.secure_sum.star import Mask

# ---- Security


def parted_by_a_third(parties: int, *, degree: int) -> float:
    """Bound the probability that a third of the parties parts the circle of masks.

    It parts the others if two runs of half the degree hold none of them. There are so many pairs of
    runs, and each of their places has a party of the third by drawing without replacement.
    """
    third = parties // 3
    of_two_runs = prod((third - place) / (parties - place) for place in range(degree))
    return comb(parties, 2) * max(of_two_runs, 0.0)


@pytest.mark.parametrize("colluding", [0, 1, 2, 5, 30])
def test_a_third_of_the_parties_parts_the_others_once_in_2_to_the_40(colluding: int) -> None:
    for parties in (*range(35, 400), 1000, 20_000):
        chosen = degree(parties=parties, colluding=colluding)
        assert min(colluding + 1, parties - 1) <= chosen < parties
        assert parted_by_a_third(parties, degree=chosen) <= 2.0**-40
    assert parted_by_a_third(20_000, degree=degree(parties=20_000, colluding=0) - 2) > 2.0**-40


@pytest.mark.parametrize("bits", [256, 511, 2048])
def test_a_mask_modulo_n_is_uniform_to_2_to_the_128(bits: int) -> None:
    """Of m equally likely numbers modulo n none is likelier than 1 / n by more than 1 / m."""
    drawn: list[int] = []

    class Stream:
        def draw(self, size: int) -> bytes:
            drawn.append(size)
            return bytes(size)

    n, plaintexts = (1 << bits) - 1, 3
    stream: Any = Stream()
    hide_modulo([0] * plaintexts, [Mask(stream, 1)], n=n)
    (octets,) = drawn
    numbers = 1 << (8 * octets // plaintexts)
    assert 2**128 <= numbers // n < 2**137  # and no byte more than it takes


@pytest.mark.parametrize("rows", [1, 40, 10**6, 10**12])
@pytest.mark.parametrize("key_bits", [256, 2048])
def test_masks_that_do_not_cancel_look_like_a_sum_once_in_2_to_the_64(
    rows: int, key_bits: int
) -> None:
    """64 bits of a plaintext are zero in a sum, so that the slots are those of a shorter key."""
    batch = SumBatch(cells=3, sensitivity=2, epsilon=1.0).among(parties=3, rows=rows, colluding=1)
    packing = packing_of(batch, shares=True, key_bits=key_bits)
    assert packing.width * packing.slots + 64 <= key_bits - 2
    assert packing == Packing.fitting(batch.bound(shares=True), key_bits=key_bits - 64)
    alone = packing_of(batch, shares=False, key_bits=key_bits)
    assert alone == Packing.fitting(batch.bound(shares=False), key_bits=key_bits)


def test_a_key_without_room_for_a_count_is_refused() -> None:
    batch = SumBatch(cells=3, sensitivity=2, epsilon=1.0).among(parties=3, rows=9, colluding=1)
    width = batch.bound(shares=True).bit_length() + 1
    assert packing_of(batch, shares=True, key_bits=width + 2 + 64).slots == 1
    with pytest.raises(UsageError, match=f"expected a key of at least {width + 2} bits"):
        packing_of(batch, shares=True, key_bits=width + 1 + 64)


# ---- Parts of a whole


def test_the_phases_of_mst_share_its_budget() -> None:
    """Single attributes, choices and pairs have equal parts, and nothing is left."""
    kind: Any = MST
    protocol = kind(kind.Parameters(epsilon=1.0, delta=1e-9), mode="rigorous")
    whole = protocol.whole.amount
    two = Domain({"a": ("x", "y"), "b": ("p", "q")})
    singles = protocol.singles(two).budget.amount
    assert singles == pytest.approx(whole / 3)
    pairs = protocol.pairs(MergedLabels(two, {}), [("a", "b")]).budget.amount
    assert pairs == singles == protocol.whole.share(THIRD).amount
    alone = protocol.singles(two.project(("a",)))
    assert alone.budget.amount == whole


@pytest.mark.parametrize("parts", [rounds.TWO, rounds.THREE])
def test_the_histograms_of_a_column_share_its_budget(parts: tuple[float, ...]) -> None:
    assert sum(parts) == pytest.approx(1)
    assert min(parts) > 0


def test_half_the_noise_costs_four_times_the_rho() -> None:
    """A Gaussian deviation falls with the root of rho."""
    whole = Budget("rho", 1.0)
    budget = RunBudget.start(whole, attributes=5, rounds=80, rows=[10, 20])
    before = SumBatch.of(Budget("rho", budget.table), cells=1, sensitivity=2, squares=2).deviation
    budget.halve_noise()
    after = SumBatch.of(Budget("rho", budget.table), cells=1, sensitivity=2, squares=2).deviation
    assert after == pytest.approx(before / 2)


# ---- Noise


def test_half_the_mean_of_noise_by_its_deviation() -> None:
    """It is between those of both laws, by numerical integration, and not below the larger one."""
    means = {
        law: integrate.quad(lambda x, law=law: 2 * x * law.pdf(x), 0, np.inf)[0] / 2 / law.std()
        for law in (stats.norm, stats.laplace)
    }
    assert means[stats.norm] == pytest.approx(sqrt(2 / pi) / 2)
    assert max(means.values()) <= CELL_NOISE < max(means.values()) + 0.005


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_rounding_is_at_most_an_eighth_of_the_noise(unit: Any) -> None:
    """All rows may be off by half a step in the same direction.

    Steps have round lengths. Of many budgets some come close to the bound.
    """
    shares = []
    for amount in np.geomspace(0.02, 0.05, 23):
        for rows in np.geomspace(900, 300_000, 23).astype(int).tolist():
            budget = Budget(unit, float(amount))
            sums = RealBatch(budget=budget, neighbours="replace-one", bound=7.0)
            batch = sums.sum_batch(rows=rows)
            scale = batch.sensitivity / amount if unit == "epsilon" else batch.deviation
            shares.append(rows / 2 / scale)
    assert 0.85 / 8 < max(shares) <= 1 / 8
