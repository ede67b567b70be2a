"""The record of a run, kept on the disk from the end of its roles until its results are written."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..messages import UsageError
from .job import Job
from .record import RunRecord

__all__ = ["pack_record", "read_record"]


def pack_record(record: RunRecord) -> bytes:
    """Encode a record of a run, but for its job, which the starter has.

    A seed may be longer than the integers that travel here.
    """
    return msgspec.msgpack.encode(
        msgspec.structs.replace(record, job=Job(protocol=record.job.protocol))
    )


def read_record(path: Path) -> RunRecord | None:
    """Read a record that was written; `None` if there is none.

    Raises:
        UsageError: it was changed.
    """
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=RunRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            f"expected the record of a run in {path}, found something else: restore it, or start a "
            "new run"
        ) from None
