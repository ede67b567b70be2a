"""Processes of an audit: each makes runs of its own, on threads, and hands back their figures.

A worker is `python -m sottovoce.launch.audit_processes`. It reads chunks from standard input and
writes figures to standard output, each with its length before it. So nothing of the parent is
copied, neither its threads nor its random buffers.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import IO

import msgspec

from ..messages import SottovoceError
from ..runs.failure import RunFailed
from ..studies.audit import run_chunk
from ..studies.audit_plan import Chunk, RunFigures

__all__ = ["chunks_here", "chunks_in_processes", "serve"]


class ChunkResult(msgspec.Struct, frozen=True):
    """Figures of a chunk, or why there are none."""

    figures: list[RunFigures]
    error: str = ""


def chunks_here(chunks: Sequence[Chunk]) -> Iterator[list[RunFigures]]:
    """Make the runs of all chunks in this process."""
    return map(run_chunk, chunks)


def chunks_in_processes(
    chunks: Sequence[Chunk], *, processes: int | None = None
) -> Iterator[list[RunFigures]]:
    """Make the runs of all chunks in several processes; by default one for each core.

    Raises:
        RunFailed: a run failed, or a process was lost.
    """
    number = min(len(chunks), processes or len(os.sched_getaffinity(0)))
    if number < 2:
        yield from chunks_here(chunks)
        return
    todo: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[ChunkResult] = queue.SimpleQueue()
    for chunk in chunks:
        todo.put(chunk)
    for _ in range(number):
        todo.put(None)
    # Ranks compute on one core each: numpy's own threads would only disturb the other workers.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "sottovoce.launch.audit_processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        for _ in range(number)
    ]
    for worker in workers:
        threading.Thread(target=_feed, args=(worker, todo, done), daemon=True).start()
    try:
        for _ in chunks:
            result = done.get()
            if result.error:
                raise RunFailed(result.error, status=3)
            yield result.figures
    finally:
        for worker in workers:
            _end(worker)


def _end(worker: subprocess.Popen[bytes]) -> None:
    """Kill a worker. What it has not read of its input is dropped."""
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Make the runs of one chunk after another, until there are no more."""
    while (data := _read(source)) is not None:
        try:
            result = ChunkResult(run_chunk(msgspec.msgpack.decode(data, type=Chunk)))
        except SottovoceError as error:
            result = ChunkResult([], str(error))
        except Exception as error:  # noqa: BLE001 - the parent reports it
            result = ChunkResult([], f"{type(error).__name__}: {error}")
        _write(target, msgspec.msgpack.encode(result))


def _feed(
    worker: subprocess.Popen[bytes],
    todo: queue.SimpleQueue[Chunk | None],
    done: queue.SimpleQueue[ChunkResult],
) -> None:
    """Hand chunks to one worker, and take their figures."""
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("expected a worker with pipes, found none")
    while (chunk := todo.get()) is not None:
        try:
            _write(worker.stdin, msgspec.msgpack.encode(chunk))
            data = _read(worker.stdout)
        except (OSError, ValueError):
            data = None
        if data is None:
            done.put(ChunkResult([], "a process of the audit was lost"))
            return
        done.put(msgspec.msgpack.decode(data, type=ChunkResult))


def _write(target: IO[bytes], data: bytes) -> None:
    target.write(len(data).to_bytes(8, "little") + data)
    target.flush()


def _read(source: IO[bytes]) -> bytes | None:
    head = source.read(8)
    return source.read(int.from_bytes(head, "little")) if len(head) == 8 else None


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a plug-in prints must not stand between the figures.
    serve(sys.stdin.buffer, answers)
