"""Progress: what every role is doing, redrawn in place on a terminal once a run has taken a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ..messages import role_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..messages import Position

__all__ = ["Progress"]


class Progress:
    """Shows positions by rank; silent unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True) if shown else None
        self._begun = time.monotonic()
        self._live_on = False

    def show(self, positions: Mapping[int, Position]) -> None:
        """Draw anew. Called often; does nothing in the first second."""
        if self._live is None or time.monotonic() - self._begun < 1:
            return
        if not self._live_on:
            self._live.start()
            self._live_on = True
        self._live.update(self._table(positions))

    def close(self) -> None:
        if self._live is not None and self._live_on:
            self._live.stop()

    def _table(self, positions: Mapping[int, Position]) -> Table:
        table = Table(box=None, title=f"{time.monotonic() - self._begun:.0f} s", title_justify="left")
        for name in ("role", "phase", "step", "doing", "sent", "received", "left"):
            table.add_column(name, justify="right" if name in ("step", "sent", "received", "left") else "left")
        for rank, at in sorted(positions.items()):
            table.add_row(
                role_name(rank), at.phase, str(at.step), at.doing, f"{at.sent_bytes:,}", f"{at.received_bytes:,}",
                self._left(at),
            )  # fmt: skip
        return table

    def _left(self, at: Position) -> str:
        """Guess the time left from how far a role says it is."""
        if not at.of or not at.done:
            return ""
        elapsed = time.monotonic() - self._begun
        return f"{elapsed * (at.of - at.done) / at.done:.0f} s ({at.done / at.of:.0%})"
