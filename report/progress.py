"""Progress: what every role is doing, once a run has taken a second.

On a terminal it is redrawn in place and vanishes at the end; elsewhere it is nothing, or, when
asked for, a line every few seconds.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ..messages import role_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.status import Status

    from ..messages import Position

__all__ = ["Progress", "Runs", "Work"]


EVERY: Final = 2.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Shows positions by rank; silent unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        console = Console(stderr=True)
        self._live = (
            Live(console=console, refresh_per_second=4, transient=True)
            if shown and console.is_terminal
            else None
        )
        self._begun = time.monotonic()
        self._next = self._begun + 1

    def show(self, positions: Mapping[int, Position]) -> None:
        """Draw anew. Called often; does nothing in the first second."""
        if not self._shown or time.monotonic() < self._next:
            return
        if self._live is None:
            self._next = time.monotonic() + EVERY
            sys.stderr.write(self._line(positions))
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
        roles = [
            f"{role_name(rank)}: {at.phase} {at.step} {at.doing}".rstrip()
            for rank, at in sorted(positions.items())
        ]
        return f"{time.monotonic() - self._begun:.0f} s  {'; '.join(roles) or 'starting'}\n"

    def _table(self, positions: Mapping[int, Position]) -> Table:
        title = f"{time.monotonic() - self._begun:.0f} s{'' if positions else ', starting'}"
        table = Table(box=None, title=title, title_justify="left", show_header=bool(positions))
        for name in ("role", "phase", "step", "doing", "sent", "received", "left"):
            table.add_column(
                name, justify="right" if name in ("step", "sent", "received", "left") else "left"
            )
        for rank, at in sorted(positions.items()):
            table.add_row(
                role_name(rank),
                at.phase,
                str(at.step),
                at.doing,
                f"{at.sent_bytes:,}",
                f"{at.received_bytes:,}",
                self._left(at),
            )
        return table

    def _left(self, at: Position) -> str:
        """Guess the time left from how far a role says it is."""
        if not at.of or not at.done:
            return ""
        elapsed = time.monotonic() - self._begun
        return f"{elapsed * (at.of - at.done) / at.done:.0f} s ({at.done / at.of:.0%})"


class Work:
    """Shows how far a piece of work in this process is, on a terminal, once it has taken a
    second.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._begun = time.monotonic()
        self._status: Status | None = None

    def show(self, what: str, done: int, of: int) -> None:
        """Say what is being done, and how much of it is done."""
        if not self._console.is_terminal or time.monotonic() < self._begun + 1:
            return
        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        self._status.update(f"{time.monotonic() - self._begun:.0f} s  {what}, {done:,} of {of:,}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._status is not None:
            self._status.stop()


class Runs:
    """Shows how far a sweep is, and how long it may still take; silent unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._console = Console(stderr=True)
        self._shown = shown
        self._begun = time.monotonic()
        self._first = -1
        self._status: Status | None = None

    def show(self, done: int, of: int, following: str) -> None:
        """Say what comes next; the time left is guessed from the runs that were made now, not from
        those found.
        """
        if not self._shown:
            return
        if self._first < 0:
            self._first = done
        elapsed, made = time.monotonic() - self._begun, done - self._first
        left = f", about {_long(elapsed * (of - done) / made)} left" if made else ""
        line = f"{done:,} of {of:,} runs, {_long(elapsed)}{left}: {following}"
        if not self._console.is_terminal:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
            return
        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        self._status.update(line)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._status is not None:
            self._status.stop()


def _long(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
