"""Counting what no release covers: what all replays of a part have done otherwise, together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from .instance import instantiate
from .open_shares import CAUSE
from .patched import packages_of, replaced_by
from .record import Unaccounted
from .replay import UNREACHED, UNREACHED_IN_TIME, PartTape, Replay
from .routed_calls import FILE
from .taped_party import OWN_ACCOUNTS
from .time_limit import TimeUp
from .waits import SLEEP

__all__ = [
    "CONNECTS",
    "FILE_NAMES",
    "IN_FILES",
    "PRINTS",
    "PRINTS_OTHERWISE",
    "WARNS",
    "acts_otherwise",
    "count_unaccounted",
    "has_differences",
    "left_otherwise",
    "outside_of",
]

K = TypeVar("K")
V = TypeVar("V")

IN_ENVIRONMENT: Final = "what it leaves in the environment ({}) depends on {}"
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
PRINTS: Final = "what it prints depends on {}"
PRINTS_OTHERWISE: Final = (
    "what it prints differs even on the same records, so it could not be compared: leave out times "
    "and durations"
)
ACTS: Final = {
    SLEEP: "how long it sleeps depends on {}, and others can see when its messages come",
    FILE: (
        "which files it removes, links or marks, or in which folder it works, depends on {}, and "
        "others can see that"
    ),
    "program": "which programs it starts, or with what arguments, depends on {}",
}
"""Acts of each kind that depend on records."""
CONNECTS: Final = (
    "it sends or receives by a connection of its own, and what leaves in this way is not known"
)
MAX_NAMED: Final = 3
"""Places that are named."""


def has_differences(tape: PartTape, replays: Iterable[Replay]) -> bool:
    """Tell whether a replay has sent, written or set something else, for whatever reason."""
    return any(
        replay.differences or (_is_whole(replay) and left_otherwise(tape, replay))
        for replay in replays
    )


def left_otherwise(tape: PartTape, replay: Replay) -> bool:
    """Tell whether a replay has left other files or variables than the part, or acted otherwise."""
    printing = tape.party.printing
    return (
        (replay.written, replay.printed, replay.acts)
        != (printing.files.written, printing.digest, printing.effects.acts)
    ) or any(
        tape.surroundings.variables.get(name, value) != value
        for name, value in replay.variables.items()
    )


def _is_whole(replay: Replay) -> bool:
    """Tell whether all that a replay leaves can be compared."""
    return replay.error is None and not replay.was_cut_off


def _steady(of_part: Mapping[K, V], repeats: list[Mapping[K, V]]) -> Mapping[K, V]:
    """List what is left alike by every play on the same records.

    Other roles can write and set what the part itself has left, so two repeats say more than one
    and the part. Without a repeat nothing is known.
    """
    if not repeats:
        return {}
    first, second, *_ = [*repeats, of_part]
    return {key: value for key, value in first.items() if key in second and second[key] == value}


def acts_otherwise(tape: PartTape, replays: list[Replay]) -> Iterator[str]:
    """List the kinds of acts that depend on records, as sentences.

    An act that is the same in all plays on the same records must be there on other records, too,
    as often. Where plays on the same records agree in all acts, there must be no others. While a
    part has threads or processes, it may wait for these by short sleeps, as often as it takes. So
    two different sleeps must differ then, and only whether they occur.
    """
    effects = tape.party.printing.effects
    repeats = [replay.acts for replay in replays if replay.same_records]
    if not repeats:
        return
    is_racy = effects.has_threads or effects.starts_processes
    for kind, sentence in ACTS.items():

        def of_kind(acts: Mapping[str, int], kind: str = kind) -> dict[str, int]:
            counts = {act: number for act, number in acts.items() if act.startswith(f"{kind} ")}
            return dict.fromkeys(counts, 1) if kind == SLEEP and is_racy else counts

        of_part, alike = of_kind(effects.acts), [of_kind(acts) for acts in repeats]
        steady = {
            act: number
            for act, number in of_part.items()
            if all(acts.get(act) == number for acts in alike)
        }
        agree = all(acts == of_part for acts in alike)
        for cause, is_of_answers in (("its records", False), (CAUSE, True)):
            different: set[str] = set()
            for replay in replays:
                if replay.same_records or replay.other_answers != is_of_answers:
                    continue
                acts = of_kind(replay.acts)
                different |= {act for act, number in steady.items() if acts.get(act) != number}
                different |= acts.keys() - of_part.keys() if agree else set()
            if len(different) > (kind == SLEEP and is_racy):
                yield sentence.format(cause)


def _prints_otherwise(tape: PartTape, replays: list[Replay]) -> Iterator[str]:
    """Tell whether what is printed depends on records, or differs anyhow."""
    of_part = tape.party.printing.digest
    if any(replay.same_records and replay.printed != of_part for replay in replays):
        yield PRINTS_OTHERWISE
        return
    for cause, is_of_answers in (("its records", False), (CAUSE, True)):
        if any(
            replay.printed != of_part
            for replay in replays
            if replay.other_answers == is_of_answers and not replay.same_records
        ):
            yield PRINTS.format(cause)


def outside_of(tape: PartTape, replays: list[Replay]) -> Iterator[str]:
    """List what depends on records of what the part writes to files, sets, prints and does.

    What differs on the same records, too, such as the time of day, is not compared. Nor are
    variables that one play alone has set, as late imports do.
    """
    whole = [replay for replay in replays if _is_whole(replay)]
    yield from _prints_otherwise(tape, whole)
    yield from acts_otherwise(tape, whole)
    repeats = [replay for replay in whole if replay.same_records]
    others = [replay for replay in whole if not replay.same_records]
    variables = _steady(tape.surroundings.variables, [replay.variables for replay in repeats])
    for cause, is_of_answers in (("its records", False), (CAUSE, True)):
        names = {
            name
            for replay in others
            if replay.other_answers == is_of_answers
            for name, value in replay.variables.items()
            if variables.get(name, value) != value
        }
        if names:
            yield IN_ENVIRONMENT.format(" and ".join(sorted(names)[:MAX_NAMED]), cause)
    of_part = tape.party.printing.files.written
    files = _steady(of_part, [replay.written for replay in repeats])
    written = [replay.written for replay in others if not replay.other_answers]
    if any(
        files.get(path, digest) != digest for of_one in written for path, digest in of_one.items()
    ):
        yield IN_FILES
    alike = [of_part, *(replay.written for replay in repeats)]
    names_alike = repeats and all(of_one.keys() == of_part.keys() for of_one in alike)
    if names_alike and any(of_one.keys() - of_part.keys() for of_one in written):
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
    doubts |= dict.fromkeys(outside_of(tape, replays))
    is_slow = any(isinstance(replay.error, TimeUp) for replay in replays)
    for place, kind in _unreached(tape, replays):
        reasons.setdefault(place, (kind, UNREACHED_IN_TIME if is_slow else UNREACHED))
    party = tape.party.rank
    return [
        Unaccounted(party=party, kind=kind, messages=messages, reason=reason)
        for (kind, reason), messages in Counter(reasons.values()).items()
    ] + [Unaccounted(party=party, kind="", messages=0, reason=reason) for reason in doubts]


def _doubts_of_code(tape: PartTape) -> Iterator[str]:
    """List what the part's code has changed that no replay can compare."""
    if not tape.party.keeps_accounts(tape.accountant):
        yield OWN_ACCOUNTS
    if tape.party.printing.effects.connects:
        yield CONNECTS
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
