"""Setting up roles: which data a party reads, and the schema that all roles agree on.

The same for threads and for MPI ranks. The curator's process calls none of this with data.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from ..messages import UsageError
from ..messages.unread import memory_bytes
from ..parties import (
    DEMO,
    DEMO_SCHEMA,
    Records,
    Schema,
    TableNote,
    blocks,
    digest_of,
    infer,
    load,
    load_shares,
    merge,
    read_split,
)
from ..parties.columns import require_names
from .instance import instantiate
from .job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd


__all__ = [
    "agree_on_schema",
    "contribute_schema",
    "cores_for_each",
    "load_all_records",
    "load_records",
    "require_memory",
    "require_one_table",
]

T = TypeVar("T")

BYTES_OF_VALUE: Final = 16
"""Bytes for each value of a synthetic table: its code, its text in synthetic.csv, and copies."""


def contribute_schema(
    job: Job,
    *,
    party: int,
    needed: bool,
    tables: tuple[pd.DataFrame, ...] = (),
    note: TableNote | None = None,
) -> Schema | None:
    """Give a party's contribution to the schema: the one given, or one inferred from its table.

    Where all parties share one table, the first party speaks for all. A protocol that needs none
    has none. `note` is given what the reading leaves, if there is one.
    """
    if not needed:
        return None
    if job.schema is not None or job.schema_plan is not None:
        return job.schema
    if set(job.data) == {DEMO}:
        return DEMO_SCHEMA.select(job.choice)
    if _is_shared(job, tables) and party > 1:
        return None
    table = _source(job, party=party, tables=tables)
    schema = infer(
        blocks(
            table,
            rows=job.rows,
            seed=job.public_seed,
            choice=job.choice,
            note=note,
            form=job.form,
        )
    )
    require_names(schema.attributes, choice=job.choice)
    return schema


def columns_of_schema(job: Job) -> tuple[str, ...] | None:
    """Name the columns that a job's schema names; `None` without a schema.

    A protocol that needs no schema reads these columns, as texts.
    """
    return None if job.schema is None else (*job.schema.attributes,)


def load_records(
    job: Job,
    *,
    party: int,
    schema: Schema | None,
    tables: tuple[pd.DataFrame, ...] = (),
    note: TableNote | None = None,
) -> Records:
    """Load one party's records: its own file, or its share of the one file.

    Called by a party's process alone. The plan of a private schema goes with them. `note` is what
    the reading for the schema left: the file must be the same. It is given what this reading
    leaves.

    Raises:
        UsageError: The data cannot be used, or the file has changed between the two readings.
    """
    split = read_split(job.split, parties=job.parties) if _is_shared(job, tables) else None
    table = _source(job, party=party, tables=tables)

    def read(reading: TableNote) -> Records:
        return load(
            table,
            schema=schema,
            rows=job.rows,
            seed=job.public_seed,
            party=party,
            split=split,
            choice=job.choice,
            only=columns_of_schema(job),
            note=reading,
            form=job.form,
        )

    records = _read_unchanged(table, read, note=TableNote() if note is None else note)
    return records if job.schema_plan is None else records.with_plan(job.schema_plan)


def load_all_records(
    job: Job,
    *,
    schema: Schema | None,
    tables: tuple[pd.DataFrame, ...] = (),
    notes: Mapping[int, TableNote],
    parties: Sequence[int] = (),
) -> dict[int, Records]:
    """Load the records of parties, by default all, in one process.

    A table that they share is read once. `notes` are what the readings for the schema left, by
    party; see `load_records`.
    """
    parties = parties or range(1, job.parties + 1)
    if not _is_shared(job, tables):
        return {
            party: load_records(job, party=party, schema=schema, tables=tables, note=notes[party])
            for party in parties
        }
    table = _source(job, party=1, tables=tables)

    def read(reading: TableNote) -> dict[int, Records]:
        return load_shares(
            table,
            split=read_split(job.split, parties=job.parties),
            parties=parties,
            schema=schema,
            rows=job.rows,
            seed=job.public_seed,
            choice=job.choice,
            only=columns_of_schema(job),
            note=reading,
            form=job.form,
        )

    records = _read_unchanged(table, read, note=notes[1])
    plan = job.schema_plan
    return (
        records
        if plan is None
        else {party: share.with_plan(plan) for party, share in records.items()}
    )


def _read_unchanged(
    table: str | pd.DataFrame, read: Callable[[TableNote], T], *, note: TableNote
) -> T:
    """Read a table, and refuse it if it is not the one that `note` is of."""
    reading = TableNote()
    try:
        records = read(reading)
    except UsageError:
        if note.digest and digest_of(table) != note.digest:
            raise _changed(table) from None  # it is why the schema does not fit
        raise
    if note != TableNote() and note != reading:
        raise _changed(table)
    note.digest, note.rows = reading.digest, reading.rows
    return records


def _changed(table: str | pd.DataFrame) -> UsageError:
    return UsageError(
        f"expected {table} to stay as it is, found that it changed after the schema was read from "
        "it: start again when nobody writes to it"
    )


def require_one_table(job: Job, notes: Mapping[int, TableNote]) -> None:
    """Refuse a run in which parties that share one file have read different versions of it.

    With a file for each party nothing is compared. Then the number of a party's rows may be secret.

    Args:
        job: The job.
        notes: What the reading of its records left at each party, by rank.

    Raises:
        UsageError: The file was changed or replaced, or every host has a file of its own.
    """
    if len(job.data) != 1:
        return
    readers: dict[tuple[str, int], list[int]] = {}
    for rank, note in sorted(notes.items()):
        readers.setdefault((note.digest, note.rows), []).append(rank)
    if len(readers) > 1:
        versions = ", another by ".join(_ranks(ranks) for ranks in readers.values())
        raise UsageError(
            f"expected one table in {job.data[0]} at all parties, found one version read by "
            f"{versions}: start again when nobody writes to it; if every host has a file of its "
            "own there, give --data once for each party"
        )


def _ranks(ranks: Sequence[int]) -> str:
    """Name ranks: rank 2, or ranks 1 and 3."""
    *most, last = map(str, ranks)
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"


def _is_shared(job: Job, tables: tuple[pd.DataFrame, ...]) -> bool:
    return len(tables or job.data) == 1


def _source(job: Job, *, party: int, tables: tuple[pd.DataFrame, ...]) -> str | pd.DataFrame:
    sources = tables or job.data
    return sources[0] if len(sources) == 1 else sources[party - 1]


def agree_on_schema(
    contributions: Sequence[Schema | None], *, are_kept: bool = False
) -> Schema | None:
    """Make one schema of the parties' contributions; `None` where nobody contributed.

    Where `are_kept` they may be what was made of them before: then all are the same.
    """
    schemas = [schema for schema in contributions if schema is not None]
    if are_kept and schemas and all(schema == schemas[0] for schema in schemas):
        return schemas[0]
    if any(schema.inferred for schema in schemas):
        return merge(schemas)
    return schemas[0] if schemas else None


def require_memory(job: Job, *, schema: Schema | None) -> None:
    """Refuse a synthetic table that the curator's host cannot hold, before anything is released.

    Raises:
        UsageError: The rows that were asked for do not fit in memory.
    """
    rows: int = getattr(instantiate(job).parameters, "synthetic_rows", None) or 0
    columns = 1 if schema is None else len(schema.attributes)
    memory = memory_bytes()
    if rows * columns * BYTES_OF_VALUE > memory:
        raise UsageError(
            f"expected synthetic_rows that fit in the curator's memory of {memory / 1e9:.0f} GB, "
            f"found {rows:,} rows of {columns} columns: choose fewer"
        )


def cores_for_each(*, roles: int) -> int:
    """Number of cores for each of so many roles that compute at the same time on this host."""
    return max(1, len(os.sched_getaffinity(0)) // roles)
