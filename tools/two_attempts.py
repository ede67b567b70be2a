"""A dishonest curator and a dishonest party who try to have two attempts at one sum opened.

In a run of four parties that goes on without lost parties, party 3 dies after it has sent its
table. Party 4 helps the curator: both have copies of their logs from the moment in which all tables
of the first attempt have arrived. The curator asks again without party 3, and reads that sum. Then
it stops. When the run goes on, both have the copies in the place of their logs, and the curator
says that parties 1 and 2 are lost. Party 3 would then give its key of the first attempt, and open
its pieces of the keys of parties 1 and 2. With those of party 4 the first attempt can be read, too.

Over MPI a rank imports this module at its start (`sitecustomize`), and the curator's rank does what
`SOTTOVOCE_LIE` says. On threads a test calls `tell_lies`.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

__all__ = ["Lies", "put_back", "read_sums", "tell_lies"]

LIARS: Final = ("curator", "party-4")
LEFT_OUT: Final = (1, 2)
DEAD: Final = 3


class Lies:
    """What the curator has stolen, and how it ends its first part."""

    def __init__(self, loot: Path, *, end: Callable[[], None]) -> None:
        self.loot = loot
        self.end = end
        """Called by the curator when it has read a sum, or after it has dismissed the others."""

    def copy_logs(self) -> None:
        """Copy the logs of those who lie, as they are now."""
        from sottovoce.runs.state_folder import state_folder

        for place in (state_folder() / "durable").glob("*/*"):
            if place.name in LIARS:
                shutil.copytree(place, self.loot / place.name)

    def keep_sum(self, cells: Any) -> None:
        """Keep a sum that was read."""
        path = self.loot / f"sum-{time.monotonic_ns()}.npy"
        np.save(path, np.concatenate(cells))


def put_back(loot: Path, state: Path) -> None:
    """Put the copies in the place of the logs of those who lie."""
    (run,) = (state / "durable").iterdir()
    for name in LIARS:
        shutil.rmtree(run / name, ignore_errors=True)
        shutil.copytree(loot / name, run / name)


def read_sums(loot: Path) -> list[list[int]]:
    """List the sums that the curator has read, in all attempts of the run."""
    return [np.load(path).tolist() for path in sorted(loot.glob("sum-*.npy"))]


def tell_lies(patch: Callable[[Any, str, Any], None], lies: Lies, *, lie: str) -> None:
    """Make the curator of this process dishonest.

    Args:
        patch: sets an attribute.
        lies: what it steals.
        lie: `ask-again` in the first part, then `claim-conclusion` or `leave-out`.
    """
    from sottovoce.protocols.secure_sum.lasting_curator import LastingCurator

    collect, can_open = LastingCurator.collect, LastingCurator._can_open

    def keeping(curator: LastingCurator, *args: Any, **more: Any) -> Any:
        cells = collect(curator, *args, **more)
        lies.keep_sum(cells)
        if lie == "ask-again":
            lies.end()
        return cells

    def asking_again(curator: LastingCurator, batch: Any) -> bool:
        if (lies.loot / "curator").exists():
            return can_open(curator, batch)
        lies.copy_logs()
        while DEAD not in curator._desk.lost:
            curator._desk.take_in_arrived()
            time.sleep(0.02)
        return False

    patch(LastingCurator, "collect", keeping)
    if lie == "ask-again":
        patch(LastingCurator, "_can_open", asking_again)


def _lie_over_mpi(lie: str) -> None:
    """Make the curator's rank dishonest."""
    from sottovoce.launch import lifeline, rank_durable
    from sottovoce.launch.rank_events import RankResult
    from sottovoce.runs.durable import DurableRole

    loot = Path(os.environ["SOTTOVOCE_LOOT"])
    how = os.environ["SOTTOVOCE_END"]

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    lies = Lies(loot, end=stop if how == "after-sum" else lambda: None)
    tell_lies(setattr, lies, lie=lie)
    send, state_of = lifeline.Lifeline.send, rank_durable._state_of

    def stopping(self: lifeline.Lifeline, event: Any) -> None:
        if isinstance(event, RankResult):
            time.sleep(1)  # The others have been dismissed.
            stop()
        send(self, event)

    def lying(role: Any, **more: Any) -> Any:
        state = state_of(role, **more)
        if lie == "claim-conclusion":
            return msgspec.structs.replace(state, is_concluded=True)
        return msgspec.structs.replace(state, lost=[*LEFT_OUT])

    if lie == "ask-again":
        setattr(DurableRole, "conclude", lambda *_: None)  # noqa: B010
        setattr(lifeline.Lifeline, "send", stopping)  # noqa: B010
    else:
        setattr(rank_durable, "_state_of", lying)  # noqa: B010


if "SOTTOVOCE_LIE" in os.environ and os.environ.get("OMPI_COMM_WORLD_RANK") == "0":
    _lie_over_mpi(os.environ["SOTTOVOCE_LIE"])
