"""Messages that a protocol does not predict, as plays with few parties show them.

The length of a user's report, or of a table that is merged by what was learnt, depends on records.
But where every party sends or receives as many such messages as every other one, many parties do so
too. Those that the curator sends are as long as in the play. How long those are that parties send
may depend on how many records each has, so another play with more parties and the same records of
all shows it: the length is taken to be a straight line over the records of a party. Where nobody
sends parties anything they know their own records alone, so a play in which each has as many as it
would have among many shows the length itself.

This does not hold for messages between parties, as each may have more peers, or for those of
parties that chance or records choose.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..messages import CURATOR, Entry
from ..protocols import Cost
from ..report.report import Report
from ..runs.record import RunRecord
from .forecast_predicted import NotPredictedError

__all__ = ["unpredicted_of_many"]

Line: TypeAlias = tuple[str, str]
"""A phase and a kind of message."""


class _Shown(NamedTuple):
    """What a play shows of one kind."""

    each: int
    """Number of messages of each party."""
    payload_bytes: float
    """Mean length of a message."""


def unpredicted_of_many(
    record: RunRecord,
    report: Report,
    *,
    parties: int,
    more_parties: Callable[[], RunRecord],
    fewer_records: Callable[[], RunRecord],
) -> list[Cost]:
    """Give the messages of many parties that the protocol does not predict.

    Args:
        record: a play with few parties.
        report: its report.
        parties: number of parties.
        more_parties: plays more parties, with as many records of all.
        fewer_records: plays as many parties, each with the records that it would have among many.

    Raises:
        NotPredictedError: few parties do not show how many messages there are of a kind.
    """
    predicted = report.communication.predicted or []
    predicted_lines = {(line.phase, line.kind) for line in predicted}
    wrong = [f"{line.phase}/{line.kind}" for line in predicted if not line.right]
    shown = _unknown(record, predicted_lines)
    wrong += ["/".join(line) for line, each in shown.items() if each is None]
    if wrong:
        raise NotPredictedError(
            f"{report.protocol} does not predict {', '.join(wrong)}, and few parties do not show "
            "how many of these messages many would send"
        )
    sent = {(entry.phase, entry.kind) for entry in record.entries if entry.receiver == CURATOR}
    is_alone = all(entry.receiver == CURATOR for entry in record.entries)
    other = record
    if sent & shown.keys():
        other = fewer_records() if is_alone else more_parties()
    more, lines = _unknown(other, predicted_lines), []
    for line, each in shown.items():
        if each is None:
            continue
        messages, length, (phase, kind) = parties * each.each, each.payload_bytes, line
        if line in sent and (another := more.get(line)) is not None:
            messages, length = parties * another.each, another.payload_bytes
            if not is_alone:
                few = 1 / record.job.parties, each.payload_bytes
                length = _length(few, (1 / other.job.parties, length), 1 / parties)
        size = round(messages * length)
        lines.append(Cost(phase=phase, kind=kind, messages=messages, payload_bytes=size))
    return lines


def _length(few: tuple[float, float], more: tuple[float, float], share: float) -> float:
    """Give the length of a message of a party with some share of all records.

    It lies on a line through two other shares and their lengths, and is never less than in
    proportion to the records.

    >>> _length((1 / 4, 1000), (1 / 12, 400), 1 / 1000)
    103.6
    """
    (large, long), (small, short) = few, more
    slope = 0.0 if large == small else (long - short) / (large - small)
    return round(max(short + max(slope, 0.0) * (share - small), short * share / small), 6)


def _unknown(record: RunRecord, predicted: set[Line]) -> dict[Line, _Shown | None]:
    """Add up the messages of unknown kinds; `None` where not all parties do the same."""
    entries: defaultdict[Line, list[Entry]] = defaultdict(list)
    for entry in record.entries:
        if (entry.phase, entry.kind) not in predicted:
            entries[entry.phase, entry.kind].append(entry)
    return {line: _shown(each, parties=record.job.parties) for line, each in entries.items()}


def _shown(entries: Sequence[Entry], *, parties: int) -> _Shown | None:
    if any(CURATOR not in (entry.sender, entry.receiver) for entry in entries):
        return None
    counts = Counter((entry.sender, entry.receiver) for entry in entries)
    if len(counts) != parties or len({*counts.values()}) > 1:
        return None
    size = sum(entry.payload_bytes for entry in entries) / len(entries)
    return _Shown(len(entries) // parties, size)
