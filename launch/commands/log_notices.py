"""Lines about logs when a run begins: where they are, and which are old."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ...runs.left_runs import old_runs
from ...runs.role_places import run_place
from ...runs.unfinished import UnfinishedRun
from .finishing import Display

__all__ = ["notice_of_logs", "tell_of_old_runs"]

OLD: Final = timedelta(days=7)
"""Age from which on a run that has stopped is named: most people would have gone on by then."""


def notice_of_logs(run: UnfinishedRun, *, way_on: str, is_default: bool) -> str:
    """Say where this host's logs are, and how to go on if the run stops."""
    default = " (--no-durable keeps none)" if is_default else ""
    return (
        f"each role keeps a log on its host until the run has succeeded{default}; here in "
        f"{run_place(run.run)}; if the run stops, {way_on}"
    )


def tell_of_old_runs(display: Display) -> None:
    """Say that runs which stopped long ago have left logs here."""
    old = old_runs(before=datetime.now(UTC) - OLD)
    if old:
        runs = "a run" if len(old) == 1 else f"{len(old)} runs"
        display.tell(
            f"logs of {runs} that began more than {OLD.days} days ago and did not finish are in "
            f"{run_place(old[0].run).parent}; they are as secret as the data; `sottovoce resume` "
            "lists them, and with RUN --forget removes one"
        )
