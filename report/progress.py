"""Progress on standard error, once something has taken a second.

On a terminal it is redrawn in place and vanishes at the end. Elsewhere there is none, unless it was
asked for; then it is a line every few seconds.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ..messages import CURATOR, role_name
from .formats import quantity
from .plain_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.live import Live
    from rich.status import Status
    from rich.table import Table

    from ..messages import Position

__all__ = ["DELAY", "Progress", "ProgressRow", "SweepProgress", "TaskProgress", "progress_rows"]


INTERVAL: Final = 2.0
"""Seconds between two lines where there is no terminal."""
DELAY: Final = 1.0
"""Seconds before anything is shown."""
MAX_ROLES: Final = 33
"""Roles that are shown one by one. Of more, parties at the same step are one line."""


class Progress:
    """Shows the position of every role in a run."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._live = _live_display() if shown else None
        self._start = time.monotonic()
        self._next = self._start + DELAY

    def show(self, positions: Mapping[int, Position]) -> None:
        """Draw the positions by rank."""
        if not self._shown or time.monotonic() < self._next:
            return
        if self._live is None:
            self._next = time.monotonic() + INTERVAL
            sys.stderr.write(plain_text(self._line(positions)))
            sys.stderr.flush()
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._table(positions))

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None and self._live.is_started:
            self._live.stop()

    def _line(self, positions: Mapping[int, Position]) -> str:
        roles = [f"{name}: {_place(position)}" for name, position in _lines(positions)]
        return f"{time.monotonic() - self._start:.0f} s  {'; '.join(roles) or 'starting'}\n"

    def _table(self, positions: Mapping[int, Position]) -> Table:
        from rich.table import Table

        title = f"{time.monotonic() - self._start:.0f} s{'' if positions else ', starting'}"
        table = Table(box=None, title=title, title_justify="left", show_header=bool(positions))
        for name in ("role", "phase", "step", "doing", "sent", "received", "left"):
            numeric = name in ("step", "sent", "received", "left")
            table.add_column(name, justify="right" if numeric else "left")
        for row in progress_rows(positions, elapsed=time.monotonic() - self._start):
            table.add_row(
                row.role,
                _cell(row.phase),
                str(row.step),
                _cell(row.doing),
                f"{row.sent_bytes:,}",
                f"{row.received_bytes:,}",
                row.left,
            )
        return table


class ProgressRow(NamedTuple):
    """What is shown of one role, or of several parties at the same step."""

    role: str
    phase: str
    step: int
    doing: str
    sent_bytes: int
    received_bytes: int
    left: str
    """An estimate of the time left; empty where there is none."""


def progress_rows(positions: Mapping[int, Position], *, elapsed: float) -> list[ProgressRow]:
    """List what is shown of every role after so many seconds."""
    return [
        ProgressRow(
            name,
            position.phase,
            position.step,
            position.doing,
            position.sent_bytes,
            position.received_bytes,
            _left(position, elapsed=elapsed),
        )
        for name, position in _lines(positions)
    ]


def _left(position: Position, *, elapsed: float) -> str:
    """Estimate the time left from the share of the work that a role has done."""
    if not position.of or not position.done:
        return ""
    left = elapsed * (position.of - position.done) / position.done
    return f"{left:.0f} s ({position.done / position.of:.0%})"


def _place(position: Position) -> str:
    """Write what a role does, after the phase and the step.

    A role that has ended does nothing. Step 0 is what it computes before its first message.
    """
    step = f"step {position.step}" if position.step else ""
    parts = [position.phase, step, (position.doing + _share(position)).strip()]
    return ", ".join(part for part in parts if part)


def _cell(text: str) -> str:
    """Write text of a protocol so that it is neither a code of the terminal nor markup."""
    from rich.markup import escape

    return escape(plain_text(text))


def _share(position: Position) -> str:
    """Write the share of the work of this step that a role has done, where it is known."""
    return f" {position.done / position.of:.0%}" if position.of and position.done else ""


def _lines(positions: Mapping[int, Position]) -> list[tuple[str, Position]]:
    """Name the roles with their positions; of many roles, parties at the same step are one."""
    listed = sorted(positions.items())
    if len(listed) <= MAX_ROLES:
        return [(role_name(rank), position) for rank, position in listed]
    groups: dict[tuple[int, str, int], list[Position]] = {}
    for rank, position in listed:
        groups.setdefault((min(rank, 1), position.phase, position.step), []).append(position)
    return [
        (role_name(CURATOR), group[0])
        if kind == CURATOR
        else (quantity(len(group), "party", "parties"), _summed(group))
        for (kind, _, _), group in groups.items()
    ]


def _summed(group: Sequence[Position]) -> Position:
    """Add up the bytes and the work of parties at the same step."""
    return group[0]._replace(
        doing=group[0].doing if len(group) == 1 else "",
        sent_bytes=sum(position.sent_bytes for position in group),
        received_bytes=sum(position.received_bytes for position in group),
        done=sum(position.done for position in group),
        of=sum(position.of for position in group),
    )


def _live_display() -> Live | None:
    """Prepare what is redrawn in place, if standard error is a terminal."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    return Live(console=console, refresh_per_second=4, transient=True)


class TaskProgress:
    """Shows how much of a task in this process is done, on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._start = time.monotonic()
        self._status: Status | None = None

    def show(self, what: str, done: int, of: int) -> None:
        """Show what is being done, and how much of it is done."""
        elapsed = time.monotonic() - self._start
        if self._console.is_terminal and elapsed >= DELAY:
            line = f"{elapsed:.0f} s  {what}, {done:,} of {of:,}"
            self._status = _updated(self._status, line, console=self._console)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._status is not None:
            self._status.stop()


class SweepProgress:
    """Shows how many runs of a sweep are done, and estimates the time left."""

    def __init__(self, *, shown: bool) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._shown = shown
        self._start = time.monotonic()
        self._before: int | None = None
        """Number of runs that were done before this sweep began."""
        self._status: Status | None = None

    def show(self, done: int, of: int, following: str) -> None:
        """Show the number of runs and the next one.

        The time left is estimated from the runs of this sweep, not from those of earlier ones.
        """
        if not self._shown:
            return
        if self._before is None:
            self._before = done
        elapsed, new = time.monotonic() - self._start, done - self._before
        left = f", about {_duration(elapsed * (of - done) / new)} left" if new else ""
        line = f"{done:,} of {of:,} runs, {_duration(elapsed)}{left}: {following}"
        if self._console.is_terminal:
            self._status = _updated(self._status, line, console=self._console)
        else:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def remark(self, line: str) -> None:
        """Write a line that stays, above the one that is redrawn."""
        self._console.print(plain_text(line), markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._status is not None:
            self._status.stop()


def _updated(status: Status | None, line: str, *, console: Console) -> Status:
    """Write a line that is redrawn in place; it is started the first time."""
    if status is None:
        status = console.status("")
        status.start()
    status.update(line)
    return status


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
