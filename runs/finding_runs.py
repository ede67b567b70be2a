"""Finding durable runs that have not finished, by what their starters have written down.

Runs of other versions are found by what every description has (`runs.unfinished`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..messages import UsageError
from .role_places import folders_in, run_place
from .state_folder import state_folder
from .unfinished import DESCRIPTION, UnfinishedRun
from .version import VERSION

__all__ = ["describe_run", "find_run", "refuse_stopped", "unfinished_runs"]

REPORT: str = "report.json"


class RunVersion(msgspec.Struct, frozen=True):
    """The part of a description that every version has."""

    run: str
    version: str
    folder: str


def refuse_stopped(folder: Path) -> None:
    """Refuse a folder for results that a stopped run waits for: a second run would spend again.

    Raises:
        UsageError: a run with results for this folder has stopped.
    """
    path = os.path.abspath(folder)  # noqa: PTH100 - the folder need not exist
    for run in _versions():
        if run.folder == path:
            raise UsageError(
                f"expected a folder that no run waits for, found that {run.run} has stopped with "
                f"results for {folder}: go on with `sottovoce resume {run.run}`, forget it with "
                f"`sottovoce resume {run.run} --forget`, or choose another --out"
            )


def find_run(name: str) -> UnfinishedRun:
    """Find a run that has stopped, by the folder of its results or by its own name.

    Raises:
        UsageError: there is none, or not only one, or it is of another version.
    """
    folder = os.path.abspath(name)  # noqa: PTH100 - the folder need not exist
    matches = [run for run in _versions() if run.run == name]
    matches = matches or [run for run in _versions() if run.folder == folder]
    if not matches:
        if (Path(folder) / REPORT).exists():
            raise UsageError(
                f"expected a durable run that has stopped, found a finished one in {name}: "
                "its results are there"
            )
        raise UsageError(
            f"expected a durable run that has stopped, found none of {name}: `sottovoce resume` "
            "lists them; only runs that keep logs can go on, on the host that started them"
        )
    if len(matches) > 1:
        names = ", ".join(run.run for run in matches)
        raise UsageError(
            f"expected one run that has stopped with results for {name}, found {len(matches)}: "
            f"name one of {names}"
        )
    if matches[0].version != VERSION:
        raise UsageError(
            f"expected a run of sottovoce {VERSION}, found one of {matches[0].version}: resume "
            "with that version"
        )
    return _read(run_place(matches[0].run) / DESCRIPTION)


def unfinished_runs() -> list[UnfinishedRun]:
    """List all runs of this version that have not finished, the oldest first."""
    return [
        _read(run_place(run.run) / DESCRIPTION) for run in _versions() if run.version == VERSION
    ]


def describe_run(place: Path) -> tuple[str, str, UnfinishedRun | None]:
    """Read the version and the folder of results of a run, and the run if it is of this version.

    Both are empty where its place on this host has no description.
    """
    try:
        kept = msgspec.json.decode((place / DESCRIPTION).read_bytes(), type=RunVersion)
    except (OSError, msgspec.MsgspecError):
        return "", "", None
    is_same = kept.version == VERSION
    return kept.version, kept.folder, _read(place / DESCRIPTION) if is_same else None


def _versions() -> Iterator[RunVersion]:
    for folder in sorted(folders_in(state_folder() / "durable")):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            data = (folder / DESCRIPTION).read_bytes()
            yield msgspec.json.decode(data, type=RunVersion)


def _read(path: Path) -> UnfinishedRun:
    try:
        run = msgspec.json.decode(path.read_bytes(), type=UnfinishedRun)
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            f"expected the description of a run in {path}, found something else: restore it, or "
            "start a new run"
        ) from None
    return msgspec.structs.replace(run, is_resumed=True)
