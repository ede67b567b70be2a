"""Which runs keep logs though nobody has asked for them: those that spend, and those on hosts.

What a run on real data has sent before it stops is spent, whether it ends or not. Without logs a
second run spends it once more. So every run on real data keeps logs, however short it is: on small
runs they cost less than differs from one run to the next (docs/decisions/16-logs-by-default.md).

Nothing is spent on the demo's made-up people. A run on them keeps logs only on several hosts, where
each host and each network between them may fail.
"""

from __future__ import annotations

from ..parties import DEMO
from .job import Job
from .placement import Placement

__all__ = ["keeps_logs"]


def keeps_logs(job: Job, placement: Placement) -> bool:
    """Tell whether roles keep logs where nobody has chosen; a simulation can be repeated."""
    if placement.transport == "virtual":
        return False
    is_real = any(name != DEMO for name in job.data)
    return is_real or bool(placement.hosts or placement.hostfile)
