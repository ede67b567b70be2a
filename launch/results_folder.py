"""The folder of a run's results: chosen before the run, and held up to its end."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from ..messages import UsageError
from ..report.folder import check_folder
from ..report.formats import quantity
from ..runs.one_writer import FolderTakenError, one_writer

__all__ = ["results_folder"]


@contextlib.contextmanager
def results_folder(
    out: str | None, *, name: str, is_writer: bool, overwrite: bool = False
) -> Iterator[Path]:
    """Choose the folder of the results, and hold it up to the end.

    Args:
        out: The folder that the user named, if any.
        name: The protocol's name, for a folder that nobody named.
        is_writer: Whether this process writes the results.
        overwrite: Whether results of an earlier run may be replaced.

    Raises:
        UsageError: The folder cannot be written, has files, or another run is going to write into
            it.
    """
    first = Path(out or f"runs/{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_folder(first)
    if out is not None and first.is_dir():
        _check_empty(first, overwrite=overwrite)
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


def _check_empty(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder with files: a table for which epsilon was spent may be among them."""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if not names:
        return
    has_run = "report.json" in names
    if has_run and overwrite:
        return
    if has_run:
        raise UsageError(
            f"expected a new or an empty folder for --out, found the results of a run in {folder}: "
            "name another, or replace them by --overwrite"
        )
    count = quantity(len(names), "file")
    raise UsageError(
        f"expected a new or an empty folder for --out, found {count} in {folder}, such as "
        f"{names[0]}: name another"
    )
