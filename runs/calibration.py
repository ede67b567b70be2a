"""Calibrations: what units of work take on this machine, as `sottovoce calibrate` measured them.

A calibration is a file in the state folder. It turns the work that a role has counted into seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from ..messages import UsageError, WorkKind, WorkMeter
from .state_folder import make_private_folder, state_folder, write_private

__all__ = [
    "Calibration",
    "PaillierCost",
    "calibration_path",
    "read_calibration",
    "require_calibration",
    "write_calibration",
]

FILE: Final = "calibration.json"


class UnitCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one unit of work takes."""

    kind: str
    """Name of the kind of work."""
    size: int = 0
    """Size of the numbers that were worked on; 0 where a kind has none."""
    seconds: float


class PaillierCost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of single operations under a Paillier key."""

    bits: int
    encrypt: float
    """With a table for a hundred encryptions."""
    add: float
    decrypt: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What work takes on one machine."""

    machine: str
    processor: str
    cores: int
    versions: dict[str, str]
    date: str
    took: float
    """Seconds that the calibration took."""
    costs: list[UnitCost]
    paillier: list[PaillierCost]
    spread: float | None = None
    """By how much more the slowest pass took than the one that counts, as a share: half of the
    kinds of work have at least this. `None` in files of version 0.2."""

    def pricing(self) -> Callable[[WorkMeter], float]:
        """Give the function that turns the work of a meter into seconds."""
        prices: dict[tuple[WorkKind, int], float] = {}

        def seconds(meter: WorkMeter) -> float:
            for kind, size in meter.units.keys() - prices.keys():
                prices[kind, size] = self.cost_of(kind, size=size)
            return sum(units * prices[key] for key, units in meter.units.items())

        return seconds

    def cost_of(self, kind: WorkKind, *, size: int = 0) -> float:
        """Give the seconds of a unit of work; 0 where the file knows none of its kind."""
        points = [(cost.size, cost.seconds) for cost in self.costs if cost.kind == kind.name]
        return unit_seconds(sorted(points), size)

    def with_cost(self, kind: WorkKind, seconds: float, *, size: int = 0) -> Self:
        """Give a copy in which a kind of work has a cost."""
        cost = UnitCost(kind=kind.name, size=size, seconds=seconds)
        return msgspec.structs.replace(self, costs=[*self.costs, cost])

    def without(self, kind: WorkKind) -> Self:
        """Give a copy in which a kind of work costs nothing."""
        costs = [cost for cost in self.costs if cost.kind != kind.name]
        return msgspec.structs.replace(self, costs=costs)

    @property
    def text(self) -> str:
        """Short label: machine and date."""
        return f"{self.machine}, {self.date}"


def unit_seconds(points: list[tuple[int, float]], size: int) -> float:
    """Give the seconds of a unit of some size, between or beyond those that are known.

    Seconds follow a power of the size between two known sizes.

    >>> unit_seconds([(1000, 1.0), (2000, 4.0)], 4000)
    16.0
    """
    if not points:
        return 0.0
    if size == 0 or len(points) == 1:
        return points[0][1]
    above = next((place for place, (bits, _) in enumerate(points) if bits >= size), len(points) - 1)
    (small, fast), (large, slow) = points[max(1, above) - 1], points[max(1, above)]
    power = math.log(slow / fast) / math.log(large / small)
    return float(fast * (size / small) ** power)


def calibration_path() -> Path:
    """Give the place of this user's calibration; it need not exist."""
    return state_folder() / FILE


def read_calibration() -> Calibration | None:
    """Read this machine's calibration; `None` if there is none.

    Raises:
        UsageError: the file is damaged.
    """
    path = calibration_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Calibration)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            f"expected a calibration at {path}, found {error}: `sottovoce calibrate` "
            "makes a new one"
        ) from None


def require_calibration() -> Calibration:
    """Read this machine's calibration.

    Raises:
        UsageError: there is none.
    """
    calibration = read_calibration()
    if calibration is None:
        raise UsageError(
            f"expected a calibration of this machine at {calibration_path()}, found none: run "
            "`sottovoce calibrate`, which takes half a minute"
        )
    return calibration


def write_calibration(calibration: Calibration) -> Path:
    """Keep a calibration, in place of an earlier one."""
    path = calibration_path()
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise UsageError(
            f"expected a folder for the calibration at {path.parent}, found {error.strerror}"
        ) from None
    content: dict[str, Any] = msgspec.to_builtins(calibration)
    write_private(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    return path
