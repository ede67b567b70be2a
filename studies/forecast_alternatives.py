"""Other options with which a job would be faster or cheaper, and what they change.

Each of these options is forecast as the job itself is. Those that would save a fifth of the seconds
or of the bytes are named, with what they change of the trust or of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ..messages import UsageError
from ..network import Network, Timing
from ..protocols import AnyProtocol, Public
from ..protocols.secure_sum import SumOptions
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.made_up import with_schema
from .forecast import forecast
from .forecast_result import Alternative, Forecast, Method

__all__ = ["MAX_PARTIES_COMPARED", "with_alternatives"]

MAX_PARTIES_COMPARED: Final = 100
"""Parties up to which other options are forecast, too. With more, a plan takes seconds itself."""
MIN_SAVING: Final = 0.2
"""Share of the seconds or bytes that an option saves at least, to be named."""
FEW_ROUNDS: Final = 2
ADAPTIVE_PAIRS: Final = "adaptive-pairs"
PREDICTED: Final = "predicted distance of a pair"
"""The figure of adaptive-pairs that says how far its result is from the data."""
SAME_TRUST: Final = (
    "the same trust in the curator and in parties; if the seals between roles fail, nothing else "
    "hides tables from the network"
)
NO_TRUST: Final = (
    "another trust: the curator sees every party's own table, with a mere share of the noise"
)
CORRECTED: Final = "less trust: the protocol as corrected, whose claim holds"
ANOTHER_RESULT: Final = "the same trust, and another result"


class _Option(NamedTuple):
    """An option that a job could have instead."""

    words: str
    job: Job
    change: str
    """What it changes beside the cost."""


def with_alternatives(
    results: Sequence[tuple[Forecast, Timing | None]],
    job: Job,
    *,
    networks: Sequence[Network],
    method: Method | None = None,
    calibration: Calibration | None = None,
) -> list[tuple[Forecast, Timing | None]]:
    """Add to the forecasts of a job which other options would be faster or cheaper.

    Args:
        results: the job's forecasts, one for each network.
        job: the job.
        networks: the networks.
        method: whether plays or predictions were asked for.
        calibration: what computation costs; without it, it is measured.
    """
    if job.parties > MAX_PARTIES_COMPARED:
        return [*results]
    by_network: list[list[Alternative]] = [[] for _ in results]
    rows = results[0][0].rows
    for option in _options(job, rows=rows):
        try:
            others = forecast(
                option.job,
                rows=rows,
                networks=networks,
                method=method,
                calibration=calibration,
                exactness=False,  # this takes a play, and only costs are compared
            )
        except UsageError:
            continue  # The option does not go with the others.
        for alternatives, (plan, _), (other, _) in zip(by_network, results, others, strict=True):
            if _is_worth_it(plan, other):
                alternatives.append(_alternative(option, plan, other))
    return [
        (msgspec.structs.replace(plan, alternatives=alternatives), timing)
        for alternatives, (plan, timing) in zip(by_network, results, strict=True)
    ]


def _options(job: Job, *, rows: int) -> Iterator[_Option]:
    """List options that may cost less than those of a job."""
    protocol: AnyProtocol = instantiate(job)
    parameters = protocol.parameters
    if job.mode == "paper" and "rigorous" in protocol.modes:
        others = {name: value for name, value in job.parameters.items() if name != "noise"}
        corrected = msgspec.structs.replace(job, mode="rigorous", parameters=others)
        yield _Option("--mode rigorous", corrected, CORRECTED)
    elif isinstance(parameters, SumOptions):
        if parameters.aggregator == "paillier":
            yield _Option("--set aggregator=masks", _with(job, aggregator="masks"), SAME_TRUST)
        if parameters.aggregator != "clear":
            yield _Option("--set aggregator=clear", _with(job, aggregator="clear"), NO_TRUST)
    if protocol.name == ADAPTIVE_PAIRS and _rounds(job, rows=rows) > FEW_ROUNDS:
        fewer = _with(job, rounds=FEW_ROUNDS)
        yield _Option(f"--set rounds={FEW_ROUNDS}", fewer, ANOTHER_RESULT)


def _rounds(job: Job, *, rows: int) -> float:
    """Give the number of rounds that the roles choose from public figures."""
    schema = with_schema(job).schema
    public = Public(
        parties=job.parties,
        rows=rows,
        key_bits=job.key_bits,
        domain=None if schema is None else schema.domain,
        model=None,
    )
    return float(instantiate(job).chosen(public).get("rounds", 0))


def _with(job: Job, **parameters: str | int) -> Job:
    changed: Mapping[str, object] = {**job.parameters, **parameters}
    return msgspec.structs.replace(job, parameters=dict(changed))


def _is_worth_it(plan: Forecast, other: Forecast) -> bool:
    """Tell whether a forecast saves enough, and costs no more in the other respect."""
    seconds = _ratio(other.seconds, plan.seconds)
    size = _ratio(other.frame_bytes, plan.frame_bytes)
    return min(seconds, size) <= 1 - MIN_SAVING and max(seconds, size) <= 1


def _ratio(new: float | None, old: float | None) -> float:
    return 1.0 if new is None or not old else new / old


def _alternative(option: _Option, plan: Forecast, other: Forecast) -> Alternative:
    change = option.change
    if PREDICTED in plan.figures and change == ANOTHER_RESULT:
        before, after = plan.figures[PREDICTED], other.figures[PREDICTED]
        change = f"{change} ({PREDICTED} {after} instead of {before})"
    return Alternative(
        option=option.words,
        seconds=other.seconds,
        rounds=other.rounds,
        frame_bytes=other.frame_bytes,
        change=change,
    )
