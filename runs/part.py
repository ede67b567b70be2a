"""Playing one role from a wire to the end of its part, on any transport.

When all roles have ended, every party hands its notes (what it sent, received and released, and how
long its phases took) to the curator, who reconciles them. These closing frames are not messages of
the protocol.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec

from ..curator import Curator
from ..messages import CURATOR, PeerLostError, Role, Wire, reconcile
from ..messages.frame import FrameKind
from ..parties import Party, Records, Schema
from .closing import await_closing, close_to
from .durable import DurableRole
from .faults import Fault, faults_of, lying_records, read_faults, untold_lies
from .faulty_wire import FaultyWire
from .guard import guard_part
from .identities import Credentials
from .instance import instantiate, is_built_in
from .introduced import play_desk, play_part
from .job import Job
from .job_digest import digest_job, is_hybrid
from .losses import losses_of, losses_to_come, notes_of_lost
from .possible import without_impossible
from .printing import note_printing
from .record import Guard, PublishedOutcome, RoleNotes, RunRecord
from .replay import tape_part
from .roles import make_curator, make_party
from .stage import Stage, naming_columns, placing_errors
from .taped_party import TapedParty

__all__ = ["play_role"]

_NOTES: Final = msgspec.msgpack.Decoder(RoleNotes)


def play_role(
    wire: Wire,
    job: Job,
    *,
    records: Records | None,
    schema: Schema | None,
    credentials: Credentials,
    cores: int,
    watch: Callable[[Role], None],
    transport: str,
    network: str | None = None,
    library: str | None = None,
    durable: DurableRole | None = None,
    begin: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> RunRecord | None:
    """Play the role of this end of the wire; a party brings its records, the curator has none.

    The curator returns the record of the run, a party `None`. `watch` is given the role before it
    begins, for whoever shows progress. In a durable run `durable` is the role's place, and the wire
    is one that it has connected. `begin` is called before the role's clock starts, and `ended` when
    a party has handed over all that the run needs of it.
    """
    protocol = instantiate(job)
    hybrid = is_hybrid(job)
    faults = faults_of(
        read_faults(job.fault, parties=job.parties, seed=job.public_seed), rank=wire.rank
    )
    faulty = None
    failures = [fault for fault in faults if fault.action not in ("lies", "drops", "delays")]
    if failures and (durable is None or not durable.is_resumed):
        # What stopped a run does not happen again when it goes on.
        wire = faulty = FaultyWire(wire, failures, is_process=transport == "mpi")
        watch = faulty.watching(watch)
    stage = Stage(
        wire=wire,
        protocol=protocol,
        job=job,
        credentials=replace(
            credentials,
            job_digest=digest_job(job, protocol, schema=schema, hybrid=hybrid),
            hybrid=hybrid,
            secret=None if durable is None else durable.secret,
        ),
        cores=cores,
        watch=watch,
        durable=durable,
        faulty=faulty,
        transport=transport,
        ended=ended,
    )
    begin()
    if records is None:
        return _play_curator(stage, schema=schema, network=network, library=library)
    _play_party(stage, lying_records(records, faults, seed=job.public_seed), faults=faults)
    return None


def _play_curator(
    stage: Stage, *, schema: Schema | None, network: str | None, library: str | None
) -> RunRecord:
    """Play the curator's part, collect the notes of all parties, and dismiss these.

    Parties that are dismissed may remove their logs, so the record is on the disk before.
    """
    wire, job = stage.wire, stage.job
    started = wire.clock()
    curator = make_curator(
        wire,
        stage.protocol,
        job,
        schema=schema,
        cores=stage.cores,
        credentials=stage.credentials,
    )
    stage.begin(curator)
    with placing_errors(curator):
        outcome = play_desk(curator, stage.protocol, job)
        closing = wire.clock()
        curator.end()
    ended_at = wire.clock()  # Replays of the parties' parts begin now, and are no part of the run.
    notes = _notes_of_parties(curator)
    ended = {*notes}
    lost = curator.lost.keys() - ended
    if lost:
        notes |= notes_of_lost(curator, notes, protocol=stage.protocol)
    roles = [
        stage.notes(curator, releases=[], rows=None, guard=None),
        *(notes[party] for party in curator.parties),
    ]
    record = RunRecord(
        job=job,
        outcome=_possible(PublishedOutcome.of(outcome), schema),
        entries=reconcile([notes.acts for notes in roles], lost=lost),
        roles=roles,
        seconds=ended_at - started,
        closing_seconds=ended_at - closing,
        schema=schema if outcome.schema is None else outcome.schema,
        transport=stage.transport,
        network=network,
        library=library,
        hybrid=curator.hybrid,
        ended=datetime.now(UTC),
        losses=losses_of(curator, ended=ended),
        losses_to_come=losses_to_come(curator, ended=ended),
        attempts=[len(batch.attempts) for batch in curator.batches if batch.kind == "sum"],
    )
    if stage.durable is not None:
        stage.durable.conclude(record)
    for party in curator.parties:
        close_to(curator, FrameKind.DISMISSAL, b"", to=party)
    return record


def _notes_of_parties(curator: Curator) -> dict[int, RoleNotes]:
    """Receive the notes of all parties, but for those that were lost before they had ended.

    Raises:
        PeerLostError: there are such parties, and the run does not go on without them.
    """
    notes: dict[int, RoleNotes] = {}
    for party in curator.parties:
        try:
            minutes = await_closing(curator, FrameKind.MINUTES, source=party)
        except PeerLostError:
            if curator.min_parties is None:
                raise
            continue
        notes[party] = _NOTES.decode(minutes)
    curator.take_in_arrived()  # A party may have been lost since, and the report says so.
    return notes


def _hand_notes(
    stage: Stage,
    party: Party,
    *,
    records: Records,
    faults: Sequence[Fault],
    guard: Guard | None = None,
) -> None:
    is_secret = stage.protocol.neighbours == "add-or-remove-one"
    notes = stage.notes(
        party,
        releases=party.accountant.releases,
        rows=None if is_secret else len(records),
        guard=guard,
        untold=untold_lies(records, faults),
    )
    close_to(party, FrameKind.MINUTES, msgspec.msgpack.encode(notes), to=CURATOR)


def _play_party(stage: Stage, records: Records, *, faults: Sequence[Fault]) -> None:
    """Play a party's part, and hand its notes to the curator.

    They leave after the word that the party has ended, so that they hold up no one, and before it
    waits for the others, so that the run does not need it any more. The part of a protocol that is
    not built in is replayed after its end, and then they leave.
    """
    make = partial(
        make_party if is_built_in(type(stage.protocol)) else tape_part,
        stage.wire,
        stage.protocol,
        stage.job,
        records=records,
        cores=stage.cores,
        credentials=stage.credentials,
    )
    role = make()
    party = role if isinstance(role, Party) else role.party
    started = time.perf_counter()
    stage.begin(party)
    hand_notes = partial(_hand_notes, stage, party, records=records, faults=faults)

    def hand_over() -> None:
        hand_notes()
        stage.ended()

    with placing_errors(party), naming_columns(stage.job):
        with (
            note_printing(party.printing)
            if isinstance(party, TapedParty)
            else contextlib.nullcontext()
        ):
            play_part(party, stage.protocol, stage.job)
        if not isinstance(role, Party):
            role.surroundings.note()
        party.end(hand_over=hand_over if isinstance(role, Party) else lambda: None)
    if not isinstance(role, Party):
        guard = guard_part(
            role,
            records=records,
            seconds=time.perf_counter() - started,
            sharing=1 if stage.transport == "mpi" else stage.job.parties,
        )
        hand_notes(guard=guard)
    await_closing(party, FrameKind.DISMISSAL, source=CURATOR)


def _possible(outcome: PublishedOutcome, schema: Schema | None) -> PublishedOutcome:
    """Take care that no published row is one that the schema rules out."""
    if outcome.synthetic is None or schema is None or not schema.never:
        return outcome
    table = without_impossible(outcome.synthetic, schema)
    return msgspec.structs.replace(outcome, synthetic=table)
