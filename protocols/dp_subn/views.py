"""NOCD, the non-overlapping covering design (Su et al. 2016, sections VI-C and VI-D): which tables
give all pairs at once.

A design is a set of views, sets of attributes such that every two attributes stand together in
exactly one of them. The noise of M tables released together has the scale 2 M / epsilon, and a
pair's table is summed out of its view's, so few large views are weighed against many small ones:

    pair error      8 M^2 / epsilon^2 * sum over views of C(|v|, 2) cells(v), over all pairs: the variance of a pair's table

*Grids* (section VI-C). Attributes are laid out in l rows of n, l <= n. For n the order of a finite
field, view (m, j) takes from row i column j + i m: two columns of different rows meet in exactly
one of these n^2 views. Each row is then a smaller problem of its own. The paper has prime n; any
prime power does (spec E8).

*Planes.* The lines of the projective plane of order q, restricted to d of its q^2 + q + 1 points,
meet every pair once.

The printed choice of parameters (Algorithm 2) stops at the first number that is no prime, starts
below the square root, where pairs stay uncovered (18 of them at d = 52), and adds up the errors of
parts that share one M (spec E4 to E6). `algorithm_2` repairs only what left pairs out;
`best_design` minimises the error itself, over grids within grids and planes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import ceil, comb, inf, prod

from ...privacy import Domain
from .galois import field, is_prime, prime_power

__all__ = [
    "Grid",
    "View",
    "algorithm_2",
    "best_design",
    "mixed_design",
    "pair_error",
    "pairs_missed",
    "plane",
    "table_error",
    "views_of",
]

View = tuple[int, ...]

MOST_ATTRIBUTES = 80
"""Of which all grids within grids are searched in seconds."""
MOST_MIXED = 24
"""The same, for merging views of attributes of any sizes."""
MOST_CELLS = 4096
"""Of a view of attributes that are not binary."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`rows` rows of `columns` attributes, the last perhaps shorter; a row of more than one is a
    grid again, or one view.

    With one row it is the single view of all.
    """

    attributes: int
    rows: int
    columns: int
    full: Grid | None = None
    """How each full row goes on; `None` when it has one attribute."""
    last: Grid | None = None

    def views(self, own: Sequence[int]) -> Iterator[View]:
        """List the views over these attributes."""
        if self.rows == 1:
            yield tuple(own)
            return
        numbers, n = field(self.columns), self.columns
        for m in range(n):
            for j in range(n):
                places = [i * n + numbers.plus[j][numbers.times[i][m]] for i in range(self.rows)]
                view = tuple(own[place] for place in places if place < len(own))
                if len(view) > 1:
                    yield view
        for start in range(0, len(own), n):
            row = own[start : start + n]
            further = self.full if len(row) == n else self.last
            if further is not None:
                yield from further.views(row)


def views_of(design: Grid | None, attributes: int) -> list[View]:
    """List a grid's views of attributes 0 .. d-1."""
    return [] if design is None else list(design.views(range(attributes)))


def pairs_missed(views: Sequence[View], attributes: int) -> tuple[int, int]:
    """Count the pairs in no view, and those in more than one: (0, 0) for a design."""
    times = dict.fromkeys(combinations(range(attributes), 2), 0)
    for view in views:
        for pair in combinations(sorted(view), 2):
            times[pair] += 1
    return sum(not n for n in times.values()), sum(n > 1 for n in times.values())


def table_error(views: Sequence[View], *, sizes: Sequence[int] | None = None) -> float:
    """Add up the variance of all cells of all views at epsilon 1: ESE."""
    return 8 * len(views) ** 2 * sum(_cells(view, sizes) for view in views)


def pair_error(
    views: Sequence[View], *, attributes: int, sizes: Sequence[int] | None = None
) -> float:
    """Average the variance of a pair's table, all its cells, over all pairs, at epsilon 1.

    A pair that stands in several views has the inverse-variance average of what they say; in no
    view, no error is finite.
    """
    precision = dict.fromkeys(combinations(range(attributes), 2), 0.0)
    for view in views:
        for pair in combinations(sorted(view), 2):
            precision[pair] += 1 / _cells(view, sizes)
    return (
        8
        * len(views) ** 2
        * sum(1 / one if one else inf for one in precision.values())
        / comb(attributes, 2)
    )


def _cells(view: View, sizes: Sequence[int] | None) -> int:
    return 2 ** len(view) if sizes is None else prod(sizes[at] for at in view)


def best_design(attributes: int, *, largest: int = 16, primes_only: bool = False) -> list[View]:
    """Find the design of binary attributes with the least pair error: grids within grids, and
    planes.

    `largest` bounds the attributes of a view; `primes_only` keeps to the paper's grids. Beyond 80
    attributes grids take too long to search: planes, or all pairs where those are too large.
    """
    if attributes < 2:
        return []
    front = _front(attributes, largest, primes_only) if attributes <= MOST_ATTRIBUTES else ()
    candidates: list[list[View]] = []
    if front:
        best = min(front, key=lambda one: (one.views**2 * one.weight, one.views))
        candidates.append(views_of(best.grid, attributes))
    if not primes_only:
        orders = [q for q in range(2, attributes) if prime_power(q) and q * q + q + 1 >= attributes]
        candidates += [
            views
            for q in orders[:3]
            if max(map(len, views := plane(attributes, order=q))) <= largest
        ]
    if not candidates:
        return list(combinations(range(attributes), 2))
    return min(candidates, key=lambda views: (pair_error(views, attributes=attributes), len(views)))


@dataclass(frozen=True, slots=True)
class _Found:
    """A grid by what its error depends on: how many views, and the sum of C(|v|, 2) 2^|v|."""

    views: int
    weight: int
    grid: Grid | None


@cache
def _front(d: int, largest: int, primes_only: bool) -> tuple[_Found, ...]:  # noqa: FBT001 - of a cache
    """Find the grids of d attributes that no other beats in both views and weight.

    Errors do not add up over parts, as all parts share the number of views; these pairs do.
    """
    if d < 2:
        return (_Found(0, 0, None),)
    found = [_Found(1, comb(d, 2) << d, Grid(d, 1, d))] if d <= largest else []
    for n in range(2, d):
        rows = ceil(d / n)
        if rows > min(n, largest) or not (is_prime(n) if primes_only else prime_power(n)):
            continue
        short = n * rows - d
        cut = [(n * (n - short), rows), (n * short, rows - 1)]
        across = sum(times for times, size in cut if size > 1)
        weight = sum(times * comb(size, 2) << size for times, size in cut if size > 1)
        for full in _front(n, largest, primes_only):
            for last in _front(n - short, largest, primes_only):
                views = across + (rows - 1) * full.views + last.views
                found.append(
                    _Found(
                        views,
                        weight + (rows - 1) * full.weight + last.weight,
                        Grid(d, rows, n, full.grid, last.grid),
                    )
                )
    return _undominated(found)


def _undominated(found: list[_Found]) -> tuple[_Found, ...]:
    kept: list[_Found] = []
    for one in sorted(found, key=lambda own: (own.views, own.weight)):
        if not kept or one.weight < kept[-1].weight:
            kept.append(one)
    return tuple(kept)


def plane(attributes: int, *, order: int) -> list[View]:
    """Restrict the lines of the projective plane of an order to so many of its points.

    Points off one line stand first, so that a plane that is not needed whole loses points of that
    line.
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
            f"expected at most {len(points)} attributes for a plane of order {order}, found {attributes}"
        )

    def on(line: tuple[int, ...], point: tuple[int, ...]) -> bool:
        x, y, z = (numbers.times[one][other] for one, other in zip(line, point, strict=True))
        return numbers.plus[numbers.plus[x][y]][z] == 0

    lines = [
        tuple(at for at, point in enumerate(points[:attributes]) if on(line, point))
        for line in points
    ]
    return [line for line in lines if len(line) > 1]


def algorithm_2(attributes: int) -> Grid | None:
    """Choose a grid as Algorithm 2 prints it, but only among grids that cover all pairs: mode
    paper.

    Its error is Eq. 6's: without the number of views, which weighs most, and with n l for n^2 l.
    """
    best: list[tuple[float, Grid | None]] = [(0.0, None), (0.0, None)]
    for d in range(2, attributes + 1):
        least: tuple[float, Grid | None] = (float(2**d), Grid(d, 1, d))
        for n in range(ceil(d**0.5), d):
            rows = ceil(d / n)
            if not is_prime(n) or rows > n:
                continue
            (full, on), (last, off) = best[n], best[d - (rows - 1) * n]
            error = 2**rows * (n * d - n * rows + 2 * n * n) + (rows - 1) * full + last
            if error < least[0]:
                least = (error, Grid(d, rows, n, on, off))
        best.append(least)
    return best[attributes][1] if attributes > 1 else None


def mixed_design(domain: Domain) -> list[View]:
    """Find a design of attributes of any sizes: from all pairs, by merging while that lowers the
    error.

    A view takes one attribute more in place of its pairs with the view's own; at most `MOST_CELLS`
    cells. Of more than 24 attributes the pairs are left as they are, as the search would take
    minutes.
    """
    sizes = domain.shape(domain.attributes)
    views: list[View] = list(combinations(range(len(sizes)), 2))
    if len(sizes) > MOST_MIXED:
        return views
    pair = {view: view for view in views}
    """The view of every pair."""

    def weight(view: View) -> int:
        return comb(len(view), 2) * _cells(view, sizes)

    total = sum(map(weight, views))
    while True:
        best: tuple[int, View, int] = (len(views) ** 2 * total, (), -1)
        for view in views:
            for extra in range(len(sizes)):
                loose = [tuple(sorted((extra, own))) for own in view]
                if (
                    extra in view
                    or any(pair[p] != p for p in loose if p in pair)
                    or _cells((*view, extra), sizes) > MOST_CELLS
                ):
                    continue
                grown = tuple(sorted((*view, extra)))
                after = total - weight(view) - sum(map(weight, loose)) + weight(grown)
                error = (len(views) - len(loose)) ** 2 * after
                if error < best[0]:
                    best = (error, view, extra)
        _, view, extra = best
        if extra < 0:
            return sorted(views)
        grown = tuple(sorted((*view, extra)))
        gone = {view, *(tuple(sorted((extra, own))) for own in view)}
        total += weight(grown) - sum(map(weight, gone))
        views = [own for own in views if own not in gone] + [grown]
        for p in combinations(grown, 2):
            pair[p] = grown
