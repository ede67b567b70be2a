"""Where a role is: for the display, and for errors."""

from __future__ import annotations

from typing import NamedTuple

from .errors import role_name

__all__ = ["Position", "Verb"]


class Position(NamedTuple):
    """Place and progress of a role, for the display, and for the error when the role is lost."""

    phase: str
    step: int
    doing: str
    sent_bytes: int
    received_bytes: int
    done: float
    of: float


class Verb(NamedTuple):
    """The verb that a role is in: its name, the kind of message, and the other role's rank."""

    name: str
    kind: str
    peer: int

    def __str__(self) -> str:
        preposition = "from" if self.name == "waits for" else "to"
        return f"{self.name} {self.kind} {preposition} {role_name(self.peer)}"
