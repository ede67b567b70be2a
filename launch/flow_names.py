"""What a rehearsal knows of functions and methods by their names (`launch.flow_calls`).

Names of numpy, pandas and Python are meant. Another object's method of the same name is taken for
them, too.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ALIKE",
    "CHANGES",
    "DECIDED",
    "FALLIBLE",
    "FILTERS",
    "JOINS",
    "LISTS",
    "MADE",
    "NEUTRAL",
    "OF_MECHANISM",
    "PRINTS",
    "REDUCTIONS",
    "REMOVALS",
    "SENDS",
    "STATED",
    "VECTORS",
]

SENDS: Final = {"send", "broadcast", "progress"}
STATED: Final = {
    *("sensitivity", "epsilon", "delta", "rho", "budget", "bounds", "bound", "resolution"),
    *("threshold", "neighbours", "scale", "number_of_groups", "cells"),
}
"""Arguments of mechanisms that must be public."""
FILTERS: Final = {
    *("unique", "nonzero", "flatnonzero", "argwhere", "where", "set", "frozenset"),
    *(
        "Counter",
        "groupby",
        "filter",
        "fromkeys",
        "takewhile",
        "dropwhile",
        "compress",
        "extract",
        "union1d",
        "intersect1d",
    ),
    *("setdiff1d", "delete", "value_counts", "drop_duplicates", "dropna", "query"),
    *(
        "findall",
        "str",
        "repr",
        "dumps",
        "join",
        "format",
        "arange",
        "range",
        "trim_zeros",
        "get_dummies",
        "crosstab",
        "pivot",
        "pivot_table",
    ),
}
"""Functions and methods whose results have as many elements as the contents decide."""
REDUCTIONS: Final = {
    *("sum", "mean", "min", "max", "any", "all", "std", "var", "median", "prod", "dot", "einsum"),
    *(
        "count_nonzero",
        "searchsorted",
        "histogram",
        "percentile",
        "quantile",
        "cov",
        "corrcoef",
        "outer",
        "matmul",
    ),
    *("int", "float", "bool", "count", "count_ones", "marginal", "tally", "item", "norm"),
    *("average", "nansum", "nanmean", "hash", "histogram2d", "histogramdd", "argmax", "argmin"),
}
"""Those whose results have a number of elements that no record changes."""
OF_MECHANISM: Final = {
    *("sensitivity", "epsilon", "delta", "rho", "loss", "scale", "name", "threshold", "seen"),
}
"""Attributes of mechanisms that say what was stated."""
FALLIBLE: Final = {
    *("int", "float", "astype", "index", "strptime", "fromisoformat", "loads", "Decimal", "date"),
    *("to_numeric", "to_datetime", "remove", "next", "literal_eval", "Fraction"),
}
"""Functions that often end in an error on other values."""
ALIKE: Final = {"zeros_like", "ones_like", "full_like", "empty_like"}
MADE: Final = {"zeros", "ones", "full", "empty"}
"""Functions that make an array of which the program says the length."""
DECIDED: Final = {"release", "receive", "gather", "partition", "phase"}
"""Verbs of a party, beside those that send, of which others see whether they happen."""
PRINTS: Final = {"print", "sleep", "warn", "info", "debug", "warning", "error", "exception"}
"""Functions of modules that show something, or whose time others see."""
REMOVALS: Final = {"pop", "popitem", "remove", "clear", "discard", "popleft", "reverse", "sort"}
"""Methods that take something out of the object, or move it."""
VECTORS: Final = {"laplace", "gaussian", "choose", "report_noisy_max"}
"""Mechanisms that answer as many numbers as they take."""
CHANGES: Final = {
    *("append", "extend", "add", "update", "insert", "setdefault", "appendleft", "put", "fit"),
    *("partial_fit", "push", "heappush"),
}
"""Methods that put their arguments into the object."""
JOINS: Final = {"concatenate", "hstack", "concat", "append", "chain", "from_iterable", "r_"}
"""Functions whose results are as long as all elements of their arguments together."""
LISTS: Final = {"list", "tuple", "sorted", "reversed", "iter", "deque"}
"""Functions that list the elements of their arguments."""
NEUTRAL: Final = {"isinstance", "type", "id", "callable", "hasattr"}
"""Functions whose results tell of no record."""
