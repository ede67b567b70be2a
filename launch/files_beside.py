"""Files that an author's code reads past `me.records`: the run's own data, or others.

A replay of a part shows nothing of such files, since they are the same each time. The curator's
part and the author's module are not replayed at all: what a module reads when it is imported, or
the curator when it publishes, reaches messages and outcome without a release. If they are the
run's own data, the privacy loss is not known. Of other files a remark says that they were read.
They are not named, as a name may hold data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from ..runs.files_written import OpenedFiles, forget_opened, note_opened
from ..runs.job import Job
from ..runs.record import Unaccounted

__all__ = ["CURATOR_READS", "MODULE_READS", "PART_READS", "noting", "unaccounted_reads"]

PART_READS: Final = "a party's part reads {} by itself"
CURATOR_READS: Final = "the curator's part reads {}"
MODULE_READS: Final = "when it is imported, its module reads {}"
DATA: Final = "the run's own data file, past all releases"
OTHERS: Final = "files, and replays on other records show nothing of what these hold"


@contextlib.contextmanager
def noting(files: OpenedFiles) -> Iterator[None]:
    """Note which files the block opens on this thread."""
    opened = note_opened(files)
    try:
        yield
    finally:
        forget_opened(opened)


def unaccounted_reads(
    reads: Mapping[str, Collection[Path]], job: Job, *, parties: int
) -> tuple[list[Unaccounted], list[str]]:
    """Tell what is not accounted, for every party, and give the remarks about other files.

    Of other files that a part reads there is a remark already (`runs.guard`).

    Args:
        reads: the files that were read, by the sentence about whoever read them.
        job: the job, which names the data.
        parties: number of parties of the rehearsal.
    """
    unaccounted, remarks = list[Unaccounted](), list[str]()
    for sentence, files in reads.items():
        of_data = [path for path in files if _is_data(path, job)]
        if of_data:
            unaccounted += [
                Unaccounted(party=party, kind="", messages=0, reason=sentence.format(DATA))
                for party in range(1, parties + 1)
            ]
        if sentence != PART_READS and len(of_data) < len(files):
            remarks.append(sentence.format(OTHERS))
    return unaccounted, remarks


def _is_data(path: Path, job: Job) -> bool:
    """Tell whether a file is one of the job's data, under whatever name."""
    for name in job.data:
        with contextlib.suppress(OSError):
            if path.samefile(name):
                return True
    return False
