"""Work: what a role computes, counted where it is done.

Each kind of work is counted in units of its own, such as multiplications modulo numbers of a size,
or cells of tables. A meter adds them up for the thread in which a role plays, and a calibration
knows what a unit takes on a machine. So seconds of computation can be forecast, and a run on a
virtual network repeats itself to the last digit. Without a meter nothing is counted.

Only what takes a noticeable part of some role's time is counted.

In plays on made-up records that only serve to count, some of what is counted need not be done:
there is nothing to keep secret. `is_only_counted` says so, and is false wherever a real record is.
Of some of these plays nobody reads what the curator publishes at the end, and of some not even what
was counted, since only their messages matter: `is_unread` and `is_uncounted` say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum, StrEnum
from typing import Final

__all__ = [
    "Unread",
    "WorkKind",
    "WorkMeter",
    "count_work",
    "is_only_counted",
    "is_uncounted",
    "is_unread",
    "metered",
    "scaled_work",
]


class WorkKind(StrEnum):
    """Kinds of work, by their units."""

    STEP = "ends of messages: one is sent by a role, and received by another"
    MULTIPLICATION = "multiplications modulo a number; size: its bits"
    COMB_STEP = "steps of powers with a table; size: bits of the modulus"
    PRIME_TEST = "candidates tested for primality; size: their bits"
    MASK = "bytes of masks"
    NOISE = "values of noise drawn"
    LAW = "entries of a noise law's table"
    CANDIDATE = "candidates of an exponential mechanism"
    COUNTED = "values of records counted to tables"
    REPORT = "reports of users"
    TABLE = "operations on a table"
    CELL = "cells of tables and arrays"
    SAMPLED = "values of rows drawn"
    RAKED = "values of rows weighted"
    SORTED = "values of rows sorted"
    ARRAY = "operations on small arrays"


class Unread(IntEnum):
    """What nobody reads of a play on made-up records; each includes those before it."""

    NOTHING = 0
    TABLES = 1
    """What the curator publishes at the end, but for figures from which messages are predicted."""
    WORK = 2
    """What is counted of the roles' work: only messages matter."""


class WorkMeter:
    """Adds up the work of one role."""

    def __init__(self, *, only_counts: bool = False, unread: Unread = Unread.NOTHING) -> None:
        self.only_counts = only_counts
        """Whether the role plays on made-up records, so that what is counted need not be done."""
        self.unread = unread if only_counts else Unread.NOTHING
        """What nobody reads of the play."""
        self.factor = 1.0
        """The factor by which units are multiplied at present."""
        self.units: defaultdict[tuple[WorkKind, int], float] = defaultdict(float)
        """Units by kind and size; the size is 0 where a kind has none."""
        self.made: set[Hashable] = set()
        """Names of work that is done once, and has been counted."""


_METER: Final[ContextVar[WorkMeter | None]] = ContextVar("meter", default=None)


def count_work(
    kind: WorkKind, units: float, *, size: int = 0, once: Hashable | None = None
) -> None:
    """Count units of work for the role that plays in this thread, if it is metered.

    What is made once and kept is named by `once`. It counts for every role that needs it first,
    whether or not this process has it from another role.
    """
    meter = _METER.get()
    if meter is None or once in meter.made:
        return
    if once is not None:
        meter.made.add(once)
    meter.units[kind, size] += units * meter.factor


def is_only_counted() -> bool:
    """Tell whether the work of this thread is counted, and hides nothing from anybody."""
    meter = _METER.get()
    return meter is not None and meter.only_counts


def is_unread() -> bool:
    """Tell whether nobody reads the tables of this thread's role, and its work is only counted.

    >>> with metered(WorkMeter(only_counts=True, unread=Unread.TABLES)):
    ...     is_unread()
    True
    """
    meter = _METER.get()
    return meter is not None and meter.unread >= Unread.TABLES


def is_uncounted() -> bool:
    """Tell whether nobody reads what is counted in this thread, either: only messages matter.

    >>> with metered(WorkMeter(only_counts=True, unread=Unread.TABLES)):
    ...     is_uncounted()
    False
    """
    meter = _METER.get()
    return meter is not None and meter.unread >= Unread.WORK


@contextmanager
def scaled_work(factor: float) -> Iterator[None]:
    """Count work so many times, within this: what is done stands for so much more."""
    meter = _METER.get()
    if meter is None:
        yield
        return
    before, meter.factor = meter.factor, meter.factor * factor
    try:
        yield
    finally:
        meter.factor = before


@contextmanager
def metered(meter: WorkMeter) -> Iterator[None]:
    """Let a meter count the work of this thread, within this."""
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)
