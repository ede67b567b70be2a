"""A larger play in a rehearsal: one party has many records, and there are more parties.

What one record changes may grow with their number. A count that is multiplied by the number of
records and divided by a thousand changes by nothing with one of two hundred, and by five with one
of five thousand. Or a part sends counts of each page of a thousand records. And some roles there
are only among more than three parties. All of a rehearsal on tables so large would take too long.
So the roles play once more: the releases of party 1 are compared on a few pairs of neighbouring
tables, and the messages of all parties on a few other tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ..runs.files_written import OpenedFiles
from ..runs.guard import replays_of, with_repeats
from ..runs.instance import is_built_in
from ..runs.job import Job
from ..runs.record import Unaccounted
from ..runs.unaccounted import count_unaccounted
from .authors_modules import authors_modules
from .kept_state import imported_anew
from .random_values import draws_move
from .rehearsed_job import MORE_PARTIES, made_up_records, smaller_job
from .rehearsed_play import play_on_made_up, public_text_of, replay_neighbours
from .release_checks import FalseStatement, ReleaseFindings, check_privately

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MANY", "LargerPlay", "play_larger"]

MANY: Final = 5000
"""Made-up records of the party. A part that compares all pairs of them still ends."""
PAIRS: Final = 12
"""Pairs of neighbouring tables at most."""
SECONDS_OF_MESSAGES: Final = 0.3
"""Time of each party's replays on other tables; each has two at least."""
LARGER: Final = "{} (seen among {} parties, of which one has {:,} records)"
NOT_PLAYED: Final = "no party had {:,} made-up records, as no play with them ended well ({})"
"""A remark, where the play on few records ended well."""


class LargerPlay(NamedTuple):
    """What the larger play shows."""

    false: list[FalseStatement]
    """What is false of the releases of party 1, which has many records."""
    unaccounted: list[Unaccounted]
    """What parties send without a release."""
    replays: int


def play_larger(
    job: Job,
    findings: ReleaseFindings,
    *,
    tables: tuple[pd.DataFrame, ...],
    read: bool,
    seconds: float,
    longest: float,
    play_seconds: float,
) -> LargerPlay:
    """Play once more, and check the releases of party 1 and the messages of all.

    Args:
        job: the job that will run.
        findings: what was found so far; remarks are added.
        tables: the tables in memory, if the job's data are not files.
        read: whether the first file may be read for the shape of its columns.
        seconds: longest time of the replays. There are two at least.
        longest: the time after which a single replay is ended.
        play_seconds: longest time of the play.
    """
    _, protocol = smaller_job(job, seconds=play_seconds)
    if is_built_in(type(protocol)):
        # The project's own tests compare releases on tables of every size.
        return LargerPlay([], [], 0)
    # What the play before has left in the author's modules belongs to other records.
    with imported_anew(authors_modules(type(protocol))):
        smaller, protocol = smaller_job(job, seconds=play_seconds, most=MORE_PARTIES)
        schema, records, rules = made_up_records(
            smaller, protocol, job, tables=tables, read=read, first=MANY
        )
        try:
            tapes = play_on_made_up(
                smaller,
                protocol,
                schema=schema,
                records=records,
                seconds=play_seconds,
                of_curator=OpenedFiles([]),
            )
        except Exception as error:  # noqa: BLE001 - the author's code may raise any
            findings.remarks[NOT_PLAYED.format(MANY, public_text_of(error, protocol))] = None
            return LargerPlay([], [], 0)
        tape = tapes[0]
        if not all(each.wire.complete for each in tapes):
            return LargerPlay([], [], 0)
        replays, pairs = replay_neighbours(
            tape, records=records[0], seconds=seconds, longest=longest, rules=rules, most=PAIRS
        )
        unaccounted, played = list[Unaccounted](), len(replays)
        for each, table in zip(tapes, records, strict=True):
            others = replays_of(
                each, records=table, seconds=SECONDS_OF_MESSAGES, longest=longest, rules=rules
            )
            played += len(others)
            others += replays if each is tape else []
            unaccounted += count_unaccounted(
                each, with_repeats(each, others, records=table, longest=longest)
            )
        within_belief = protocol.neighbours == "label-within-belief"
        false = check_privately(
            findings, pairs, within_belief=within_belief, draws_move=draws_move(tape)
        )
    with_many = [
        statement._replace(reason=f"with {MANY:,} records, {statement.reason}")
        for statement in false
    ]
    among_more = [
        msgspec.structs.replace(
            line, reason=LARGER.format(line.reason, smaller.parties, len(records[0]))
        )
        for line in unaccounted
    ]
    return LargerPlay(with_many, among_more, played)
