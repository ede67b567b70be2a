"""Sensitivity of statistics of a table of n rows, where one record is replaced, so n is public.

The bounds hold for every table of n rows. Tests compare them with all small tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

__all__ = ["choice_sensitivity", "dependence_sensitivity", "mutual_information_sensitivity"]


def mutual_information_sensitivity(rows: int, *, binary: bool, base: float) -> float:
    """Bound the change of the plug-in mutual information I(X; Y).

    A side of several attributes has as many values as the product of their sizes. If one of the two
    sides has two values (`binary`), the bound is reached. Otherwise it is reached for odd n and not
    for even n (PrivBayes, lemma 4.1). This case needs two sides with more than two values, not one
    as JTree says (spec B2).

    >>> round(mutual_information_sensitivity(15_074, binary=True, base=2), 11)
    0.00101648016
    """
    if rows < 2:
        raise ValueError(f"expected at least 2 rows, found {rows}")
    n = rows
    if binary:
        bound = log(n) / n + (n - 1) / n * log(n / (n - 1))
    else:
        bound = 2 / n * log((n + 1) / 2) + (n - 1) / n * log((n + 1) / (n - 1))
    return bound / log(base)


def dependence_sensitivity(rows: int, *, binary: bool) -> float:
    """Bound the change of R, the distance from independence, by 3 (n - 1) / n^2.

    If one of the two sides has at most two values (`binary`), the bound is 2 (n - 1) / n^2, and it
    is reached for every n. The general bound is reached up to a factor of 1 - 2 / (3 sqrt(n) + 3)
    (a table of 3 by 3 in the tests). PrivBayes has 3/n + 2/n^2, by the triangle inequality alone.

    Proof. Let D be the table less the product of its margins. Its rows and columns sum to 0, so R
    is the sum of its positive cells, and the maximum of D(S), the sum over any set S of cells.
    Let Q be the distribution of the n - 1 records that stay, with margins a and b. Let the other
    record be at (i, j) before and at (k, l) after. Expanding both products gives

        D' - D = (n - 1) / n^2 * (F_kl - F_ij),    F_kl = e_kl - a e_l^T - e_k b^T.

    R' - R <= (D' - D)(S), where S is the best set after the change. Let a(S, l) be the mass under a
    of the part of S in column l, and b(S, k) that of its part in row k. Then F_kl(S) is
    [kl in S] - a(S, l) - b(S, k), so it lies between -2 and 1, and the difference is at most 3.

    Let there be two rows, 0 and 1, with margin a = (a0, a1). Their cells of D' are opposite
    numbers, so S may be taken as the columns A in row 0 and all other columns in row 1. Let t be
    b(A). Then F_0l(S) is a1 - t or -a1 - t, as l is in A or not, and F_1l(S) is a0 - 1 + t or
    -a0 - 1 + t. Two values of row 0 differ by at most 2 a1, two of row 1 by at most 2 a0. Values
    of different rows differ by at most a1 - t + a0 + 1 - t = 2 - 2t, or by 2t. All are at most 2.
    One record apart from n - 1 equal ones has R = 2 (n - 1) / n^2 if it differs on both sides, and
    0 if it differs on one.

    >>> dependence_sensitivity(100, binary=True), dependence_sensitivity(100, binary=False)
    (0.0198, 0.0297)
    """
    if rows < 2:
        raise ValueError(f"expected at least 2 rows, found {rows}")
    return (2 if binary else 3) * (rows - 1) / rows**2


def choice_sensitivity(bounds: Iterable[float]) -> float:
    """Bound half of the change of a difference of two scores: the mean of the two largest bounds.

    This is the sensitivity of `choose`, for candidates whose scores change by at most `bounds`.
    A score that never changes counts with a bound of 0. The bounds are not used to rescale the
    scores one by one, as the best candidate would then be another.

    >>> choice_sensitivity([2.0, 3.0, 1.0]), choice_sensitivity([2.0, 0.0])
    (2.5, 1.0)
    """
    largest = sorted(bounds, reverse=True)[:2]
    return sum(largest) / 2
