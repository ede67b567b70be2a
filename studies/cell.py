"""A cell: a piece of work of a study, with a key by which its result is found again.

The key is a digest of everything that the result follows from.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from ..report.folder import BROKEN
from ..runs.version import VERSION

__all__ = ["Cell", "Row", "digest_of_rooms", "key_of", "stored_result"]

ROOMS: Final = (
    "crypto",
    "curator",
    "evaluation",
    "messages",
    "parties",
    "privacy",
    "protocols",
    "runs",
)
"""Rooms that results follow from. A result is computed again when a file in them has changed."""
NOT_OF_RESULTS: Final = (
    "evaluation/claims.py",
    "evaluation/points.py",
    "evaluation/results.py",
    "evaluation/series.py",
)
"""Files in these rooms that judge results and do not make them."""


Row: TypeAlias = dict[str, Any]
"""A line of results.csv: a value for each column."""


class Cell(Protocol):
    """A piece of work."""

    @property
    def key(self) -> str:
        """Digest of everything that the result follows from."""

    @property
    def label(self) -> str:
        """Short label."""

    @property
    def columns(self) -> Row:
        """The cell's settings, by column of the results."""

    def compute(self, *, out: Path) -> dict[str, Any]:
        """Do the work and return a result that JSON can hold."""

    def figures(self, result: Mapping[str, Any]) -> Iterator[Row]:
        """Read the figures of a result: mostly one row."""


def key_of(settings: object, *, files: Iterable[str], sources: Iterable[str] = ()) -> str:
    """Digest what a result follows from: settings, files of data by size and time, and code.

    The code is that of sottovoce's rooms and the `sources` of a plug-in, byte by byte.
    """
    stats = {name: Path(name).stat() for name in files if Path(name).is_file()}
    data = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()]
    plugins = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in sources]
    text = json.dumps([settings, data, plugins, digest_of_rooms()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def digest_of_rooms() -> str:
    """Digest the code of the rooms that results follow from."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(VERSION.encode())
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if path.relative_to(root).as_posix() not in NOT_OF_RESULTS:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def stored_result(cell: Cell, *, folder: Path) -> dict[str, Any] | None:
    """Read a cell's result; `None` if there is none, or a damaged one, as after a power failure."""
    try:
        result = json.loads((folder / f"{cell.key}.json").read_text())
        list(cell.figures(result))
    except (OSError, *BROKEN):
        return None
    return dict(result)
