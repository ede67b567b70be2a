"""Forecasts: what a protocol would cost, before any data are read.

With few parties all roles play on made-up records (`runs.made_up`), and the ledger of that is
replayed on each network (`forecast_played`). With many parties the cost follows from the protocol's
prediction, and the seconds from the network's model (`forecast_many`). A forecast says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from ..evaluation.distances import Distance
from ..messages import UsageError
from ..network import Network, Timing
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.made_up import with_schema
from .forecast_conditions import Conditions
from .forecast_distance import IF_INDEPENDENT, distance_if_independent
from .forecast_many import MAX_PARTIES_PLAYED_INSTEAD, forecast_many
from .forecast_played import forecast_played
from .forecast_predicted import NotPredictedError
from .forecast_result import Forecast, ForecastLine, Method, NoiseLine

__all__ = ["MAX_PLAYED_PARTIES", "Forecast", "ForecastLine", "Method", "NoiseLine", "forecast"]

MAX_PLAYED_PARTIES: Final = 12
"""Parties that are played unless another method is chosen."""

SEEDED: Final = (
    "this is a run with a seed, which agrees on keys without ML-KEM: a run without one sends more"
)


def forecast(
    job: Job,
    *,
    rows: int,
    networks: Sequence[Network],
    method: Method | None = None,
    calibration: Calibration | None = None,
    distances: bool = False,
    exactness: bool = True,
) -> list[tuple[Forecast, Timing | None]]:
    """Forecast a job on each network.

    Args:
        job: the job; its data are not read.
        rows: number of records of all parties.
        networks: the networks.
        method: whether to play or to predict. Without it, up to 12 parties are played, and up to
            100 if their seconds cannot be predicted.
        calibration: what computation costs. Without it, computation is measured in plays, and left
            out of predictions.
        distances: whether a play on independent records is to show how far noise leads.
        exactness: whether a play on dependent records is to show that messages follow from public
            figures alone. Without it no forecast says so.

    Raises:
        UsageError: the job cannot be run, or not be forecast by this method.
    """
    if rows < job.parties:
        raise UsageError(
            f"expected at least as many rows as parties ({job.parties:,}), found {rows:,}"
        )
    instantiate(job)
    job = with_schema(job)
    conditions = Conditions(
        rows=rows, networks=networks, calibration=calibration, exactness=exactness
    )
    if method is None and job.parties > MAX_PLAYED_PARTIES:
        results = _predicted_or_played(job, conditions)
    elif method == "predicted":
        results = forecast_many(job, conditions)
    else:
        results = forecast_played(job, conditions)
        error = distance_if_independent(job, rows=rows) if distances else None
        if error is not None:
            results = [*map(partial(_with_distance, error), results)]
    return results if job.seed is None else [*map(_with_seed, results)]


def _with_distance(
    distance: Distance, result: tuple[Forecast, Timing | None]
) -> tuple[Forecast, Timing | None]:
    """Add the distance on independent records to the figures of a forecast."""
    plan, timing = result
    text = f"{distance.average:.4f} (exact single attributes {distance.one_way:.4f})"
    figures = {**plan.figures, IF_INDEPENDENT: text}
    return msgspec.structs.replace(plan, figures=figures), timing


def _with_seed(result: tuple[Forecast, Timing | None]) -> tuple[Forecast, Timing | None]:
    """Remark that a run without a seed sends more, if it does."""
    plan, timing = result
    if not any(line.kind == "Introduction" for line in plan.lines):
        return result
    return msgspec.structs.replace(plan, remarks=[*plan.remarks, SEEDED]), timing


def _predicted_or_played(job: Job, conditions: Conditions) -> list[tuple[Forecast, Timing | None]]:
    """Predict many parties; if seconds cannot be predicted, play as many as are not too many."""
    is_playable = job.parties <= MAX_PARTIES_PLAYED_INSTEAD
    try:
        forecasts = forecast_many(job, conditions)
    except NotPredictedError:
        if not is_playable:
            raise
    else:
        if not is_playable or all(timing is not None for _, timing in forecasts):
            return forecasts
    return forecast_played(job, conditions)
