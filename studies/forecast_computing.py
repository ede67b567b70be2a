"""Computation of many parties, from two plays with few and a calibration.

A calibration gives the same seconds whenever the same work is done, so the difference of two plays
shows how work grows with the number of parties, and not how busy the machine was. Every party of
the plays has as many records as it would have among many. The curator's seconds in each round are a
straight line over the number of parties. Those of a party are one over the number of messages that
it sends to other parties, or constant if that does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ..messages import CURATOR
from ..network import RoundSeconds, Route, parts_of
from ..report.replaying import rounded, seconds_after
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_plays import fewest_parties, play
from .forecast_predicted import Prediction
from .forecast_result import ProcessorTime

__all__ = ["Computing", "predict_computing"]

MIN_ROWS: Final = 30
"""Records of each party in the plays at least, so that there is something to learn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computing:
    """What the roles of many parties compute."""

    seconds: RoundSeconds
    processor: ProcessorTime


def predict_computing(
    job: Job, prediction: Prediction, *, rows: int, calibration: Calibration | None
) -> Computing | None:
    """Extrapolate what roles compute; `None` without a calibration or where rounds are not known.

    Rounds that differ between the two plays, or from the prediction, are not known either.
    """
    if calibration is None or prediction.exchanges is None:
        return None
    few = fewest_parties(instantiate(job))
    share = max(MIN_ROWS, rows // job.parties)
    plays = [
        play(
            msgspec.structs.replace(job, parties=number),
            rows=share * number,
            calibration=calibration,
        )[0]
        for number in (few, few + 1)
    ]
    small, large = (_by_round(record) for record in plays)
    if not len(small[0]) == len(large[0]) == len(prediction.exchanges) + 1:
        return None
    curator = [
        _on_line((few, before), (few + 1, after), job.parties)
        for before, after in zip(small[CURATOR], large[CURATOR], strict=True)
    ]
    across = [_messages_across(record) for record in plays]
    party = [
        _on_line((across[0], before), (across[1], after), _predicted_across(prediction))
        for before, after in zip(_mean(small[1:]), _mean(large[1:]), strict=True)
    ]
    return Computing(
        seconds=RoundSeconds(curator, party),
        processor=ProcessorTime(
            curator=rounded(sum(curator)), party=rounded(sum(party)), basis="calibrated"
        ),
    )


def _by_round(record: RunRecord) -> list[list[float]]:
    """Give what each role computes before the messages that it sends in each round, and at last."""
    entries = record.entries
    rounds = max(entry.round for entry in entries)
    seconds = [[0.0] * (rounds + 1) for _ in range(record.job.parties + 1)]
    for rank, part in enumerate(parts_of(entries, parties=record.job.parties)):
        for step in part:
            seconds[rank][step.round - step.sent] += step.computed + step.read
    last = seconds_after(entries, until=record.seconds - record.closing_seconds)
    seconds[CURATOR][rounds] += last
    return seconds


def _mean(parties: Sequence[Sequence[float]]) -> list[float]:
    return [sum(each) / len(parties) for each in zip(*parties, strict=True)]


def _on_line(first: tuple[float, float], second: tuple[float, float], place: float) -> float:
    """Give the height of a line through two points; at equal places their mean."""
    (left, low), (right, high) = first, second
    if left == right:
        return (low + high) / 2
    return max(0.0, low + (high - low) * (place - left) / (right - left))


def _messages_across(record: RunRecord) -> float:
    """Count the messages that a party sends to others."""
    across = sum(CURATOR not in (entry.sender, entry.receiver) for entry in record.entries)
    return across / record.job.parties


def _predicted_across(prediction: Prediction) -> float:
    """Count them as they are predicted among many parties."""
    exchanges = [exchange for exchanges in prediction.exchanges or [] for exchange in exchanges]
    across = sum(each.messages for each in exchanges if each.route is Route.ACROSS)
    return across / prediction.parties
