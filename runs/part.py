"""Playing one role from a wire to the end of its part, on any transport.

When all roles have ended, every party hands its notes (what it sent, received and released, and how
long its phases took) to the curator, who reconciles them. These closing frames are not messages of
the protocol.
"""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import msgspec

from ..crypto import IdentifiedRole
from ..curator import Curator
from ..messages import CURATOR, ConversationError, Role, Wire, reconcile
from ..messages.frame import FrameKind
from ..parties import Party, Records, Schema
from ..privacy import Release
from ..protocols import AnyProtocol, Outcome
from .closing import await_closing, close_to
from .durable import DurableRole
from .faults import FaultyWire, faults_of, lying_records, read_faults
from .guard import guard_part
from .identities import Credentials
from .introduced import play_desk, play_part
from .job import Job, instantiate, is_built_in
from .job_digest import digest_job, is_hybrid
from .possible import without_impossible
from .record import Guard, PublishedOutcome, RoleNotes, RunRecord
from .replay import tape_part
from .roles import make_curator, make_party

__all__ = ["play_role"]


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
) -> RunRecord | None:
    """Play the role of this end of the wire; a party brings its records, the curator has none.

    The curator returns the record of the run, a party `None`. `watch` is given the role before it
    begins, for whoever shows progress. In a durable run `durable` is the role's place, and the wire
    is one that it has connected.
    """
    started = wire.clock()
    protocol = instantiate(job)
    faulty = None
    all_faults = read_faults(job.fault, parties=job.parties, seed=job.public_seed)
    if faults := faults_of(all_faults, rank=wire.rank):
        if records is not None:
            records = lying_records(records, faults, seed=job.public_seed)
        if durable is None or not durable.is_resumed:  # what stopped a run does not happen again
            wire = faulty = FaultyWire(wire, faults, is_process=transport == "mpi")
            watch = faulty.watching(watch)
    hybrid = is_hybrid(job)
    digest = digest_job(job, protocol, schema=schema, hybrid=hybrid)
    credentials = replace(credentials, job_digest=digest, hybrid=hybrid)
    secret = None if durable is None else durable.secret

    def begin(role: IdentifiedRole) -> None:
        if durable is not None:
            role.encapsulator = durable.encapsulate
        watch(role)

    if records is None:
        curator = make_curator(
            wire,
            protocol,
            job,
            schema=schema,
            cores=cores,
            credentials=credentials,
            secret=secret,
        )
        begin(curator)
        with _placing_errors(curator):
            outcome = play_desk(curator, protocol, job)
            closing = wire.clock()
            curator.end()
        return _conclude(
            curator,
            outcome,
            job=job,
            schema=schema,
            # Replays of the parties' parts begin now, and are no part of the run.
            seconds=wire.clock() - started,
            closing_seconds=wire.clock() - closing,
            transport=transport,
            network=network,
            library=library,
            durable=durable,
            faulty=faulty,
        )
    party, guard = _play_party(
        wire,
        protocol,
        job,
        records=records,
        cores=cores,
        credentials=credentials,
        secret=secret,
        begin=begin,
        sharing=1 if transport == "mpi" else job.parties,
    )
    secret = protocol.neighbours == "add-or-remove-one"
    notes = _notes(
        party,
        releases=party.accountant.releases,
        rows=None if secret else len(records),
        guard=guard,
        faulty=faulty,
    )
    close_to(party, FrameKind.MINUTES, msgspec.msgpack.encode(notes), to=CURATOR)
    await_closing(party, FrameKind.DISMISSAL, source=CURATOR)
    return None


def _play_party(
    wire: Wire,
    protocol: AnyProtocol,
    job: Job,
    *,
    records: Records,
    cores: int,
    credentials: Credentials,
    secret: int | None,
    begin: Callable[[IdentifiedRole], None],
    sharing: int,
) -> tuple[Party, Guard | None]:
    """Play a party's part; that of a protocol that is not built in is replayed afterwards."""
    if is_built_in(type(protocol)):
        party = make_party(
            wire,
            protocol,
            job,
            records=records,
            cores=cores,
            credentials=credentials,
            secret=secret,
        )
        _play(party, protocol, job, begin=begin)
        return party, None
    tape = tape_part(
        wire,
        protocol,
        job,
        records=records,
        cores=cores,
        credentials=credentials,
        secret=secret,
    )
    started = time.perf_counter()
    _play(tape.party, protocol, job, begin=begin)
    guard = guard_part(
        tape, records=records, seconds=time.perf_counter() - started, sharing=sharing
    )
    return tape.party, guard


def _play(
    party: Party, protocol: AnyProtocol, job: Job, *, begin: Callable[[IdentifiedRole], None]
) -> None:
    begin(party)
    with _placing_errors(party):
        play_part(party, protocol, job)
        party.end()


_NOTES: Final = msgspec.msgpack.Decoder(RoleNotes)


def _conclude(
    curator: Curator,
    outcome: Outcome,
    *,
    job: Job,
    schema: Schema | None,
    seconds: float,
    closing_seconds: float,
    transport: str,
    network: str | None,
    library: str | None,
    durable: DurableRole | None,
    faulty: FaultyWire | None,
) -> RunRecord:
    """Collect the parties' notes, reconcile the ledger and dismiss the parties.

    Parties that are dismissed may remove their logs, so the record is on the disk before.
    """
    roles = [_notes(curator, releases=[], rows=None, guard=None, faulty=faulty)]
    roles += [
        _NOTES.decode(await_closing(curator, FrameKind.MINUTES, source=party))
        for party in curator.parties
    ]
    entries = reconcile([notes.acts for notes in roles])
    record = RunRecord(
        job=job,
        outcome=_possible(PublishedOutcome.of(outcome), schema),
        entries=entries,
        roles=roles,
        seconds=seconds,
        closing_seconds=closing_seconds,
        schema=schema if outcome.schema is None else outcome.schema,
        transport=transport,
        network=network,
        library=library,
        hybrid=curator.hybrid,
        ended=datetime.now(UTC),
    )
    if durable is not None:
        durable.conclude(record)
    for party in curator.parties:
        close_to(curator, FrameKind.DISMISSAL, b"", to=party)
    return record


def _possible(outcome: PublishedOutcome, schema: Schema | None) -> PublishedOutcome:
    """Take care that no published row is one that the schema rules out."""
    if outcome.synthetic is None or schema is None or not schema.never:
        return outcome
    table = without_impossible(outcome.synthetic, schema)
    return msgspec.structs.replace(outcome, synthetic=table)


def _notes(
    role: Role,
    *,
    releases: list[Release],
    rows: int | None,
    guard: Guard | None,
    faulty: FaultyWire | None,
) -> RoleNotes:
    return RoleNotes(
        acts=role.acts,
        phases=role.phase_seconds,
        releases=releases,
        rows=rows,
        host=platform.node(),
        transcript=role.transcript,
        guard=guard,
        absent_faults=[] if faulty is None else [str(fault) for fault in faulty.left],
    )


@contextlib.contextmanager
def _placing_errors(role: Role) -> Iterator[None]:
    """Add the role's place to a conversation error that has none."""
    try:
        yield
    except ConversationError as error:
        role.place(error)
        raise
