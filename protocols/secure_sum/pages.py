"""Pages: a batch cut into pieces that fit into memory and let the ring's parties work at the same
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...messages import MessageError, MisuseError, Role
from .options import SecureSums

__all__ = ["WINDOW", "await_window", "open_window", "page_sizes", "recut", "windows"]

Counts = npt.NDArray[np.int64]


WINDOW: Final = 16
"""Pages that a sender may be ahead of its receiver: otherwise the faster one's pages would fill the
memory of the slower.
"""


def windows(pages: int) -> int:
    """Count how often a receiver of so many pages says that it is ready for more."""
    return max(0, pages - 1) // WINDOW


def page_sizes(cells: int, *, size: int) -> list[int]:
    """List how many cells each page has: `size`, and the rest in the last."""
    return [min(size, cells - at) for at in range(0, cells, size)]


def recut(tables: Iterable[npt.ArrayLike], *, cells: int, size: int) -> Iterator[Counts]:
    """Cut tables, one after another in row-major order, into pages; a wrong number of cells or a
    fraction is an error.
    """
    held: list[Counts] = []
    waiting = taken = 0
    for table in tables:
        array = np.asarray(table)
        if array.dtype.kind not in "iu":
            raise MisuseError(f"expected tables of integers to add up, found {array.dtype}")
        if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
            raise MisuseError(f"expected counts below 2**63, found {int(array.max())}")
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
        raise MisuseError(
            f"expected tables of {cells} cells in all, found {'more' if taken > cells else taken}"
        )
    if waiting:
        yield np.concatenate(held)


def open_window(role: Role, page: int, *, senders: Sequence[int]) -> None:
    """Before receiving a page: let those who send go on, when it is time to. Pages that wait are at
    most WINDOW a sender.
    """
    if page and page % WINDOW == 0:
        role.broadcast(SecureSums.Continue(page), to=senders)


def await_window(role: Role, page: int, *, receiver: int) -> None:
    """Before sending a page: wait until the receiver has taken in those before, when it is time
    to.
    """
    if page and page % WINDOW == 0:
        said = role.receive(SecureSums.Continue, source=receiver)
        if said.page != page:
            raise MessageError(
                f"expected to go on with page {page}, found {said.page}", where=role.where
            )
