"""What the launcher hears of its ranks: the events of a lifeline."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..messages import Position
from ..runs.failure import Cause
from ..runs.record import RunRecord

__all__ = [
    "Beat",
    "Event",
    "Failure",
    "LogOpened",
    "Loss",
    "Move",
    "PartEnded",
    "RankEvent",
    "RankResult",
    "RoleBegins",
    "Start",
]


class Start(msgspec.Struct, frozen=True, tag=True):
    """A rank has started."""

    rank: int
    pid: int
    host: str
    token: str


class Move(msgspec.Struct, frozen=True, tag=True):
    """The position that a rank has reached."""

    rank: int
    position: Position


class Beat(msgspec.Struct, frozen=True, tag=True):
    """A sign of life of a rank that stays where it is."""

    rank: int


class Failure(msgspec.Struct, frozen=True, tag=True):
    """A rank failed. The traceback is empty where the line is enough."""

    rank: int
    status: int
    line: str
    """The line for the user."""
    traceback: str = ""
    before_start: bool = False
    """Whether it failed in the set-up, which all ranks end before any role begins."""
    cause: Cause = "loss"
    """Why it failed; a time-out is a wait for another rank."""
    may_pass: bool = False
    """Whether it may start later: a role of the attempt before has not ended yet."""
    is_loss: bool = False
    """Whether a rank was lost or is silent. The launcher's side makes such an event."""


class RoleBegins(msgspec.Struct, frozen=True, tag=True):
    """A rank is set up, as all are, and its role begins: it may send something from now on."""

    rank: int


class LogOpened(msgspec.Struct, frozen=True, tag=True):
    """A rank of a durable run has its log, and is set up."""

    rank: int
    records: int
    """Number of records in the log."""


class PartEnded(msgspec.Struct, frozen=True, tag=True):
    """A party has handed over all that the run needs of it."""

    rank: int


class RankResult(msgspec.Struct, frozen=True, tag=True):
    """A rank has finished; the curator's event brings the record of the run."""

    rank: int
    record: RunRecord | None = None
    awaits_keeping: bool = False
    """Whether it waits until the result is kept: the curator, and all where losses are noted."""


class Loss(msgspec.Struct, frozen=True, tag=True):
    """A rank's connection is closed. The launcher's side makes this event."""

    rank: int


RankEvent: TypeAlias = (
    Start | Move | Beat | Failure | RoleBegins | LogOpened | PartEnded | RankResult
)
"""What a rank sends."""
Event: TypeAlias = RankEvent | Loss
