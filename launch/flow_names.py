"""What a rehearsal knows of functions and methods by their names (`launch.flow_calls`).

Names of numpy, pandas and Python are meant. Another object's method of the same name is taken for
them, too.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ALIKE",
    "CHANGES",
    "COUNTED",
    "DECIDED",
    "EXITS",
    "FALLIBLE",
    "FILTERS",
    "IN_MEMORY",
    "JOINS",
    "KEYED",
    "LISTS",
    "LOGS",
    "NEUTRAL",
    "NEW_ARRAYS",
    "OF_MECHANISM",
    "OF_OBJECT",
    "ONE_ROW",
    "PRINTS",
    "REDUCTIONS",
    "REMOVALS",
    "SAVES",
    "SEARCHES",
    "SENDS",
    "STARTS",
    "STATED",
    "SUMS",
    "VECTORS",
    "WRITERS",
    "WRITES",
    "WRITES_LINES",
]

SENDS: Final = {"send", "broadcast", "progress"}
"""Verbs of a party that send their arguments to others."""
STATED: Final = {
    *("sensitivity", "epsilon", "delta", "rho", "budget", "bounds", "bound", "resolution"),
    *("threshold", "neighbours", "scale", "number_of_groups", "cells"),
}
"""Arguments of mechanisms that must be public."""
FILTERS: Final = {
    *("unique", "nonzero", "flatnonzero", "argwhere", "where", "set", "frozenset", "delete"),
    *("filter", "takewhile", "dropwhile", "compress", "extract", "findall", "trim_zeros"),
    *("union1d", "intersect1d", "setdiff1d", "Counter", "fromkeys", "arange", "range"),
    *("groupby", "value_counts", "drop_duplicates", "dropna", "query", "get_dummies"),
    *("crosstab", "pivot", "pivot_table", "str", "repr", "dumps", "join", "format"),
}
"""Functions and methods whose results have as many elements as the contents decide."""
REDUCTIONS: Final = {
    *("sum", "mean", "min", "max", "any", "all", "std", "var", "median", "prod", "average"),
    *("dot", "einsum", "outer", "matmul", "norm", "cov", "corrcoef", "nansum", "nanmean"),
    *("count_nonzero", "searchsorted", "percentile", "quantile", "argmax", "argmin"),
    *("histogram", "histogram2d", "histogramdd", "count", "count_ones", "marginal", "tally"),
    *("int", "float", "bool", "item", "hash"),
}
"""Those whose results have a number of elements that no record changes."""
OF_MECHANISM: Final = {
    *("sensitivity", "epsilon", "delta", "rho", "loss", "scale", "name", "threshold", "seen"),
}
"""Attributes of mechanisms that say what was stated."""
OF_OBJECT: Final = {
    **{name: f"__{name}__" for name in ("len", "str", "repr", "bool", "iter", "next", "int")},
    **{name: f"__{name}__" for name in ("float", "hash", "abs", "format", "bytes")},
}
"""Functions that call a method of an object."""
FALLIBLE: Final = {
    *("int", "float", "astype", "index", "strptime", "fromisoformat", "loads", "Decimal", "date"),
    *("to_numeric", "to_datetime", "remove", "next", "literal_eval", "Fraction"),
}
"""Functions that often end in an error on other values."""
ALIKE: Final = {"zeros_like", "ones_like", "full_like", "empty_like"}
"""Functions that make an array as long as another, of which they take no contents."""
NEW_ARRAYS: Final = {"zeros", "ones", "full", "empty"}
"""Functions that make an array of which the program says the length."""
DECIDED: Final = {"release", "receive", "gather", "partition", "phase"}
"""Verbs of a party, beside those that send, of which others see whether they happen."""
PRINTS: Final = {
    *("print", "sleep", "warn", "info", "debug", "warning", "error", "exception"),
    "system",
}
"""Functions of modules that show something, or whose time others see."""
SAVES: Final = {"save", "savetxt", "savez", "savez_compressed", "dump"}
"""Functions of modules that write something into a file."""
IN_MEMORY: Final = {"StringIO", "BytesIO"}
"""Functions that make texts or bytes in memory with the methods of a file."""
WRITERS: Final = {"writer", "DictWriter"}
"""Functions that make writers of lines into a file or a text."""
WRITES_LINES: Final = {"write", "writelines", "writerow", "writerows", "execute", "executemany"}
"""Methods that write into an open file, or into a database that was opened."""
STARTS: Final = {"subprocess"}
"""Modules whose functions start programs."""
EXITS: Final = {"exit", "_exit", "quit", "abort"}
"""Functions of modules that end the process."""
WRITES: Final = {
    *("to_csv", "to_json", "to_parquet", "to_pickle", "to_excel", "to_feather", "to_hdf"),
    *("to_sql", "to_stata", "tofile", "dump", "write_text", "write_bytes"),
}
"""Methods of tables, arrays and paths that write into a file, if nobody uses their results."""
LOGS: Final = {
    *("info", "debug", "warning", "error", "critical", "exception", "log"),
}
"""Methods of loggers that show something."""
REMOVALS: Final = {"pop", "popitem", "remove", "clear", "discard", "popleft", "reverse", "sort"}
"""Methods that take something out of the object, or move it."""
SUMS: Final = {"real_sum", "real_mean"}
"""Mechanisms of which each row is taken for a record."""
ONE_ROW: Final = "the single row of "
"""What is named of such a mechanism whose only row is computed from many records."""
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
KEYED: Final = {
    *("list", "tuple", "sorted", "set", "frozenset", "enumerate", "zip", "iter", "reversed"),
    *("len", "join", "deque", "map", "fromkeys"),
}
"""Functions to which a dict is its keys."""
COUNTED: Final = {
    *("repeat", "pad", "linspace", "array_split", "split", "islice", "combinations", "tile"),
    *("resize", "random", "permutations", "nlargest", "nsmallest"),
    "deque",
}
"""Functions of which a further argument says how many elements the result has."""
SEARCHES: Final = {"search", "match", "fullmatch"}
"""Functions that give `None` if they find nothing."""
NEUTRAL: Final = {"isinstance", "type", "id", "callable", "hasattr"}
"""Functions whose results tell of no record."""
