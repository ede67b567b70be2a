"""What is asked of a forecast beside its job, and what its figures have whatever the method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..network import Network, network_text
from ..report.claims import scope
from ..report.report import Report
from ..runs.calibration import Calibration
from ..runs.job import Job

__all__ = ["OF_MADE_UP", "Conditions", "common_figures"]

OF_MADE_UP: Final = (
    "numbers and lengths of messages may follow from what is released: the figures are of made-up "
    "records, and those of your table may be half or twice as large"
)
"""A remark. `benchmarks/plans_of_tables.py` measures how far apart they are."""


class Conditions(NamedTuple):
    """What is asked of a forecast, beside its job."""

    rows: int
    networks: Sequence[Network]
    calibration: Calibration | None
    exactness: bool


def common_figures(job: Job, report: Report, *, rows: int, network: Network) -> dict[str, Any]:
    """Give the figures of a forecast that say what was asked and what is claimed."""
    privacy = report.privacy
    return {
        "protocol": report.protocol,
        "parties": job.parties,
        "rows": rows,
        "mode": job.mode,
        "settings": {name: str(value) for name, value in job.parameters.items()},
        "network": network.name,
        "network_text": network_text(network),
        "is_instant": math.isinf(network.speed),
        "claimed_epsilon": privacy.claimed_epsilon,
        "claimed_delta": privacy.claimed_delta,
        "claimed_for": scope(privacy),
        "claimed_coalition": privacy.claimed_coalition,
    }
