"""Powers of one base: the comb of Lim and Lee (CRYPTO 1994), with a table that is made once.

The exponent's bits are laid out as `rows` rows of `columns` bits. A column of bits is one index
into a table. So a power costs one multiplication for each column, and a squaring whenever a table
serves several columns. The best number of rows and tables depends on how often the table will be
used (`cheapest_shape`).

The structure of the group makes multiplication modulo n^2 cheaper. Every unit is uniquely
a * (1 + t*n) with a and t below n. The second factors multiply by adding:
(1 + t*n)(1 + u*n) = 1 + (t + u)*n modulo n^2. The table therefore holds pairs (a, t) of *half* the
length. A step multiplies the full-length product by the half-length a alone, and sums the t. This
takes about 0.6 of the time of a full multiplication. A Paillier message is such a t already, since
(1 + n)^m = 1 + m*n. So adding the message costs no multiplication of its own.

The computation is not constant-time: a column of zeros multiplies by 1, which is quick, so the time
shows how dense an exponent is. Python and GMP are not constant-time either. Timing is outside the
threat model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpz

from ..messages import WorkKind, count_work
from .workers import without_lock

__all__ = [
    "MAX_TABLE_ENTRIES",
    "CombShape",
    "FixedBase",
    "cheapest_shape",
    "counted_shape",
    "power_steps",
]

# These costs are in units of one table step (96 by 48 limbs for a modulus of 3072 bits), measured
# by benchmarks/paillier.py.
SQUARING_COST: Final = 1.7
ENTRY_COST: Final = 1.8
MAX_TABLE_ENTRIES: Final = 1 << 16
"""At 3072 bits these take 48 MiB."""
MAX_ROWS: Final = 14


class CombShape(NamedTuple):
    """Shape of a comb: `tables` tables of 2**rows entries, each for `span` columns."""

    rows: int
    columns: int
    tables: int
    span: int

    @property
    def entries(self) -> int:
        return self.tables << self.rows

    @property
    def steps(self) -> float:
        """Cost of one power, in table steps."""
        return self.columns + SQUARING_COST * (self.span - 1)

    @property
    def table_steps(self) -> float:
        """Cost of the table, in table steps: its entries, and the squarings that lead to them."""
        return self.entries * ENTRY_COST + self.rows * self.columns * SQUARING_COST


def power_steps(bits: int) -> float:
    """Give about the multiplications of a power with an exponent of so many bits."""
    return 1.2 * bits


def counted_shape(n: int, *, bits: int, uses: int) -> CombShape:
    """Choose the shape of a table modulo n^2, and count the work of making it."""
    shape = cheapest_shape(bits, uses=uses)
    count_work(WorkKind.COMB_STEP, shape.table_steps, size=2 * n.bit_length())
    return shape


@lru_cache(maxsize=64)
def cheapest_shape(bits: int, *, uses: int) -> CombShape:
    """Find the shape that is cheapest for `uses` powers, its table included."""
    best: tuple[float, CombShape] | None = None
    for rows in range(1, MAX_ROWS + 1):
        columns = -(-bits // rows)
        for span in range(1, columns + 1):
            shape = CombShape(rows, columns, -(-columns // span), span)
            if shape.entries > MAX_TABLE_ENTRIES:
                continue
            cost = uses * shape.steps + ENTRY_COST * shape.entries
            if best is None or cost < best[0]:
                best = cost, shape
    if best is None:
        raise ValueError(
            f"expected exponents of a length for which a table fits, found {bits} bits"
        )
    return best[1]


@dataclass(frozen=True, slots=True)
class FixedBase:
    """A base modulo n^2 with its tables. It is frozen, so threads may share it."""

    n: mpz
    n_squared: mpz
    shape: CombShape
    units: list[list[mpz]]
    """For each table, the a of each entry."""
    turns: list[list[mpz]]
    """For each table, the t of each entry."""

    @classmethod
    def of(cls, base: int, *, n: int, bits: int, uses: int) -> FixedBase:
        """Make the tables for exponents below 2**bits."""
        modulus, square, shape = mpz(n), mpz(n) ** 2, counted_shape(n, bits=bits, uses=uses)
        units, turns = [], []
        for generators in _generators(mpz(base) % square, square=square, shape=shape):
            unit, turn = _entries(generators, modulus)
            units.append(unit)
            turns.append(turn)
        return cls(modulus, square, shape, units, turns)

    def power(self, exponent: int, *, message: int = 0) -> mpz:
        """Compute base**exponent * (1 + message * n) modulo n**2."""
        square, span = self.n_squared, self.shape.span
        columns = self._columns(exponent)
        product, turn = mpz(1), mpz(0)
        for k in reversed(range(span)):
            if k + 1 < span:
                product = product * product % square
                turn += turn
            for units, turns, index in zip(self.units, self.turns, columns[k::span], strict=False):
                product = product * units[index] % square
                turn += turns[index]
        return product * (1 + (turn + message) % self.n * self.n) % square

    def _columns(self, exponent: int) -> list[int]:
        """Read the exponent's columns, each as an index into a table."""
        rows, columns = self.shape.rows, self.shape.columns
        if exponent < 0 or exponent.bit_length() > rows * columns:
            raise ValueError(
                f"expected an exponent from 0 to 2**{rows * columns} - 1, found one outside"
            )
        data = int(exponent).to_bytes(-(-rows * columns // 8), "little")
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=rows * columns, bitorder="little")
        weights = np.uint32(1) << np.arange(rows, dtype=np.uint32)
        indices: list[int] = (weights @ bits.reshape(rows, columns).astype(np.uint32)).tolist()
        return indices


def _generators(base: mpz, *, square: mpz, shape: CombShape) -> list[list[mpz]]:
    """List each table's generators: the base to the powers 2**(row * columns + its first column).

    One chain of squarings passes all of them.
    """
    tables: list[list[mpz]] = [[] for _ in range(shape.tables)]
    last_span = shape.columns - (shape.tables - 1) * shape.span
    with without_lock():
        for row in range(shape.rows):
            for number, generators in enumerate(tables):
                generators.append(base)
                is_last = number + 1 == shape.tables
                if not (is_last and row + 1 == shape.rows):
                    base = gmpy2.powmod(base, 1 << (last_span if is_last else shape.span), square)
    return tables


def _entries(generators: list[mpz], n: mpz) -> tuple[list[mpz], list[mpz]]:
    """Multiply out all subsets of the generators, as pairs (a, t).

    (a, t)(b, u) = r (1 + (t + u + q / r) n) where a*b = q*n + r, since a*b = r (1 + (q / r) n)
    modulo n^2. So the inverses of the a are carried along.
    """
    units, turns, inverses = [mpz(1)], [mpz(0)], [mpz(1)]
    for generator in generators:
        multiple, unit = gmpy2.f_divmod(generator, n)
        inverse = gmpy2.invert(unit, n)
        turn = multiple * inverse % n
        for subset in range(len(units)):
            quotient, product = gmpy2.f_divmod(units[subset] * unit, n)
            inverted = inverses[subset] * inverse % n
            units.append(product)
            inverses.append(inverted)
            turns.append((turns[subset] + turn + quotient * inverted) % n)
    return units, turns
