"""With how few parties a protocol has as many turns as with many.

Where some parties do something one after another, a play must have all of these turns to show the
rounds of many parties. The protocol says who has a turn, before anything is learnt.
"""

from __future__ import annotations

import contextlib
from typing import Final

from ..protocols import Public
from ..runs.instance import instantiate
from ..runs.introduced import predict_run
from ..runs.job import Job
from .forecast_plays import fewest_parties

__all__ = ["fewest_with_all_turns"]

MAX_TRIED: Final = 12
"""Number of parties at most with which turns are looked for."""


def fewest_with_all_turns(job: Job, *, rows: int) -> int:
    """Give a small number of parties with which a job has the turns that it has with all, or more.

    With one party more it has as many, so that two plays can be compared.
    """
    fewest = fewest_parties(instantiate(job))
    wanted = _turns(job, rows=rows, parties=job.parties)
    if not wanted:
        return fewest
    few = _turns(job, rows=rows, parties=fewest)
    for parties in range(fewest, min(job.parties, MAX_TRIED)):
        more = _turns(job, rows=rows, parties=parties + 1)
        if few == more and all(few.get(line, 0) >= turns for line, turns in wanted.items()):
            return parties
        few = more
    return fewest


def _turns(job: Job, *, rows: int, parties: int) -> dict[tuple[str, str], int]:
    """Count the turns of each kind of message, by phase and name."""
    public = Public(
        parties=parties,
        rows=rows,
        key_bits=job.key_bits,
        domain=None if job.schema is None else job.schema.domain,
        lasting=job.fewest_parties is not None,
    )
    with contextlib.suppress(Exception):  # a plug-in's forecast may need the model
        lines = predict_run(instantiate(job), public, identities=False, hybrid=False) or []
        return {(line.phase, line.kind): len(line.hops) for line in lines if line.hops}
    return {}
