"""Cells: pieces of work that can be stopped and gone on with, each result written as soon as it is
there.

A cell is named (`key`) by all that its result follows from, so that what was done is found again
and not done twice. One that fails is written down with its reason, and the others go on. Sweeps and
reproductions are made of them.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol

from ..messages import SottovoceError, UsageError
from ..report.folder import BROKEN, check_folder, put
from ..runs.failure import INTERRUPTED, RunFailed
from ..runs.job import Job, Placement
from ..runs.record import RunRecord

__all__ = ["Cell", "Made", "Start", "Told", "alone_in", "done_by", "key_of", "make", "rows_of"]

ROOMS: Final = (
    "runs",
    "crypto",
    "curator",
    "evaluation",
    "messages",
    "parties",
    "privacy",
    "protocols",
)
NOT_OF_RESULTS: Final = ("evaluation/claims.py", "evaluation/points.py", "evaluation/series.py")

Start = Callable[[Job, Placement], RunRecord]
"""Starts a run and returns its record."""

Told = Callable[[int, int, str], None]
"""Hears how many cells are done, of how many, and what is next."""


class Cell(Protocol):
    """A piece of work."""

    @property
    def key(self) -> str: ...

    @property
    def shown(self) -> str:
        """Say which it is, in a few words."""

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked, by column of the results."""

    def make(self, *, out: Path) -> dict[str, Any]:
        """Do it; the result goes into a JSON file."""

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Read off a result the columns of its lines; mostly one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How far it came."""

    rows: list[dict[str, Any]]
    """What was asked before what came out, and how it went: `status` and `error`."""
    cells: int
    before: int
    """Cells that were there already."""
    failed: Mapping[str, str]
    """Reasons, by what was tried."""

    @property
    def complaint(self) -> str:
        """Say how many failed, and the first reason."""
        first, reason = next(iter(self.failed.items()))
        return f"{len(self.failed)} of {self.cells} runs failed, the first ({first.split(' ')[0]}): {reason}"


def key_of(told: object, *, files: Iterable[str], sources: Iterable[str] = ()) -> str:
    """Name what a result follows from: what was asked, the files of data by size and time, and what
    computes.

    That is sottovoce's own rooms, and the `sources` of somebody else's protocols, byte by byte.
    """
    stats = {own: Path(own).stat() for own in files if Path(own).is_file()}
    seen = [(name, own.st_size, own.st_mtime_ns) for name, own in stats.items()]
    others = [hashlib.sha256(Path(own).read_bytes()).hexdigest() for own in sources]
    return hashlib.sha256(
        json.dumps([told, seen, others, _ours()], sort_keys=True).encode()
    ).hexdigest()[:16]


@functools.cache
def _ours() -> str:
    """Sum up the rooms that results come from; how they are judged by claims and shown is found out
    anew each time.
    """
    root = Path(__file__).parent.parent
    found = hashlib.sha256(version("sottovoce").encode())
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if path.relative_to(root).as_posix() not in NOT_OF_RESULTS:
                found.update(path.read_bytes())
    return found.hexdigest()


def done_by(cell: Cell, *, folder: Path) -> dict[str, Any] | None:
    """Read a cell's result; one that is broken, as after the loss of power, is none."""
    try:
        result = json.loads((folder / f"{cell.key}.json").read_text())
        list(cell.figures(result))
    except (OSError, *BROKEN):
        return None
    return dict(result)


@contextmanager
def alone_in(out: Path) -> Iterator[Path]:
    """Hold a folder, of which one sweep at a time may be at work in; gives the folder of its
    cells.
    """
    check_folder(out)
    folder = out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"expected one sweep at a time in {out}, found another at work"
            ) from None
        yield folder


def make(cells: Sequence[Cell], *, out: Path, told: Told, finish: Callable[[Made], None]) -> Made:
    """Make what has not been made; `finish` writes what there is, also when all is interrupted."""
    with alone_in(out) as folder:
        found = {cell.key for cell in cells if done_by(cell, folder=folder) is not None}
        failed: dict[str, str] = {}
        done = len(found)

        def made() -> Made:
            reasons: dict[str, str] = {}
            for cell in cells:
                if cell.key in failed:
                    reasons[
                        cell.shown if cell.shown not in reasons else f"{cell.shown} ({cell.key})"
                    ] = failed[cell.key]
            rows = rows_of(cells, folder=folder, failed=failed)
            return Made(rows=rows, cells=len(cells), before=len(found), failed=reasons)

        try:
            for cell in cells:
                if cell.key in found:
                    continue
                told(done, len(cells), cell.shown)
                try:
                    put(
                        {f"{cell.key}.json": (json.dumps(cell.make(out=out)) + "\n").encode()},
                        folder=folder,
                    )
                except SottovoceError as error:
                    if (
                        getattr(error, "status", 0) == INTERRUPTED
                    ):  # while roles were at work, who have been ended
                        raise KeyboardInterrupt from None
                    failed[cell.key] = " ".join(str(error).split())
                except Exception as error:  # noqa: BLE001 - of somebody's own protocol: the others go on
                    failed[cell.key] = f"{type(error).__name__}: {' '.join(str(error).split())}"
                done += 1
        except KeyboardInterrupt:
            raise RunFailed(
                f"interrupted: {done - len(failed)} of {len(cells)} results are in {out}; the same command goes on",
                status=INTERRUPTED,
            ) from None
        finally:
            whole = made()
            finish(whole)
        return whole


def rows_of(
    cells: Sequence[Cell], *, folder: Path, failed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Put what there is into lines."""
    rows: list[dict[str, Any]] = []
    for cell in cells:
        if (result := done_by(cell, folder=folder)) is not None:
            rows.extend({**cell.asked, "status": "done", **line} for line in cell.figures(result))
        elif cell.key in failed:
            rows.append({**cell.asked, "status": "failed", "error": failed[cell.key]})
        else:
            rows.append({**cell.asked, "status": "not run"})
    return rows
