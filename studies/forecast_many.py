"""Forecasts of many parties: by the protocol's prediction, and the network's model of rounds."""

from __future__ import annotations

from typing import Final

import msgspec

from ..messages import Unread, UsageError
from ..network import Timing
from ..report.replaying import computation_of, rounded, shares_of
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_computing import predict_computing
from .forecast_conditions import OF_MADE_UP, Conditions, common_figures
from .forecast_memory import largest_exchanges, memory_of
from .forecast_plays import (
    FREE,
    MAX_SMALL_ROWS,
    MORE_PARTIES,
    Play,
    is_exact,
    is_exact_on_dependent,
    only_in_order,
    play,
)
from .forecast_predicted import NotPredictedError, Prediction, predict
from .forecast_result import Forecast, ForecastLine
from .forecast_turns import fewest_with_all_turns
from .forecast_unpredicted import unpredicted_of_many

__all__ = ["MAX_PARTIES_PLAYED_INSTEAD", "forecast_many"]

MAX_PARTIES_PLAYED_INSTEAD: Final = 100
"""Parties that are played at most where they cannot be predicted, unless that is chosen."""
LEFT_OUT: Final = "computation is left out, as other plays had other rounds"


def forecast_many(job: Job, conditions: Conditions) -> list[tuple[Forecast, Timing | None]]:
    """Forecast a job from what its protocol predicts, and plays with few parties.

    Raises:
        UsageError: the protocol does not predict all its messages.
    """
    rows, calibration = conditions.rows, conditions.calibration
    prediction, order = _prediction(job, rows=rows, calibration=calibration)
    record, report, _ = order
    largest = largest_exchanges(prediction.exchanges or [], parties=job.parties)
    memory = memory_of(job, record, rows=rows, rounds=largest)
    exact = conditions.exactness and is_exact(report) and is_exact_on_dependent(job, rows=rows)
    lines = [
        ForecastLine(
            phase=line.phase,
            kind=line.kind,
            messages=line.messages,
            at_most=line.at_most,
            payload_bytes=line.payload_bytes,
            frame_bytes=line.payload_bytes + line.messages * prediction.overhead(line),
        )
        for line in prediction.lines
    ]
    computing = predict_computing(
        job,
        prediction,
        rows=rows,
        calibration=calibration,
        order=order,
        exact=is_exact(report),
    )
    seconds = None if computing is None else computing.seconds
    remarks = [*prediction.remarks, *([] if exact else [OF_MADE_UP])]
    if computing is not None and computing.remark:
        remarks.append(computing.remark)
    if computing is None and calibration is not None and prediction.exchanges is not None:
        remarks.append(LEFT_OUT)
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
            remarks=remarks,
        )
        forecasts.append((plan, timing))
    return forecasts


def _prediction(job: Job, *, rows: int, calibration: Calibration | None) -> tuple[Prediction, Play]:
    """Predict a job with many parties from plays with few, and give the first one.

    With a calibration the first play has keys and rows as the job has, so that it also shows what
    roles compute.

    Raises:
        UsageError: the protocol does not predict all its messages.
    """
    protocol = instantiate(job)
    if protocol.only_played:
        reason = f"{protocol.name} {protocol.only_played}"
        raise NotPredictedError(_not_predicted_text(reason, job.parties))
    fewest = fewest_with_all_turns(job, rows=rows)
    if job.parties <= fewest:
        raise UsageError(
            f"expected more than {fewest} parties for --method predicted, found {job.parties}: "
            "--method played"
        )

    def play_of(few: int, records: int) -> RunRecord:
        small = msgspec.structs.replace(only_in_order(job), parties=few)
        return play(small, rows=max(few, records), calibration=FREE, unread=Unread.WORK).record

    small_rows = min(rows, MAX_SMALL_ROWS)
    played = job if calibration is not None else only_in_order(job)
    order = play(
        msgspec.structs.replace(played, parties=fewest + 1),
        rows=max(fewest + 1, small_rows),
        calibration=calibration or FREE,
        unread=Unread.WORK if calibration is None else Unread.TABLES,
    )
    record, report, _ = order
    more, share = min(job.parties, MORE_PARTIES * (fewest + 1)), rows // job.parties
    try:
        unpredicted = unpredicted_of_many(
            record,
            report,
            parties=job.parties,
            more_parties=lambda: play_of(more, small_rows),
            fewer_records=lambda: play_of(fewest + 1, share * (fewest + 1)),
        )
    except NotPredictedError as error:
        raise NotPredictedError(_not_predicted_text(str(error), job.parties)) from None
    prediction = predict(
        job,
        protocol,
        rows=rows,
        play=record,
        unpredicted=unpredicted,
        other_play=lambda: play_of(fewest, small_rows),
    )
    return prediction, order


def _not_predicted_text(reason: str, parties: int) -> str:
    """Say that a protocol's messages cannot be predicted, and what to do instead."""
    if parties <= MAX_PARTIES_PLAYED_INSTEAD:
        return f"expected --method played, found predicted: {reason}"
    return (
        f"expected at most {MAX_PARTIES_PLAYED_INSTEAD} parties, found {parties:,}: {reason}; "
        f"see how its cost grows with --parties 10 30 {MAX_PARTIES_PLAYED_INSTEAD}, which are "
        f"played, or play all {parties:,} with --method played, which may take minutes"
    )
