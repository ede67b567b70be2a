"""What a run spends from a budget that outlives it (`runs.budget`)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ..messages import SottovoceError, UsageError
from ..report.privacy_part import privacy_of
from ..report.spending import loss_by_party
from ..runs.datasets import Dataset, cost_of, datasets_of, draws_users
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.record import RunRecord
from ..runs.reservation import Reservation, reserve
from ..runs.unfinished import UnfinishedRun

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["USED_UP", "spend"]

USED_UP: Final = (
    "the loss of this run has no bound, so the budget of {} in {} is used up, and no further run "
    "on it is admitted"
)


def spend(
    budget: str,
    job: Job,
    play: Callable[[], RunRecord],
    *,
    tables: tuple[pd.DataFrame, ...] = (),
    copies: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    durable: UnfinishedRun | None = None,
) -> RunRecord:
    """Take what a run claims from its budget, play it, and write down what it has cost.

    A run that fails has spent its claim, because it may have released, unless no role has begun.
    A durable run that goes on has its claim already.

    Raises:
        UsageError: the budget does not suffice, a table cannot be read here, or users are drawn.
    """
    protocol = instantiate(job)
    if draws_users(job):
        raise UsageError(
            f"expected a run whose epsilon holds for each record, as {budget} counts, found users "
            "drawn from the records with replacement: leave out users, so that each record is one"
        )
    datasets = datasets_of(job, tables=tables, copies=copies)
    claim = dict.fromkeys(range(1, job.parties + 1), protocol.epsilon)
    reservation = reserve(
        budget,
        [(dataset, cost_of(dataset, claim)) for dataset in datasets],
        protocol=protocol.name,
        claimed=protocol.epsilon,
        neighbours=protocol.neighbours,
        run=None if durable is None else durable.run,
    )
    try:
        record = play()
    except SottovoceError as error:
        if error.before_start and (durable is None or not durable.is_resumed):
            reservation.cancel()
        raise
    try:
        costs = _settle(reservation, datasets, record)
        for dataset in datasets:
            if math.isinf(costs[dataset.digest]):
                sys.stderr.write(f"sottovoce: {USED_UP.format(dataset.name, budget)}\n")
    except SottovoceError as error:  # the result must not be lost
        sys.stderr.write(f"sottovoce: the run counts with its claim: {error}\n")
    return record


def _settle(
    reservation: Reservation, datasets: list[Dataset], record: RunRecord
) -> dict[str, float]:
    """Write down what a run has cost each dataset, by digest, and give it."""
    privacy = privacy_of(record)
    losses, to_anyone = loss_by_party(privacy), loss_by_party(privacy, to_anyone=True)
    costs = {dataset.digest: cost_of(dataset, losses) for dataset in datasets}
    reservation.settle(
        costs,
        to_anyone={dataset.digest: cost_of(dataset, to_anyone) for dataset in datasets},
        delta=privacy.delta,
    )
    return costs
