"""Threads for arithmetic: GMP releases the interpreter's lock while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import gmpy2

__all__ = ["map_in_threads", "without_lock"]

T = TypeVar("T")
U = TypeVar("U")


@contextmanager
def without_lock() -> Iterator[None]:
    """Let other threads run while GMP computes: other roles may be threads of this process."""
    with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
        yield


def map_in_threads(compute: Callable[[T], U], tasks: Sequence[T], *, workers: int) -> list[U]:
    """Compute each task in one of `workers` threads, and return the results in order."""

    def every_nth(start: int) -> list[U]:
        with without_lock():
            return [compute(task) for task in tasks[start::workers]]

    if workers == 1 or len(tasks) < 2 * workers:
        workers = 1
        return every_nth(0)
    results: list[U] = [None] * len(tasks)  # type: ignore[list-item]  # Each is replaced below.
    with ThreadPoolExecutor(workers) as pool:
        for start, part in enumerate(pool.map(every_nth, range(workers))):
            results[start::workers] = part
    return results
