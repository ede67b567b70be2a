"""Quantities with units, as people write them: "50 ms", "20 Mbit/s", "0.1 %", "64 KiB"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from ..messages import UsageError

__all__ = [
    "bandwidth_text",
    "read_bandwidth",
    "read_bytes",
    "read_seconds",
    "read_share",
    "time_text",
]

SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BITS_A_SECOND: Final = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "Tbit/s": 1e12,
}
SHARES: Final = {"%": 0.01}
BYTES: Final = {"B": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2}

_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S+)")


def read_seconds(text: object, *, where: str) -> float:
    """Read a time.

    >>> read_seconds("50 ms", where="latency")
    0.05
    """
    return _read(text, SECONDS, example="50 ms", where=where)


def read_bandwidth(text: object, *, where: str) -> float:
    """Read a bandwidth; `unlimited` is one, too.

    >>> read_bandwidth("20 Mbit/s", where="uplink"), read_bandwidth("unlimited", where="uplink")
    (20000000.0, inf)
    """
    if text == "unlimited":
        return math.inf
    bandwidth = _read(text, BITS_A_SECOND, example="20 Mbit/s", where=where)
    if bandwidth == 0:
        raise UsageError(f"expected a bandwidth above 0 for {where}, found {text!r}")
    return bandwidth


def read_share(text: object, *, where: str) -> float:
    """Read a share below one half, in percent.

    >>> read_share("0.5 %", where="loss")
    0.005
    """
    share = _read(text, SHARES, example="0.1 %", where=where)
    if share >= 0.5:
        raise UsageError(f"expected less than 50 % for {where}, found {text!r}")
    return share


def read_bytes(text: object, *, where: str) -> int:
    """Read a number of bytes.

    >>> read_bytes("64 KiB", where="eager")
    65536
    """
    return round(_read(text, BYTES, example="64 KiB", where=where))


def _read(text: object, units: Mapping[str, float], *, example: str, where: str) -> float:
    match = _QUANTITY.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[2] not in units:
        names = ", ".join(units)
        raise UsageError(
            f"expected a number with a unit ({names}) for {where}, such as {example!r}, "
            f"found {text!r}"
        )
    number = float(match[1]) * units[match[2]]
    if number == math.inf:
        raise UsageError(f"expected a smaller number for {where}, found {text!r}")
    return number


def time_text(seconds: float) -> str:
    """Write a time with three digits and a unit.

    >>> time_text(0.0123456), time_text(2.5), time_text(75.0), time_text(7500)
    ('12.3 ms', '2.5 s', '75 s', '2.08 h')
    """
    if seconds >= 3600:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 0.9995 or seconds == 0:
        return f"{float(f'{seconds:.3g}'):g} s"
    if seconds >= 0.0009995:
        return f"{float(f'{seconds * 1e3:.3g}'):g} ms"
    return f"{float(f'{seconds * 1e6:.3g}'):g} us"


def bandwidth_text(bandwidth: float) -> str:
    """Write a bandwidth with three digits and a unit.

    >>> bandwidth_text(20e6), bandwidth_text(1e10), bandwidth_text(float("inf"))
    ('20 Mbit/s', '10 Gbit/s', 'unlimited')
    """
    if bandwidth == math.inf:
        return "unlimited"
    unit = max(
        (name for name, bits in BITS_A_SECOND.items() if bits <= bandwidth),
        key=lambda name: BITS_A_SECOND[name],
        default="bit/s",
    )
    return f"{float(f'{bandwidth / BITS_A_SECOND[unit]:.3g}'):g} {unit}"
