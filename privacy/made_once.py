"""Public tables that all roles of a process share: each is made once.

A thousand parties on threads compute the same public figures: the tables of a noise law, the order
of parties on a graph, the loss in every view. Made by each party they would be most of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar

__all__ = ["made_once"]

P = ParamSpec("P")
T = TypeVar("T")

MAX_KEPT: Final = 64
"""Results of a function that are kept, those that were used last."""


def made_once(make: Callable[P, T]) -> Callable[P, T]:
    """Keep the results of a function of public values, which no caller changes.

    Unlike `functools.lru_cache` it lets threads that ask for the same result wait for the first.
    """
    kept = lru_cache(maxsize=MAX_KEPT)(make)
    making = threading.Lock()

    @wraps(make)
    def result(*args: P.args, **kwargs: P.kwargs) -> T:
        with making:
            return kept(*args, **kwargs)  # type: ignore[arg-type]  # unhashable ones are refused

    return result
