"""All roles of a run as threads of this process: side by side, or under a simulated clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..messages import (
    CURATOR,
    ArgumentError,
    Position,
    Role,
    SottovoceError,
    ThreadWire,
    Unread,
    role_name,
    thread_wires,
)
from ..parties import TableNote
from .durable_places import DurablePlaces, open_places
from .failure import RunFailed, describe
from .faulty_network import with_network_faults
from .faulty_wire import InjectedFault
from .identities import Credentials, read_identities
from .instance import instantiate
from .interruption import INTERRUPTED
from .job import Job
from .log_header import DurableTask
from .part import play_role
from .record import RunRecord
from .restarts import Restarts
from .role_logs import kept_schema
from .role_threads import RoleError, play_on_threads
from .setup import (
    agree_on_schema,
    contribute_schema,
    cores_for_each,
    load_all_records,
    require_memory,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..network import Costs, Network, VirtualWire
    from ..parties import Records, Schema

__all__ = ["run_on_threads"]

T = TypeVar("T")


def run_on_threads(
    job: Job,
    *,
    tables: tuple[pd.DataFrame, ...] = (),
    show: Callable[[Mapping[int, Position]], None] = lambda _: None,
    network: Network | None = None,
    costs: Costs | None = None,
    made_up: Sequence[Records] = (),
    unread: Unread = Unread.NOTHING,
    durable: DurableTask | None = None,
) -> RunRecord:
    """Play all roles of a job in this process; `show` is called with their positions meanwhile.

    With a network the roles take turns under its clock, and each computes on one core; with `costs`
    computation takes what they say of the work, and is not measured. If `made_up` has records of
    every party, no table is read, and the schema is the job's. Where they have `costs`, too,
    encryption is counted and hides nothing, and what only serves what is `unread` need not be done.
    With `durable` each role keeps a log, or goes on from it. A role that is lost then takes its
    part up again if the job says `--on-loss wait`.
    """
    notes = {party: TableNote() for party in range(1, job.parties + 1)}
    try:
        schema, records, credentials = (
            _set_up_made_up(job, made_up)
            if made_up
            else _set_up(job, tables=tables, notes=notes, durable=durable)
        )
        places = None if durable is None else open_places(durable, job, schema=schema, notes=notes)
    except SottovoceError as mistake:
        mistake.before_start = True
        raise
    if places is not None and (earlier := places.conclusion) is not None:
        places.close()
        return msgspec.structs.replace(earlier, job=job)
    wires, simulated = _connect(
        job.parties + 1, network, costs, is_made_up=bool(made_up), unread=unread
    )
    roles: dict[int, Role] = {}
    ended: set[int] = set()
    is_resumed = durable is not None and durable.is_resumed
    ends = [with_network_faults(wire, job, is_resumed=is_resumed) for wire in wires]

    def play(rank: int) -> RunRecord | None:
        if places is not None and rank in places.lost.ranks:
            raise InjectedFault(f"{role_name(rank)} was lost in an earlier attempt")
        with wires[rank].playing():
            return play_role(
                ends[rank] if places is None else places.connect(ends[rank]),
                job,
                records=records[rank],
                schema=schema,
                credentials=credentials[rank],
                cores=1 if network is not None else _cores(rank, parties=job.parties),
                watch=lambda role: roles.__setitem__(rank, role),
                transport="threads" if network is None else "virtual",
                network=simulated,
                durable=None if places is None else places.roles[rank],
                ended=lambda: ended.add(rank),
            )

    positions = _Positions(roles)
    try:
        results = play_on_threads(
            wires,
            play
            if places is None or job.on_loss != "wait"
            else _again_after_loss(play, places, roles=roles),
            meanwhile=lambda: show(positions),
            goes_on=lambda rank: job.on_loss == "continue" or rank in ended,
        )
    except KeyboardInterrupt:
        where = f"{roles[CURATOR].where}: " if CURATOR in roles else ""
        line = f"{where}interrupted; all roles were ended and nothing was written"
        raise RunFailed(line, status=INTERRUPTED) from None
    except RoleError as failure:
        error = failure.error
        if isinstance(error, SottovoceError) and not isinstance(error, ArgumentError):
            raise error from None
        role = roles.get(failure.rank)
        text = describe(error, where=None if role is None else role.where)
        raise RunFailed(
            text.line,
            status=3,
            public=text.public,
            traceback=text.traceback,
            cause="mistake",
        ) from error
    finally:
        if places is not None:
            places.close()
    record = results[CURATOR]
    if record is None:
        raise RunFailed("the curator ended without a result", status=3)
    return record.with_losses({*range(1, job.parties + 1)} - results.keys())


def _again_after_loss(
    play: Callable[[int], T], places: DurablePlaces, *, roles: Mapping[int, Role]
) -> Callable[[int], T]:
    """Let a role that is lost take its part up again, as often as it may."""
    restarts = Restarts()

    def play_again(rank: int) -> T:
        while True:
            try:
                return play(rank)
            except InjectedFault as loss:
                place = str(roles[rank].where) if rank in roles else ""
                records = places.roles[rank].log.records
                refusal = restarts.refusal(rank, place=place, records=records)
                if refusal:
                    raise InjectedFault(*loss.parts, f"; {refusal}", where=loss.where) from loss
                places.start_again(rank)

    return play_again


def _connect(
    size: int, network: Network | None, costs: Costs | None, *, is_made_up: bool, unread: Unread
) -> tuple[Sequence[ThreadWire | VirtualWire], str | None]:
    """Make the wires of all roles, and describe the network if one is simulated."""
    if network is None:
        return thread_wires(size), None
    from ..network import network_text, virtual_wires

    only_counts = is_made_up and costs is not None
    wires = virtual_wires(network, size, costs=costs, only_counts=only_counts, unread=unread)
    return wires, network_text(network)


def _cores(rank: int, *, parties: int) -> int:
    return cores_for_each(roles=1 if rank == CURATOR else parties)


def _set_up(
    job: Job,
    *,
    tables: tuple[pd.DataFrame, ...],
    notes: Mapping[int, TableNote],
    durable: DurableTask | None,
) -> tuple[Schema | None, list[Records | None], list[Credentials]]:
    """Agree on the schema, and load each rank's identity and each party's records.

    `notes` are given what the readings of tables leave. Nobody reads the table of a party that was
    given up.
    """
    protocol = instantiate(job)
    without = () if durable is None else durable.without
    parties = [party for party in range(1, job.parties + 1) if party not in without]
    credentials = read_identities(job.identities, parties=job.parties)

    def contribute(party: int) -> Schema | None:
        if without and durable is not None and (kept := kept_schema(durable.run, party)):
            return kept
        return contribute_schema(
            job, party=party, needed=protocol.needs_schema, tables=tables, note=notes[party]
        )

    schema = agree_on_schema([contribute(party) for party in parties], are_kept=bool(without))
    require_memory(job, schema=schema)
    records = load_all_records(job, schema=schema, tables=tables, notes=notes, parties=parties)
    return schema, [records.get(rank) for rank in range(job.parties + 1)], credentials


def _set_up_made_up(
    job: Job, made_up: Sequence[Records]
) -> tuple[Schema | None, list[Records | None], list[Credentials]]:
    """Give each party its made-up records, and each rank an identity."""
    schema = job.schema if instantiate(job).needs_schema else None
    require_memory(job, schema=schema)
    return schema, [None, *made_up], read_identities(None, parties=job.parties)


class _Positions(Mapping[int, Position]):
    """The positions of roles by rank, each found when it is read."""

    def __init__(self, roles: Mapping[int, Role]) -> None:
        self._roles = roles

    def __getitem__(self, rank: int) -> Position:
        return self._roles[rank].position

    def __iter__(self) -> Iterator[int]:
        return iter([*self._roles])

    def __len__(self) -> int:
        return len(self._roles)
