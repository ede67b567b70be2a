"""The error that ends a run when some rank failed, and what of its text may leave that rank."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..messages import ArgumentError, ConversationError, MessageError, SottovoceError, Where
from ..messages.errors import DeadlockError, LedgerError, PeerFinishedError, TimeoutExpired
from .authors_call import call_of, class_name, line_of

__all__ = [
    "Cause",
    "FailureText",
    "RunFailed",
    "cause_of",
    "describe",
    "is_raised_here",
    "public_kind",
]

Cause: TypeAlias = Literal["loss", "time-out", "mistake"]
"""Why a run failed: a role was lost or ended from outside, nothing came in time, or a role's code
raised an error, which comes again unless something is mended.
"""

PACKAGE: Final = __name__.partition(".")[0]


class RunFailed(SottovoceError):
    """The run failed at some role, by its own code or by being lost; the line says where.

    `status` is the exit status of `sottovoce run`, and `traceback` the role's, where it may be
    shown. With `may_pass` the run may start later. `cause` says what may help.
    """

    def __init__(
        self,
        line: str,
        *,
        status: int,
        public: str | None = None,
        traceback: str = "",
        before_start: bool = False,
        may_pass: bool = False,
        cause: Cause = "loss",
    ) -> None:
        """Make the error; `public` is the line without what may hold data, if that is another."""
        super().__init__(line)
        self.status = status
        self.traceback = traceback
        self.before_start = before_start
        self.may_pass = may_pass
        self.cause = cause
        self._public = public

    @property
    def public(self) -> str:
        return super().public if self._public is None else self._public


def cause_of(error: BaseException) -> Cause:
    """Tell why a run fails with an error."""
    if isinstance(error, RunFailed):
        return error.cause
    if isinstance(error, TimeoutExpired):
        return "time-out"
    mistakes = (ArgumentError, MessageError, DeadlockError, PeerFinishedError, LedgerError)
    is_outside = isinstance(error, KeyboardInterrupt | SottovoceError)
    return "mistake" if isinstance(error, mistakes) or not is_outside else "loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureText:
    """An error in words: the whole text, and what others may read of it."""

    line: str
    """One line with the error's place and its whole text, which may hold data."""
    public: str
    """The line as others may read it: type and place, and of our own errors the public parts."""
    traceback: str
    """The traceback, for those who may read the whole text; empty where the line is enough."""
    is_of_disk: bool = False
    """Whether a result could not be stored, so that no other can."""

    @property
    def is_public(self) -> bool:
        """Whether the public line leaves nothing out."""
        return self.line == self.public and not self.traceback


def describe(error: BaseException, *, where: Where | None) -> FailureText:
    """Describe an error at its place.

    Only the texts of our own errors are public, without their private parts. Whoever else raised
    an error, such as a plug-in, may have written data into it.
    """
    place = "" if where is None else f"{where}: "
    kind = type(error).__name__
    if isinstance(error, SottovoceError):
        is_placed = isinstance(error, ConversationError) and error.where is not None
        line = line_of(error) if isinstance(error, ArgumentError) else ""
        after = f" ({line})" if line else ""
        return FailureText(
            line=f"{error}{after}" if is_placed else f"{place}{error}{after}",
            public=f"{_public(error, is_placed=is_placed, place=place)}{after}",
            traceback=_trace(error) if isinstance(error, ArgumentError) else "",
        )
    if isinstance(error, KeyboardInterrupt):
        line = f"{place}it was interrupted (Ctrl-C or SIGINT)"
        return FailureText(line=line, public=line, traceback="")
    text, public = f"{kind}: {error}".rstrip(": "), public_kind(error)
    call = call_of(error)
    if call is not None and call.wrong:
        # The line says all that the traceback does.
        text, public = (
            f"{place}expected {call.takes} in {call.place}, found {wrong}"
            for wrong in (call.wrong, call.public)
        )
        return FailureText(line=text, public=public, traceback="")
    if call is not None:
        within = f", in {call.place}, which calls {call.takes}"
        text, public = f"{text}{within}", f"{public}{within}"
    if isinstance(error, SystemExit):
        text, public = f"it left early by SystemExit({error.code})", "it left early by SystemExit"
    return FailureText(line=f"{place}{text}", public=f"{place}{public}", traceback=_trace(error))


def public_kind(error: BaseException) -> str:
    """Name an error's class, or the nearest base class that its module has under its name.

    A class that was made while a part ran may have data in its name.
    """
    return class_name(type(error))


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _public(error: SottovoceError, *, is_placed: bool, place: str) -> str:
    if not is_raised_here(error):
        return f"{place}{public_kind(error)}"
    return error.public if is_placed else f"{place}{error.public}"


def is_raised_here(error: BaseException) -> bool:
    """Tell whether code of this package raised the error."""
    position = error.__traceback__
    while position is not None and position.tb_next is not None:
        position = position.tb_next
    if position is None:
        return False
    module = str(position.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == PACKAGE
