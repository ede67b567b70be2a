"""One family of errors, with the blame in the type.

Every message says what was expected, what was found and where, in lower case and without a full
stop, and never holds a secret value. `Where` is the place in the conversation that the command line
prints exactly once.

    SottovoceError
    ├── UsageError          the person asked for something that cannot be         exit status 2
    └── ConversationError   the conversation failed                               exit status 3
        ├── MisuseError         the protocol's own code broke a rule of the layer
        ├── MessageError        bytes arrived that are not the message expected
        ├── WaitError           a wait ended without its message
        │   ├── TimeoutExpired      ... because the time was up
        │   ├── DeadlockError       ... because the roles wait for each other
        │   └── PeerFinishedError   ... because the other had already ended
        ├── PeerFailedError     another role failed; the reason is with that role
        ├── LedgerError         what was sent is not what was received
        └── BudgetError         a release would spend more than there is
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "SottovoceError",
    "UsageError",
    "ConversationError",
    "MisuseError",
    "MessageError",
    "WaitError",
    "TimeoutExpired",
    "DeadlockError",
    "PeerFinishedError",
    "PeerFailedError",
    "LedgerError",
    "BudgetError",
    "Where",
    "role_name",
]


def role_name(rank: int) -> str:
    """Name a role as people do: rank 0 is the curator, rank i is party i.

    >>> role_name(0), role_name(2)
    ('the curator', 'party 2')
    """
    return "the curator" if rank == 0 else f"party {rank}"


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a conversation: who, in which phase, at which of its steps there.

    >>> str(Where(rank=2, protocol="head-count", phase="count", step=1))
    'rank 2 (party 2) in head-count, phase count, step 1'
    """

    rank: int
    protocol: str
    phase: str
    step: int

    def __str__(self) -> str:
        role = role_name(self.rank).removeprefix("the ")
        place = f"rank {self.rank} ({role}) in {self.protocol}"
        return (
            f"{place}, phase {self.phase}, step {self.step}"
            if self.phase
            else f"{place}, before its first phase"
        )


class SottovoceError(Exception):
    """Something that sottovoce has to say to the person, in one line."""

    exit_status: ClassVar[int] = 3


class UsageError(SottovoceError):
    """The person asked for something that cannot be, or gave bad input."""

    exit_status: ClassVar[int] = 2


class ConversationError(SottovoceError):
    """The conversation failed; `where` says at which rank, phase and step."""

    def __init__(self, what: str, *, where: Where | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where

    def __str__(self) -> str:
        return self.what if self.where is None else f"{self.where}: {self.what}"


class MisuseError(ConversationError):
    """The protocol's own code broke a rule of the message layer."""


class MessageError(ConversationError):
    """Bytes arrived that are not the message expected."""


class WaitError(ConversationError):
    """A wait ended without what it waited for."""


class TimeoutExpired(WaitError):
    """Nothing came within the time allowed."""


class DeadlockError(WaitError):
    """The roles wait for each other in a circle."""


class PeerFinishedError(WaitError):
    """The other role ended its part without sending what is awaited."""


class PeerFailedError(ConversationError):
    """Another role failed, and this one stops with it."""


class LedgerError(ConversationError):
    """What one role sent is not what the other received."""


class BudgetError(ConversationError):
    """A release would spend more privacy than there is; nothing was released."""
