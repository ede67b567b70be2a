"""Ranks with places of their own on one machine, as on several hosts, and a launcher that is slow.

Ranks and launcher import this module at their start (`sitecustomize`). A launcher that is to be
slow makes the file `keeping` in the folder `SOTTOVOCE_SLOW`, before or after it keeps the record,
and goes on when the file `go` is there.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

__all__ = ["state_of"]


def state_of(state: Path, rank: int) -> Path:
    """Give the folder for state of a rank."""
    return state.with_name(f"{state.name}-{rank}")


def _be_slow(folder: Path, *, keeps_first: bool) -> None:
    from sottovoce.runs.unfinished import UnfinishedRun

    keep = UnfinishedRun.keep

    def keeping(run: UnfinishedRun, record: Any) -> None:
        if keeps_first:
            keep(run, record)
        (folder / "keeping").touch()
        while not (folder / "go").exists():
            time.sleep(0.02)
        keep(run, record)

    setattr(UnfinishedRun, "keep", keeping)  # noqa: B010


if "SOTTOVOCE_SLOW" in os.environ:
    _rank = os.environ.get("OMPI_COMM_WORLD_RANK")
    if _rank is not None:
        os.environ["SOTTOVOCE_STATE"] = str(
            state_of(Path(os.environ["SOTTOVOCE_STATE"]), int(_rank))
        )
    else:
        _be_slow(
            Path(os.environ["SOTTOVOCE_SLOW"]), keeps_first="SOTTOVOCE_KEEPS_FIRST" in os.environ
        )
