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

from ..parties import DEMO, DEMO_SCHEMA, Records
from ..parties.alternatives import alternatives
from ..parties.lacking import Rules
from .constants import constants_for
from .failure import public_kind
from .instance import instantiate
from .open_shares import replay_other_answers
from .record import Guard
from .replay import PartTape, Replay, replay_part
from .time_limit import TimeUp
from .unaccounted import count_unaccounted, has_differences, left_otherwise

__all__ = ["unseen_acts", "errors_in", "guard_part", "repeat_part", "replays_of", "with_repeats"]

OTHER_RECORDS: Final = "on other records its part ends in {}"
LACKING: Final = (
    "on values that its table lacks, but a neighbouring one may have, its part ends in {}, and "
    "that it ends tells of them"
)
OTHER_ANSWERS: Final = "with other answers of its releases its part ends in {}"
RANDOM_ELSEWHERE: Final = (
    "it differs even on the same records: its randomness is not from me.release or me.randomness"
)
MIN_SECONDS: Final = 2.0
"""Replays may take so long, or as long as the part itself where that is more.

Parties that are threads of one process share this time. Each is replayed once at least.
"""
SLOWER: Final = 3
"""One replay may take so many times as long as all of them may."""
PATIENCE: Final = 5
"""One replay may take so many times as long as others, if all of these took too long."""
MIN_TABLES: Final = 2
"""Number of tables that are tried, though the time is up, while each ends in an error."""
NEVER_READ: Final = (
    "its part never read me.records, so replays on other records show nothing of what it sends"
)
READS: Final = (
    "its part reads files beside me.records, and replays on other records show nothing of what "
    "these hold"
)
PROCESSES: Final = (
    "its part starts programs or processes, and what these write, print or send is not looked at"
)
THREADS: Final = (
    "its part leaves threads running when it ends, and what these do afterwards is not looked at"
)
AT_EXIT: Final = (
    "its part leaves functions to be called when the program ends (atexit), and what these do is "
    "not looked at"
)
TOO_LONG: Final = "its conversation was too long to replay"
TOO_SLOW: Final = "on other records its part took too long and was ended: its time may tell of them"


def guard_part(tape: PartTape, *, records: Records, seconds: float, sharing: int = 1) -> Guard:
    """Replay a part that has ended well, and count what no release covers.

    Args:
        tape: the part.
        records: the party's records, whose shape the other tables have.
        seconds: how long the part took.
        sharing: number of parties in this process, which share the time for replays.
    """
    if not tape.wire.complete:
        return Guard(replays=0, unaccounted=[], remarks=[TOO_LONG])
    seconds = max(MIN_SECONDS, seconds)
    longest = SLOWER * seconds
    time_of_each = seconds / sharing
    # Only of the demo is anything declared without a schema.
    rules = DEMO_SCHEMA.attributes if set(tape.job.data) == {DEMO} else {}
    replays = replays_of(tape, records=records, seconds=time_of_each, longest=longest, rules=rules)
    replays += replay_other_answers(tape, records=records, seconds=time_of_each, longest=longest)
    replays = with_repeats(tape, replays, records=records, longest=longest)
    return Guard(
        replays=len(replays),
        unaccounted=count_unaccounted(tape, replays),
        remarks=errors_in(replays) + ([] if tape.party.reads else [NEVER_READ]) + unseen_acts(tape),
    )


def unseen_acts(tape: PartTape) -> list[str]:
    """Say what a part does beside its records and messages that no replay shows.

    Files that it reads by itself are not named: a name may hold data.
    """
    files, effects = tape.party.printing.files, tape.party.printing.effects
    remarks = {
        READS: bool(files.read.keys() - files.written.keys()),
        PROCESSES: effects.starts_processes,
        AT_EXIT: effects.registers,
        THREADS: effects.leaves_threads,
    }
    return [remark for remark, holds in remarks.items() if holds]


def replays_of(
    tape: PartTape, *, records: Records, seconds: float, longest: float, rules: Rules
) -> list[Replay]:
    """Replay a part on the party's other tables until the time is up.

    One replay at least is played, and another if the first ends in an error. Each is ended when it
    takes longer than `longest`. `rules` are what is declared of columns without a schema.
    """
    started = time.perf_counter()
    replays: list[Replay] = []
    tables = alternatives(
        records,
        rows_are_secret=tape.accountant.neighbours == "add-or-remove-one",
        generator=np.random.default_rng(tape.seed),
        rules=rules,
        constants=constants_for(instantiate(tape.job)),
    )
    for table, has_lacking, is_unlikely in tables:
        replay = replay_part(tape, records=table, seconds=longest)
        replays.append(replace(replay, has_lacking=has_lacking, is_unlikely=is_unlikely))
        ended_well = any(replay.error is None for replay in replays)
        if time.perf_counter() - started > seconds and (ended_well or len(replays) >= MIN_TABLES):
            break
    if all(isinstance(replay.error, TimeUp) for replay in replays):
        # Perhaps the machine is busy: the first table once more, with patience.
        generator = np.random.default_rng(tape.seed)
        first = next(alternatives(records, rows_are_secret=False, generator=generator, rules=rules))
        replays.append(replay_part(tape, records=first.records, seconds=PATIENCE * longest))
    return replays


def with_repeats(
    tape: PartTape, replays: list[Replay], *, records: Records, longest: float
) -> list[Replay]:
    """Repeat a part on its own records if a replay on others did something otherwise.

    What others may have written or set meanwhile is repeated once more.
    """
    if not has_differences(tape, replays):
        return replays
    repeats = [repeat_part(tape, records=records, seconds=longest)]
    if left_otherwise(tape, repeats[0]):
        repeats.append(repeat_part(tape, records=records, seconds=longest))
    return [*repeats, *replays]


def repeat_part(tape: PartTape, *, records: Records, seconds: float) -> Replay:
    """Replay a part on the same records, where only randomness from elsewhere makes a difference.

    Such randomness may be noise, but nobody has accounted for it.
    """
    replay = replay_part(tape, records=records, seconds=seconds)
    return replace(
        replay,
        differences=[
            difference._replace(reason=RANDOM_ELSEWHERE) for difference in replay.differences
        ],
        doubts=[],
        same_records=True,
    )


def errors_in(replays: list[Replay]) -> list[str]:
    """List the types of errors in which replays ended; their texts may hold data."""
    remarks = dict.fromkeys(
        TOO_SLOW
        if isinstance(replay.error, TimeUp)
        else (LACKING if replay.has_lacking else OTHER_RECORDS).format(public_kind(replay.error))
        for replay in replays
        if replay.error is not None and not (replay.other_answers or replay.is_unlikely)
    )
    with_answers = [replay for replay in replays if replay.other_answers]
    if all(replay.error is not None for replay in with_answers):
        remarks |= dict.fromkeys(
            OTHER_ANSWERS.format(public_kind(replay.error))
            for replay in with_answers
            if replay.error is not None
        )
    return [*remarks]
