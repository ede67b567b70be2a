"""Powers by table against Python's own."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.crypto.fixed_base import (
    ENTRY_COST,
    MAX_ROWS,
    MAX_TABLE_ENTRIES,
    SQUARING_COST,
    CombShape,
    FixedBase,
    cheapest_shape,
    power_steps,
)

PRIMES = (293, 433, 2**31 - 1, 2**61 - 1, 2**127 - 1)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_powers_equal_pythons(data: st.DataObject) -> None:
    p, q = data.draw(st.lists(st.sampled_from(PRIMES), min_size=2, max_size=2, unique=True))
    n = p * q
    base = data.draw(st.integers(1, n * n - 1).filter(lambda b: math.gcd(b, n) == 1))
    bits = data.draw(st.integers(1, 200))
    table = FixedBase.of(base, n=n, bits=bits, uses=data.draw(st.sampled_from([1, 5, 60, 1000])))
    message = data.draw(st.integers(-(n // 2), n // 2))
    for exponent in (0, 1, 2**bits - 1, data.draw(st.integers(0, 2**bits - 1))):
        expected = pow(base, exponent, n * n) * (1 + message * n) % (n * n)
        assert table.power(exponent, message=message) == expected


def test_an_exponent_that_does_not_fit_is_refused() -> None:
    table = FixedBase.of(5, n=293 * 433, bits=20, uses=10)
    beyond = table.shape.rows * table.shape.columns
    for exponent in (-1, 1 << beyond):
        with pytest.raises(ValueError, match="expected an exponent from 0"):
            table.power(exponent)


@pytest.mark.parametrize("uses", [1, 62, 10_000])
def test_the_cheapest_shape_covers_all_bits_and_fits(uses: int) -> None:
    shape = cheapest_shape(1536, uses=uses)
    assert shape.rows * shape.columns >= 1536
    assert (shape.tables - 1) * shape.span < shape.columns <= shape.tables * shape.span
    assert shape.entries <= MAX_TABLE_ENTRIES
    assert shape.steps < 1536  # squaring bit by bit takes as many steps


@pytest.mark.parametrize("bits", [208, 256])
@pytest.mark.parametrize("uses", [1, 20, 1000, 10**5, 10**7, 10**9])
def test_no_other_shape_is_cheaper(uses: int, bits: int) -> None:
    """All shapes whose tables just cover these bits are listed.

    With the most uses the table of 208 bits has as many entries as a table may have.
    """

    def cost(shape: CombShape) -> float:
        return uses * shape.steps + ENTRY_COST * shape.entries

    shapes = [
        CombShape(rows, columns, math.ceil(columns / span), span)
        for rows in range(1, MAX_ROWS + 1)
        for columns in [math.ceil(bits / rows)]
        for span in range(1, columns + 1)
    ]
    cheapest = min(cost(shape) for shape in shapes if shape.entries <= MAX_TABLE_ENTRIES)
    assert cost(cheapest_shape(bits, uses=uses)) == cheapest
    if (bits, uses) == (208, 10**9):
        assert cheapest_shape(bits, uses=uses).entries == 65_536


def test_more_uses_make_larger_tables() -> None:
    assert cheapest_shape(1536, uses=10_000).entries > cheapest_shape(1536, uses=10).entries
    assert cheapest_shape(1536, uses=10_000).steps < cheapest_shape(1536, uses=10).steps


@pytest.mark.parametrize("bits", [512, 1024, 4096])
def test_a_power_takes_a_squaring_for_each_bit_and_fewer_multiplications(bits: int) -> None:
    """Bit by bit there is a multiplication for every second one; windows need fewer."""
    assert bits < power_steps(bits) < 1.5 * bits


def test_measured_costs_stay_until_they_are_measured_anew() -> None:
    """A squaring and an entry of the table, in multiplications by an entry.

    They choose the shape and are counted as work, so no other test tells a number from its
    neighbour.
    """
    assert (SQUARING_COST, ENTRY_COST, MAX_ROWS) == (1.7, 1.8, 14)
