"""Forecasts of many parties: by the protocol's prediction, and the network's model of rounds."""

from __future__ import annotations

from typing import Final

import msgspec

from ..messages import UsageError
from ..network import Timing
from ..report.replaying import computation_of, rounded, shares_of
from ..report.report import Report
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_computing import predict_computing
from .forecast_conditions import OF_MADE_UP, Conditions, common_figures
from .forecast_memory import largest_exchanges, memory_of
from .forecast_plays import (
    fewest_parties,
    is_exact,
    is_exact_on_dependent,
    is_predicted,
    play,
    with_short_keys,
)
from .forecast_predicted import NotPredictedError, Prediction, predict
from .forecast_result import Forecast, ForecastLine

__all__ = ["MAX_PARTIES_PLAYED_INSTEAD", "forecast_many"]

MAX_PARTIES_PLAYED_INSTEAD: Final = 100
"""Parties that are played at most where they cannot be predicted, unless that is chosen."""
MAX_SMALL_ROWS: Final = 50_000
"""Made-up records at most of the plays that show the order of messages of many parties."""


def forecast_many(job: Job, conditions: Conditions) -> list[tuple[Forecast, Timing | None]]:
    """Forecast a job from what its protocol predicts, and plays with few parties.

    Raises:
        UsageError: the protocol does not predict all its messages.
    """
    rows, calibration = conditions.rows, conditions.calibration
    prediction, record, report = _prediction(job, rows=rows)
    largest = largest_exchanges(prediction.exchanges or [], parties=job.parties)
    memory = memory_of(job, record, rows=rows, rounds=largest)
    exact = conditions.exactness and is_exact(report) and is_exact_on_dependent(job, rows=rows)
    lines = [
        ForecastLine(
            phase=line.phase,
            kind=line.kind,
            messages=line.messages,
            payload_bytes=line.payload_bytes,
            frame_bytes=line.payload_bytes + line.messages * prediction.overhead(line),
        )
        for line in prediction.lines
    ]
    computing = predict_computing(job, prediction, rows=rows, calibration=calibration)
    seconds = None if computing is None else computing.seconds
    forecasts: list[tuple[Forecast, Timing | None]] = []
    for network in conditions.networks:
        timing = prediction.timing(network, seconds=seconds)
        plan = Forecast(
            **common_figures(job, report, rows=rows, network=network),
            method="predicted",
            messages=sum(line.messages for line in lines),
            rounds=prediction.rounds,
            payload_bytes=sum(line.payload_bytes for line in lines),
            frame_bytes=sum(line.frame_bytes for line in lines),
            lines=lines,
            exact=exact,
            seconds=None if timing is None else rounded(timing.seconds),
            processor=None if computing is None else computing.processor,
            shares=[] if timing is None else shares_of(timing),
            computation={} if timing is None else computation_of(timing),
            epsilon={},
            noise=[],
            memory=memory,
            figures={},
            remarks=[*prediction.remarks, *([] if exact else [OF_MADE_UP])],
        )
        forecasts.append((plan, timing))
    return forecasts


def _prediction(job: Job, *, rows: int) -> tuple[Prediction, RunRecord, Report]:
    """Predict a job with many parties from plays with few, and give the first one.

    Raises:
        UsageError: the protocol does not predict all its messages.
    """
    protocol = instantiate(job)
    fewest = fewest_parties(protocol)
    if job.parties <= fewest:
        raise UsageError(
            f"expected more than {fewest} parties for --method predicted, found {job.parties}: "
            "--method played"
        )

    def play_of(few: int) -> tuple[RunRecord, Report]:
        small = msgspec.structs.replace(with_short_keys(job), parties=few)
        record, report = play(small, rows=max(few, min(rows, MAX_SMALL_ROWS)))
        if not is_predicted(report):
            raise NotPredictedError(_not_predicted_text(protocol.name, job.parties))
        return record, report

    record, report = play_of(fewest + 1)
    prediction = predict(
        job, protocol, rows=rows, play=record, other_play=lambda: play_of(fewest)[0]
    )
    return prediction, record, report


def _not_predicted_text(name: str, parties: int) -> str:
    """Say that a protocol's messages cannot be predicted, and what to do instead."""
    reason = f"{name} does not predict its messages, as they depend on what it learns from records"
    if parties <= MAX_PARTIES_PLAYED_INSTEAD:
        return f"expected --method played, found predicted: {reason}"
    return (
        f"expected at most {MAX_PARTIES_PLAYED_INSTEAD} parties, found {parties:,}: {reason}; "
        f"see how its cost grows with --parties 10 30 {MAX_PARTIES_PLAYED_INSTEAD}, which are "
        f"played, or play all {parties:,} with --method played, which may take minutes"
    )
