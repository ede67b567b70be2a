"""The error that a plan can predict: that of noise, on made-up records without dependence.

How far a published table is from the data depends on how its attributes depend on one another,
which nobody knows before a run. Where they do not depend at all, every protocol can represent them,
and what is left is the error that noise causes.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from ..evaluation.distances import Distance, distance
from ..parties import load
from ..runs.job import Job
from ..runs.made_up import made_up_records, run_on_made_up

__all__ = ["IF_INDEPENDENT", "distance_if_independent"]

IF_INDEPENDENT = "distance of a pair if attributes are independent"


def distance_if_independent(job: Job, *, rows: int) -> Distance | None:
    """Play a job on independent made-up records, and compare what it publishes with them.

    Returns:
        The distance of the tables of two attributes; `None` where none are published.
    """
    if job.schema is None or len(job.schema.attributes) < 2:
        return None
    return _distance(msgspec.json.encode(msgspec.structs.replace(job, fault=())), rows)


@lru_cache(maxsize=64)
def _distance(content: bytes, rows: int) -> Distance | None:
    job = msgspec.json.decode(content, type=Job)
    record = run_on_made_up(job, rows=rows, dependent=False)
    if record.outcome.synthetic is None or job.schema is None:
        return None
    alone = msgspec.structs.replace(job, parties=1)
    (truth,) = made_up_records(alone, rows=rows, dependent=False)
    published = load(record.outcome.synthetic.frame(), schema=job.schema)
    return distance(truth, published, ways=2)
