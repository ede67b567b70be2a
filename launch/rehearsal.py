"""The rehearsal: a protocol that is not built in plays on made-up records before real ones.

All roles play on threads of this process, with small keys. Then every party's part is played again
on other tables and on neighbouring ones (`runs.replay`). It takes seconds. It looks for

- messages, phases and progress that depend on records without a release;
- answers outside of a secure sum that only a secure sum may carry;
- messages that depend on records where an answer or chance leads elsewhere
  (`launch.other_branches`), and releases there (`launch.other_paths`);
- state in the author's modules that depends on records (`launch.kept_state`);
- the run's own data, and other files, that the author's code reads (`launch.files_beside`);
- releases that do not keep what their accounting rests on (`launch.release_checks`);
- all of that where a party has many records, and among more parties (`launch.many_records`);
- lines of the source that send what no release covers, though no play has shown it
  (`launch.record_flow`).

Findings do not stop the run. They are printed before the run begins, and are in the report.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..parties import Records
from ..parties.lacking import Rules
from ..privacy.taping import ReleasePair
from ..runs.constants import constants_for
from ..runs.files_written import OpenedFiles
from ..runs.guard import TOO_LONG, errors_in, replays_of, unseen_acts, with_repeats
from ..runs.job import Job
from ..runs.open_shares import replay_other_answers
from ..runs.patched import packages_of
from ..runs.record import Rehearsal, Unaccounted
from ..runs.replay import PartTape
from ..runs.time_limit import TimeUp
from ..runs.unaccounted import count_unaccounted
from .authors_modules import authors_modules
from .files_beside import CURATOR_READS, MODULE_READS, PART_READS, noting, unaccounted_reads
from .kept_state import imported_anew, replays_anew, state_of
from .many_records import play_larger
from .one_sided import one_sided_releases
from .other_branches import remarks_on_other_messages, replay_branches
from .other_paths import differing_terms, replay_asked_paths, replay_paths
from .random_values import draws_move, without_random_values
from .record_flow import remarks_on_source
from .rehearsed_job import made_up_records, smaller_job
from .rehearsed_play import play_on_made_up, public_text_of, replay_neighbours
from .release_checks import FalseStatement, ReleaseFindings, check_privately, largest_only
from .unreached_releases import has_reached_all, unreached_releases

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["failed_rehearsal", "rehearse"]

SECONDS: Final = 20.0
"""Longest time of the play. Replays begin for no further party after twice this time."""
PARTY_SECONDS: Final = SECONDS / 4
"""Longest time of all parties' replays on other tables."""
REPLAY_SECONDS: Final = 10.0
"""Longest time of one replay, or three times that of the play where this is more."""

RELEASES_IF_ASKED: Final = (
    "with other flags, numbers or texts in the messages that a party receives, {}"
)
"""A remark: the curator keeps to the protocol, and a run in which it asks so is not checked."""
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
        seconds: longest time of all parties' replays on other tables, as much again on neighbouring
            ones, and half of it on these with other answers; five by default. Each party is
            replayed once at least.

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
        tapes = play_on_made_up(
            smaller,
            protocol,
            schema=schema,
            records=records,
            seconds=SECONDS,
            of_curator=of_curator,
        )
    except Exception as error:  # noqa: BLE001 - the run itself must say what is wrong, not this
        return failed_rehearsal(
            public_text_of(error, protocol),
            parties=job.parties,
            seconds=time.perf_counter() - started,
            remarks=remarks_on_source(type(protocol), unaccounted=(), has_shapes=False),
        )
    findings = _Findings(within_belief=protocol.neighbours == "label-within-belief")
    findings.releases.mechanisms.constants = constants_for(protocol)
    if tapes[0].label is not None:
        findings.remarks[LABEL.format(tapes[0].label)] = None
    longest = max(REPLAY_SECONDS, 3 * (time.perf_counter() - started))
    # Only of a module that the play has changed parts are played with modules imported anew.
    changed = authors_modules(type(protocol)) if state_of(modules) != state else []
    for tape, table in zip(tapes, records, strict=True):
        if not tape.wire.complete:
            findings.remarks[TOO_LONG] = None
        elif time.perf_counter() > started + 2 * SECONDS:
            party = tape.party.rank
            findings.remarks[f"party {party} was not replayed, as replays took too long"] = None
        else:
            _replay_party(
                tape,
                findings,
                records=table,
                rules=rules,
                modules=changed,
                seconds=replay_seconds / len(tapes),
                longest=longest,
            )
        findings.release_lines |= tape.party.release_lines
    if findings.false_of.get(1) == [] and not findings.unaccounted:
        larger = play_larger(
            job,
            findings.releases,
            tables=tables,
            read=read,
            seconds=replay_seconds,
            longest=longest,
            play_seconds=SECONDS,
        )
        findings.false_of[1], findings.unaccounted = larger.false, larger.unaccounted
        findings.replays += larger.replays
    findings.unaccounted += [
        Unaccounted(party=party, kind="", messages=0, reason=reason)
        for party, reason in largest_only(findings.false_of)
    ]
    reads = {
        MODULE_READS: [*of_module.read],
        CURATOR_READS: [*of_curator.read],
        PART_READS: [path for tape in tapes for path in tape.party.printing.files.read],
    }
    of_data, of_others = unaccounted_reads(reads, job, parties=smaller.parties)
    unaccounted = [*findings.unaccounted, *of_data]
    return Rehearsal(
        failure=None,
        parties=smaller.parties,
        rows=sum(map(len, records)),
        replays=findings.replays,
        seconds=round(time.perf_counter() - started, 3),
        unaccounted=unaccounted,
        remarks=[
            *remarks_on_source(
                type(protocol),
                unaccounted=unaccounted,
                has_shapes=has_reached_all(type(protocol), findings.release_lines),
            ),
            *findings.remarks,
            *findings.if_asked.values(),
            *unreached_releases(type(protocol), findings.release_lines),
            *of_others,
            *findings.releases.remarks,
            *findings.releases.mechanisms.remarks,
        ],
    )


@dataclass
class _Findings:
    """What the replays of all parties show."""

    within_belief: bool
    unaccounted: list[Unaccounted] = field(default_factory=list)
    remarks: dict[str, None] = field(default_factory=dict)
    releases: ReleaseFindings = field(default_factory=ReleaseFindings)
    false_of: dict[int, list[FalseStatement]] = field(default_factory=dict)
    """What is false of each party's releases."""
    if_asked: dict[str, str] = field(default_factory=dict)
    """What would be false of them if the curator asked for something else."""
    release_lines: set[tuple[str, int]] = field(default_factory=set)
    """Files and lines of the program from which something was released."""
    replays: int = 0


def _replay_party(
    tape: PartTape,
    findings: _Findings,
    *,
    records: Records,
    rules: Rules,
    modules: Sequence[str],
    seconds: float,
    longest: float,
) -> None:
    """Play a party's part again on all tables, and add what that finds."""
    replays = replays_of(tape, records=records, seconds=seconds, longest=longest, rules=rules)
    pairs: list[list[ReleasePair]] = []
    if not any(isinstance(replay.error, TimeUp) for replay in replays):
        close, pairs = replay_neighbours(
            tape, records=records, seconds=seconds, longest=longest, rules=rules
        )
        replays += close
    replays += replay_other_answers(tape, records=records, seconds=seconds, longest=longest)
    replays += replay_branches(tape, records=records, seconds=seconds / 2, longest=longest)
    paths = replay_paths(tape, records=records, seconds=seconds / 2, longest=longest, rules=rules)
    replays += paths.replays
    if modules:
        replays += replays_anew(tape, modules, records=records, longest=longest, rules=rules)
    findings.replays += len(replays)
    replays = with_repeats(tape, replays, records=records, longest=longest)
    unaccounted = count_unaccounted(tape, replays)
    findings.unaccounted += unaccounted
    reasons = [line.reason for line in unaccounted]
    moved = draws_move(tape)
    false = check_privately(
        findings.releases,
        [*pairs, *paths.pairs],
        within_belief=findings.within_belief,
        draws_move=moved,
    )
    false = without_random_values(false, tape, records=records, longest=longest)
    false += differing_terms(paths.pairs, reasons=reasons)
    findings.false_of[tape.party.rank] = false
    if_asked = remarks_on_other_messages(
        tape, records=records, seconds=seconds / 2, longest=longest
    )
    releases_if_asked = replay_asked_paths(
        tape, records=records, seconds=seconds, longest=longest, rules=rules
    )
    false_if_asked = check_privately(
        findings.releases,
        releases_if_asked,
        within_belief=findings.within_belief,
        mechanisms=False,
        draws_move=moved,
    )
    false_if_asked += differing_terms(releases_if_asked, reasons=reasons)
    about = {statement.about for statement in false}
    for statement in false_if_asked:
        if statement.about not in about:
            findings.if_asked.setdefault(
                statement.about, RELEASES_IF_ASKED.format(statement.reason)
            )
    findings.remarks |= dict.fromkeys([*errors_in(replays), *unseen_acts(tape), *if_asked])
    if pairs and tape.label is None and not (false or moved or findings.within_belief):
        findings.remarks |= dict.fromkeys(
            one_sided_releases(tape, records=records, longest=longest, rules=rules)
        )


def failed_rehearsal(
    text: str, *, parties: int, seconds: float, remarks: Sequence[str] = ()
) -> Rehearsal:
    """Say why there was no rehearsal, and what the source alone shows."""
    return Rehearsal(
        failure=text,
        parties=parties,
        rows=0,
        replays=0,
        seconds=round(seconds, 3),
        unaccounted=[],
        remarks=[*remarks],
    )
