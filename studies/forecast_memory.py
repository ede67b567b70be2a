"""Memory of ranks, forecast from what processes of runs over MPI were measured to need.

A rank has a base: the interpreter, NumPy, MPI and this package. A party keeps its records as codes,
or as they were read where there is no schema. The curator needs pandas to write tables, keeps the
table that it publishes, and may have all frames of a round at once, read and unread.

The figures are of resident memory, with pages of libraries that ranks on a host share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ..messages import CURATOR, Entry
from ..network import Exchange, Route
from ..parties import DEMO_SCHEMA
from ..runs.job import Job
from ..runs.record import RunRecord

__all__ = ["RankMemory", "largest_exchanges", "largest_rounds", "memory_of"]

MEGABYTE: Final = 1 << 20
BASE_BYTES: Final = {"curator": 60 * MEGABYTE, "party": 75 * MEGABYTE}
"""A rank that counts heads."""
SCHEMA_BYTES: Final = 9 * MEGABYTE
"""What a party has loaded beside that where there is a schema."""
TABLES_BYTES: Final = 105 * MEGABYTE
"""What the curator has loaded and made beside that where it publishes tables of a schema."""
CODE_BYTES: Final = 5.5
"""A party's bytes for each record and attribute of a schema, while it reads them."""
RAW_BYTES: Final = 18
"""A party's bytes for each record and column of a table like the demo's, without a schema."""
PUBLISHED_BYTES: Final = 3.4
"""The curator's bytes for each row and attribute of a synthetic table."""
COPIES_OF_FRAMES: Final = 2
"""A frame, and the arrays that are made of it."""


class RankMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of resident memory that ranks over MPI need at most."""

    curator: int
    party: int


def memory_of(job: Job, record: RunRecord, *, rows: int, rounds: tuple[int, int]) -> RankMemory:
    """Forecast the memory of the ranks of a job.

    Args:
        job: the job.
        record: a play of it, perhaps with other numbers of parties and rows.
        rows: records of all parties.
        rounds: bytes of frames that the curator, and a party, receives in one round at most.
    """
    outcome, schema = record.outcome, record.schema
    curator = BASE_BYTES["curator"] + COPIES_OF_FRAMES * rounds[0]
    if schema is not None and (outcome.synthetic is not None or outcome.marginals is not None):
        curator += TABLES_BYTES
        if outcome.synthetic is not None:
            curator += round(PUBLISHED_BYTES * rows * len(schema.attributes))
    party = BASE_BYTES["party"] + COPIES_OF_FRAMES * rounds[1]
    if schema is None:
        party += round(RAW_BYTES * len(DEMO_SCHEMA.attributes) * rows / job.parties)
    else:
        party += SCHEMA_BYTES + round(CODE_BYTES * len(schema.attributes) * rows / job.parties)
    return RankMemory(curator=curator, party=party)


def largest_rounds(entries: Iterable[Entry]) -> tuple[int, int]:
    """Give the bytes that the curator, and a party, receives in one round at most.

    >>> largest_rounds([])
    (0, 0)
    """
    received: Counter[tuple[int, int]] = Counter()
    for entry in entries:
        received[entry.receiver, entry.round] += entry.frame_bytes
    of_curator = (size for (rank, _), size in received.items() if rank == CURATOR)
    of_parties = (size for (rank, _), size in received.items() if rank != CURATOR)
    return max(of_curator, default=0), max(of_parties, default=0)


def largest_exchanges(rounds: Sequence[Sequence[Exchange]], *, parties: int) -> tuple[int, int]:
    """Give the same of predicted exchanges, in which all parties do the same.

    >>> up, across = Exchange(Route.UP, 3, 100), Exchange(Route.ACROSS, 6, 50)
    >>> largest_exchanges([[up, across], [up]], parties=3)
    (300, 100)
    """
    of_curator = (
        sum(exchange.messages * exchange.size for exchange in each if exchange.route is Route.UP)
        for each in rounds
    )
    of_parties = (
        sum(
            math.ceil(exchange.messages / parties) * exchange.size
            for exchange in each
            if exchange.route is not Route.UP
        )
        for each in rounds
    )
    return max(of_curator, default=0), max(of_parties, default=0)
