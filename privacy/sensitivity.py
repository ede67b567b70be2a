"""Sensitivity of statistics of a table of n rows, where one record is replaced, so n is public.

The bounds hold for every table of n rows. Tests compare them with all small tables.
"""

from __future__ import annotations

from math import log

__all__ = ["dependence_sensitivity", "mutual_information_sensitivity"]


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


def dependence_sensitivity(rows: int) -> float:
    """Bound the change of R, the distance from independence, by 3/n + 2/n^2 (PrivBayes).

    The bound follows from the triangle inequality.
    """
    if rows < 2:
        raise ValueError(f"expected at least 2 rows, found {rows}")
    return 3 / rows + 2 / rows**2
