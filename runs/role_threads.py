"""A thread for each role of a run: the first error of any role ends all others."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ..messages import CURATOR, PeerFailedError, ThreadWire, Wire
from .faulty_wire import InjectedFault

__all__ = ["RoleError", "play_on_threads"]

T = TypeVar("T")

LOOK_EVERY: Final = 0.1
"""Seconds between two looks at where the roles are."""


class RoleError(Exception):
    """The first error of any role, with its rank."""

    def __init__(self, rank: int, error: BaseException) -> None:
        super().__init__(rank, error)
        self.rank = rank
        self.error = error


def play_on_threads(
    wires: Sequence[Wire],
    play: Callable[[int], T],
    *,
    meanwhile: Callable[[], None] = lambda: None,
    goes_on: Callable[[int], bool] = lambda _: False,
) -> dict[int, T]:
    """Run `play(rank)` on a thread for each wire and return the results by rank.

    Where `goes_on(rank)` is true of a party that dies, the others learn of its loss, and go on.

    Raises:
        RoleError: the first error of any role; the other roles have been ended by then.
    """
    results: dict[int, T] = {}
    errors: list[RoleError] = []
    ended: list[int] = []
    done = threading.Event()

    def target(rank: int) -> None:
        try:
            results[rank] = play(rank)
        except PeerFailedError:
            pass  # another role failed first; its error is the one that is raised
        except InjectedFault as error:
            wire = wires[rank]
            if goes_on(rank) and rank != CURATOR and isinstance(wire, ThreadWire):
                wire.leave()
                return
            errors.append(RoleError(rank, error))
            _abort(wires)
        except BaseException as error:  # noqa: BLE001 - raised below, after the others were ended
            errors.append(RoleError(rank, error))
            _abort(wires)
        finally:
            ended.append(rank)
            if errors or len(ended) == len(wires):
                done.set()

    threads = [
        threading.Thread(target=target, args=(rank,), daemon=True, name=f"rank {rank}")
        for rank in range(len(wires))
    ]
    for thread in threads:
        thread.start()
    try:
        while not done.wait(LOOK_EVERY):
            meanwhile()
    finally:
        _abort(wires)  # a role that computes goes on until its next verb; nobody waits for it
        until = time.monotonic() + 2 * LOOK_EVERY
        for thread in threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))
    if errors:
        raise errors[0]
    return results


def _abort(wires: Sequence[Wire]) -> None:
    with contextlib.suppress(PeerFailedError):
        wires[0].abort(3)
