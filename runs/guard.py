"""The guard of a party: what left it without a release, in the run itself.

Protocols that are built in are held to this law by the test suite. The part of any other is taped,
and played again on other records when it has ended. The party does so alone, and says only how many
messages of which kind were not covered.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

import numpy as np

from ..parties import Records
from ..parties.alternatives import alternatives
from ..protocols import AnyProtocol
from .record import Guard
from .replay import PartTape, Replay, count_unaccounted, replay_part

__all__ = ["errors_in", "guard_part", "is_built_in", "repeat_part", "replays_of"]

RANDOM_ELSEWHERE: Final = (
    "it differs even on the same records: its randomness is not from me.release or me.randomness"
)
MIN_SECONDS: Final = 2.0
"""Replays may take so long, or as long as the part itself where that is more."""


def is_built_in(protocol: AnyProtocol) -> bool:
    """Tell whether a protocol is one of sottovoce's own."""
    return type(protocol).__module__.partition(".")[0] == __name__.partition(".")[0]


def guard_part(tape: PartTape, *, records: Records, seconds: float) -> Guard:
    """Replay a part that has ended well, and count what no release covers.

    Args:
        tape: the part.
        records: the party's records, whose shape the other tables have.
        seconds: how long the part took.
    """
    if not tape.wire.complete:
        return Guard(replays=0, unaccounted=[], remarks=["its conversation was too long to replay"])
    replays = replays_of(tape, records=records, seconds=max(MIN_SECONDS, seconds))
    if any(replay.differences for replay in replays):
        replays.insert(0, repeat_part(tape, records=records))
    return Guard(
        replays=len(replays),
        unaccounted=count_unaccounted(tape, replays),
        remarks=errors_in(replays),
    )


def replays_of(tape: PartTape, *, records: Records, seconds: float) -> list[Replay]:
    """Replay a part on the party's other tables, at least once, until the time is up."""
    started = time.perf_counter()
    replays: list[Replay] = []
    tables = alternatives(
        records,
        rows_are_secret=tape.accountant.neighbours == "add-or-remove-one",
        generator=np.random.default_rng(tape.seed),
    )
    for table in tables:
        replays.append(replay_part(tape, records=table))
        if time.perf_counter() - started > seconds:
            break
    return replays


def repeat_part(tape: PartTape, *, records: Records) -> Replay:
    """Replay a part on the same records, where only randomness from elsewhere makes a difference.

    Such randomness may be noise, but nobody has accounted for it.
    """
    replay = replay_part(tape, records=records)
    return replace(
        replay,
        differences=[
            difference._replace(reason=RANDOM_ELSEWHERE) for difference in replay.differences
        ],
        doubts=[],
    )


def errors_in(replays: list[Replay]) -> list[str]:
    """List the types of errors in which replays ended; their texts may hold data."""
    kinds = dict.fromkeys(
        type(replay.error).__name__ for replay in replays if replay.error is not None
    )
    return [f"on other records its part ends in {kind}" for kind in kinds]
