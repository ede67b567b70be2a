"""Lost parties, as a person reads of them: when they were lost, and whose records are in what."""

from __future__ import annotations

from collections.abc import Sequence

from ..runs.instance import instantiate, is_built_in
from ..runs.lost_releases import UNREADABLE
from ..runs.record import PartyLoss, RunRecord
from .formats import numbers_text, quantity

__all__ = ["losses_text"]


def losses_text(record: RunRecord) -> str:
    """Say which parties were lost in which phase, and whether their records are in the result."""
    after = [loss.party for loss in record.losses if loss.has_ended]
    missed = [loss for loss in record.losses if not loss.has_ended]
    parts = []
    if after:
        were, their = ("was", "its part") if len(after) == 1 else ("were", "their parts")
        parts = [f"{_named(after)} {were} lost after {their}, and nothing of it is missing"]
    if missed:
        parts.append(_missed_text(record, missed))
        if not is_built_in(type(instantiate(record.job))):
            parts.append(
                "what a lost party has released to another party may be missing in its account if "
                "the two were sent just before its loss"
            )
        if any(notes.resumed_in for notes in record.roles):
            parts.append(
                "the run was stopped and went on: if the log of a lost party is gone, what it "
                "released last may be missing in its account"
            )
    unread = sorted({each.party for each in record.releases if each.mechanism == UNREADABLE})
    if unread:
        what = "its account" if len(unread) == 1 else "their accounts"
        parts.append(
            f"{_named(unread)} sent {what} in a form that cannot be read, so the claimed epsilon "
            "is charged: the most that a party spends which follows the protocol"
        )
    return "; ".join(parts)


def _missed_text(record: RunRecord, losses: Sequence[PartyLoss]) -> str:
    groups: dict[tuple[str, str], list[int]] = {}
    for loss in losses:
        records = _records(loss, sums=len(record.attempts))
        if loss.was_silent:
            records = f"silent until its process was ended, {records}"
        groups.setdefault((loss.phase, records), []).append(loss.party)
    parts = [
        f"{_named(parties)} in phase {phase or '(none)'}, {records}"
        for (phase, records), parties in groups.items()
    ]
    lost, left = len(losses), record.job.parties - len(losses)
    most = max(record.attempts, default=1)
    again = f"; a sum was asked {most} times at most" if most > 1 else ""
    were = "was" if lost == 1 else "were"
    return (
        f"{quantity(lost, 'party', 'parties')} {were} lost, and the run went on with {left}: "
        f"{'; '.join(parts)}{again}"
    )


def _records(loss: PartyLoss, *, sums: int) -> str:
    with_, without = loss.batches_with, loss.batches_without
    turns = f"what it released in {quantity(loss.turns, 'turn')}"
    if not without:
        return "with records in the result"
    if not with_:
        return f"without records in the result{f' but for {turns}' if loss.turns else ''}"
    every = with_ + without
    what = "sums" if sums == every else "batches" if sums else "rounds"
    also = f" and {turns}" if loss.turns else ""
    return f"with records in the first {with_} of {every} {what}{also} alone"


def _named(parties: Sequence[int]) -> str:
    """Name parties: party 2, parties 1 and 5 to 9."""
    return f"{'party' if len(parties) == 1 else 'parties'} {numbers_text(parties)}"
