"""Errata of Su et al. (2016) about NOCD: Algorithm 2, its error, and its claim.

The tests transcribe what the paper prints, as briefly as possible and with its faults. What the
project does is the project's own code. Statistical tests have fixed seeds and fail by chance with a
probability below 1e-6, which each of them states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import ceil
from typing import Any

import pytest

from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.dp_subn.bits_plan import Design, families_of
from sottovoce.protocols.dp_subn.covering import covering, fewest_blocks
from sottovoce.protocols.dp_subn.designs import (
    Grid,
    algorithm_2,
    best_design,
    blocks_of,
    pair_error,
    pairs_missed,
)
from sottovoce.protocols.dp_subn.galois import is_prime
from sottovoce.protocols.secure_sum import Tables

Converse = Callable[..., Any]
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}
DESIGNS: dict[str, Design] = {
    "nocd": partial(best_design, largest=12),
    "algorithm-2": lambda d: blocks_of(algorithm_2(d), d),
}


def bits(attributes: int) -> Domain:
    return Domain({f"x{at}": ("0", "1") for at in range(attributes)})


# ---- E5. Algorithm 2, lines 4 to 19


@dataclass(eq=False)
class Node:
    """A node of a parameter tree."""

    d: int = 0
    l: int = 0  # noqa: E741 - as printed
    n: int = 0
    below: list[Node | None] = field(default_factory=list)


def printed_trees(attributes: int, *, line_6: bool) -> dict[int, Node | None]:
    """Keep the trees of Algorithm 2 as printed; `line_6` repairs its line 6.

    The repair writes opt_tree[d'] where opt_tree[d] stands. The search is the one that covers all
    pairs, as otherwise other faults would come first (E4).
    """
    trees: dict[int, Node | None] = dict.fromkeys(range(attributes + 1))
    least = [0.0, *[math.inf] * attributes]
    node = Node()
    for d in range(1, attributes + 1):
        least[d] = 2**d
        node.d, node.l, node.n = d, 1, d
        trees[d if line_6 else attributes] = node
        for n in range(ceil(d**0.5), d):
            if not is_prime(n) or (rows := ceil(d / n)) > n:
                continue
            error = (
                least[d - (rows - 1) * n]
                + (rows - 1) * least[n]
                + 2**rows * (n * d - n * rows + 2 * n * n)
            )
            if error < least[d]:
                least[d] = error
                node.d, node.l, node.n = d, ceil(math.sqrt(d)), n  # line 12
        if node.l != 1:
            node.below += [trees.get(node.n)] * (node.l - 1)
            node.below.append(trees.get(node.d - (node.l - 1) * node.n))
    return trees


def test_e5_the_printed_trees_are_no_trees() -> None:
    """Line 6 leaves every subtree NULL. With line 6 repaired the tree is its own subtree."""
    printed = printed_trees(52, line_6=False)
    assert [d for d, tree in printed.items() if tree is not None] == [52]
    root = printed[52]
    assert root is not None
    assert sum(child is None for child in root.below[-root.l :]) == root.l
    shared = printed_trees(52, line_6=True)
    assert len({id(tree) for d, tree in shared.items() if d}) == 1
    assert shared[19] is shared[52]
    assert shared[52] is not None
    assert shared[52] in shared[52].below
    proper = algorithm_2(52)
    assert proper is not None
    assert (proper.full, proper.last) == (algorithm_2(19), algorithm_2(14))


def test_e5_line_12_names_another_number_of_rows() -> None:
    """The printed ceil(sqrt d) rows of n are 8 at d = 52, n = 19, where 3 hold all attributes.

    The last row would have -81 attributes.
    """
    wrong, beyond = [], []
    grids = {d: grid for d in range(2, 61) if (grid := algorithm_2(d)) and grid.rows > 1}
    for d, grid in grids.items():
        assert (grid.rows - 1) * grid.columns < d <= grid.rows * grid.columns
        rows = ceil(math.sqrt(d))
        wrong += [d] * (rows != grid.rows)
        beyond += [d] * (d - (rows - 1) * grid.columns <= 0)
        if d == 52:
            assert (grid.rows, grid.columns, rows, d - (rows - 1) * grid.columns) == (3, 19, 8, -81)
    assert (len(grids), len(wrong), len(beyond)) == (52, 51, 51)  # at d = 9 both say 3


# ---- E6. Eq. 6 and line 9


def crossing(d: int, n: int) -> list[list[int]]:
    """List the n^2 blocks of step 3, with those of a single attribute."""
    rows = ceil(d / n)
    places = [[i * n + (j + i * m) % n for i in range(rows)] for m in range(n) for j in range(n)]
    return [[place for place in view if place < d] for view in places]


def test_e6_cells_of_the_crossing_views() -> None:
    """Known answer 7: nl must be n^2 l, and 2^l counts every cell twice.

    Line 4 counts it once (E5).
    """
    for d in range(4, 61):
        for n in filter(is_prime, range(ceil(math.sqrt(d)), d)):
            rows = ceil(d / n)
            views = crossing(d, n)
            cells = sum(2 ** len(view) for view in views)
            assert cells == 2 ** (rows - 1) * (n * d - n * n * rows + 2 * n * n)
            assert sorted(tuple(view) for view in views if len(view) > 1) == sorted(
                Grid(d, rows, n).blocks(range(d))
            )
            printed = 2**rows * (n * d - n * rows + 2 * n * n)
            assert printed > 2 * cells
            if (d, n) in {(52, 11), (52, 13), (52, 17)}:
                assert (cells, printed) == {
                    11: (3344, 24288),
                    13: (2704, 15392),
                    17: (2448, 22304),
                }[n]
        whole = [families_of(bits(d), partial(best_design, largest=60))] if d < 9 else []
        assert all(
            len(views) == 1 and 2 ** len(views[0]) == 2**d for views in whole
        )  # line 4: one view of all


@pytest.mark.parametrize("views", ["nocd", "algorithm-2"])
def test_e6_the_variance_of_a_cell(views: Any) -> None:
    """The variance is 8 |V|^2 / eps^2, where |V| / eps^2 is printed.

    That is 456 times as much with 57 views, and 3,944 times with 493.
    """
    families = families_of(bits(52), DESIGNS[views])
    count = len(families)
    batch = Tables(bits(52), families, Budget.pure(0.25)).batch
    assert batch.sensitivity == 2 * count
    noisy = batch.among(parties=3, rows=45222, colluding=1)
    right, printed = 8 * count**2 / 0.25**2, count / 0.25**2
    assert noisy.variance(shares=False) == pytest.approx(right, rel=1e-4)
    assert right / printed == {"nocd": 456, "algorithm-2": 3944}[views]


def test_e6_the_best_whole_is_not_made_of_best_parts() -> None:
    """13 attributes alone are best in one block, but not as the rows of 52.

    The paper says: "We should first ensure ESE(V^n) to be minimum".
    """
    row = best_design(13, primes_only=True, largest=52)
    assert len(row) == 1
    whole = best_design(52, primes_only=True, largest=52)
    assert len(whole) == 281
    assert set(whole) >= set(Grid(52, 4, 13).blocks(range(52)))  # the same grid, with other rows
    of_best_rows = blocks_of(Grid(52, 4, 13, Grid(13, 1, 13), Grid(13, 1, 13)), 52)
    assert pairs_missed(of_best_rows, 52) == (0, 0)
    assert len(of_best_rows) == 173
    assert pair_error(of_best_rows, attributes=52) > 47 * pair_error(whole, attributes=52)


def test_e6_what_algorithm_2_costs() -> None:
    """Repaired to cover all pairs, its choice has 6.5 times the default's error.

    It has not even the fewest cells.
    """
    printed, best = blocks_of(algorithm_2(52), 52), best_design(52, largest=12)
    assert (len(printed), len(best)) == (493, 57)
    assert pair_error(printed, attributes=52) / pair_error(best, attributes=52) == pytest.approx(
        6.48, abs=0.01
    )
    primes = best_design(52, primes_only=True, largest=52)
    assert (sum(2 ** len(view) for view in printed), sum(2 ** len(view) for view in primes)) == (
        4016,
        3632,
    )


# ---- E7. "a_(i, (j + (i - 1) m) mod n)", 1 <= j <= n


@pytest.mark.parametrize(("d", "rows", "n"), [(6, 2, 3), (9, 3, 3), (25, 5, 5), (52, 4, 13)])
def test_e7_columns_are_counted_from_one(d: int, rows: int, n: int) -> None:
    """The printed index is 0 in every row n times, and never n.

    The paper means ((j - 1 + (i - 1) m) mod n) + 1.
    """
    printed, meant = [], []
    for m, j in product(range(n), range(1, n + 1)):
        printed.append([(j + (i - 1) * m) % n for i in range(1, rows + 1)])
        meant.append([(j - 1 + (i - 1) * m) % n + 1 for i in range(1, rows + 1)])
    assert sum(column == 0 for view in printed for column in view) == n * rows
    assert not any(column == n for view in printed for column in view)
    views = [tuple(i * n + column - 1 for i, column in enumerate(view)) for view in meant]
    assert list(Grid(d, rows, n).blocks(range(d))) == [
        tuple(at for at in view if at < d) for view in views
    ]


# ---- E8. "NOCD needs less views than" coverings that overlap


def test_e8_overlapping_views_are_fewer_than_those_of_prime_grids() -> None:
    """At d = 52 every grid of a prime has at least 126 blocks; overlapping blocks of 8 need 52.

    A greedy search finds 69. The noise is smaller as well: a pair's table from one block of 6 has
    two thirds of the variance of the best prime grid's.
    """
    grids = [n for n in range(8, 52) if is_prime(n) and ceil(52 / n) <= n]
    fewest = min(
        sum(len(view) > 1 for view in crossing(52, n)) + 52 // n + (52 % n > 1) for n in grids
    )
    assert fewest == 126
    prime = best_design(52, primes_only=True, largest=52)
    needed = fewest_blocks(52, size=8)
    plane = best_design(52, largest=12)
    assert max(map(len, plane)) == 8
    blocks = covering(52, size=8)
    assert pairs_missed(blocks, 52)[0] == 0
    assert (needed, len(plane), len(blocks), len(prime), len(blocks_of(algorithm_2(52), 52))) == (
        52,
        57,
        69,
        281,
        493,
    )
    smaller = covering(52, size=6)
    assert pairs_missed(smaller, 52)[0] == 0
    from_one_block = 8 * len(smaller) ** 2 * 2**6
    assert (len(smaller), from_one_block) == (114, 6_653_952)
    assert from_one_block < 0.7 * pair_error(prime, attributes=52)
    assert (
        pair_error(plane, attributes=52) < 0.75 * from_one_block
    )  # the idea is right, with planes


@pytest.mark.parametrize("attributes", [0, 1])
def test_fewer_than_two_attributes_have_no_pairs(attributes: int) -> None:
    assert best_design(attributes, largest=12) == []
