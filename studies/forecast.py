"""Forecasts: what a protocol would cost, before any data are read.

With few parties all roles play on made-up records (`runs.made_up`), and the ledger of that is
replayed on each network. With many parties the cost follows from the protocol's prediction, and the
seconds from the network's model alone (`forecast_predicted`). A forecast says which of the two.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any, Final, NamedTuple

import msgspec

from ..evaluation.distances import Distance
from ..messages import UsageError
from ..network import Network, Timing, network_text, parts_of, replay
from ..report.claims import scope
from ..report.replaying import computation_of, rounded, seconds_after, shares_of
from ..report.report import Report
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.made_up import with_schema
from ..runs.record import RunRecord
from .forecast_computing import predict_computing
from .forecast_distance import IF_INDEPENDENT, distance_if_independent
from .forecast_memory import largest_exchanges, largest_rounds, memory_of
from .forecast_plays import (
    fewest_parties,
    is_exact,
    is_exact_on_dependent,
    is_predicted,
    play,
    processor_seconds,
    with_short_keys,
)
from .forecast_predicted import NotPredictedError, Prediction, predict
from .forecast_result import Forecast, ForecastLine, Method, NoiseLine, ProcessorTime

__all__ = ["MAX_PLAYED_PARTIES", "Forecast", "ForecastLine", "Method", "NoiseLine", "forecast"]

MAX_PLAYED_PARTIES: Final = 12
"""Parties that are played unless another method is chosen."""
MAX_PARTIES_PLAYED_INSTEAD: Final = 100
"""Parties that are played at most where they cannot be predicted, unless that is chosen."""
MAX_SMALL_ROWS: Final = 50_000
"""Made-up records at most of the plays that show the order of messages of many parties."""
OF_MADE_UP: Final = "messages depend on records: these are of made-up ones"


class _Conditions(NamedTuple):
    """What is asked of a forecast, beside its job."""

    rows: int
    networks: Sequence[Network]
    calibration: Calibration | None
    exactness: bool


def forecast(
    job: Job,
    *,
    rows: int,
    networks: Sequence[Network],
    method: Method | None = None,
    calibration: Calibration | None = None,
    distances: bool = False,
    exactness: bool = True,
) -> list[tuple[Forecast, Timing | None]]:
    """Forecast a job on each network.

    Args:
        job: the job; its data are not read.
        rows: number of records of all parties.
        networks: the networks.
        method: whether to play or to predict. Without it, up to 12 parties are played, and up to
            100 if their seconds cannot be predicted.
        calibration: what computation costs. Without it, computation is measured in plays, and left
            out of predictions.
        distances: whether a play on independent records is to show how far noise leads.
        exactness: whether a play on dependent records is to show that messages follow from public
            figures alone. Without it no forecast says so.

    Raises:
        UsageError: the job cannot be run, or not be forecast by this method.
    """
    if rows < job.parties:
        raise UsageError(
            f"expected at least as many rows as parties ({job.parties:,}), found {rows:,}"
        )
    instantiate(job)
    job = with_schema(job)
    conditions = _Conditions(
        rows=rows, networks=networks, calibration=calibration, exactness=exactness
    )
    if method is None and job.parties > MAX_PLAYED_PARTIES:
        return _predicted_or_played(job, conditions)
    if method == "predicted":
        return _predicted(job, conditions)
    played = _played(job, conditions)
    error = distance_if_independent(job, rows=rows) if distances else None
    return played if error is None else [*map(partial(_with_distance, error), played)]


def _with_distance(
    distance: Distance, result: tuple[Forecast, Timing | None]
) -> tuple[Forecast, Timing | None]:
    """Add the distance on independent records to the figures of a forecast."""
    plan, timing = result
    text = f"{distance.average:.4f} (exact single attributes {distance.one_way:.4f})"
    figures = {**plan.figures, IF_INDEPENDENT: text}
    return msgspec.structs.replace(plan, figures=figures), timing


def _predicted_or_played(job: Job, conditions: _Conditions) -> list[tuple[Forecast, Timing | None]]:
    """Predict many parties; if seconds cannot be predicted, play as many as are not too many."""
    is_playable = job.parties <= MAX_PARTIES_PLAYED_INSTEAD
    try:
        forecasts = _predicted(job, conditions)
    except NotPredictedError:
        if not is_playable:
            raise
    else:
        if not is_playable or all(timing is not None for _, timing in forecasts):
            return forecasts
    return _played(job, conditions)


def _played(job: Job, conditions: _Conditions) -> list[tuple[Forecast, Timing | None]]:
    rows, calibration = conditions.rows, conditions.calibration
    # The first roles in a process load modules. All plays that are shown come after that.
    always_exact = conditions.exactness and is_exact_on_dependent(job, rows=rows)
    record, report = play(job, rows=rows, calibration=calibration)
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
            **_common(job, report, rows=rows, network=network),
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


def _predicted(job: Job, conditions: _Conditions) -> list[tuple[Forecast, Timing | None]]:
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
            **_common(job, report, rows=rows, network=network),
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


def _common(job: Job, report: Report, *, rows: int, network: Network) -> dict[str, Any]:
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
