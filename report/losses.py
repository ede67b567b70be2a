"""Lost parties, as a person reads of them: when they were lost, and whose records are in what."""

from __future__ import annotations

from collections.abc import Sequence

from ..runs.record import RunRecord
from .formats import numbers_text, quantity

__all__ = ["losses_text"]


def losses_text(record: RunRecord) -> str:
    """Say which parties were lost in which phase, and whether their records are in the result."""
    groups: dict[tuple[str, int, int], list[int]] = {}
    for loss in record.losses:
        groups.setdefault((loss.phase, loss.sums_with, loss.sums_without), []).append(loss.party)
    parts = [
        f"{_named(parties)} in phase {phase or '(none)'}, {_records(with_, without)}"
        for (phase, with_, without), parties in groups.items()
    ]
    lost, left = len(record.losses), record.job.parties - len(record.losses)
    most = max(record.attempts, default=1)
    again = f"; a sum was asked {most} times at most" if most > 1 else ""
    were = "was" if lost == 1 else "were"
    return (
        f"{quantity(lost, 'party', 'parties')} {were} lost, and the run went on with {left}: "
        f"{'; '.join(parts)}{again}"
    )


def _records(with_: int, without: int) -> str:
    if not without:
        return "with records in the result"
    if not with_:
        return "without records in the result"
    return f"with records in the first {with_} of {with_ + without} sums alone"


def _named(parties: Sequence[int]) -> str:
    """Name parties: party 2, parties 1 and 5 to 9."""
    return f"{'party' if len(parties) == 1 else 'parties'} {numbers_text(parties)}"
