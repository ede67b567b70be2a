"""What left parties without a release that covers it, and the sentences about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..runs.record import Rehearsal, RunRecord, Unaccounted
from .formats import numbers_text, quantity

__all__ = [
    "MARK",
    "MEANING",
    "count_unaccounted",
    "rehearsal_texts",
    "unaccounted_messages",
    "unaccounted_texts",
]

MARK: Final = "NOT ACCOUNTED"
"""How every sentence about such messages begins."""
MEANING: Final = (
    "What this reveals of a record is not known, so no privacy loss is shown for whoever saw it."
)
MAX_TEXTS: Final = 6
NOT_CHECKED: Final = (
    "its messages were not checked, as its conversation was too long to be played again and no "
    "rehearsal replayed it"
)
REHEARSED: Final = "in the rehearsal, {}"
SAME_CODE: Final = "in the rehearsal, at {}, {}, and all parties run the same code"


def unaccounted_messages(record: RunRecord) -> list[Unaccounted]:
    """List what no release covers in a run.

    A kind of message that depended on records in the rehearsal may be the same on the other tables
    of the real replays. All of its messages count.
    """
    lines = [
        line
        for notes in record.roles
        if notes.guard is not None
        for line in notes.guard.unaccounted
    ]
    rehearsed_replays = 0 if record.rehearsal is None else record.rehearsal.replays
    if not rehearsed_replays:
        lines += [
            Unaccounted(party=party, kind="", messages=0, reason=NOT_CHECKED)
            for party, notes in enumerate(record.roles)
            if notes.guard is not None and not notes.guard.replays
        ]
    if record.rehearsal is None:
        return lines
    counted = {(line.party, line.kind) for line in lines}
    findings: dict[str, list[Unaccounted]] = {}
    for finding in record.rehearsal.unaccounted:
        findings.setdefault(finding.kind or finding.reason, []).append(finding)
    parties = range(1, record.job.parties + 1)
    for kind, of_kind in findings.items():
        reason = of_kind[0].reason
        rehearsed = REHEARSED.format(reason)
        if len({finding.party for finding in of_kind}) < record.rehearsal.parties:
            rehearsed = SAME_CODE.format(_parties(of_kind), reason)
        for party in parties:
            if kind == reason:  # something beside messages, with a reason and no kind
                if not any(line.party == party and line.reason == reason for line in lines):
                    lines.append(Unaccounted(party=party, kind="", messages=0, reason=rehearsed))
                continue
            messages = sum(entry.sender == party and entry.kind == kind for entry in record.entries)
            if messages and (party, kind) not in counted:
                lines.append(
                    Unaccounted(party=party, kind=kind, messages=messages, reason=rehearsed)
                )
    return lines


def rehearsal_texts(rehearsal: Rehearsal) -> list[str]:
    """Write what a rehearsal found, before the run begins."""
    remarks = [f"rehearsal: {remark}" for remark in rehearsal.remarks]
    if rehearsal.failure is not None:
        failed = f"rehearsal: none, as it failed on made-up records: {rehearsal.failure}"
        return [failed, *remarks]
    if not rehearsal.rows:
        tried = f"rehearsal: of the randomizer alone, {rehearsal.seconds:.1f} s"
    else:
        tried = (
            f"rehearsal: {quantity(rehearsal.rows, 'made-up record')}, "
            f"{quantity(rehearsal.replays, 'replay')}, {rehearsal.seconds:.1f} s"
        )
    if not (rehearsal.unaccounted or rehearsal.rows):
        return [f"{tried}: it loses no more than it states, as far as was seen", *remarks]
    if not rehearsal.unaccounted:
        return [f"{tried}: no play saw anything leave a party without a release", *remarks]
    return [f"{tried}", *unaccounted_texts(rehearsal.unaccounted), *remarks]


def count_unaccounted(messages: Sequence[Unaccounted]) -> int:
    """Count the messages; something beside messages counts once."""
    return sum(max(1, message.messages) for message in messages)


def unaccounted_texts(messages: Sequence[Unaccounted]) -> list[str]:
    """Write a sentence for each kind of message, with all parties that sent it.

    >>> total = [
    ...     Unaccounted(party=party, kind="Total", messages=2, reason="") for party in (1, 2, 3)
    ... ]
    >>> unaccounted_texts(total)
    ['NOT ACCOUNTED: 6 messages of kind Total left parties 1 to 3 without a release']
    """
    groups: dict[tuple[str, str], list[Unaccounted]] = {}
    for message in messages:
        groups.setdefault((message.kind, message.reason), []).append(message)
    texts = [_text(kind, reason, group) for (kind, reason), group in groups.items()]
    if len(texts) > MAX_TEXTS:
        rest = [message for group in [*groups.values()][MAX_TEXTS - 1 :] for message in group]
        texts[MAX_TEXTS - 1 :] = [_rest_text(rest)]
    return texts


def _rest_text(rest: Sequence[Unaccounted]) -> str:
    """Write one sentence about several kinds, or about what is beside messages if there are none.

    >>> _rest_text([Unaccounted(party=2, kind="", messages=0, reason=why) for why in "abb"])
    'NOT ACCOUNTED: party 2: 2 more findings beside messages'
    """
    kinds = {message.kind for message in rest if message.kind}
    if not kinds:
        reasons = len({message.reason for message in rest})
        return f"{MARK}: {_parties(rest)}: {quantity(reasons, 'more finding')} beside messages"
    more = f"{_count(rest)} of {quantity(len(kinds), 'more kind')}"
    return f"{MARK}: {more} left {_parties(rest)} without a release"


def _text(kind: str, reason: str, group: Sequence[Unaccounted]) -> str:
    """Write the sentence about one kind; without a kind something beside messages is meant."""
    if not kind:
        return f"{MARK}: {_parties(group)}: {reason}"
    text = f"{MARK}: {_count(group)} of kind {kind} left {_parties(group)} without a release"
    return f"{text} ({reason})" if reason else text


def _count(messages: Sequence[Unaccounted]) -> str:
    return quantity(sum(message.messages for message in messages), "message")


def _parties(messages: Sequence[Unaccounted]) -> str:
    parties = {message.party for message in messages}
    return f"part{'y' if len(parties) == 1 else 'ies'} {numbers_text(parties)}"
