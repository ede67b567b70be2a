"""Batches of moments: what many roles do the same, computed for all of them at once.

A batch has the seconds of many moments in one array. What each of them waited for is not kept, but
found when it is asked for: only the last moment of a conversation wants its critical path, and that
passes few of all moments. All seconds are computed by the same operations in the same order as
those of single moments (`moments`), so they are equal to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .moments import Moment, Place, Reason

__all__ = [
    "Floats",
    "Indices",
    "MomentBatch",
    "chosen",
    "given",
    "joined",
    "later",
    "latest_of",
    "passed_in_turn",
    "picked",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Places: TypeAlias = Callable[[int], Place]
"""Gives the place of each moment of a batch."""


class _Cause(NamedTuple):
    """Which moment another one followed, and why."""

    batch: MomentBatch
    offset: int
    reason: Reason | None = None
    """Why it is later; `None` where it is the same moment."""
    place: Place = (0, 0)


class MomentBatch:
    """Many moments."""

    __slots__ = ("_cause", "seconds")

    def __init__(self, seconds: Floats, cause: Callable[[int], _Cause | Moment]) -> None:
        self.seconds = seconds
        self._cause = cause
        """Gives what each moment followed, or the moment itself."""

    def __len__(self) -> int:
        return len(self.seconds)

    def moment(self, index: int) -> Moment:
        """Give one of the moments, with all its causes."""
        batch, following = self, list[tuple[float, Reason, Place]]()
        while not isinstance(cause := batch._cause(index), Moment):
            seconds = float(batch.seconds[index])
            batch, index = cause.batch, cause.offset
            if cause.reason is not None and seconds > batch.seconds[index]:
                following.append((seconds, cause.reason, cause.place))
        moment = cause
        for seconds, reason, place in reversed(following):
            moment = Moment(seconds, moment, reason, place)
        return moment


def given(moments: Sequence[Moment]) -> MomentBatch:
    """Put single moments together."""
    return MomentBatch(np.array([each.seconds for each in moments]), lambda index: moments[index])


def later(
    batch: MomentBatch,
    seconds: Floats | float,
    reason: Reason | Callable[[int], Reason],
    places: Places,
) -> MomentBatch:
    """Give the moments that are later by so many seconds; the same ones if that is no difference.

    >>> start = given([Moment(1.0, None, Reason.COMPUTATION, (0, 0))])
    >>> later(start, -0.5, Reason.LATENCY, lambda _: (1, 0)).moment(0)
    Moment(1.0, reason=computation, place=(0, 0))
    """
    moved = batch.seconds + seconds

    def cause(index: int) -> _Cause:
        why = reason if isinstance(reason, Reason) else reason(index)
        return _Cause(batch, index, why, places(index))

    return MomentBatch(np.where(moved > batch.seconds, moved, batch.seconds), cause)


def chosen(first: MomentBatch, second: MomentBatch, *, where: npt.NDArray[np.bool_]) -> MomentBatch:
    """Give the moments of the second batch at some places, and those of the first elsewhere."""
    return MomentBatch(
        np.where(where, second.seconds, first.seconds),
        lambda index: _Cause(second if where[index] else first, index),
    )


def latest_of(first: MomentBatch, second: MomentBatch) -> MomentBatch:
    """Give the later one of each two moments; the first one if they are at the same time."""
    return chosen(first, second, where=second.seconds > first.seconds)


def picked(batch: MomentBatch, indices: Indices) -> MomentBatch:
    """Give the moments at some indices."""
    return MomentBatch(batch.seconds[indices], lambda index: _Cause(batch, int(indices[index])))


def joined(batches: Sequence[MomentBatch]) -> MomentBatch:
    """Give the moments of several batches, one after another."""
    ends = np.cumsum([len(batch) for batch in batches])

    def cause(index: int) -> _Cause:
        number = int(np.searchsorted(ends, index, side="right"))
        return _Cause(batches[number], index - int(ends[number]) + len(batches[number]))

    return MomentBatch(np.concatenate([batch.seconds for batch in batches]), cause)


def passed_in_turn(
    heads: MomentBatch, seconds: Sequence[float], free: MomentBatch, places: Places
) -> tuple[MomentBatch, MomentBatch]:
    """Let loads pass one pipe, each behind those before it.

    Args:
        heads: when their first bytes come to the pipe, in the order in which they enter it.
        seconds: how long each takes to pass.
        free: the one moment when the pipe has let pass all that came before.
        places: who sends each, and to whom.

    Returns:
        When each enters the pipe, and when it has passed.
    """
    now, enters, ends = float(free.seconds[0]), list[float](), list[float]()
    for head, duration in zip(heads.seconds.tolist(), seconds, strict=True):
        enter = max(head, now)
        end = enter + duration
        now = max(enter, end)
        enters.append(enter)
        ends.append(now)

    def before(index: int) -> _Cause:
        previous = _Cause(passed, index - 1) if index else _Cause(free, 0)
        waits = previous.batch.seconds[previous.offset] > heads.seconds[index]
        return previous if waits else _Cause(heads, index)

    begins = MomentBatch(np.array(enters), before)
    passed = MomentBatch(
        np.array(ends), lambda index: _Cause(begins, index, Reason.BANDWIDTH, places(index))
    )
    return begins, passed
