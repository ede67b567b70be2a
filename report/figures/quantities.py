"""Quantities that figures show: their names, the columns of results that hold them, and titles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["ERROR", "NO_COMPUTATION", "OF_ANY_RUN", "OUTCOME", "Quantity", "named_quantity"]

ERROR: Final = "error"
"""The name of the first error that the results have."""
NO_COMPUTATION: Final = "left out"
"""What the column `computation` holds of forecasts whose seconds lack it."""
OUTCOME: Final = "outcome."
"""What the names of numbers begin with that a protocol published in its outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A quantity along an axis."""

    name: str
    columns: tuple[str, ...]
    """Columns that may hold it. In each row the first counts that has a value."""
    title: str
    unit: str = ""
    """B for bytes, whose ticks become kB and MB."""
    baseline: str = ""
    """The column of the baseline that it is compared with."""
    baseline_title: str = ""
    has_complement: bool = False
    """Whether figures show 1 minus the column."""


_QUANTITIES: Final = (
    Quantity(name="bytes", columns=("payload_bytes",), title="payload (bytes)", unit="B"),
    Quantity(name="frames", columns=("frame_bytes",), title="frames (bytes)", unit="B"),
    Quantity(
        name="ciphertexts", columns=("ciphertext_bytes",), title="ciphertexts (bytes)", unit="B"
    ),
    Quantity(name="messages", columns=("messages",), title="messages"),
    Quantity(name="rounds", columns=("rounds",), title="rounds"),
    Quantity(name="seconds", columns=("seconds",), title="time (s)"),
    Quantity(name="user-bits", columns=("per_user_bits",), title="sent by a user (bits)"),
    Quantity(name="epsilon", columns=("epsilon", "claimed_epsilon"), title="claimed epsilon"),
    Quantity(name="parties", columns=("parties",), title="number of parties"),
    Quantity(name="rows", columns=("rows_asked", "rows"), title="number of records"),
    Quantity(
        name="accuracy",
        columns=("accuracy",),
        title="share predicted right",
        baseline="majority",
        baseline_title="most frequent label",
    ),
    Quantity(
        name="network_entropy",
        columns=("network_entropy",),
        title="entropy of the network (bits a record)",
        baseline="floor_network_entropy",
        baseline_title="independent attributes",
    ),
    Quantity(
        name="errors of prediction",
        columns=("accuracy",),
        title="share predicted wrong",
        has_complement=True,
    ),
)
_BY_NAME: Final = {quantity.name: quantity for quantity in _QUANTITIES}
OF_ANY_RUN: Final = ("bytes", "messages", "rounds", "seconds", ERROR, "accuracy", "user-bits")
"""Names that figures of runs may have along y, whether or not these runs have them."""
_DISTANCE: Final = re.compile(r"error-([1-9])")
_WRONG: Final = re.compile(r"(marginals_)?wrong_(.+)")
_LOSS: Final = re.compile(r"epsilon_(.+)")


def named_quantity(name: str, columns: Sequence[str]) -> Quantity | None:
    """Find a quantity by its name, or by a column of the results; `None` for anything else.

    >>> named_quantity("bytes", []).title, named_quantity("error-3", []).columns
    ('payload (bytes)', ('tvd_synthetic_3', 'tvd_3'))
    >>> named_quantity("updates", ["updates"]).title, named_quantity("updates", [])
    ('updates', None)
    """
    if name == ERROR:
        return _first_error(columns)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if match := _DISTANCE.fullmatch(name):
        ways = match[1]
        return Quantity(
            name=name,
            columns=(f"tvd_synthetic_{ways}", f"tvd_{ways}"),
            title=f"distance of {ways}-way marginals (TVD)",
            baseline=f"floor_{ways}",
            baseline_title="exact single attributes",
        )
    if name not in columns:
        return None
    if match := _WRONG.fullmatch(name):
        kind, target = match[1] or "", match[2]
        return Quantity(
            name=name,
            columns=(name,),
            title=f"{target}: share predicted wrong" + (", from marginals" if kind else ""),
            baseline=f"{kind}majority_{target}",
            baseline_title="most frequent label",
        )
    title = name.removeprefix(OUTCOME)
    if match := _LOSS.fullmatch(name):
        title = f"epsilon to {match[1]}"
    unit = "B" if name.endswith("_bytes") else ""
    return Quantity(name=name, columns=(name,), title=title.replace("_", " "), unit=unit)


def _first_error(columns: Sequence[str]) -> Quantity | None:
    """Find the error that results have: of pairs, of other tables, or of predictions."""
    for ways in (2, 3, 1, 4, 5):
        if {f"tvd_synthetic_{ways}", f"tvd_{ways}"} & {*columns}:
            return named_quantity(f"{ERROR}-{ways}", columns)
    for column in columns:
        if _WRONG.fullmatch(column):
            return named_quantity(column, columns)
    return _BY_NAME["errors of prediction"] if "accuracy" in columns else None
