"""Other paths of a part: releases that it makes after answers which the play did not have.

A replay gives the answers of the tape. So a sum with a wrong sensitivity, on a line that a part
reaches if a noisy count is small, is not looked at where it was large. Here a part plays on a
table with answers that are drawn anew, as a run on that table would draw them. Then it plays on a
neighbouring table with the same answers. The two plays are compared: their messages, and their
releases.

Every answer is one that its mechanism has given. An answer out of the air may lie outside of
bounds that a mechanism keeps, and would accuse a part that rests on them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from ..parties import Records
from ..parties.lacking import Rules
from ..privacy.mechanism import AnyMechanism, loss_of
from ..privacy.taping import ReleasePair
from ..runs.altered_messages import telling_alterations
from ..runs.constants import constants_for
from ..runs.instance import instantiate
from ..runs.replay import PartTape, Replay, replay_part
from .close_tables import close_tables
from .counted_tables import Neighbours
from .other_branches import differences_of, replay_of_differences
from .release_checks import FalseStatement

__all__ = ["OtherPaths", "differing_terms", "replay_asked_paths", "replay_paths"]

MAX_DIFFERENT: Final = 3
"""Pairs of plays whose messages differ, after which no more are kept."""
FEW_LACKING: Final = 4
"""One in so many pairs with lacking values is tried, as there are many of them."""
TERMS: Final = ("mechanism", "sensitivity", "noise scale", "privacy loss")
LATER: Final = "{}, after answers that were drawn anew"


class OtherPaths(NamedTuple):
    """What plays with other answers show."""

    replays: list[Replay]
    """Messages that differ. As replays they tell nothing else."""
    pairs: list[list[ReleasePair]]
    """The releases on each pair of neighbouring tables."""


def replay_paths(
    tape: PartTape, *, records: Records, seconds: float, longest: float, rules: Rules
) -> OtherPaths:
    """Play a part on pairs of neighbouring tables with answers of its own, until the time is up.

    Args:
        tape: the part.
        records: the party's records.
        seconds: the time; one pair at least is played.
        longest: the time after which a play is ended.
        rules: the rules of raw columns.
    """
    started, differing, pairs = time.perf_counter(), list[Replay](), list[list[ReleasePair]]()
    if not tape.accountant.tape:
        return OtherPaths([], [])
    for number, neighbours in enumerate(_tables(tape, records, rules)):
        first, second = _play(tape, neighbours, number=number, longest=longest)
        if second is not None:
            pairs.append(_releases(first, second, neighbours.tables))
            differences = differences_of(first, second)
            if differences and len(differing) < MAX_DIFFERENT:
                differing.append(replay_of_differences(differences))
        if time.perf_counter() - started > seconds:
            break
    return OtherPaths(differing, pairs)


def replay_asked_paths(
    tape: PartTape, *, records: Records, seconds: float, longest: float, rules: Rules
) -> list[list[ReleasePair]]:
    """List releases that a part would make if the curator asked for something else."""
    if not tape.accountant.tape:
        return []
    started, pairs = time.perf_counter(), list[list[ReleasePair]]()
    tapes = [
        replace(tape, alteration=alteration)
        for alteration in telling_alterations(
            tape.party.received_own_kinds.values(), constants_for(instantiate(tape.job))
        )
    ]
    if not tapes:
        return []
    for number, neighbours in enumerate(_tables(tape, records, rules)):
        if neighbours.has_lacking and number % FEW_LACKING:
            continue
        for altered in tapes:
            first, second = _play(altered, neighbours, number=number, longest=longest)
            if second is not None:
                pairs.append(_releases(first, second, neighbours.tables))
            if time.perf_counter() - started > seconds:
                return pairs
    return pairs


def differing_terms(
    pairs_of_tables: Sequence[Sequence[ReleasePair]], *, reasons: Sequence[str]
) -> list[FalseStatement]:
    """List what releases state differently on neighbouring tables: all of it has to be public.

    Releases are left out if one of the reasons that were found before is about them.
    """
    false: dict[str, FalseStatement] = {}
    for pairs in pairs_of_tables:
        for number, pair in enumerate(pairs):
            if any(f"of its release {number} (" in reason for reason in reasons):
                continue
            terms = zip(TERMS, _terms(pair.first), _terms(pair.second), strict=True)
            for word, first, second in terms:
                if first != second:
                    text = f"the {word} of its release {number} ({pair.first.name})"
                    text = f"{text} depends on its records"
                    false.setdefault(text, FalseStatement(text, text + pair.seen))
                    break
    return [*false.values()]


def _terms(mechanism: AnyMechanism[Any]) -> tuple[object, ...]:
    return mechanism.name, mechanism.sensitivity, mechanism.scale, loss_of(mechanism)


def _tables(tape: PartTape, records: Records, rules: Rules) -> Iterator[Neighbours]:
    return close_tables(
        records,
        generator=np.random.default_rng([tape.party.rank, 1]),
        fewer=tape.accountant.neighbours == "add-or-remove-one",
        rules=rules,
        constants=constants_for(instantiate(tape.job)),
        share=(tape.party.rank - 1, tape.job.parties),
    )


def _play(
    tape: PartTape, neighbours: Neighbours, *, number: int, longest: float
) -> tuple[Replay, Replay | None]:
    """Play on both tables with the answers that are drawn on the first one, if both end well."""
    first = replay_part(tape, records=neighbours.first, fresh=number, seconds=longest)
    if first.error is not None:
        return first, None
    second = replay_part(tape, records=neighbours.second, answers=first.answers, seconds=longest)
    return first, second if second.error is None else None


def _releases(first: Replay, second: Replay, tables: str) -> list[ReleasePair]:
    """Pair the releases of both plays."""
    tables = LATER.format(tables)
    return [
        here._replace(first=here.second, second=there.second, tables=tables)
        for here, there in zip(first.pairs, second.pairs, strict=False)
    ]
