"""Plays for forecasts: a job's roles on made-up records, and what such a play shows.

A play shows whether a job's messages follow from public figures alone, or depend on records.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ..messages import CURATOR, Unread, WorkKind, WorkMeter
from ..network import Costs, parts_of
from ..protocols import AnyProtocol
from ..report.making import make_report
from ..report.replaying import seconds_after
from ..report.report import Report
from ..runs.calibration import Calibration
from ..runs.instance import instantiate, is_built_in
from ..runs.job import Job
from ..runs.made_up import run_on_made_up
from ..runs.record import RunRecord

__all__ = [
    "FREE",
    "MAX_SMALL_ROWS",
    "MORE_PARTIES",
    "Play",
    "fewest_parties",
    "is_exact",
    "is_exact_on_dependent",
    "is_predicted",
    "play",
    "processor_seconds",
    "only_in_order",
]

CHECK_ROWS: Final = 1000
"""Made-up records of the play that shows whether messages depend on records."""
LARGE_EPSILON: Final = 100.0
"""Budget of that play."""
MAX_SMALL_ROWS: Final = 50_000
"""Made-up records at most of the plays that show the order of messages of many parties."""
MORE_PARTIES: Final = 3
"""Factor by which more parties play, to show what depends on the number of parties."""
PLAYED_KEY_BITS: Final = 1024
"""Bits at most of a Paillier key that seconds and bytes are not taken from.

It decides how long messages are, which the protocol predicts, and neither how many there are nor
when they are sent. A key of 3,072 bits takes half a second to find.
"""
PLAYED_ROWS: Final = 100
"""Synthetic rows of such a play, if their number is left open and a built-in protocol plays.

No message of such a protocol has them.
"""
FREE: Final = Calibration(
    machine="none",
    processor="",
    cores=1,
    versions={},
    date="",
    took=0.0,
    costs=[],
    paillier=[],
)
"""What computation costs in a play that only shows an order: nothing."""


class Play(NamedTuple):
    """What a play shows."""

    record: RunRecord
    report: Report
    masks: float
    """Bytes of masks that all roles made; 0 where computation was measured."""


def play(
    job: Job,
    *,
    rows: int,
    calibration: Calibration | None = None,
    unread: Unread = Unread.NOTHING,
) -> Play:
    """Play a job on made-up records, once in this process.

    Grids repeat a play on many networks, or with more parties. With a calibration computation takes
    what it says of the work, and is not measured. A forecast of many parties takes nothing from the
    published tables of a play of few, so these are `unread`. If it leaves computation out, so is
    the work.
    """
    costs = None if calibration is None else msgspec.json.encode(calibration)
    without_faults = msgspec.structs.replace(job, fault=())
    return _play(msgspec.json.encode(without_faults), rows, costs, unread)


@lru_cache(maxsize=64)
def _play(job: bytes, rows: int, costs: bytes | None, unread: Unread) -> Play:
    counted = (
        None
        if costs is None
        else _CostsWithMeters(msgspec.json.decode(costs, type=Calibration).pricing())
    )
    record = run_on_made_up(
        msgspec.json.decode(job, type=Job), rows=rows, costs=counted, unread=unread
    )
    masks = 0.0 if counted is None else counted.units(WorkKind.MASK)
    return Play(record, make_report(record), masks)


class _CostsWithMeters:
    """What work costs, with the meter of each role that asked: it says what was counted at last."""

    def __init__(self, pricing: Costs) -> None:
        self._pricing = pricing
        self._meters: dict[int, WorkMeter] = {}

    def __call__(self, meter: WorkMeter) -> float:
        self._meters[id(meter)] = meter
        return self._pricing(meter)

    def units(self, kind: WorkKind) -> float:
        """Add up the units of a kind that have no size, of all roles."""
        return sum(meter.units.get((kind, 0), 0.0) for meter in self._meters.values())


def processor_seconds(record: RunRecord) -> list[float]:
    """Give the seconds that each role computed in a play, by rank."""
    entries = record.entries
    seconds = [
        sum(step.computed + step.read for step in part)
        for part in parts_of(entries, parties=record.job.parties)
    ]
    seconds[CURATOR] += seconds_after(entries, until=record.seconds - record.closing_seconds)
    return seconds


def fewest_parties(protocol: AnyProtocol) -> int:
    """Give a small number of parties with which a protocol does what it does with many."""
    return max(3, protocol.least_parties, (protocol.colluding or 0) + 2)


def is_exact_on_dependent(job: Job, *, rows: int) -> bool:
    """Tell whether a job's messages follow from public figures where there is much to learn."""
    content = msgspec.json.encode(_with_little_noise(job))
    return _is_exact_on_dependent(content, min(rows, CHECK_ROWS))


@lru_cache(maxsize=64)
def _is_exact_on_dependent(job: bytes, rows: int) -> bool:
    # The first roles in a process load modules, so the seconds of this play are never shown.
    return is_exact(make_report(run_on_made_up(msgspec.json.decode(job, type=Job), rows=rows)))


def is_exact(report: Report) -> bool:
    """Tell whether the protocol predicted all messages of a run before it."""
    lines = report.communication.predicted or []
    return is_predicted(report) and all(line.basis == "before" for line in lines)


def is_predicted(report: Report) -> bool:
    """Tell whether the protocol predicts all messages of a run, perhaps from its model."""
    predicted = report.communication.predicted
    return (
        predicted is not None
        and all(line.right for line in predicted)
        and sum(line.messages for line in predicted) == report.communication.messages
    )


def _with_little_noise(job: Job) -> Job:
    """Give the same job with few parties, and with so large a budget that noise decides nothing."""
    protocol = instantiate(job)
    parameters = dict(job.parameters)
    if "epsilon" in protocol.Parameters.__struct_fields__:
        parameters["epsilon"] = max(LARGE_EPSILON, protocol.epsilon)
    few = min(job.parties, fewest_parties(protocol))
    return only_in_order(msgspec.structs.replace(job, parties=few, parameters=parameters))


def only_in_order(job: Job) -> Job:
    """Give the same job with keys and rows that are made quickly, to show only an order."""
    bits, parameters = min(job.key_bits, PLAYED_KEY_BITS), dict(job.parameters)
    protocol = instantiate(job)
    if is_built_in(type(protocol)) and hasattr(protocol.parameters, "synthetic_rows"):
        parameters.setdefault("synthetic_rows", PLAYED_ROWS)
    return msgspec.structs.replace(
        job, key_bits=bits, insecure_test_keys=True, parameters=parameters
    )
