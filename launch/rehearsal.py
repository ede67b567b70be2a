"""The rehearsal: a protocol that is not built in plays on made-up records before real ones.

All roles play on threads of this process, with small keys. Then every party's part is played again
on other tables and on neighbouring ones (`runs.replay`). It takes seconds. It looks for

- messages, phases and progress that depend on records without a release;
- answers outside of a secure sum that only a secure sum may carry;
- messages that depend on records where an answer or chance leads elsewhere
  (`launch.other_branches`);
- state in the author's modules that depends on records (`launch.kept_state`);
- the run's own data, and other files, that the author's code reads (`launch.files_beside`);
- releases that do not keep what their accounting rests on (`launch.release_checks`).

Findings do not stop the run. They are printed before the run begins, and are in the report.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..messages import CURATOR, thread_wires
from ..parties import Records, Schema
from ..parties.lacking import Rules
from ..privacy.taping import ReleasePair
from ..protocols import AnyProtocol
from ..runs.constants import constants_for
from ..runs.failure import describe, public_kind
from ..runs.files_written import OpenedFiles
from ..runs.guard import TOO_LONG, errors_in, replays_of, unseen_acts, with_repeats
from ..runs.instance import instantiate
from ..runs.introduced import play_desk, play_part
from ..runs.job import Job
from ..runs.open_shares import replay_other_answers
from ..runs.patched import packages_of
from ..runs.printing import Printing, note_printing
from ..runs.private_place import private_place
from ..runs.record import Rehearsal, Unaccounted
from ..runs.replay import PartTape, Replay, replay_part, tape_part
from ..runs.role_threads import RoleError, play_on_threads
from ..runs.roles import make_curator
from ..runs.time_limit import TimeUp, call_within
from ..runs.unaccounted import count_unaccounted
from .authors_modules import authors_modules
from .close_tables import close_tables
from .files_beside import CURATOR_READS, MODULE_READS, PART_READS, noting, unaccounted_reads
from .kept_state import imported_anew, replays_anew, state_of
from .one_sided import one_sided_releases
from .other_branches import remarks_on_other_messages, replay_branches
from .rehearsed_job import made_up_records, smaller_job
from .release_checks import FalseStatement, ReleaseFindings, check_releases, largest_only
from .stated_epsilons import NOT_CHECKED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["failed_rehearsal", "rehearse"]

SECONDS: Final = 20.0
"""Longest time of the play. Replays begin for no further party after twice this time."""
PARTY_SECONDS: Final = SECONDS / 4
"""Longest time of all parties' replays on other tables, and as long on neighbouring ones."""
CHECK_SECONDS: Final = 60.0
"""Longest time of the checks of one party's releases: an author's mechanism may draw for ever."""
REPLAY_SECONDS: Final = 10.0
"""Longest time of one replay, or three times that of the play where this is more."""

LABEL: Final = (
    "neighbours differ in {} alone, as it is taken for the label: the column that the parameter "
    "`label` names, or the last one"
)


def rehearse(
    job: Job,
    *,
    tables: tuple[pd.DataFrame, ...] = (),
    read: bool = True,
    seconds: float | None = None,
) -> Rehearsal:
    """Rehearse a job. Whatever goes wrong in the play is a reason in the result, not an error.

    Args:
        job: the job that will run.
        tables: the tables in memory, if the job's data are not files.
        read: whether the first file may be read for the shape of its columns.
        seconds: longest time of all parties' replays on other tables, and as long on neighbouring
            ones; five by default. Each party is replayed once at least.

    Raises:
        UsageError: the first file cannot be read.
    """
    _, protocol = smaller_job(job, seconds=SECONDS)
    replay_seconds = PARTY_SECONDS if seconds is None else seconds
    # What an earlier run has left in the author's modules hides nothing here, and what this leaves
    # reaches no run.
    of_module = OpenedFiles(packages_of(type(protocol)))
    with contextlib.ExitStack() as stack:
        with noting(of_module):
            stack.enter_context(imported_anew(authors_modules(type(protocol))))
            smaller_job(job, seconds=SECONDS)
        return _rehearse_now(
            job, tables=tables, read=read, replay_seconds=replay_seconds, of_module=of_module
        )


def _rehearse_now(
    job: Job,
    *,
    tables: tuple[pd.DataFrame, ...],
    read: bool,
    replay_seconds: float,
    of_module: OpenedFiles,
) -> Rehearsal:
    """Rehearse a job with the modules as they are, which have opened some files on import."""
    started = time.perf_counter()
    smaller, protocol = smaller_job(job, seconds=SECONDS)
    of_curator = OpenedFiles(of_module.packages)
    schema, records, rules = made_up_records(smaller, protocol, job, tables=tables, read=read)
    modules = authors_modules(type(protocol))
    state = state_of(modules)
    try:
        tapes = _play(
            smaller,
            protocol,
            schema=schema,
            records=records,
            until=started + SECONDS,
            of_curator=of_curator,
        )
    except Exception as error:  # noqa: BLE001 - the run itself must say what is wrong, not this
        return failed_rehearsal(error, parties=job.parties, seconds=time.perf_counter() - started)
    unaccounted: list[Unaccounted] = []
    remarks: dict[str, None] = {}
    findings = ReleaseFindings()
    of_parties: dict[int, list[FalseStatement]] = {}
    within_belief = protocol.neighbours == "label-within-belief"
    label = tapes[0].label
    if label is not None:
        remarks[LABEL.format(label)] = None
    count = 0
    longest = max(REPLAY_SECONDS, 3 * (time.perf_counter() - started))
    seconds = replay_seconds / len(tapes)
    # Only of a module that the play has changed parts are played with modules imported anew.
    changed = authors_modules(type(protocol)) if state_of(modules) != state else []
    for tape, table in zip(tapes, records, strict=True):
        if not tape.wire.complete:
            remarks[TOO_LONG] = None
            continue
        if time.perf_counter() > started + 2 * SECONDS:
            remarks[f"party {tape.party.rank} was not replayed, as replays took too long"] = None
            continue
        replays = replays_of(tape, records=table, seconds=seconds, longest=longest, rules=rules)
        pairs: list[list[ReleasePair]] = []
        if not any(isinstance(replay.error, TimeUp) for replay in replays):
            close, pairs = _neighbouring(
                tape, records=table, seconds=seconds, longest=longest, rules=rules
            )
            replays += close
        replays += replay_other_answers(tape, records=table, seconds=seconds, longest=longest)
        replays += replay_branches(tape, records=table, seconds=seconds / 2, longest=longest)
        if changed:
            replays += replays_anew(tape, changed, records=table, longest=longest, rules=rules)
        count += len(replays)
        replays = with_repeats(tape, replays, records=table, longest=longest)
        unaccounted += count_unaccounted(tape, replays)
        false = _checked(findings, pairs, within_belief=within_belief)
        of_parties[tape.party.rank] = false
        if_asked = remarks_on_other_messages(
            tape, records=table, seconds=seconds / 2, longest=longest
        )
        remarks |= dict.fromkeys([*errors_in(replays), *unseen_acts(tape), *if_asked])
        if pairs and label is None and not (false or within_belief):
            remarks |= dict.fromkeys(
                one_sided_releases(tape, records=table, longest=longest, rules=rules)
            )
    unaccounted += [
        Unaccounted(party=party, kind="", messages=0, reason=reason)
        for party, reason in largest_only(of_parties)
    ]
    reads = {
        MODULE_READS: [*of_module.read],
        CURATOR_READS: [*of_curator.read],
        PART_READS: [path for tape in tapes for path in tape.party.printing.files.read],
    }
    of_data, of_others = unaccounted_reads(reads, job, parties=smaller.parties)
    return Rehearsal(
        failure=None,
        parties=smaller.parties,
        rows=sum(map(len, records)),
        replays=count,
        seconds=round(time.perf_counter() - started, 3),
        unaccounted=[*unaccounted, *of_data],
        remarks=[*remarks, *of_others, *findings.remarks, *findings.mechanisms.remarks],
    )


def failed_rehearsal(error: Exception, *, parties: int, seconds: float) -> Rehearsal:
    """Say why there was no rehearsal."""
    return Rehearsal(
        failure=_public(error),
        parties=parties,
        rows=0,
        replays=0,
        seconds=round(seconds, 3),
        unaccounted=[],
        remarks=[],
    )


def _checked(
    findings: ReleaseFindings, pairs: list[list[ReleasePair]], *, within_belief: bool
) -> list[FalseStatement]:
    """Check one party's releases. An author's mechanism may print, write, or draw for ever."""
    false: list[FalseStatement] = []

    def check() -> None:
        false.extend(check_releases(findings, pairs, within_belief=within_belief))

    with (
        private_place(variables=dict(os.environ)) as place,
        place.used(),
        note_printing(Printing(shown=False)),
    ):
        ended_in = call_within(check, seconds=CHECK_SECONDS)
    if ended_in is not None:
        findings.remarks[NOT_CHECKED.format(public_kind(ended_in))] = None
    return false


def _play(
    job: Job,
    protocol: AnyProtocol,
    *,
    schema: Schema | None,
    records: Sequence[Records],
    until: float,
    of_curator: OpenedFiles,
) -> list[PartTape]:
    """Play all roles once and return the parties' tapes; note what the curator's part opens."""
    wires = thread_wires(job.parties + 1)
    tapes = [
        tape_part(wires[party], instantiate(job), job, records=table, cores=1, rehearses=True)
        for party, table in enumerate(records, start=1)
    ]

    def play(rank: int) -> None:
        # All roles share one place, as they share the machine in a run.
        with place.used():
            play_role_in_it(rank)

    def play_role_in_it(rank: int) -> None:
        if rank == CURATOR:
            curator = make_curator(wires[CURATOR], protocol, job, schema=schema, cores=1)
            with noting(of_curator):
                play_desk(curator, protocol, job)
            curator.end()
        else:
            party = tapes[rank - 1].party
            with note_printing(party.printing):
                play_part(party, instantiate(job), job)
            tapes[rank - 1].surroundings.note()
            party.end()

    def look() -> None:
        if time.perf_counter() > until:
            raise TimeoutError(f"it took more than {SECONDS:g} s")

    with private_place(variables=dict(os.environ)) as place:
        play_on_threads(wires, play, meanwhile=look)
    return tapes


def _neighbouring(
    tape: PartTape, *, records: Records, seconds: float, longest: float, rules: Rules
) -> tuple[list[Replay], list[list[ReleasePair]]]:
    """Replay a part on neighbouring tables until the time is up, on one pair at least.

    Returns the replays, and the releases on each pair of neighbouring tables.
    """
    started = time.perf_counter()
    replays: list[Replay] = []
    pairs: list[list[ReleasePair]] = []
    for neighbours in close_tables(
        records,
        generator=np.random.default_rng(tape.party.rank),
        fewer=tape.accountant.neighbours == "add-or-remove-one",
        rules=rules,
        constants=constants_for(instantiate(tape.job)),
    ):
        both = [
            replace(
                replay_part(tape, records=table, seconds=longest),
                has_lacking=neighbours.has_lacking,
                is_unlikely=neighbours.is_unlikely,
            )
            for table in (neighbours.first, neighbours.second)
        ]
        replays += both
        pairs.append(
            [
                first._replace(first=first.second, second=second.second)
                for first, second in zip(both[0].pairs, both[1].pairs, strict=False)
            ]
        )
        if time.perf_counter() - started > seconds:
            break
    return replays, pairs


def _public(error: Exception) -> str:
    """Describe an error without its text, as the made-up values come from the person's table."""
    if isinstance(error, TimeoutError):
        return str(error)
    if isinstance(error, RoleError):
        role = "curator" if error.rank == CURATOR else f"party {error.rank}"
        text = describe(error.error, where=None).public
        return f"{role}: {text}"
    return describe(error, where=None).public
