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
    "{} and {} hold the same records: what each of them loses is twice what is accounted, as it "
    "is in the releases of both parties"
)


def equal_tables(job: Job) -> list[str]:
    """Name files of two parties that are equal to the byte, as far as they can be read here."""
    return [EQUAL.format(first, second) for first, second in _equal_files(job.data)]


def _equal_files(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    paths = [(name, Path(name)) for name in names if name != DEMO]
    for index, (name, path) in enumerate(paths):
        for other, earlier in paths[:index]:
            try:
                if filecmp.cmp(earlier, path, shallow=False):
                    yield other, name
                    break
            except OSError:
                continue
