"""Threads for arithmetic: GMP lets go of the interpreter's lock while it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import gmpy2

__all__ = ["share_out"]

T = TypeVar("T")
U = TypeVar("U")


def share_out(compute: Callable[[T], U], tasks: Sequence[T], *, workers: int) -> list[U]:
    """Compute each task, in order, in so many threads; GMP lets go of the interpreter's lock
    meanwhile.
    """

    def some(start: int) -> list[U]:
        # Also with one worker: other roles may live in this process.
        with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
            return [compute(task) for task in tasks[start::workers]]

    if workers == 1 or len(tasks) < 2 * workers:
        workers = 1
        return some(0)
    done: list[U] = [None] * len(tasks)  # type: ignore[list-item]  # each is replaced below
    with ThreadPoolExecutor(workers) as pool:
        for start, part in enumerate(pool.map(some, range(workers))):
            done[start::workers] = part
    return done
