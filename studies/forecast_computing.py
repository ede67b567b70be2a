"""Computation of many parties, from two plays with few and a calibration.

A calibration gives the same seconds whenever the same work is done, so the difference of two plays
shows how work grows with the number of parties, and not how busy the machine was. Every party of
the plays has as many records as it would have among many.

Where it depends on records what is done, few records would show another conversation. There all
records are divided among the parties of the plays. Chance differs between these, and a line through
two plays would multiply it. So only the handling of messages and masks (`GROWING`) is on a line
there. The rest, such as encryption and estimates from sums, is as in the smaller play, and the
curator adds up more ciphertexts.

The curator's seconds in each round are a straight line over the number of parties. Those of a party
are one over the number of messages that it sends to other parties, or constant if that does not
change. In rounds in which only some parties have a turn, these take as long as the one of the
smaller play that took longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ..messages import CURATOR, WorkKind
from ..network import Exchange, RoundSeconds, Route, parts_of
from ..protocols.secure_sum import SecureSums
from ..report.replaying import rounded, seconds_after
from ..runs.calibration import Calibration
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_plays import MAX_SMALL_ROWS, MORE_PARTIES, play
from .forecast_predicted import Prediction
from .forecast_result import ProcessorTime
from .forecast_turns import fewest_with_all_turns

__all__ = ["Computing", "predict_computing"]

MIN_ROWS: Final = 30
"""Records of each party in the plays at least, so that there is something to learn."""

GROWING: Final = (WorkKind.STEP, WorkKind.MASK)
"""Work of which there is more with more parties, whatever was learnt from records.

A curator also adds up the parties' ciphertexts. Their number depends on what was learnt, so they
are not on a line: each further party sends as many as one of the smaller play.
"""

TOO_MANY_RECORDS: Final = (
    "computation is that of plays with fewer parties: a party had more records there, so it "
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
    exact: bool,
    alone: bool,
) -> Computing | None:
    """Extrapolate what roles compute; `None` without a calibration or where rounds are not known.

    Rounds that differ between the two plays, or from the prediction, are not known either.

    Args:
        job: the job.
        prediction: its predicted messages.
        rows: number of records of all parties.
        calibration: what computation costs.
        exact: whether messages follow from public figures alone.
        alone: whether nobody sends parties anything, so that they know their own records alone.
    """
    if calibration is None or prediction.exchanges is None:
        return None
    few = fewest_with_all_turns(job, rows=rows)
    by_share = exact or alone
    numbers = (few, few + 1 if exact or not alone else few * MORE_PARTIES)
    share = max(MIN_ROWS, rows // job.parties)

    def play_of(number: int, *, costs: Calibration) -> RunRecord:
        few_parties = msgspec.structs.replace(job, parties=number)
        records = share * number if by_share else max(number, min(rows, MAX_SMALL_ROWS))
        record, _ = play(few_parties, rows=records, calibration=costs)
        return record

    growing = calibration if by_share else _of_growing(calibration)
    plays = [play_of(number, costs=growing) for number in numbers]
    whole = plays[0] if by_share else play_of(few, costs=calibration)
    if not _have_rounds([*plays, whole], prediction):
        return None
    seconds = [
        [[each[place] for place in (*prediction.places, -1)] for each in _by_round(record)]
        for record in (*plays, whole)
    ]
    turns = _turns(prediction)
    places = {turn: prediction.places[turn] for turn in turns}
    resting = [
        _mean(_at_rest(record, by_round, places))
        for record, by_round in zip((*plays, whole), seconds, strict=True)
    ]
    across = [_messages_across(record) for record in plays]
    curator = _extrapolated([each[CURATOR] for each in seconds], places=numbers, wanted=job.parties)
    if not by_share:
        more = _additions(whole, prediction.places, calibration)
        further = job.parties - whole.job.parties
        curator = [rest + further * each for rest, each in zip(curator, more, strict=True)]
    party = _extrapolated(resting, places=across, wanted=_predicted_across(prediction))
    others: dict[int, list[float]] = {}
    for number, exchange in turns.items():
        senders = _senders(whole, prediction.places[number])
        longest = max((seconds[2][rank][number] for rank in senders), default=0.0)
        for rank in exchange.senders:
            others[rank] = [*others.get(rank, party)]
            others[rank][number] = longest
    return Computing(
        seconds=RoundSeconds(curator, party, others),
        processor=ProcessorTime(
            curator=rounded(sum(curator)), party=rounded(sum(party)), basis="calibrated"
        ),
        remark="" if by_share else TOO_MANY_RECORDS,
    )


def _of_growing(calibration: Calibration) -> Calibration:
    """Give a copy in which only work that grows with the number of parties costs anything."""
    for kind in WorkKind:
        if kind not in GROWING:
            calibration = calibration.without(kind)
    return calibration


def _have_rounds(plays: Iterable[RunRecord], prediction: Prediction) -> bool:
    """Tell whether all plays have the rounds of the play from which a prediction was made."""
    return all(
        max(entry.round for entry in record.entries) == prediction.places[-1] + 1
        for record in plays
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


def _additions(record: RunRecord, places: Sequence[int], calibration: Calibration) -> list[float]:
    """Give the curator's seconds in each round, and at last, to add one more party's ciphertexts.

    They are added after the round in which they come. Ciphertexts of a plug-in's own messages are
    not known.
    """
    bits = 2 * record.job.key_bits
    addition = calibration.cost_of(WorkKind.MULTIPLICATION, size=bits)
    received = Counter[int]()
    for entry in record.entries:
        if entry.receiver == CURATOR and entry.kind == SecureSums.Encrypted.__name__:
            received[entry.round] += entry.ciphertext_bytes // (bits // 8)
    by_party = addition / record.job.parties
    return [by_party * received[place] for place in (*places, places[-1] + 1)]


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
    record: RunRecord, by_round: Sequence[Sequence[float]], turns: Mapping[int, int]
) -> list[list[float]]:
    """Give what parties compute, without what they do in turns of some parties alone.

    The turns are given with their places among the rounds of the play.
    """
    seconds = [[*each] for each in by_round[1:]]
    for number, place in turns.items():
        for party in _senders(record, place):
            seconds[party - 1][number] = 0.0
    return seconds


def _mean(parties: Sequence[Sequence[float]]) -> list[float]:
    return [sum(each) / len(parties) for each in zip(*parties, strict=True)]


def _extrapolated(
    seconds: Sequence[Sequence[float]], *, places: Sequence[float], wanted: float
) -> list[float]:
    """Put what grows on a line, and add the rest as it is in the smaller play.

    Args:
        seconds: by round, of what grows in both plays, and of all work in the smaller one.
        places: where the two plays are on the line.
        wanted: the place that is asked for.
    """
    return [
        whole - low + _on_line((places[0], low), (places[1], high), wanted)
        for low, high, whole in zip(*seconds, strict=True)
    ]


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
