"""A law of the conformance suite: a changed record changes only releases that are about it.

Two rules let losses of one party not add up, and each rests on a promise. A release that names
users is computed from their reports alone. A release that names a part of the records is computed
from that part alone. So when one record is replaced,

    users       there is a user whom all changed releases name
    parts       the changed releases of a partition name at most as many parts as the accountant
                counts: one, or two where the record may move from part to part

Changed releases that name neither are always counted in full. A release whose exact answer cannot
be looked into counts as changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ..privacy.composition import PartPath
from ..privacy.mechanism import UserRange
from .release_tape import ReleaseTape

__all__ = ["ChangedRelease", "scope_violation", "scope_violation_of"]

MAX_LISTED: Final = 3
"""Ranges of users that a sentence lists."""


class ChangedRelease(NamedTuple):
    """What a release names, whose exact value changes with one record."""

    mechanism: str
    users: UserRange | None
    part: PartPath


def scope_violation(tape: ReleaseTape) -> str | None:
    """Compare two runs that differ in one record; say which promise was broken, if one was."""
    return scope_violation_of(
        [
            ChangedRelease(first.mechanism, first.users, first.part)
            for first, second in zip(tape.recorded, tape.replayed, strict=True)
            if first.value is None or second.value is None or first.value != second.value
        ]
    )


def scope_violation_of(changed: Sequence[ChangedRelease]) -> str | None:
    """Say which promise is broken by releases that all change with one record, if one is."""
    return _users_violation(changed) or _parts_violation(changed)


def _users_violation(changed: Sequence[ChangedRelease]) -> str | None:
    """Look for a user whom all changed releases name."""
    named = [release for release in changed if release.users is not None]
    ranges = [release.users for release in named if release.users is not None]
    if not ranges or max(first for first, _ in ranges) < min(end for _, end in ranges):
        return None
    different = [*dict.fromkeys(ranges)]
    listed = ", ".join(
        f"{first} to {end - 1}" if end - first > 1 else f"{first}"
        for first, end in different[:MAX_LISTED]
    )
    if len(different) > MAX_LISTED:
        listed += f" and {len(different) - MAX_LISTED} more"
    return (
        "expected a record to be one user's, found releases about different users that change "
        f"with one record ({named[0].mechanism}, users {listed})"
    )


def _parts_violation(
    changed: Sequence[ChangedRelease], *, depth: int = 0, has_moved: bool = False
) -> str | None:
    """Count the parts of each partition that the changed releases name.

    Below a part that the record left or entered, it is in one part of each partition.
    """
    partitions: dict[int, dict[int, list[ChangedRelease]]] = {}
    bounds: dict[int, int] = {}
    for release in changed:
        if len(release.part) > depth:
            step = release.part[depth]
            partitions.setdefault(step.partition, {}).setdefault(step.index, []).append(release)
            bounds[step.partition] = 1 if has_moved else step.touched
    for number, parts in partitions.items():
        if len(parts) > bounds[number]:
            names = ", ".join(releases[0].part[depth].name for releases in parts.values())
            return (
                "expected a release of a part to be computed from the part's records, found "
                f"releases of {len(parts)} parts that change with one record ({names})"
            )
        moved = has_moved or len(parts) > 1
        for releases in parts.values():
            if violation := _parts_violation(releases, depth=depth + 1, has_moved=moved):
                return violation
    return None
