"""Cells side by side: each worker is a process that computes one cell after another.

A result depends on its cell alone, so the number of workers changes nothing but the time.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from ..runs.failure import FailureText
from ..runs.interruption import SignalGate

__all__ = ["Compute", "compute_side_by_side"]

ENDS_WITHIN: Final = 15.0
"""Seconds in which a worker ends the roles of its run after an interruption."""

CellT = TypeVar("CellT")
Compute: TypeAlias = Callable[[CellT, Path], FailureText | None]
"""Computes a cell, stores its result in the study's folder, and gives the reason of a failure."""


@dataclass(frozen=True, slots=True)
class Worker(Generic[CellT]):
    """A process, and the connection to it."""

    process: SpawnProcess
    connection: Connection


def compute_side_by_side(
    cells: Sequence[CellT],
    compute: Compute[CellT],
    *,
    out: Path,
    jobs: int,
    started: Callable[[CellT], None],
) -> Generator[tuple[CellT, FailureText | None]]:
    """Compute cells in so many processes; give each with its failure, as they end.

    All processes are ended when the iterator is closed, and with it the roles of their runs.

    Args:
        cells: The cells.
        compute: Computes one. It is looked up by name in the processes.
        out: Folder of the study.
        jobs: Number of processes at most.
        started: Called with each cell when it is given to a process.
    """
    waiting = [*reversed(cells)]
    busy: dict[Connection, tuple[Worker[CellT], CellT]] = {}

    def begin(worker: Worker[CellT]) -> None:
        cell = waiting.pop()
        started(cell)
        worker.connection.send(cell)
        busy[worker.connection] = (worker, cell)

    workers: list[Worker[CellT]] = []
    try:
        for _ in range(min(jobs, len(cells))):
            workers.append(_start(compute, out=out))
            begin(workers[-1])
        while busy:
            ready = wait([*busy])
            for connection in [connection for connection in busy if connection in ready]:
                worker, cell = busy.pop(connection)
                reason = _answer(worker)
                if not worker.process.is_alive() and waiting:
                    worker = _start(compute, out=out)
                    workers.append(worker)
                yield cell, reason
                if waiting:
                    begin(worker)
    finally:
        _end(workers)


def _start(compute: Compute[CellT], *, out: Path) -> Worker[CellT]:
    # A new interpreter has no threads or locks of this one, as a fork would have.
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_work, args=(far, compute, out), daemon=True)
    process.start()
    far.close()
    return Worker(process, near)


def _answer(worker: Worker[CellT]) -> FailureText | None:
    """Read the reason of a failure, also that of a process that is no more."""
    try:
        reason: FailureText | None = worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join(ENDS_WITHIN)
        line = f"the process that computed it ended with status {worker.process.exitcode}"
        return FailureText(line=line, public=line, traceback="")
    return reason


def _end(workers: Sequence[Worker[CellT]]) -> None:
    """End the processes: those at work are interrupted, and end the roles of their runs."""
    for worker in workers:
        worker.connection.close()
        if worker.process.is_alive():
            worker.process.terminate()
    for worker in workers:
        worker.process.join(ENDS_WITHIN)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()


def _work(connection: Connection, compute: Compute[CellT], out: Path) -> None:
    """Compute cells until none comes; this is what a worker does."""
    gate = SignalGate()
    gate.open()
    # Its connection is closed and it gets a signal, both at once: the signal may come while the end
    # of the connection is handled.
    with suppress(KeyboardInterrupt):
        with suppress(EOFError, OSError):
            while True:
                connection.send(compute(connection.recv(), out))
        gate.close()
