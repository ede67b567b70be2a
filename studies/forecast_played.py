"""Forecasts of few parties: all roles play, and the ledger is replayed on each network."""

from __future__ import annotations

from collections import Counter
from statistics import mean

from ..network import Timing, parts_of, replay
from ..report.replaying import computation_of, rounded, seconds_after, shares_of
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_conditions import OF_MADE_UP, Conditions, common_figures
from .forecast_memory import largest_rounds, memory_of
from .forecast_plays import is_exact, is_exact_on_dependent, play, processor_seconds
from .forecast_result import Forecast, ForecastLine, NoiseLine, ProcessorTime

__all__ = ["forecast_played"]


def forecast_played(job: Job, conditions: Conditions) -> list[tuple[Forecast, Timing | None]]:
    """Forecast a job from a play of it on made-up records."""
    rows, calibration = conditions.rows, conditions.calibration
    # The first roles in a process load modules. All plays that are shown come after that.
    always_exact = conditions.exactness and is_exact_on_dependent(job, rows=rows)
    record, report, _ = play(job, rows=rows, calibration=calibration)
    curator, *parties = processor_seconds(record)
    processor = ProcessorTime(
        curator=rounded(curator),
        party=rounded(mean(parties)),
        basis="measured" if calibration is None else "calibrated",
    )
    parts = parts_of(record.entries, parties=job.parties)
    last = seconds_after(record.entries, until=record.seconds - record.closing_seconds)
    exact = always_exact and is_exact(report)
    lines = _lines(record)
    memory = memory_of(job, record, rows=rows, rounds=largest_rounds(record.entries))
    forecasts: list[tuple[Forecast, Timing | None]] = []
    for network in conditions.networks:
        timing = replay(parts, network, last=last)
        plan = Forecast(
            **common_figures(job, report, rows=rows, network=network),
            method="played",
            messages=len(record.entries),
            rounds=report.communication.rounds,
            payload_bytes=report.communication.payload_bytes,
            frame_bytes=report.communication.frame_bytes,
            lines=lines,
            exact=exact,
            seconds=rounded(timing.seconds),
            processor=processor,
            shares=shares_of(timing),
            computation=computation_of(timing),
            epsilon={**report.privacy.epsilon, **report.privacy.coalitions},
            noise=_noise(record),
            memory=memory,
            figures={name: str(value) for name, value in record.outcome.summary.items()},
            remarks=[] if exact else [OF_MADE_UP],
        )
        forecasts.append((plan, timing))
    return forecasts


def _noise(record: RunRecord) -> list[NoiseLine]:
    """Add up the releases of party 1, in the order in which they were made."""
    counts = Counter(
        (release.phase, release.mechanism, release.sensitivity, release.scale)
        for release in record.roles[1].releases
    )
    return [
        NoiseLine(
            phase=phase,
            mechanism=mechanism,
            releases=number,
            sensitivity=sensitivity,
            scale=scale,
        )
        for (phase, mechanism, sensitivity, scale), number in counts.items()
    ]


def _lines(record: RunRecord) -> list[ForecastLine]:
    """Add up the ledger by phase and kind, in the order in which the kinds were first sent."""
    sums: dict[tuple[str, str], list[int]] = {}
    for entry in record.entries:
        line = sums.setdefault((entry.phase, entry.kind), [0, 0, 0])
        line[0] += 1
        line[1] += entry.payload_bytes
        line[2] += entry.frame_bytes
    return [
        ForecastLine(
            phase=phase, kind=kind, messages=line[0], payload_bytes=line[1], frame_bytes=line[2]
        )
        for (phase, kind), line in sums.items()
    ]
