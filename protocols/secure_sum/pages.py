"""Pages: pieces of a batch that fit into memory; the ring's parties work on them in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...messages import MessageError, MisuseError, Private, Role
from .options import SecureSums

__all__ = ["WINDOW", "await_window", "open_window", "page_sizes", "recut", "windows"]

Counts = npt.NDArray[np.int64]

WINDOW: Final = 16
"""Pages by which a sender may be ahead of its receiver.

Without this bound a fast sender's pages would fill the memory of a slow receiver.
"""


def windows(pages: int) -> int:
    """Count the messages by which a receiver of so many pages asks for more."""
    return max(0, pages - 1) // WINDOW


def page_sizes(cells: int, *, size: int) -> list[int]:
    """List the number of cells on each page: `size`, and the rest on the last page."""
    return [min(size, cells - start) for start in range(0, cells, size)]


def recut(tables: Iterable[npt.ArrayLike], *, cells: int, size: int) -> Iterator[Counts]:
    """Cut tables into pages of `size` cells, one table after another in row-major order.

    Raises:
        MisuseError: the tables have another number of cells in all, or are not integers.
    """
    held: list[Counts] = []
    waiting = taken = 0
    for table in tables:
        array = np.asarray(table)
        if array.dtype.kind not in "iu":
            raise MisuseError(f"expected tables of integers to add up, found {array.dtype}")
        if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
            raise MisuseError("expected counts below 2**63, found ", Private(array.max()))
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
            f"expected tables of {cells} cells in all, found ",
            Private("more" if taken > cells else taken),
        )
    if waiting:
        yield np.concatenate(held)


def open_window(role: Role, page: int, *, senders: Sequence[int]) -> None:
    """Let the senders continue, where a window ends. Called before a page is received.

    At most WINDOW pages of each sender then wait in memory.
    """
    if page and page % WINDOW == 0:
        role.broadcast(SecureSums.Continue(page), to=senders)


def await_window(role: Role, page: int, *, receiver: int) -> None:
    """Wait for the receiver, where a window ends. Called before a page is sent."""
    if page and page % WINDOW == 0:
        reply = role.receive(SecureSums.Continue, source=receiver)
        if reply.page != page:
            raise MessageError(
                f"expected to continue with page {page}, found {reply.page}", where=role.where
            )
