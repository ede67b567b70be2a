"""A party with many records in a rehearsal: what one record changes may grow with their number.

A count that is multiplied by the number of records and divided by a thousand changes by nothing
with one of two hundred, and by five with one of five thousand. All of a rehearsal on tables so
large would take too long. So the roles play once more, party 1 has many records, and its releases
are compared on a few pairs of neighbouring tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..runs.files_written import OpenedFiles
from ..runs.instance import is_built_in
from ..runs.job import Job
from .authors_modules import authors_modules
from .kept_state import imported_anew
from .rehearsed_job import made_up_records, smaller_job
from .rehearsed_play import play_on_made_up, public_text_of, replay_neighbours
from .release_checks import FalseStatement, ReleaseFindings, check_privately

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MANY", "false_with_many"]

MANY: Final = 5000
"""Made-up records of the party. A part that compares all pairs of them still ends."""
PAIRS: Final = 12
"""Pairs of neighbouring tables at most."""
NOT_PLAYED: Final = "no party had {:,} made-up records, as no play with them ended well ({})"
"""A remark, where the play on few records ended well."""


def false_with_many(
    job: Job,
    findings: ReleaseFindings,
    *,
    tables: tuple[pd.DataFrame, ...],
    read: bool,
    seconds: float,
    longest: float,
    play_seconds: float,
) -> tuple[list[FalseStatement], int]:
    """Play once more, and check the releases of the party that has many records.

    Args:
        job: the job that will run.
        findings: what was found so far; remarks are added.
        tables: the tables in memory, if the job's data are not files.
        read: whether the first file may be read for the shape of its columns.
        seconds: longest time of the replays. There are two at least.
        longest: the time after which a single replay is ended.
        play_seconds: longest time of the play.

    Returns the false statements, and the number of replays.
    """
    _, protocol = smaller_job(job, seconds=play_seconds)
    if is_built_in(type(protocol)):
        return [], 0  # the project's own tests compare releases on tables of every size
    # What the play before has left in the author's modules belongs to other records.
    with imported_anew(authors_modules(type(protocol))):
        smaller, protocol = smaller_job(job, seconds=play_seconds)
        schema, records, rules = made_up_records(
            smaller, protocol, job, tables=tables, read=read, first=MANY
        )
        try:
            tape, *_ = play_on_made_up(
                smaller,
                protocol,
                schema=schema,
                records=records,
                seconds=play_seconds,
                of_curator=OpenedFiles([]),
            )
        except Exception as error:  # noqa: BLE001 - the author's code may raise any
            findings.remarks[NOT_PLAYED.format(MANY, public_text_of(error, protocol))] = None
            return [], 0
        if not tape.wire.complete:
            return [], 0
        replays, pairs = replay_neighbours(
            tape, records=records[0], seconds=seconds, longest=longest, rules=rules, most=PAIRS
        )
        within_belief = protocol.neighbours == "label-within-belief"
        false = check_privately(findings, pairs, within_belief=within_belief, mechanisms=False)
    return [
        statement._replace(reason=f"with {MANY:,} records, {statement.reason}")
        for statement in false
    ], len(replays)
