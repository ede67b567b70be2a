"""Packing: the specification's numbers, exactness, and every overflow that can be detected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.crypto.packing import Packing


@pytest.mark.parametrize(
    ("values", "width", "packed"),
    [([3, -1, 0, 7, -8], 8, -34242298109), ([100, -100, 5], 9, 1259620), ([-1] * 5, 6, -17043521)],
)
def test_the_specifications_numbers(values: list[int], width: int, packed: int) -> None:
    packing = Packing(width, len(values), 2 ** (width - 1) - 1)
    assert packing.pack(np.array(values)) == [packed]
    assert packing.unpack([packed], cells=len(values)).tolist() == values


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_sums_of_packs_are_packs_of_sums(data: st.DataObject) -> None:
    bound = data.draw(st.one_of(st.integers(1, 200), st.integers(1, 2**61)))
    packing = Packing.fitting(bound, key_bits=data.draw(st.integers(bound.bit_length() + 4, 400)))
    cells = data.draw(st.integers(0, 40))
    parties = data.draw(st.integers(1, 4))
    # Partial sums may be anything, the final ones stay within the bound.
    final = np.array(
        data.draw(st.lists(st.integers(-bound, bound), min_size=cells, max_size=cells)), np.int64
    )
    shares = [
        np.array(
            data.draw(st.lists(st.integers(-(2**60), 2**60), min_size=cells, max_size=cells)),
            np.int64,
        )
        for _ in range(parties - 1)
    ]
    last = [int(f) - sum(int(s[i]) for s in shares) for i, f in enumerate(final)]
    if any(not -(2**63) <= v < 2**63 for v in last):
        return
    packs = [packing.pack(values) for values in (*shares, np.array(last, np.int64))]
    assert (
        packing.unpack([sum(column) for column in zip(*packs, strict=True)], cells=cells).tolist()
        == final.tolist()
    )


@given(st.integers(1, 10**6), st.integers(2, 300))
@settings(deadline=None)
def test_the_plaintext_always_fits(bound: int, slack: int) -> None:
    """Point 2 of the module's argument holds at the extreme values."""
    bits = bound.bit_length() + 3 + slack
    packing = Packing.fitting(bound, key_bits=bits)
    smallest_modulus = 1 << (bits - 1)
    for extreme in (bound, -bound):
        (packed,) = packing.pack(np.full(packing.slots, extreme))
        assert abs(packed) < smallest_modulus // 2


def test_large_scale() -> None:
    values = np.random.default_rng(1).integers(-200_000, 200_000, 9864)
    packing = Packing.fitting(200_000, key_bits=3072)
    assert (packing.width, packing.slots, packing.plaintexts(9864)) == (19, 161, 62)
    assert np.array_equal(packing.unpack(packing.pack(values), cells=9864), values)


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([101, 0, 0], 3),  # The sum fits its slot, but is above the bound.
        ([0, 0, 128], 3),  # The last slot overflows.
        ([0, 0, -129], 3),
        ([0, 0, -(2**40)], 3),
        ([0, 0, 2**40], 3),
        ([0, 130, 0], 3),  # A slot overflows into its neighbour; its value is -126.
        ([0, 0, 1], 2),  # An unused slot is not zero.
    ],
)
def test_overflows_are_detected(values: list[int], cells: int) -> None:
    packing = Packing(8, 3, 100)
    plain = sum(value << (8 * slot) for slot, value in enumerate(values))
    with pytest.raises(OverflowError, match=r"found (a sum that exceeds|one above|others)"):
        packing.unpack([plain], cells=cells)


@pytest.mark.parametrize(("width", "slots"), [(8, 3), (7, 5), (2, 1)])
def test_a_sum_just_outside_all_slots_is_named(width: int, slots: int) -> None:
    """Each slot holds -2^(width - 1) at least, and one less than 2^(width - 1) at most."""
    half = 1 << (width - 1)
    packing = Packing(width, slots, half)
    least, most = (
        sum(value << (width * slot) for slot in range(slots)) for value in (-half, half - 1)
    )
    assert packing.unpack([least], cells=slots).tolist() == [-half] * slots
    assert packing.unpack([most], cells=slots).tolist() == [half - 1] * slots
    for outside in (least - 1, most + 1):
        with pytest.raises(OverflowError, match="found a sum that exceeds them"):
            packing.unpack([outside], cells=slots)


def test_bounds_and_keys_that_do_not_fit_are_refused() -> None:
    for bound in (0, 1 << 62):
        with pytest.raises(ValueError, match="expected a bound"):
            Packing.fitting(bound, key_bits=3072)
    with pytest.raises(ValueError, match="expected a key of at least"):
        Packing.fitting(1 << 30, key_bits=32)
    with pytest.raises(ValueError, match="expected 2 plaintexts"):
        Packing(8, 3, 100).unpack([0], cells=5)


@pytest.mark.parametrize("bound", [1, 5, 1000, (1 << 31) - 1])
def test_the_smallest_key_has_one_slot_from_end_to_end(bound: int) -> None:
    """Plaintexts of a key with b bits reach from -2^(b-2) to 2^(b-2), and a slot fills them."""
    least = bound.bit_length() + 3
    packing = Packing.fitting(bound, key_bits=least)
    assert packing.slots == 1
    values = np.array([bound, -bound, 0])
    plaintexts = packing.pack(values)
    assert max(map(abs, plaintexts)) < 1 << (least - 2)
    assert packing.unpack(plaintexts, cells=3).tolist() == values.tolist()
    with pytest.raises(ValueError, match=f"at least {least} bits"):
        Packing.fitting(bound, key_bits=least - 1)


@pytest.mark.parametrize("value", [500, -500, 512, -513, 1 << 40, -(1 << 40)])
def test_a_share_beyond_all_slots_is_exact_in_the_sum(value: int) -> None:
    """A slot of 10 bits holds sums from -512 to 511; a share of noise may be larger."""
    packing = Packing.fitting(300, key_bits=512)
    assert packing.width == 10
    shares = np.array([7, value, -3])
    others = np.array([1, 9 - value, 4])
    plaintexts = [a + b for a, b in zip(packing.pack(shares), packing.pack(others), strict=True)]
    assert packing.unpack(plaintexts, cells=3).tolist() == [8, 9, 1]


@pytest.mark.parametrize("bits", range(16, 80))
@pytest.mark.parametrize("bound", [1, 5, 200, 8191])
def test_as_many_slots_as_the_smallest_modulus_can_tell_apart(bound: int, bits: int) -> None:
    """Plaintexts are from -n/2 to n/2, and the smallest n of so many bits is 2^(bits - 1)."""
    packing = Packing.fitting(bound, key_bits=bits)

    def largest(slots: int) -> int:
        """The largest excess of slots that are full."""
        return sum((1 << (packing.width - 1)) << (packing.width * slot) for slot in range(slots))

    assert 2 * largest(packing.slots) < 1 << (bits - 1)
    assert packing.width * (packing.slots + 1) > bits - 2
