"""Grids of forecasts: every combination of protocols, parties, budgets, parameters and networks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..messages import UsageError
from ..network import Network, Timing
from ..runs.calibration import Calibration
from ..runs.job import Job
from ..runs.settings import settings
from .forecast import forecast
from .forecast_alternatives import with_alternatives
from .forecast_result import Forecast, Method

__all__ = ["MAX_CELLS", "forecast_grid", "grid_jobs", "read_assignments"]

MAX_CELLS = 1000
"""Cells of a grid at most."""


def read_assignments(assignments: Sequence[str]) -> dict[str, list[str]]:
    """Read NAME=VALUE, where a name that stands several times has several values.

    >>> read_assignments(["aggregator=masks", "aggregator=paillier", "updates=1"])
    {'aggregator': ['masks', 'paillier'], 'updates': ['1']}

    Raises:
        UsageError: an assignment has another form, or a value stands twice.
    """
    values: dict[str, list[str]] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"expected --set NAME=VALUE, found {assignment!r}")
        chosen = values.setdefault(name.strip().replace("-", "_"), [])
        if value in chosen:
            raise UsageError(f"expected each value of --set once, found {assignment} twice")
        chosen.append(value)
    return values


def grid_jobs(
    options: Mapping[str, Any],
    *,
    protocols: Sequence[str | None],
    parties: Sequence[int],
    epsilons: Sequence[float],
    parameters: Mapping[str, Sequence[str]],
    networks: int,
) -> list[Job]:
    """Make the jobs of a grid, so that all options are checked before the first one is played.

    Args:
        options: the options of a run that all cells share, as `runs.settings` takes them.
        protocols: names of protocols; `None` is the recommended one.
        parties: numbers of parties.
        epsilons: budgets; if there are none, the protocol's own.
        parameters: values of each parameter.
        networks: number of networks on which each job is forecast.

    Raises:
        UsageError: a cell has a wrong option, or there are too many.
    """
    budgets: Sequence[float | None] = epsilons or [None]
    assignments = [
        dict(zip(parameters, values, strict=True))
        for values in itertools.product(*parameters.values())
    ]
    cells = len(protocols) * len(parties) * len(budgets) * len(assignments) * networks
    if cells > MAX_CELLS:
        raise UsageError(
            f"expected at most {MAX_CELLS:,} cells, found {cells:,}: plan parts of the grid"
        )
    return [
        settings(
            {
                **options,
                "protocol": protocol,
                "parties": number,
                "epsilon": epsilon,
                "set": assignment,
            },
            spelling=lambda name: f"--{name.replace('_', '-')}",
        ).job
        for protocol, number, epsilon, assignment in itertools.product(
            protocols, parties, budgets, assignments
        )
    ]


def forecast_grid(
    jobs: Sequence[Job],
    *,
    rows: int,
    networks: Sequence[Network],
    method: Method | None = None,
    calibration: Calibration | None = None,
    alternatives: bool = True,
) -> Iterator[tuple[Forecast, Timing | None]]:
    """Forecast every cell of a grid, networks varying fastest.

    Args:
        jobs: the jobs.
        rows: number of records of all parties.
        networks: the networks.
        method: whether to play or to predict.
        calibration: what computation costs; without it, it is measured in plays.
        alternatives: whether a single job is compared with options that may cost less.

    Raises:
        UsageError: a cell cannot be forecast.
    """
    for job in jobs:
        results = forecast(
            job,
            rows=rows,
            networks=networks,
            method=method,
            calibration=calibration,
            distances=len(jobs) == 1,
        )
        if alternatives and len(jobs) == 1:
            results = with_alternatives(
                results, job, networks=networks, method=method, calibration=calibration
            )
        yield from results
