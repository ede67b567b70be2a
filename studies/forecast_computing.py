"""Computation of many parties, from plays with few and a calibration.

A calibration gives the same seconds whenever the same work is done, so two plays show how work
grows with the number of parties, and not how busy the machine was. Every party of the plays has as
many records as it would have among many. The curator's seconds in each round are a straight line
over the number of parties. Those of a party are one over the number of messages that it sends to
other parties, or constant if that does not change.

Where it depends on records what is done, few records would show another conversation. There all
records are divided among the parties of one play, the one from which messages are predicted. Chance
differs between plays, and a line through two would multiply it. So what grows with the number of
parties follows from the messages (`forecast_growth`). The rest, such as encryption and estimates
from sums, is as in the play.

In rounds in which only some parties have a turn, these take as long as the one of the smaller play
that took longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ..messages import CURATOR, Unread
from ..network import Exchange, RoundSeconds, parts_of
from ..report.replaying import rounded, seconds_after
from ..runs.calibration import Calibration
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_growth import growth_of_curator, growth_of_party
from .forecast_plays import MORE_PARTIES, Play, play
from .forecast_predicted import Prediction, across_of, messages_across
from .forecast_result import ProcessorTime
from .forecast_turns import fewest_with_all_turns

__all__ = ["Computing", "predict_computing"]

MIN_ROWS: Final = 30
"""Records of each party in the plays at least, so that there is something to learn."""

TOO_MANY_RECORDS: Final = (
    "computation is that of a play with fewer parties: a party had more records there, so it "
    "computed for longer, and the curator's estimates differ by chance"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Computing:
    """What the roles of many parties compute."""

    seconds: RoundSeconds
    processor: ProcessorTime
    remark: str
    """What the figures are worth, where there is something to say."""


def predict_computing(
    job: Job,
    prediction: Prediction,
    *,
    rows: int,
    calibration: Calibration | None,
    order: Play,
    exact: bool,
) -> Computing | None:
    """Extrapolate what roles compute; `None` without a calibration or where rounds are not known.

    Rounds that differ between two plays, or from the prediction, are not known either.

    Args:
        job: the job.
        prediction: its predicted messages.
        rows: number of records of all parties.
        calibration: what computation costs.
        order: the play from which messages are predicted.
        exact: whether messages follow from public figures alone.
    """
    if calibration is None or prediction.exchanges is None:
        return None
    # Where nobody sends parties anything they know their own records alone.
    alone = all(entry.receiver == CURATOR for entry in order.record.entries)
    if not (exact or alone):
        return _of_one_play(prediction, calibration=calibration, order=order)
    few = fewest_with_all_turns(job, rows=rows)
    numbers = (few, few + 1 if exact else few * MORE_PARTIES)
    share = max(MIN_ROWS, rows // job.parties)
    plays = [
        play(
            msgspec.structs.replace(job, parties=number),
            rows=share * number,
            calibration=calibration,
            unread=Unread.TABLES,
        ).record
        for number in numbers
    ]
    if any(_rounds(record) != prediction.places[-1] + 1 for record in plays):
        return None
    seconds = [_by_predicted_round(record, prediction) for record in plays]
    curator = _lines([each[CURATOR] for each in seconds], places=numbers, wanted=job.parties)
    resting = [
        _mean(_at_rest(record, each, prediction))
        for record, each in zip(plays, seconds, strict=True)
    ]
    across = [messages_across(record.entries, parties=record.job.parties) for record in plays]
    party = _lines(resting, places=across, wanted=across_of(prediction))
    return _computing(curator, party, prediction, play=plays[0], seconds=seconds[0], remark="")


def _of_one_play(prediction: Prediction, *, calibration: Calibration, order: Play) -> Computing:
    """Add to what roles compute in a play what more of it grows with the number of parties."""
    record = order.record
    seconds = _by_predicted_round(record, prediction)
    curator = _sums(
        seconds[CURATOR], growth_of_curator(record, prediction, calibration=calibration)
    )
    party = _sums(
        _mean(_at_rest(record, seconds, prediction)),
        growth_of_party(order, prediction, calibration=calibration),
    )
    return _computing(
        curator, party, prediction, play=record, seconds=seconds, remark=TOO_MANY_RECORDS
    )


def _computing(
    curator: Sequence[float],
    party: Sequence[float],
    prediction: Prediction,
    *,
    play: RunRecord,
    seconds: Sequence[Sequence[float]],
    remark: str,
) -> Computing:
    """Put the turns of some parties on the seconds of all, and add up."""
    others: dict[int, list[float]] = {}
    for number, exchange in _turns(prediction).items():
        senders = _senders(play, prediction.places[number])
        longest = max((seconds[rank][number] for rank in senders), default=0.0)
        for rank in exchange.senders:
            others[rank] = [*others.get(rank, party)]
            others[rank][number] = longest
    return Computing(
        seconds=RoundSeconds(curator, party, others),
        processor=ProcessorTime(
            curator=rounded(sum(curator)), party=rounded(sum(party)), basis="calibrated"
        ),
        remark=remark,
    )


def _rounds(record: RunRecord) -> int:
    return max(entry.round for entry in record.entries)


def _by_predicted_round(record: RunRecord, prediction: Prediction) -> list[list[float]]:
    """Give what each role computes before it sends in each predicted round, and at last."""
    return [[each[place] for place in (*prediction.places, -1)] for each in _by_round(record)]


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


def _turns(prediction: Prediction) -> dict[int, Exchange]:
    """Find the rounds in which only some parties send, one after another."""
    return {
        number: exchange
        for number, exchanges in enumerate(prediction.exchanges or [])
        for exchange in exchanges
        if exchange.senders and CURATOR not in exchange.senders
    }


def _senders(record: RunRecord, number: int) -> set[int]:
    """Find which parties send in a round of a play."""
    return {entry.sender for entry in record.entries if entry.round == number + 1} - {CURATOR}


def _at_rest(
    record: RunRecord, by_round: Sequence[Sequence[float]], prediction: Prediction
) -> list[list[float]]:
    """Give what parties compute, without what they do in turns of some parties alone."""
    seconds = [[*each] for each in by_round[1:]]
    for number in _turns(prediction):
        for party in _senders(record, prediction.places[number]):
            seconds[party - 1][number] = 0.0
    return seconds


def _mean(parties: Sequence[Sequence[float]]) -> list[float]:
    return [sum(each) / len(parties) for each in zip(*parties, strict=True)]


def _sums(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [max(0.0, low + more) for low, more in zip(first, second, strict=True)]


def _lines(
    seconds: Sequence[Sequence[float]], *, places: Sequence[float], wanted: float
) -> list[float]:
    """Put the seconds of each round on a line through two plays.

    Args:
        seconds: by round, of both plays.
        places: where the two plays are on the line.
        wanted: the place that is asked for.
    """
    return [
        _on_line((places[0], low), (places[1], high), wanted)
        for low, high in zip(*seconds, strict=True)
    ]


def _on_line(first: tuple[float, float], second: tuple[float, float], place: float) -> float:
    """Give the height of a line through two points; at equal places their mean."""
    (left, low), (right, high) = first, second
    if left == right:
        return (low + high) / 2
    return max(0.0, low + (high - low) * (place - left) / (right - left))
