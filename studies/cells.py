"""The cells of a study are computed. Each result is written as soon as it is there.

A finished cell is found again by its key, and not repeated. A failed cell is written down with its
reason, and the others go on. Sweeps and reproductions are made of cells.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from ..messages import UsageError
from ..report.folder import check_folder, put
from ..runs.failure import FailureText, RunFailed, describe
from ..runs.interruption import INTERRUPTED
from ..runs.job import Job
from ..runs.placement import Placement
from ..runs.record import RunRecord
from .cell import Cell, Row, stored_result
from .side_by_side import compute_side_by_side

__all__ = ["ReportProgress", "Start", "StudyResult", "locked_folder", "result_rows", "run_cells"]

CELLS: Final = "cells"
"""Folder of the results within that of a study."""
SECONDS_BETWEEN: Final = 1.0
"""Seconds at least between two writings of the results so far."""
SHARE_OF_WRITING: Final = 20.0
"""Times as long as it took to write them, the next ones wait."""

Start: TypeAlias = Callable[[Job, Placement], RunRecord]
"""Starts a run and returns its record."""
ReportProgress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished cells, the number of all cells, and the next cell's label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """The results of a study, also of one that was interrupted."""

    rows: list[Row]
    """Settings before figures, then `status` and `error`."""
    cells: int
    """Number of cells."""
    reused: int
    """Number of cells whose results existed before."""
    failures: Mapping[str, FailureText]
    """Reasons of failed cells, by label."""

    @property
    def complaint(self) -> str:
        """Say how many cells failed, and why the first did."""
        label, reason = next(iter(self.failures.items()))
        first = label.split(" ")[0]
        return (
            f"{len(self.failures)} of {self.cells} runs failed, the first ({first}): {reason.line}"
        )


@contextmanager
def locked_folder(out: Path) -> Iterator[Path]:
    """Lock a study's folder, in which one process at a time may work; give the cells' folder."""
    check_folder(out)
    folder = out / CELLS
    folder.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"expected one sweep at a time in {out}, found another at work"
            ) from None
        yield folder


def run_cells(
    cells: Sequence[Cell],
    *,
    out: Path,
    progress: ReportProgress,
    finish: Callable[[StudyResult], None],
    grow: Callable[[list[Row]], None] | None = None,
    jobs: int = 1,
) -> StudyResult:
    """Compute the cells that have no result yet.

    `finish` is called at the end, also after an interruption, and writes the results that exist.
    `grow` gets the rows meanwhile, from time to time. Several `jobs` are processes side by side.
    """
    with locked_folder(out) as folder:
        stored = {cell.key for cell in cells if stored_result(cell, folder=folder) is not None}
        failures: dict[str, FailureText] = {}
        finished = len(stored)
        full_disk: UsageError | None = None
        growth = None if grow is None else GrowingRows(cells, folder=folder, write=grow)
        computed = _compute_all(
            [cell for cell in cells if cell.key not in stored],
            out=out,
            jobs=jobs,
            started=lambda cell: progress(finished, len(cells), cell.label),
        )
        try:
            with closing(computed):
                for cell, reason in computed:
                    if reason is not None and reason.is_of_disk:
                        full_disk = UsageError(f"{reason.line}; make room, and repeat the command")
                        break
                    if reason is not None:
                        failures[cell.key] = reason
                    finished += 1
                    if growth is not None:
                        growth.add(cell, failures)
        except KeyboardInterrupt:
            raise RunFailed(
                f"interrupted: {finished - len(failures)} of {len(cells)} results are in {out}; "
                "the same command goes on",
                status=INTERRUPTED,
            ) from None
        finally:
            result = StudyResult(
                rows=result_rows(cells, folder=folder, failures=failures),
                cells=len(cells),
                reused=len(stored),
                failures=_by_label(cells, failures),
            )
            # Where the disk is full the rows may not fit either; they can be written again.
            with nullcontext() if full_disk is None else suppress(UsageError):
                finish(result)
        if full_disk is not None:
            raise full_disk
        return result


def _compute_all(
    cells: Sequence[Cell], *, out: Path, jobs: int, started: Callable[[Cell], None]
) -> Generator[tuple[Cell, FailureText | None]]:
    """Compute cells one after another, or side by side in processes."""
    if jobs > 1 and len(cells) > 1:
        yield from compute_side_by_side(cells, compute_cell, out=out, jobs=jobs, started=started)
        return
    for cell in cells:
        started(cell)
        yield cell, compute_cell(cell, out)


def compute_cell(cell: Cell, out: Path) -> FailureText | None:
    """Compute a cell and store its result; return the reason if it failed."""
    result = b""
    try:
        result = f"{json.dumps(cell.compute(out=out))}\n".encode()
        put({f"{cell.key}.json": result}, folder=out / CELLS)
    except Exception as error:  # noqa: BLE001 - a plug-in's error must not end the other cells
        if getattr(error, "status", 0) == INTERRUPTED:  # the run's roles have been ended
            raise KeyboardInterrupt from None
        text = describe(error, where=None)
        line, public = " ".join(text.line.split()), " ".join(text.public.split())
        if result:
            line += _kept_elsewhere(result, name=f"{cell.key}.json", folder=out / CELLS)
        return replace(text, line=line, public=public, is_of_disk=bool(result))
    return None


def _kept_elsewhere(result: bytes, *, name: str, folder: Path) -> str:
    """Write a result that was paid for where there is room, and say where it is."""
    try:
        path = Path(tempfile.mkdtemp(prefix="sottovoce-")) / name
        path.write_bytes(result)
    except OSError:
        return ""
    return f"; this result is in {path} instead: move it into {folder}"


class GrowingRows:
    """The rows of a study at work, written from time to time."""

    def __init__(
        self, cells: Sequence[Cell], *, folder: Path, write: Callable[[list[Row]], None]
    ) -> None:
        """Read the results that exist."""
        self._folder = folder
        self._write = write
        self._rows = {cell.key: result_rows([cell], folder=folder, failures={}) for cell in cells}
        self._next = 0.0
        """The time before which nothing is written again."""

    def add(self, cell: Cell, failures: Mapping[str, FailureText]) -> None:
        """Take the rows of a cell, and write all if the last time is long ago."""
        self._rows[cell.key] = result_rows([cell], folder=self._folder, failures=failures)
        began = time.monotonic()
        if began >= self._next:
            self._write([row for rows in self._rows.values() for row in rows])
            now = time.monotonic()
            self._next = now + max(SECONDS_BETWEEN, SHARE_OF_WRITING * (now - began))


def _by_label(cells: Sequence[Cell], failures: Mapping[str, FailureText]) -> dict[str, FailureText]:
    """Put reasons by label; a label that occurs twice gets the cell's key."""
    reasons: dict[str, FailureText] = {}
    for cell in cells:
        if cell.key in failures:
            label = cell.label if cell.label not in reasons else f"{cell.label} ({cell.key})"
            reasons[label] = failures[cell.key]
    return reasons


def result_rows(
    cells: Sequence[Cell], *, folder: Path, failures: Mapping[str, FailureText]
) -> list[Row]:
    """Put the results into rows. The reason of a failure is given without what may hold data."""
    rows: list[Row] = []
    for cell in cells:
        if (result := stored_result(cell, folder=folder)) is not None:
            done = {**cell.columns, "status": "done"}
            rows.extend({**done, **figures} for figures in cell.figures(result))
        elif cell.key in failures:
            rows.append({**cell.columns, "status": "failed", "error": failures[cell.key].public})
        else:
            rows.append({**cell.columns, "status": "not run"})
    return rows
