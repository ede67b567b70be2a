"""The folder of a run's results: chosen before the run, and held up to its end."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from ..report.folder import check_folder
from ..runs.one_writer import FolderTakenError, one_writer

__all__ = ["results_folder"]


@contextlib.contextmanager
def results_folder(out: str | None, *, name: str, is_writer: bool) -> Iterator[Path]:
    """Choose the folder of the results, and hold it up to the end.

    Raises:
        UsageError: The folder cannot be written, or another run is going to write into it.
    """
    first = Path(out or f"runs/{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_folder(first)
    if not is_writer:
        yield first
        return
    with contextlib.ExitStack() as stack:
        for number in itertools.count(1):
            folder = first if number == 1 else Path(f"{first}-{number}")
            try:
                stack.enter_context(one_writer(folder))
            except FolderTakenError:
                if out is not None:
                    raise
            else:
                if out is not None or not folder.exists():
                    break
        yield folder
