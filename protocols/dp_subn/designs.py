"""NOCD, the non-overlapping covering design (Su et al. 2016, sections VI-C and VI-D).

A design is a set of blocks, sets of attributes such that every two attributes stand together in
exactly one block. (The paper calls the table of a block a view.) The noise of M tables that are
released together has the scale 2 M / epsilon. A pair's table is summed out of its block's table. So
a few large blocks compete with many small ones, by the average variance of a pair's table with all
its cells:

    pair error      8 M^2 / epsilon^2 * sum over blocks of C(|v|, 2) cells(v), over all pairs

*Grids* (section VI-C). Attributes are laid out in l rows of n, l <= n. For n the order of a finite
field, block (m, j) takes column j + i m from row i. Two columns of different rows meet in exactly
one of these n^2 blocks. Each row is then a smaller problem of the same kind. The paper has prime n;
any prime power works (spec E8).

*Planes.* The lines of the projective plane of order q, restricted to d of its q^2 + q + 1 points,
meet every pair once.

The printed choice of parameters (Algorithm 2) has three faults (spec E4 to E6). It stops at the
first number that is not prime. It starts below the square root, where pairs stay uncovered: 18 of
them at d = 52. It adds up the errors of parts that share one M. `algorithm_2` repairs only what
leaves pairs out. `best_design` minimises the error itself, over grids within grids and planes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import ceil, comb, inf, prod
from typing import Final, TypeAlias

from .galois import field, is_prime, prime_power

__all__ = [
    "Block",
    "Grid",
    "algorithm_2",
    "best_design",
    "blocks_of",
    "pair_error",
    "pairs_missed",
    "plane",
]

Block: TypeAlias = tuple[int, ...]
"""A set of attributes, each by its place in the domain."""

MAX_ATTRIBUTES: Final = 80
"""Bound on the attributes for which all grids within grids are searched, which takes seconds."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`rows` rows of `columns` attributes; the last row may be shorter.

    A row of more than one attribute is a grid again, or one block. A grid with one row is the
    single block of all its attributes.
    """

    attributes: int
    rows: int
    columns: int
    full: Grid | None = None
    """The grid of each row but the last; `None` when a row has one attribute."""
    last: Grid | None = None
    """The grid of the last row."""

    def blocks(self, attributes: Sequence[int]) -> Iterator[Block]:
        """List the blocks over these attributes."""
        if self.rows == 1:
            yield tuple(attributes)
            return
        numbers, n = field(self.columns), self.columns
        for m in range(n):
            for j in range(n):
                places = [i * n + numbers.plus[j][numbers.times[i][m]] for i in range(self.rows)]
                block = tuple(attributes[place] for place in places if place < len(attributes))
                if len(block) > 1:
                    yield block
        for start in range(0, len(attributes), n):
            inner = self.full if start + n < len(attributes) else self.last
            if inner is not None:
                yield from inner.blocks(attributes[start : start + n])


def blocks_of(design: Grid | None, attributes: int) -> list[Block]:
    """List a grid's blocks of attributes 0 .. d-1."""
    return [] if design is None else list(design.blocks(range(attributes)))


def pairs_missed(blocks: Sequence[Block], attributes: int) -> tuple[int, int]:
    """Count the pairs in no block, and those in more than one: (0, 0) for a design."""
    times = dict.fromkeys(combinations(range(attributes), 2), 0)
    for block in blocks:
        for pair in combinations(sorted(block), 2):
            times[pair] += 1
    return sum(not n for n in times.values()), sum(n > 1 for n in times.values())


def pair_error(
    blocks: Sequence[Block], *, attributes: int, sizes: Sequence[int] | None = None
) -> float:
    """Average the variance of a pair's table, with all its cells, over all pairs, at epsilon 1.

    The estimates of a pair in several blocks are averaged by inverse variance. A pair in no block
    has an infinite error. Without `sizes` attributes are bits.
    """
    precision = dict.fromkeys(combinations(range(attributes), 2), 0.0)
    for block in blocks:
        for pair in combinations(sorted(block), 2):
            precision[pair] += 1 / _cells(block, sizes)
    variances = (1 / value if value else inf for value in precision.values())
    return 8 * len(blocks) ** 2 * sum(variances) / comb(attributes, 2)


def _cells(block: Block, sizes: Sequence[int] | None) -> int:
    return 2 ** len(block) if sizes is None else prod(sizes[place] for place in block)


def best_design(attributes: int, *, largest: int, primes_only: bool = False) -> list[Block]:
    """Find the design of bits with the least pair error: grids within grids, and planes.

    `largest` bounds the attributes of a block; `primes_only` keeps to the paper's grids. Beyond 80
    attributes grids take too long to search: then planes are searched. If their blocks are too
    large as well, the design has all pairs.
    """
    if attributes < 2:
        return []
    front = _front(attributes, largest, primes_only) if attributes <= MAX_ATTRIBUTES else ()
    candidates: list[list[Block]] = []
    if front:
        best = min(front, key=lambda size: (size.blocks**2 * size.weight, size.blocks))
        candidates.append(blocks_of(best.grid, attributes))
    if not primes_only:
        orders = [q for q in range(2, attributes) if prime_power(q) and q * q + q + 1 >= attributes]
        candidates += [
            blocks
            for q in orders[:3]
            if max(map(len, blocks := plane(attributes, order=q))) <= largest
        ]
    if not candidates:
        return list(combinations(range(attributes), 2))
    return min(
        candidates, key=lambda blocks: (pair_error(blocks, attributes=attributes), len(blocks))
    )


@dataclass(frozen=True, slots=True)
class _GridSize:
    """A grid with what its error depends on: its blocks, and the sum of C(|v|, 2) 2^|v|."""

    blocks: int
    weight: int
    grid: Grid | None


_Parts: TypeAlias = tuple[int, int, Grid | None, Grid | None]
"""Rows and order of a grid, and the grids within it."""


@cache
def _front(d: int, largest: int, primes_only: bool) -> tuple[_GridSize, ...]:  # noqa: FBT001 - of a cache
    """Find the grids of d attributes that no other grid beats in both blocks and weight.

    Errors of parts do not add up, as all parts share the number of blocks; blocks and weights do.
    """
    if d < 2:
        return (_GridSize(0, 0, None),)
    # By number of blocks the least weight, and the grid that has it.
    best: dict[int, tuple[int, _Parts]] = {}
    if d <= largest:
        best[1] = comb(d, 2) << d, (1, d, None, None)
    for n in range(2, d):
        rows = ceil(d / n)
        if rows > min(n, largest) or not (is_prime(n) if primes_only else prime_power(n)):
            continue
        short = n * rows - d
        cut = [(n * (n - short), rows), (n * short, rows - 1)]
        across = sum(times for times, size in cut if size > 1)
        weight = sum(times * comb(size, 2) << size for times, size in cut if size > 1)
        lasts = _front(n - short, largest, primes_only)
        for full in _front(n, largest, primes_only):
            blocks_before = across + (rows - 1) * full.blocks
            weight_before = weight + (rows - 1) * full.weight
            for last in lasts:
                blocks, of_all = blocks_before + last.blocks, weight_before + last.weight
                if blocks not in best or of_all < best[blocks][0]:
                    best[blocks] = of_all, (rows, n, full.grid, last.grid)
    front: list[_GridSize] = []
    for blocks, (of_all, parts) in sorted(best.items(), key=lambda entry: entry[0]):
        if not front or of_all < front[-1].weight:
            front.append(_GridSize(blocks, of_all, Grid(d, *parts)))
    return tuple(front)


def plane(attributes: int, *, order: int) -> list[Block]:
    """Restrict the lines of the projective plane of an order to so many of its points.

    Points off one line stand first. So a plane that is not needed whole loses points of that line.
    """
    numbers = field(order)
    elements = range(order)
    points = (
        [(1, a, b) for a in elements for b in elements]
        + [(0, 1, a) for a in elements]
        + [(0, 0, 1)]
    )
    if attributes > len(points):
        raise ValueError(
            f"expected at most {len(points)} attributes for a plane of order {order}, "
            f"found {attributes}"
        )

    def contains(line: tuple[int, ...], point: tuple[int, ...]) -> bool:
        x, y, z = (numbers.times[a][b] for a, b in zip(line, point, strict=True))
        return numbers.plus[numbers.plus[x][y]][z] == 0

    lines = [
        tuple(place for place, point in enumerate(points[:attributes]) if contains(line, point))
        for line in points
    ]
    return [line for line in lines if len(line) > 1]


def algorithm_2(attributes: int) -> Grid | None:
    """Choose a grid as Algorithm 2 prints it, but only among grids that cover all pairs.

    Its error is that of Eq. 6: it lacks the number of blocks, which weighs most, and has n l for
    n^2 l.
    """
    best: list[tuple[float, Grid | None]] = [(0.0, None), (0.0, None)]
    for d in range(2, attributes + 1):
        least: tuple[float, Grid | None] = (float(2**d), Grid(d, 1, d))
        for n in range(2, d):
            rows = ceil(d / n)
            if not is_prime(n) or rows > n:
                continue
            (full_error, full), (last_error, last) = best[n], best[d - (rows - 1) * n]
            error = 2**rows * (n * d - n * rows + 2 * n * n) + (rows - 1) * full_error + last_error
            if error < least[0]:
                least = (error, Grid(d, rows, n, full, last))
        best.append(least)
    return best[attributes][1] if attributes > 1 else None
