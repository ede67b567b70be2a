"""Forecasts as a table: a row for each, as the CSV of a plan has them and as figures need them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..messages import UsageError
from ..network import Network, Reason
from ..report.figures import (
    NO_COMPUTATION,
    OUTCOME,
    FigureRequest,
    FigureTable,
    check_request_before,
)
from ..runs.instance import instantiate
from ..runs.job import Job
from .forecast_result import Forecast

__all__ = ["check_figures_before", "forecast_csv", "forecast_table"]

MEASURED: Final = (
    "messages",
    "rounds",
    "payload_bytes",
    "frame_bytes",
    "curator_memory_bytes",
    "party_memory_bytes",
    "curator_processor_seconds",
    "party_processor_seconds",
    "seconds",
    *(f"{reason.replace(' ', '_')}_seconds" for reason in Reason),
)
"""Columns of figures that forecasts have."""
_NOISE: Final = re.compile(".+ (sensitivity|noise scale)")
"""Columns that only a play names: those of its phases."""


def check_figures_before(
    requests: Iterable[FigureRequest], jobs: Sequence[Job], *, rows: int, networks: list[Network]
) -> None:
    """Refuse wrong names of figures before anything is played.

    Raises:
        UsageError: a name stands for nothing.
    """
    planned = [_settings_of(job, rows=rows, network=each) for job in jobs for each in networks]
    names = dict.fromkeys(name for settings in planned for name in settings)
    table = FigureTable(rows=planned, setting_names=[*names])
    for request in requests:
        if request.y.startswith(OUTCOME):
            raise UsageError(
                f"expected --figure of what a plan has, found {request.y!r} in {request.text}: "
                "only a run publishes an outcome, so draw it with `sottovoce sweep` or `compare`"
            )
        noise = [request.y] if _NOISE.fullmatch(request.y) else []
        check_request_before(request, table, measured=[*MEASURED, *noise], of_runs=False)


def _settings_of(job: Job, *, rows: int, network: Network) -> dict[str, Any]:
    """Give the settings of a forecast as its row will have them."""
    protocol = instantiate(job)
    return {
        "protocol": protocol.name,
        "parties": job.parties,
        "rows": rows,
        "mode": job.mode,
        **{_asked(name): str(value) for name, value in job.parameters.items()},
        "epsilon": protocol.epsilon,
        "delta": protocol.delta,
        "network": network.name,
    }


def _asked(name: str) -> str:
    """Name a parameter's column. The name of a figure gets an ending, as in sweeps."""
    return f"{name}_asked" if name in MEASURED else name


def forecast_table(plans: Sequence[Forecast]) -> FigureTable:
    """Put forecasts into rows, one for each, with the seconds of every reason."""
    names = list(dict.fromkeys(name for plan in plans for name in plan.settings))
    fixed = [name for name in names if name not in ("epsilon", "delta")]
    rows: list[dict[str, Any]] = []
    settings: dict[str, None] = {}
    for plan in plans:
        seconds = {share.reason: share.seconds for share in plan.shares}
        noise = _noise_columns(plan)
        chosen = {
            "protocol": plan.protocol,
            "parties": plan.parties,
            "rows": plan.rows,
            "mode": plan.mode,
            "epsilon": plan.claimed_epsilon,
            "delta": plan.claimed_delta,
            **{_asked(name): plan.settings.get(name, "") for name in fixed},
            "network": plan.network,
        }
        settings |= dict.fromkeys(chosen)
        processor = plan.processor
        row = {
            **chosen,
            "method": plan.method,
            "exact": plan.exact,
            "messages": plan.messages,
            "rounds": plan.rounds,
            "payload_bytes": plan.payload_bytes,
            "frame_bytes": plan.frame_bytes,
            "curator_memory_bytes": plan.memory.curator,
            "party_memory_bytes": plan.memory.party,
            "curator_processor_seconds": processor and processor.curator,
            "party_processor_seconds": processor and processor.party,
            "computation": NO_COMPUTATION if plan.leaves_out else processor and processor.basis,
            "seconds": plan.seconds,
            **{
                f"{reason.replace(' ', '_')}_seconds": seconds.get(reason, 0.0)
                for reason in Reason
                if plan.seconds is not None
            },
            **noise,
        }
        # What a protocol publishes may have the name of a setting, such as dp-subn's network.
        rows.append(
            row
            | {
                f"published {name}" if name in row else name: text
                for name, text in plan.figures.items()
            }
        )
    return FigureTable(rows=rows, setting_names=[*settings])


def forecast_csv(table: FigureTable) -> bytes:
    """Write forecasts as CSV, a line for each."""
    text = io.StringIO(newline="")
    head = list(dict.fromkeys(name for row in table.rows for name in row))
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return text.getvalue().encode()


def _noise_columns(plan: Forecast) -> dict[str, float]:
    """Give sensitivity and noise scale of each phase; the largest scale where there are several."""
    columns: dict[str, float] = {}
    for line in sorted(plan.noise, key=lambda line: line.scale):
        columns[f"{line.phase} sensitivity"] = line.sensitivity
        columns[f"{line.phase} noise scale"] = line.scale
    return columns
