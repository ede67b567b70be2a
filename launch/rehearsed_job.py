"""What a rehearsal plays: a smaller job, and made-up records in the shape of the job's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from ..messages import SottovoceError, UsageError
from ..parties import (
    DEMO,
    DEMO_SCHEMA,
    RawTable,
    Records,
    Schema,
    blocks,
    infer,
    join_tables,
    merge,
)
from ..parties.counting import CodedTable
from ..parties.lacking import Rules
from ..parties.made_up import made_up_codes, made_up_rows
from ..parties.made_up_values import made_up_values
from ..protocols import AnyProtocol
from ..runs.constants import constants_for
from ..runs.instance import instantiate
from ..runs.job import Job

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MORE_PARTIES", "made_up_records", "smaller_job"]

PARTIES: Final = 3
MORE_PARTIES: Final = 8
"""Parties of the larger play, if the job has so many: some roles there are only with more."""
ROWS: Final = 200
"""Made-up records of each party. If its program names a larger number, parties 1, 3, ... have more.

Counts may be divided by the number of records, so few records can show what many hide.
"""
MAX_ROWS: Final = 2000
"""Largest number that may be a threshold which a count of made-up records shall reach."""
BEYOND: Final = 20
"""Records beyond the largest threshold."""
SHAPE_ROWS: Final = 2000
"""Rows of a file that are read for its columns and their values."""
KEY_BITS: Final = 1024


def smaller_job(job: Job, *, seconds: float, most: int = PARTIES) -> tuple[Job, AnyProtocol]:
    """Take so many parties at most, and smaller keys, where the protocol allows it.

    A role waits no longer than these seconds for another one.
    """
    common = {
        "rows": None,
        "data": (DEMO,),
        "split": "even",
        "identities": None,
        "seed": 0,
        "schema_plan": None,
        "fault": (),
    }
    last: Exception | None = None
    for parties in dict.fromkeys([min(job.parties, most), job.parties]):
        smaller = msgspec.structs.replace(
            job,
            parties=parties,
            key_bits=min(job.key_bits, KEY_BITS),
            insecure_test_keys=True,
            timeout=min(job.timeout, seconds),
            transcript=False,
            **common,
        )
        try:
            return smaller, instantiate(smaller)
        except SottovoceError as error:
            last = error
    raise last or UsageError("expected at least one party, found none")


def made_up_records(
    smaller: Job,
    protocol: AnyProtocol,
    job: Job,
    *,
    tables: tuple[pd.DataFrame, ...],
    read: bool,
    first: int | None = None,
) -> tuple[Schema | None, list[Records], Rules]:
    """Make up every party's records, in the shape of the schema, of the table or of the demo's.

    Party 1 has so many records as `first` says, if it says any.

    Gives the rules of raw columns, too, where these are the demo's or a schema has them.
    """
    generator = np.random.default_rng(0)
    sizes = [ROWS if party % 2 else _rows_for(protocol) for party in range(smaller.parties)]
    if first is not None:
        sizes[0] = first
    rows = sum(sizes)
    schema = job.schema
    rules: Rules = {}
    if schema is not None:
        table: CodedTable | RawTable = made_up_codes(schema, rows=rows, generator=generator)
        if isinstance(table, CodedTable) and not protocol.needs_schema:
            rules = schema.attributes
            table = made_up_values(table, schema=schema, generator=generator)
            schema = None
    else:
        source = (tables or job.data)[0] if read else DEMO
        is_demo = isinstance(source, str) and source == DEMO
        rules = DEMO_SCHEMA.attributes if is_demo else {}
        shape = join_tables(list(blocks(source, rows=SHAPE_ROWS, choice=job.choice, form=job.form)))
        if protocol.needs_schema:
            schema = DEMO_SCHEMA.select(job.choice) if is_demo else merge([infer([shape])])
        table = made_up_rows(shape, rows=rows, generator=generator)
    numbers = np.arange(rows) if len(tables or job.data) == 1 else None
    whole = Records(table, schema=schema, numbers=numbers)
    parts = np.split(np.arange(rows), np.cumsum(sizes)[:-1])
    return schema, [whole.take(part) for part in parts], rules


def _rows_for(protocol: AnyProtocol) -> int:
    """Choose a number of records: so many that a count reaches what the program names.

    Where a count below 500 is set to 0, say, only tables of more records show by how much one
    record changes it. A parameter may be such a number, too.
    """
    numbers = [number for number in constants_for(protocol) if isinstance(number, int | float)]
    return max([ROWS, *(int(number) + BEYOND for number in numbers if number <= MAX_ROWS)])
