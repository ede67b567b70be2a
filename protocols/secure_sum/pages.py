"""Pages: a batch cut into pieces that fit into memory and let the ring's parties work at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from ...messages import MisuseError

__all__ = ["page_count", "page_sizes", "recut"]

Counts = npt.NDArray[np.int64]


def page_count(cells: int, *, size: int) -> int:
    return -(-cells // size)


def page_sizes(cells: int, *, size: int) -> list[int]:
    """List how many cells each page has: `size`, and the rest in the last."""
    return [min(size, cells - at) for at in range(0, cells, size)]


def recut(tables: Iterable[npt.ArrayLike], *, cells: int, size: int) -> Iterator[Counts]:
    """Cut tables, one after another in row-major order, into pages; a wrong number of cells or a fraction is an error."""
    held: list[Counts] = []
    waiting = taken = 0
    for table in tables:
        array = np.asarray(table)
        if array.dtype.kind not in "iu":
            raise MisuseError(f"expected tables of integers to add up, found {array.dtype}")
        held.append(array.astype(np.int64).reshape(-1))
        waiting += array.size
        taken += array.size
        if waiting >= size:
            joined = np.concatenate(held)
            whole = waiting - waiting % size
            yield from np.split(joined[:whole], whole // size)
            held, waiting = [joined[whole:]], waiting - whole
        if taken > cells:
            break
    if taken != cells:
        raise MisuseError(f"expected tables of {cells} cells in all, found {'more' if taken > cells else taken}")
    if waiting:
        yield np.concatenate(held)
