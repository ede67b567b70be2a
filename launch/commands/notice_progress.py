"""A line that a person reads only if the run takes a while: progress that brings it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ...messages import Position
from ...report.progress import DELAY, Progress

__all__ = ["NoticeProgress"]


class NoticeProgress(Progress):
    """Shows another progress, and says something once roles have been at work for a second.

    So neither bad input nor a run that is over at once has more lines than it needs.
    """

    def __init__(self, progress: Progress, *, tell: Callable[[], None]) -> None:
        """Make it around `progress`; `tell` is called once."""
        super().__init__(shown=False)
        self._progress = progress
        self._tell = tell
        self._begun: float | None = None
        self._is_over = False

    def show(self, positions: Mapping[int, Position]) -> None:
        """Draw the positions by rank."""
        if self._begun is None and any(position.phase for position in positions.values()):
            self._begun = time.monotonic()
        if self._begun is not None and not self._is_over:
            self._is_over = time.monotonic() >= self._begun + DELAY
            if self._is_over:
                self._tell()
        self._progress.show(positions)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.close()
