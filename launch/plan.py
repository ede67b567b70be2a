"""Plan a run from Python: `sottovoce.plan` says what it would cost, before any data are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import UsageError
from ..network import Network, Timing, check_hosts, read_network
from ..parties.demo import DEMO_ROWS
from ..protocols.options import Mode
from ..report.folder import put
from ..runs.calibration import Calibration, read_calibration, require_calibration
from ..runs.placement import Computation
from ..runs.settings import settings
from ..studies.forecast import forecast
from ..studies.forecast_alternatives import with_alternatives
from ..studies.forecast_page import forecast_page
from ..studies.forecast_result import Forecast, Method
from ..studies.forecast_table import forecast_table
from ..studies.forecast_text import forecast_json, forecast_lines

__all__ = ["Plan", "calibration_for", "method_named", "networks_named", "plan"]

Spelling = Callable[[str], str]


@dataclass(frozen=True)
class Plan:
    """What a run would cost on one network."""

    forecast: Forecast
    timing: Timing | None
    """Its seconds, round by round; `None` where they cannot be predicted."""

    @property
    def seconds(self) -> float | None:
        """Seconds on the network; without computation if `forecast.processor` is `None`."""
        return self.forecast.seconds

    @property
    def messages(self) -> int:
        """Number of messages."""
        return self.forecast.messages

    @property
    def frame_bytes(self) -> int:
        """Bytes of all messages with their headers."""
        return self.forecast.frame_bytes

    @property
    def row(self) -> dict[str, Any]:
        """Settings and figures by name: `pandas.DataFrame([plan.row for plan in plans])`."""
        return dict(forecast_table([self.forecast]).rows[0])

    def __str__(self) -> str:
        lines = forecast_lines(self.forecast, self.timing)
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)

    def json(self) -> str:
        """Give the forecast as `sottovoce plan --json` prints it."""
        return forecast_json([self.forecast])

    def page(self) -> str:
        """Make the page of the plan."""
        return forecast_page([(self.forecast, self.timing)])

    def save(self, folder: str | Path) -> None:
        """Write plan.json and plan.html into a folder."""
        files = {"plan.json": self.json().encode(), "plan.html": self.page().encode()}
        put(files, folder=Path(folder))


def plan(
    protocol: str | None = None,
    *,
    parties: int = 3,
    network: str | os.PathLike[str] = "wan",
    rows: int = DEMO_ROWS,
    schema: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    epsilon: float | None = None,
    delta: float | None = None,
    seed: int | None = None,
    mode: Mode = "rigorous",
    key_bits: int = DEFAULT_KEY_BITS,
    insecure_test_keys: bool = False,
    method: Method | None = None,
    computation: Computation | None = None,
    speed: float | None = None,
    alternatives: bool = False,
    **parameters: Any,
) -> Plan:
    """Say what a run would cost: messages, bytes, seconds, memory, epsilon. No data are read.

    Args:
        protocol: A name that `sottovoce protocols` lists, or `module:Class`. The default is the one
            that `sottovoce.run` takes.
        parties: Number of parties without the curator.
        network: "lan", "datacentre", "wan", "mobile", LATENCY/BANDWIDTH such as "50ms/20Mbit/s", or
            a TOML file.
        rows: Number of records of all parties.
        schema: Categories and bins: a JSON file, or a dictionary. The default is the demo's.
        columns: Attributes to take, and no others.
        drop: Attributes to leave out.
        epsilon: Privacy loss of a record. The default is the protocol's.
        delta: Probability with which the loss may be larger. The default is the protocol's.
        seed: Seed of the play, so that it repeats itself.
        mode: "rigorous", or "paper" for the algorithm as printed where a protocol offers it.
        key_bits: Bits of the Paillier key, for protocols that encrypt.
        insecure_test_keys: Allow keys of less than 2048 bits.
        method: "played", all roles on made-up records; or "predicted", from formulas alone. The
            default is to play up to 12 parties, or 100 that cannot be predicted.
        computation: "calibrated", what `sottovoce calibrate` says (the default where there is one),
            or "measured" in the play.
        speed: How many times as fast as here the roles compute; infinity for in no time.
        alternatives: Whether to say which other options would cost less. Each takes as long as the
            plan itself.
        parameters: Parameters of the protocol, such as `aggregator="masks"`.

    Raises:
        UsageError: An option or a parameter cannot be used.
    """
    if not isinstance(network, str | os.PathLike):
        raise UsageError(
            f"expected one network, found {type(network).__name__}: make a plan for each"
        )
    [on_network] = networks_named([os.fspath(network)], speed=speed)
    chosen_method, calibration = method_named(method), calibration_for(computation)
    job = settings(
        {
            "protocol": protocol,
            "parties": parties,
            "schema": os.fspath(schema) if isinstance(schema, os.PathLike) else schema,
            "columns": columns,
            "drop": drop,
            "epsilon": epsilon,
            "delta": delta,
            "seed": seed,
            "mode": mode,
            "key_bits": key_bits,
            "insecure_test_keys": insecure_test_keys,
            "set": parameters,
        }
    ).job
    check_hosts(on_network, parties=job.parties)
    results = forecast(
        job, rows=rows, networks=[on_network], method=chosen_method, calibration=calibration
    )
    if alternatives:
        results = with_alternatives(
            results,
            job=job,
            networks=[on_network],
            method=chosen_method,
            calibration=calibration,
        )
    return Plan(*results[0])


def networks_named(
    names: Sequence[str], *, speed: float | None, spelling: Spelling = str
) -> list[Network]:
    """Read networks by name, or from files; with `speed` roles compute so much faster.

    Raises:
        UsageError: there is no such network, or the speed is not above 0.
    """
    if speed is not None and not speed > 0:
        raise UsageError(f"expected a number above 0 for {spelling('speed')}, found {speed:g}")
    networks = [read_network(name) for name in names]
    return [network if speed is None else network.with_speed(speed) for network in networks]


def method_named(name: str | None, *, spelling: Spelling = str) -> Method | None:
    """Read the name of a method; `None` chooses by the number of parties.

    Raises:
        UsageError: there is no such method.
    """
    methods: dict[str, Method] = {method: method for method in get_args(Method)}
    if name is None or name in methods:
        return None if name is None else methods[name]
    raise UsageError(f"expected {spelling('method')} {' or '.join(methods)}, found {name!r}")


def calibration_for(name: str | None, *, spelling: Spelling = str) -> Calibration | None:
    """Give this machine's calibration where computation is not to be measured.

    Raises:
        UsageError: a calibration is asked for and there is none, or it cannot be read.
    """
    if name not in (None, *get_args(Computation)):
        expected = " or ".join(get_args(Computation))
        raise UsageError(f"expected {spelling('computation')} {expected}, found {name!r}")
    if name == "measured":
        return None
    return read_calibration() if name is None else require_calibration()
