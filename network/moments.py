"""Moments: points in time that remember what they waited for.

A moment is later than another by some seconds, for a reason at a place. The latest of several
moments is the one that counts, and its causes with it. So the causes of a last moment, followed
back to the start, are a critical path: their seconds add up to the whole time.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

__all__ = ["START", "Moment", "Place", "Reason", "Stretch", "after", "critical_path", "latest"]

Place: TypeAlias = tuple[int, int]
"""Sender and receiver of what travels; where a role computes, its rank twice."""


class Reason(StrEnum):
    """What time passes for."""

    COMPUTATION = "computation"
    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    HANDSHAKE = "handshake"
    """A large frame is announced, and the receiver answers."""
    SLOW_START = "slow start"
    LOSS = "loss"
    JITTER = "jitter"
    POLLING = "polling"
    """A frame is there, and the role that waits for it has not looked yet."""
    SHARED_CORES = "shared cores"
    """Other roles compute on the same cores."""
    TIME_LIMIT = "time limit"
    """A role waits as long as it wants to, and nothing comes."""


class Moment(NamedTuple):
    """A point in time."""

    seconds: float
    cause: Moment | None
    """The moment that this one follows; `None` at the start."""
    reason: Reason
    place: Place

    def __repr__(self) -> str:
        # Causes are a chain of any length, which no reader and no stack wants.
        return f"Moment({self.seconds}, reason={self.reason}, place={self.place})"


_NEW: Final = tuple.__new__
START: Final = Moment(0.0, None, Reason.COMPUTATION, (0, 0))


def after(moment: Moment, seconds: float, reason: Reason, place: Place) -> Moment:
    """Give the moment that is later by so many seconds; the same one if that is no difference."""
    before = moment.seconds
    later = before + seconds
    # Most of a simulation's objects are moments, which this makes faster than the class does.
    return _NEW(Moment, (later, moment, reason, place)) if later > before else moment


def latest(first: Moment, second: Moment) -> Moment:
    """Give the later one of two moments; the first one if they are at the same time."""
    return second if second.seconds > first.seconds else first


class Stretch(NamedTuple):
    """A part of a critical path: seconds for one reason at one place."""

    seconds: float
    reason: Reason
    place: Place


def critical_path(moment: Moment) -> list[Stretch]:
    """List the stretches that led to a moment, the earliest one first."""
    stretches = [
        Stretch(current.seconds - current.cause.seconds, current.reason, current.place)
        for current in _causes(moment)
        if current.cause is not None
    ]
    stretches.reverse()
    return stretches


def _causes(moment: Moment) -> Iterator[Moment]:
    current: Moment | None = moment
    while current is not None:
        yield current
        current = current.cause
