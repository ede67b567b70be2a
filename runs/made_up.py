"""Runs on made-up records: what a protocol does and costs, before any data are read.

The records have the shape of the job's schema, or of the demo's people, and are nobody's. The roles
play on the transport `virtual`, on a network that takes no time. So the ledger has what every role
sends, and how long it computes in between, and can be replayed on any network.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import Unread, UsageError
from ..network import NETWORKS, Costs
from ..parties import DEMO, DEMO_SCHEMA, RawTable, Records, Schema, blocks, join_tables
from ..parties.counting import CodedTable
from ..parties.made_up import made_up_rows
from ..parties.made_up_values import made_up_values
from ..parties.records import UnknownColumnError
from ..parties.schema import code_type
from .instance import instantiate
from .job import Job
from .record import RunRecord
from .threads import run_on_threads

__all__ = ["made_up_records", "run_on_made_up", "with_schema"]

SHARE = 0.5
"""Share of the values that follow from one hidden number, where attributes depend."""
SHAPE_ROWS = 2000
"""Rows of the demo's table that are looked at for its columns."""
OWN_COLUMNS: Final = (
    "these are the demo's; plan with --schema FILE, which says what your columns hold, such as "
    '{"bmi": {"bins": 1, "range": [10, 60], "kind": "numbers"}}; '
    "`sottovoce schema TABLE --out FILE` proposes one"
)
ANOTHER_SCHEMA: Final = "these are the columns of --schema, which must have all that the part reads"


def with_schema(job: Job) -> Job:
    """Give the job the demo's schema if it needs one and has none.

    Raises:
        UsageError: the schema is to be learnt from data.
    """
    if job.schema_plan is not None:
        raise UsageError(
            "expected a schema with rules for all attributes, found private ones: they are learnt "
            "from data; plan with the schema that `sottovoce run private-schema` writes"
        )
    if job.schema is not None or not instantiate(job).needs_schema:
        return job
    return msgspec.structs.replace(job, schema=DEMO_SCHEMA.select(job.choice))


def made_up_records(job: Job, *, rows: int, dependent: bool = True) -> list[Records]:
    """Make up each party's records, of the job's schema or of the demo's columns.

    A protocol that needs no schema reads values, as they would stand in a file that the schema
    fits. Any other has codes.

    The attributes of a schema depend on one another, as those of people do. So protocols that learn
    dependences have something to learn, and do all that they do on data. They are independent where
    that is asked for.
    """
    generator = np.random.default_rng(0)
    schema = job.schema
    if schema is not None:
        share = SHARE if dependent else 0.0
        coded = _coded(schema, rows=rows, share=share, generator=generator)
        table: CodedTable | RawTable = coded
        if not instantiate(job).needs_schema:
            table = made_up_values(coded, schema=schema, generator=generator)
            schema = None
    else:
        shape = join_tables(list(blocks(DEMO, rows=SHAPE_ROWS)))
        table = made_up_rows(shape, rows=rows, generator=generator)
    whole = Records(table, schema=schema, numbers=np.arange(rows))
    return [whole.take(part) for part in np.array_split(np.arange(rows), job.parties)]


def _coded(
    schema: Schema, *, rows: int, share: float, generator: np.random.Generator
) -> CodedTable:
    """Make up records in which a share of the values follows from one hidden number."""
    domain, hidden = schema.domain, generator.random(rows)
    codes: list[npt.NDArray[np.unsignedinteger[Any]]] = []
    for labels in domain.labels.values():
        kind = code_type(len(labels))
        uniform = generator.integers(len(labels), size=rows)
        follows = generator.random(rows) < share
        codes.append(np.where(follows, hidden * len(labels), uniform).astype(kind))
    return CodedTable(codes, domain, rows=rows)


def run_on_made_up(
    job: Job,
    *,
    rows: int,
    costs: Costs | None = None,
    dependent: bool = True,
    unread: Unread = Unread.NOTHING,
) -> RunRecord:
    """Play a job on made-up records, on a network that takes no time.

    With `costs` computation takes what they say of the work, and is not measured. Encryption is
    then counted, and hides nothing (`crypto.counted`). Where nobody reads the tables, and only
    messages and work matter, what the curator publishes may be a stand-in of the same kind; where
    nobody reads the work, either, it need not be counted (`Unread`).

    Raises:
        UsageError: the job does not fit the protocol.
    """
    job = with_schema(job)
    try:
        return run_on_threads(
            job,
            network=NETWORKS["none"],
            costs=costs,
            made_up=made_up_records(job, rows=rows, dependent=dependent),
            unread=unread,
        )
    except UnknownColumnError as error:
        raise error.with_way_out(ANOTHER_SCHEMA if job.schema else OWN_COLUMNS) from None
