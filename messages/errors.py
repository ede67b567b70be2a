"""One family of errors; the type says who is to blame.

Every text says what was expected, what was found, where, and what to do about it. It is in lower
case, without a full stop. `Where` is the place in the protocol, which the command line prints
exactly once.

A text is made of parts. What was found in data, or in a message that not everybody may read, is a
`Private` part. An error that leaves its process travels with its public parts alone:

>>> error = UsageError("expected a category of sex (f, m), found ", Private("'x' in row 7"))
>>> str(error)
"expected a category of sex (f, m), found 'x' in row 7"
>>> error.public
'expected a category of sex (f, m), found (not shown)'

    SottovoceError
    ├── UsageError          the user asked for something impossible               exit status 2
    ├── ArgumentError       a function was called with a value that it does not take
    └── ConversationError   the protocol run failed                               exit status 3
        ├── MisuseError         the protocol's own code broke a rule of the layer
        ├── MessageError        bytes arrived that are not the expected message
        ├── WaitError           a wait ended without its message
        │   ├── TimeoutExpired      ... because the time was up
        │   ├── DeadlockError       ... because roles wait for each other
        │   ├── PeerFinishedError   ... because the other role had ended its part
    │   └── PeerLostError       ... because the other role's process is lost
        ├── PeerFailedError     another role failed; the reason is with that role
        ├── LedgerError         messages sent and messages received differ
        └── BudgetError         a release would exceed the privacy budget
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

__all__ = [
    "Private",
    "SottovoceError",
    "UsageError",
    "ArgumentError",
    "ConversationError",
    "MisuseError",
    "MessageError",
    "WaitError",
    "TimeoutExpired",
    "DeadlockError",
    "PeerFinishedError",
    "PeerLostError",
    "PeerFailedError",
    "LedgerError",
    "BudgetError",
    "Where",
    "role_name",
]


def role_name(rank: int) -> str:
    """Name a role for people: rank 0 is the curator, rank i is party i.

    >>> role_name(0), role_name(2)
    ('the curator', 'party 2')
    """
    return "the curator" if rank == 0 else f"party {rank}"


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a protocol run: a role, a phase, and the role's step within the phase.

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


class Private(str):
    """A part of an error's text that may hold data, and stays in the process where it arose."""

    __slots__ = ()


NOT_SHOWN: Final = "(not shown)"
"""What stands for a private part where others read the text."""


class SottovoceError(Exception):
    """An error that sottovoce reports to the user in one line.

    Its text is made of parts, each public or `Private`.
    """

    exit_status: ClassVar[int] = 3

    def __init__(self, *parts: str) -> None:
        super().__init__("".join(parts))
        self.parts = parts
        self.before_start = False
        """Whether no role had begun, so that nothing was released. `False` is always safe."""

    @property
    def public(self) -> str:
        """The text without what may hold data."""
        text = "".join(
            NOT_SHOWN if part and isinstance(part, Private) else part for part in self.parts
        )
        apart = re.sub(rf"(?<=\w){re.escape(NOT_SHOWN)}", f" {NOT_SHOWN}", text)
        return apart.replace(f"({NOT_SHOWN})", NOT_SHOWN)


class UsageError(SottovoceError):
    """The user asked for something impossible, or gave bad input."""

    exit_status: ClassVar[int] = 2


class ArgumentError(SottovoceError, ValueError):
    """A function was called with a value that it does not take, such as a negative epsilon.

    The caller is a protocol or a script, so that the traceback is of use to its author.
    """


class ConversationError(SottovoceError):
    """The protocol run failed; `where` says at which rank, phase and step."""

    def __init__(self, *parts: str, where: Where | None = None) -> None:
        super().__init__(*parts)
        self.where = where
        self.line = ""
        """The line of an author's code that broke the rule, where there is one."""

    def __str__(self) -> str:
        return self._placed("".join(self.parts))

    @property
    def public(self) -> str:
        return self._placed(super().public)

    def _placed(self, text: str) -> str:
        text = f"{text} ({self.line})" if self.line else text
        return text if self.where is None else f"{self.where}: {text}"


class MisuseError(ConversationError):
    """The protocol's own code broke a rule of the message layer."""


class MessageError(ConversationError):
    """Bytes arrived that are not the expected message."""


class WaitError(ConversationError):
    """A wait ended without its message."""


class TimeoutExpired(WaitError):
    """Nothing came within the time allowed."""


class DeadlockError(WaitError):
    """The roles wait for each other in a circle."""


class PeerFinishedError(WaitError):
    """The other role ended its part without sending the awaited message."""


class PeerLostError(WaitError):
    """The other role was lost, and this message cannot be done without."""


class PeerFailedError(ConversationError):
    """Another role failed, and this one stops with it."""


class LedgerError(ConversationError):
    """Messages that were sent and messages that were received differ."""


class BudgetError(ConversationError):
    """A release would exceed the privacy budget; nothing was released."""
