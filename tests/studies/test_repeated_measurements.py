"""Costs that are measured on a busy machine: a made-up clock says how long work takes."""

import random

import msgspec
import pytest

from sottovoce.launch.commands.calibrating import spread_text
from sottovoce.messages import WorkKind, WorkMeter, count_work
from sottovoce.runs.calibration import Calibration
from sottovoce.studies.repeated_measurements import (
    PASSES,
    RepeatedWork,
    robust,
    spread,
    spread_of_all,
)

UNITS = 1000
COST = 2e-6
"""Seconds of a unit on the quiet machine."""


class MadeUpClock:
    """A clock of a machine whose speed changes: work takes longer by `factor`."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.factor = 1.0
        self.jitter = random.Random(seed)

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        count_work(WorkKind.CELL, UNITS)
        self.now += UNITS * COST * self.factor * (1 + 0.3 * self.jitter.random() ** 4)


def measure(factors: list[float], seed: int = 0) -> list[float]:
    """Measure work in passes in which the machine is slower by these factors."""
    clock = MadeUpClock(seed)
    work = RepeatedWork(WorkKind.CELL, clock.work, size=0, clock=clock)
    for factor in factors:
        clock.factor = factor
        work.repeat(seconds=0.04)
    return work.costs(lambda _: 0.0)


@pytest.mark.parametrize(
    "factors",
    [
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [1.6, 1.0, 1.0, 1.3, 1.0],
        [1.57, 1.57, 1.0, 1.57, 1.0],
        [1.0, 0.74, 1.0, 1.0, 1.0],
        [0.74, 1.0, 1.8, 1.8, 1.0],
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_busy_minute_changes_a_cost_by_some_percent(factors: list[float], seed: int) -> None:
    """Three of five passes may be slow, and one may be too fast."""
    assert len(factors) == PASSES
    costs = measure(factors, seed)
    assert robust(costs) == pytest.approx(COST, rel=0.03)
    assert spread(costs) == pytest.approx(max(factors) - 1, abs=0.06)


def test_other_work_is_not_counted_in_a_cost() -> None:
    clock = MadeUpClock(seed=1)

    def act() -> None:
        clock.work()
        count_work(WorkKind.NOISE, 500)
        clock.now += 500 * 1e-6

    work = RepeatedWork(WorkKind.CELL, act, size=0, clock=clock)
    work.repeat(seconds=0.2)

    def pricing(meter: WorkMeter) -> float:
        return meter.units.get((WorkKind.NOISE, 0), 0.0) * 1e-6

    assert robust(work.costs(pricing)) == pytest.approx(COST, rel=0.01)


def test_one_kind_of_work_that_was_disturbed_makes_no_machine_busy() -> None:
    quiet, disturbed = [1.0, 1.02, 1.0, 1.0, 1.01], [1.0, 1.0, 3.0, 1.0, 1.0]
    assert spread_of_all([quiet, disturbed, quiet]) == pytest.approx(0.02)
    assert spread_of_all([disturbed, disturbed, quiet]) == pytest.approx(2.0)
    assert spread([0.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    ("value", "said"), [(0.04, "slowest took 4 % longer"), (0.66, "the machine was busy: ")]
)
def test_a_busy_machine_is_named(value: float, said: str) -> None:
    calibration = Calibration(
        machine="here",
        processor="any",
        cores=1,
        versions={},
        date="2026-01-01",
        took=0,
        costs=[],
        paillier=[],
    )
    line = spread_text(msgspec.structs.replace(calibration, spread=value))
    assert said in line
    assert ("busy" in line) == (value > 0.15)
