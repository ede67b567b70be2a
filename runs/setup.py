"""Setting up roles: which data a party reads, and the schema that all roles agree on.

The same for threads and for MPI ranks. The curator's process calls none of this with data.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..parties import DEMO, DEMO_SCHEMA, Records, Schema, blocks, infer, load, merge, read_split

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from .job import Job

__all__ = ["agree_on_schema", "contribute_schema", "cores_for_each", "load_records"]


def contribute_schema(
    job: Job, *, party: int, needed: bool, tables: tuple[pd.DataFrame, ...] = ()
) -> Schema | None:
    """Give a party's contribution to the schema: the one given, or one inferred from its table.

    Where all parties share one table, the first party speaks for all.
    """
    if job.schema is not None or not needed:
        return job.schema
    if set(job.data) == {DEMO}:
        return DEMO_SCHEMA
    if len(tables or job.data) == 1 and party > 1:
        return None
    table = _source(job, party=party, tables=tables)
    return infer(blocks(table, rows=job.rows, seed=job.public_seed))


def load_records(
    job: Job, *, party: int, schema: Schema | None, tables: tuple[pd.DataFrame, ...] = ()
) -> Records:
    """Load one party's records: its own file, or its share of the one file.

    Called by a party's process alone.
    """
    shared = len(tables or job.data) == 1
    split = read_split(job.split, parties=job.parties) if shared else None
    table = _source(job, party=party, tables=tables)
    return load(table, schema=schema, rows=job.rows, seed=job.public_seed, party=party, split=split)


def _source(job: Job, *, party: int, tables: tuple[pd.DataFrame, ...]) -> str | pd.DataFrame:
    sources = tables or job.data
    return sources[0] if len(sources) == 1 else sources[party - 1]


def agree_on_schema(contributions: Sequence[Schema | None]) -> Schema | None:
    """Make one schema of the parties' contributions; `None` where nobody contributed."""
    schemas = [schema for schema in contributions if schema is not None]
    if any(schema.inferred for schema in schemas):
        return merge(schemas)
    return schemas[0] if schemas else None


def cores_for_each(*, roles: int) -> int:
    """Number of cores for each of so many roles that compute at the same time on this host."""
    return max(1, len(os.sched_getaffinity(0)) // roles)
