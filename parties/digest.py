"""Digests of tables: they identify a dataset from run to run, and show that a file has changed.

A digest is no noisy figure: whoever guesses a small table can confirm the guess by it. It stays
among those who may read the table.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from ..messages import UsageError
from .demo import DEMO_ROWS

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import WriteableBuffer

__all__ = ["DigestedFile", "TableNote", "digest_of", "watched"]


@dataclass(slots=True)
class TableNote:
    """What a reading of a table leaves: two readings of one table leave the same."""

    digest: str = ""
    """SHA-256 of the file, in hexadecimal digits; empty where no file was read."""
    rows: int = 0
    """Number of rows that were read."""


CHUNK: Final = 1 << 20
"""Bytes that are digested at a time."""
FRAME_ROWS: Final = 1 << 16
"""Rows of a DataFrame that are digested at a time."""


def digest_of(source: str | pd.DataFrame, *, rows: int | None = None, seed: int = 0) -> str:
    """Digest a table: SHA-256, in hexadecimal digits.

    Args:
        source: A path, "demo", or a DataFrame. Of a file all bytes count, whatever part is read.
        rows: Number of rows of the demo table. It changes no other digest.
        seed: Seed of the demo table. It changes no other digest.

    Raises:
        UsageError: There is no such file, or it cannot be read.
    """
    if not isinstance(source, str):
        return _digest_of_frame(source)
    if source == "demo":
        people = f"demo rows={DEMO_ROWS if rows is None else rows} seed={seed}"
        return hashlib.sha256(people.encode()).hexdigest()
    try:
        with Path(source).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(
            f"expected a data file at {source}, found {error.strerror}: check --data"
        ) from None


def _digest_of_frame(frame: pd.DataFrame) -> str:
    """Digest a DataFrame: its columns' names, then its rows as CSV."""
    digest = hashlib.sha256()
    for start in range(0, max(1, len(frame)), FRAME_ROWS):
        part = frame.iloc[start : start + FRAME_ROWS]
        digest.update(part.to_csv(index=False, header=start == 0).encode())
    return digest.hexdigest()


class DigestedFile(io.RawIOBase):
    """A binary file that is read from its beginning to its end, and digested on the way.

    The digest is of the bytes that the reader was given, so a file that is written to meanwhile
    has another digest than before or after.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._file.read(len(view))
        view[: len(data)] = data
        self._digest.update(data)
        return len(data)

    def finish(self) -> str:
        """Read what is left, and give the digest of the whole file."""
        while data := self._file.read(CHUNK):
            self._digest.update(data)
        return self._digest.hexdigest()


@contextmanager
def watched(file: BinaryIO, source: str) -> Iterator[None]:
    """Refuse an open file that is written to meanwhile, by its size and its time."""
    before = _state(file)
    try:
        yield
    except Exception:
        _require_state(before, file, source)
        raise
    _require_state(before, file, source)


def _state(file: BinaryIO) -> tuple[int, int]:
    state = os.fstat(file.fileno())
    return state.st_size, state.st_mtime_ns


def _require_state(before: tuple[int, int], file: BinaryIO, source: str) -> None:
    if _state(file) != before:
        raise UsageError(
            f"expected {source} to stay as it is, found that it changed while it was read: "
            "start again when nobody writes to it"
        ) from None
