"""Taking part: one role, from its data to its minutes, on any transport.

The same for a thread and for an MPI rank. When all roles have ended, every party hands its minutes
(what it sent and received, released, and how long its phases took) to the curator, who reconciles
them; these closing frames are not messages of the protocol.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ..crypto import RandomTree
from ..curator import Curator
from ..messages import CURATOR, Act, ConversationError, Entry, Role, Wire, reconcile
from ..messages.frame import FrameKind
from ..parties import (
    DEMO,
    DEMO_SCHEMA,
    Party,
    Records,
    Schema,
    blocks,
    infer,
    load,
    merge,
    read_split,
)
from ..privacy import Accountant, Release
from ..protocols import Outcome
from .identities import read_identities
from .job import Job, instantiate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = ["cores", "Concluded", "Minutes", "own_records", "own_schema", "settle", "take_part"]


class Minutes(msgspec.Struct, frozen=True):
    """What one role notes of its part."""

    acts: list[Act]
    phases: dict[str, float]
    releases: list[Release]
    rows: int | None
    """A party's records; of nobody else, and of nobody where neighbours differ by a record more or
    less: then it is secret.
    """
    host: str
    transcript: dict[str, str]


@dataclass(frozen=True, slots=True)
class Concluded:
    """What the curator holds when all has ended."""

    outcome: Outcome
    entries: list[Entry]
    minutes: list[Minutes]
    seconds: float
    schema: Schema | None
    releases: list[Release] = field(default_factory=list)


def own_schema(job: Job, *, party: int, needed: bool, tables: tuple[pd.DataFrame, ...] = ()) -> Schema | None:
    """Say what a party contributes to the schema: what was given, or what it infers from the table
    that it reads.

    Of one table that all share the first party speaks for all.
    """
    if job.schema is not None or not needed:
        return job.schema
    if set(job.data) == {DEMO}:
        return DEMO_SCHEMA
    if len(tables or job.data) == 1 and party > 1:
        return None
    return infer(blocks(_source(job, party=party, tables=tables), rows=job.rows, seed=job.public_seed))


def own_records(job: Job, *, party: int, schema: Schema | None, tables: tuple[pd.DataFrame, ...] = ()) -> Records:
    """Load what belongs to one party: its own file, or its share of the one file. Called by a
    party's process alone.
    """
    alone = len(tables or job.data) > 1
    split = None if alone else read_split(job.split, parties=job.parties)
    source = _source(job, party=party, tables=tables)
    return load(source, schema=schema, rows=job.rows, seed=job.public_seed, party=party, split=split)


def _source(job: Job, *, party: int, tables: tuple[pd.DataFrame, ...]) -> str | pd.DataFrame:
    sources = tables or job.data
    return sources[0] if len(sources) == 1 else sources[party - 1]


def cores(*, sharing: int) -> int:
    """Count the cores for each of so many roles that compute at the same time on this host."""
    return max(1, len(os.sched_getaffinity(0)) // sharing)


def settle(contributed: Sequence[Schema | None]) -> Schema | None:
    """Settle on one schema for all roles; `None` where a role has nothing to say to it."""
    schemas = [schema for schema in contributed if schema is not None]
    if any(schema.inferred for schema in schemas):
        return merge(schemas)
    return schemas[0] if schemas else None


def take_part(
    wire: Wire,
    job: Job,
    *,
    records: Records | None,
    schema: Schema | None,
    cores: int,
    watch: Callable[[Role], None],
) -> Concluded | None:
    """Play the role of this end of the wire, with so many cores; a party brings its records, the
    curator has none.

    The curator gets what was concluded, the parties `None`.
    """
    started = time.perf_counter()
    protocol = instantiate(job)
    randomness = RandomTree(job.seed, role=wire.rank)
    outcome: Outcome | None = None
    releases: list[Release] = []
    rows: int | None = None
    role: Party | Curator
    if records is None:
        role = Curator(
            wire, protocol=protocol.name, kinds=protocol.kinds(), randomness=randomness,
            domain=None if schema is None else schema.domain, key_bits=job.key_bits, workers=cores,
            timeout=job.timeout, transcript=job.transcript,
        )
        watch(role)
        with _placed(role):
            outcome = protocol.curator(role)
            role.end()
    else:
        accountant = Accountant(party=wire.rank, parties=job.parties, budget=protocol.epsilon, neighbours=protocol.neighbours)
        identity, pinned = read_identities(job.identities, party=wire.rank, parties=job.parties)
        role = Party(
            wire, protocol=protocol.name, kinds=protocol.kinds(), records=records, accountant=accountant,
            randomness=randomness, key_bits=job.key_bits, workers=cores, identity=identity, pinned=pinned,
            timeout=job.timeout, transcript=job.transcript,
        )
        watch(role)
        with _placed(role):
            protocol.party(role)
            role.end()
        releases = accountant.releases
        rows = None if protocol.neighbours == "add-or-remove-one" else len(records)
    minutes = Minutes(role.acts, role.phase_seconds, releases, rows, platform.node(), role.transcript)
    if outcome is None:
        role.send_control(FrameKind.MINUTES, msgspec.msgpack.encode(minutes), to=CURATOR)
        role.await_control(FrameKind.DISMISSAL, source=CURATOR)
        return None
    collected = [minutes]
    collected += [
        msgspec.msgpack.decode(role.await_control(FrameKind.MINUTES, source=party), type=Minutes) for party in role.parties
    ]
    entries = reconcile([own.acts for own in collected])
    concluded = Concluded(outcome, entries, collected, time.perf_counter() - started, schema)
    concluded.releases.extend(release for own in collected for release in own.releases)
    for party in role.parties:
        role.send_control(FrameKind.DISMISSAL, b"", to=party)
    return concluded


class _placed:  # noqa: N801 - reads as a word
    """Adds the role's place to a conversation error that has none."""

    def __init__(self, role: Role) -> None:
        self._role = role

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ConversationError):
            self._role.place(error)
