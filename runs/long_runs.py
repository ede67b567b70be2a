"""Which runs are durable by default: long ones, and those on several hosts.

How long a run takes is known when it has been played on made-up records (`sottovoce plan`), which
takes as long as the run. So a rule decides that only looks at files:

- Roles on several hosts: each host and each network between them may fail, and on a slow network a
  run takes its rounds times the latency.
- Tables of at least `MIN_BYTES` together. Reading and counting grow with them: three parties took
  61 and 64 s for noisy-marginals with masks on a CSV file of 109 MB, on two cores that others used.
- At least `MIN_COLUMNS` attributes of a given schema: time grows with their pairs. At 300 columns
  protocols take up to 230 s (docs/which-protocol.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..parties import DEMO
from .job import Job
from .placement import Placement

__all__ = ["reason_to_be_durable"]

MIN_BYTES: Final = 100_000_000
"""Bytes of tables with which a run takes about a minute, or more."""
MIN_COLUMNS: Final = 250
"""Attributes of a schema with which a run may take more than a minute."""


def reason_to_be_durable(job: Job, placement: Placement) -> str:
    """Say why roles keep logs where nobody has chosen; empty where they keep none.

    Files that cannot be looked at here count nothing: their parties are elsewhere.
    """
    if placement.transport == "virtual" or job.on_loss == "continue":
        return ""
    if placement.hosts or placement.hostfile:
        return "several hosts"
    size = sum(_size(name) for name in job.data if name != DEMO)
    if size >= MIN_BYTES and job.rows is None:
        return f"tables of {size / 1e6:,.0f} MB"
    columns = 0 if job.schema is None else len(job.schema.attributes)
    if columns >= MIN_COLUMNS:
        return f"{columns} columns"
    return ""


def _size(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0
