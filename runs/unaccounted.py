"""Counting what no release covers: what all replays of a part have done otherwise, together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from .instance import instantiate
from .patched import packages_of, replaced_by
from .record import Unaccounted
from .replay import MAX_NAMED, UNREACHED, PartTape, Replay
from .taped_party import OWN_ACCOUNTS

__all__ = ["IN_FILES", "WARNS", "count_unaccounted", "has_differences"]

REPLACED: Final = "its code has replaced {}, on which what is accounted rests"
LEFT_BEHIND: Final = (
    "it has left something in {}, where a later play or another role can read it, which no replay "
    "compares"
)
IN_FILES: Final = (
    "what it writes to files depends on its records, and other roles or later plays can read it "
    "there"
)
FILE_NAMES: Final = "which files it writes depends on its records"
WARNS: Final = "the text of a warning that it shows depends on its records"


def has_differences(tape: PartTape, replays: Iterable[Replay]) -> bool:
    """Tell whether a replay has sent or written something else, for whatever reason."""
    of_part = tape.party.printing.files.written
    return any(
        replay.differences or (_is_whole(replay) and replay.written != of_part)
        for replay in replays
    )


def _is_whole(replay: Replay) -> bool:
    """Tell whether all that a replay writes can be compared."""
    return replay.error is None and not (replay.was_cut_off or replay.other_answers)


def _outside(tape: PartTape, replays: list[Replay]) -> Iterator[str]:
    """List what depends on records of what the part writes to files, and warns of.

    What differs on the same records, too, such as the time of day, is not compared.
    """
    whole = [replay for replay in replays if _is_whole(replay)]
    alike = [
        tape.party.printing.files.written,
        *(replay.written for replay in whole if replay.same_records),
    ]
    names = alike[0].keys()
    varying = {path for path in names if len({written.get(path) for written in alike}) > 1}
    if any(
        written[path] != digest
        for written in [replay.written for replay in whole]
        for path, digest in alike[0].items()
        if path in written and path not in varying
    ):
        yield IN_FILES
    if all(written.keys() == names for written in alike) and any(
        replay.written.keys() - names for replay in whole
    ):
        yield FILE_NAMES
    warned = {*tape.party.printing.warnings}.union(
        *(replay.warnings for replay in replays if not replay.other_answers)
    )
    if len({place for place, _ in warned}) < len(warned):
        yield WARNS


def count_unaccounted(tape: PartTape, replays: Iterable[Replay]) -> list[Unaccounted]:
    """Count the messages that some replay did not send as they were, by kind and reason."""
    reasons: dict[tuple[int, int], tuple[str, str]] = {}
    doubts: dict[str, None] = {}
    replays = list(replays)
    for replay in replays:
        for difference in replay.differences:
            reasons.setdefault(
                (difference.to, difference.number), (difference.kind, difference.reason)
            )
        doubts |= dict.fromkeys(replay.doubts)
    doubts |= dict.fromkeys(_doubts_of_code(tape))
    doubts |= dict.fromkeys(_outside(tape, replays))
    for place, kind in _unreached(tape, replays):
        reasons.setdefault(place, (kind, UNREACHED))
    party = tape.party.rank
    return [
        Unaccounted(party=party, kind=kind, messages=messages, reason=reason)
        for (kind, reason), messages in Counter(reasons.values()).items()
    ] + [Unaccounted(party=party, kind="", messages=0, reason=reason) for reason in doubts]


def _doubts_of_code(tape: PartTape) -> Iterator[str]:
    """List what the part's code has changed that no replay can compare."""
    if not tape.party.keeps_accounts(tape.accountant):
        yield OWN_ACCOUNTS
    kind = type(instantiate(tape.job))
    if replaced := replaced_by(kind):
        yield REPLACED.format(" and ".join(replaced[:MAX_NAMED]))
    packages = packages_of(kind)
    left = [place for place in tape.surroundings.left() if place.partition(".")[0] not in packages]
    if left:
        yield LEFT_BEHIND.format(" and ".join(left[:MAX_NAMED]))


def _unreached(tape: PartTape, replays: list[Replay]) -> Iterator[tuple[tuple[int, int], str]]:
    """List the messages that no replay reached, as each of them ended in an error before.

    Nothing is known of these messages. Gives each one's receiver and number, and its kind. Tables
    that differ from the party's own in lacking values alone are not other enough.
    """
    others = [
        replay
        for replay in replays
        if not (replay.same_records or replay.other_answers or replay.has_lacking)
    ]
    if not others or any(replay.error is None for replay in others):
        return
    for to, frames in tape.wire.sent.items():
        reached = max(replay.reached.get(to, 0) for replay in others)
        for number, frame in enumerate(frames[reached:], start=reached):
            yield (to, number), frame.kind
