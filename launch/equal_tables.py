"""Tables of several parties that hold the same records.

A record that two parties have is in the releases of both, so what it loses adds up. The accountant
has each party's records apart, as no party may show its own. Where all files lie on one machine,
they are compared.
"""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..parties import DEMO
from ..runs.job import Job

__all__ = ["equal_tables"]

EQUAL: Final = (
    "{} and {} hold the same records: each of them is in the releases of both parties, so it loses "
    "twice what is accounted"
)


def equal_tables(job: Job) -> list[str]:
    """Name files of two parties that are equal to the byte, as far as they can be read here."""
    return [EQUAL.format(first, second) for first, second in _equal_files(job.data)]


def _equal_files(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """List each file with an earlier one that equals it. Only files of one size are read."""
    of_size: dict[int, list[str]] = {}
    for name in names:
        if name == DEMO or not Path(name).is_file():
            continue
        same_size = of_size.setdefault(Path(name).stat().st_size, [])
        equal = next((each for each in same_size if _is_equal(each, name)), None)
        if equal is not None:
            yield equal, name
        same_size.append(name)


def _is_equal(first: str, second: str) -> bool:
    try:
        return filecmp.cmp(first, second, shallow=False)
    except OSError:
        return False
