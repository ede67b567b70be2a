"""What a rehearsal knows of functions and methods by their names (`launch.flow_calls`).

Names of numpy, pandas and Python are meant. Another object's method of the same name is taken for
them, too.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CHANGES", "FILTERS", "LISTS", "NEUTRAL", "REDUCTIONS", "SENDS", "STATED"]

SENDS: Final = {"send", "broadcast", "progress"}
STATED: Final = {
    *("sensitivity", "epsilon", "delta", "rho", "budget", "bounds", "resolution", "threshold"),
    *("neighbours", "scale"),
}
"""Arguments of mechanisms that must be public."""
FILTERS: Final = {
    *("unique", "nonzero", "flatnonzero", "argwhere", "where", "set", "frozenset", "dict"),
    *("Counter", "groupby", "filter", "compress", "extract", "union1d", "intersect1d"),
    *("setdiff1d", "repeat", "delete", "value_counts", "drop_duplicates", "dropna", "query"),
    *("split", "findall", "zeros", "ones", "full", "empty", "arange", "range", "trim_zeros"),
}
"""Functions and methods whose results have as many elements as the contents decide."""
REDUCTIONS: Final = {
    *("sum", "mean", "min", "max", "any", "all", "std", "var", "median", "prod", "dot", "einsum"),
    *("count_nonzero", "histogram", "percentile", "quantile", "cov", "corrcoef", "outer", "matmul"),
    *("int", "float", "str", "bool", "count", "count_ones", "marginal", "tally", "item", "norm"),
    *("average", "nansum", "nanmean", "hash", "histogram2d", "histogramdd", "argmax", "argmin"),
}
"""Those whose results have a number of elements that no record changes."""
CHANGES: Final = {
    *("append", "extend", "add", "update", "insert", "setdefault", "appendleft", "put", "fit"),
    *("partial_fit", "push", "heappush"),
}
"""Methods that put their arguments into the object."""
LISTS: Final = {"zip", "enumerate", "list", "tuple", "sorted", "reversed", "map", "iter"}
"""Functions that list the elements of their arguments."""
NEUTRAL: Final = {"isinstance", "type", "id", "callable"}
"""Functions whose results tell of no record."""
