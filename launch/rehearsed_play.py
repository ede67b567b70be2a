"""The play of a rehearsal: all roles on made-up records, and parts again on neighbouring ones."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ..messages import CURATOR, thread_wires
from ..parties import Records, Schema
from ..parties.lacking import Rules
from ..parties.records import UnknownColumnError
from ..privacy.taping import ReleasePair
from ..protocols import AnyProtocol
from ..runs.constants import constants_for
from ..runs.failure import describe
from ..runs.files_written import OpenedFiles
from ..runs.instance import instantiate
from ..runs.introduced import play_desk, play_part
from ..runs.job import Job
from ..runs.printing import note_printing
from ..runs.private_place import private_place
from ..runs.replay import PartTape, Replay, replay_part, tape_part
from ..runs.role_threads import RoleError, play_on_threads
from ..runs.roles import make_curator
from .authors_modules import attributes_in, place_in
from .close_tables import close_tables
from .files_beside import noting

__all__ = ["play_on_made_up", "public_text_of", "replay_neighbours"]


def play_on_made_up(
    job: Job,
    protocol: AnyProtocol,
    *,
    schema: Schema | None,
    records: Sequence[Records],
    seconds: float,
    of_curator: OpenedFiles,
) -> list[PartTape]:
    """Play all roles once and return the parties' tapes; note what the curator's part opens.

    Raises:
        TimeoutError: it took more than so many seconds.
    """
    started = time.perf_counter()
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
        if time.perf_counter() - started > seconds:
            raise TimeoutError(f"it took more than {seconds:g} s")

    with private_place(variables=dict(os.environ)) as place:
        play_on_threads(wires, play, meanwhile=look)
    return tapes


def replay_neighbours(
    tape: PartTape,
    *,
    records: Records,
    seconds: float,
    longest: float,
    rules: Rules,
    most: int | None = None,
) -> tuple[list[Replay], list[list[ReleasePair]]]:
    """Replay a part on neighbouring tables until the time is up, on one pair at least.

    Args:
        tape: the part.
        records: the party's records.
        seconds: the time.
        longest: the time after which a single replay is ended.
        rules: the rules of raw columns.
        most: how many pairs at most; all by default.

    Returns the replays, and the releases on each pair of neighbouring tables.
    """
    started = time.perf_counter()
    replays: list[Replay] = []
    pairs: list[list[ReleasePair]] = []
    tables = close_tables(
        records,
        generator=np.random.default_rng(tape.party.rank),
        fewer=tape.accountant.neighbours == "add-or-remove-one",
        rules=rules,
        constants=constants_for(instantiate(tape.job)),
        share=(tape.party.rank - 1, tape.job.parties),
    )
    for neighbours in islice(tables, most):
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
                first._replace(first=first.second, second=second.second, tables=neighbours.tables)
                for first, second in zip(both[0].pairs, both[1].pairs, strict=False)
            ]
        )
        if time.perf_counter() - started > seconds:
            break
    return replays, pairs


def public_text_of(error: Exception, protocol: AnyProtocol) -> str:
    """Describe an error of a play without its text: made-up values come from the person's table.

    The line of the protocol's module in which it came up is named.
    """
    if isinstance(error, TimeoutError):
        return str(error)
    if isinstance(error, RoleError):
        role = "curator" if error.rank == CURATOR else f"party {error.rank}"
        place = place_in(error.error, type(protocol))
        text = _named_by_source(error.error, protocol) or describe(error.error, where=None).public
        return f"{role}: {text}{place and f' in {place}'}"
    return describe(error, where=None).public


def _named_by_source(error: BaseException, protocol: AnyProtocol) -> str:
    """Describe a wrong name that the author's source has, which no record can tell; or nothing.

    Anything else stays private, as a name may be computed from records.
    """
    if isinstance(error, UnknownColumnError):
        if error.attribute in constants_for(protocol):
            return f"expected a column of the data, found {error.attribute!r}"
    elif isinstance(error, AttributeError) and error.name in attributes_in(type(protocol)):
        return f"AttributeError: {type(error.obj).__name__} has no attribute {error.name}"
    return ""
