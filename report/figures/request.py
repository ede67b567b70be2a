"""Which figures are drawn: what `--figure Y:X` names, and those of a table by default."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...messages import UsageError
from .figure_table import FigureTable
from .quantities import ERROR, OF_ANY_RUN, OUTCOME, Quantity, named_quantity

__all__ = [
    "FigureRequest",
    "check_request",
    "check_request_before",
    "choice_text",
    "default_requests",
    "read_request",
]

COSTS: Final = ("bytes", "rounds", "seconds")
_MEASURED: Final = re.compile(
    r"error-[1-9]|frames|ciphertexts|(payload|frame|ciphertext)_bytes|per_user_bits"
    r"|(tvd|tvd_synthetic|floor|ratio|squared|l2|epsilon|wrong|real|majority)_.+|majority"
    rf"|{re.escape(OUTCOME)}.+"
)
"""Names along y that runs may have."""
_ANY_OUTCOME: Final = f"{OUTCOME}NAME (a number that the protocol publishes)"
ALONG: Final = ("epsilon", "parties", "rows")
"""What figures may be drawn over, besides the settings of the runs."""


class FigureRequest(NamedTuple):
    """A figure: what is drawn, over what, and what its panels differ in."""

    y: str
    x: str
    panels: str = ""

    @property
    def text(self) -> str:
        return ":".join(part for part in self if part)


def read_request(text: str) -> FigureRequest:
    """Read Y:X or Y:X:PANELS.

    >>> read_request("seconds:parties:network")
    FigureRequest(y='seconds', x='parties', panels='network')

    Raises:
        UsageError: the text has another form.
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(f"expected --figure Y:X, such as bytes:parties, found {text!r}")
    return FigureRequest(*parts)


def check_request(request: FigureRequest, table: FigureTable) -> None:
    """Refuse a figure that the table cannot have, and list those that it can.

    Raises:
        UsageError: a name stands for nothing.
    """
    ys = _along_y(table)
    _refuse_wrong(request, table, ys=ys, has_y=request.y in {*ys, *table.measured})


def check_request_before(
    request: FigureRequest, table: FigureTable, *, measured: Sequence[str], of_runs: bool
) -> None:
    """Refuse a figure before the runs are made, when only their settings are known.

    Args:
        request: The figure.
        table: The settings.
        measured: Columns that experiments will measure.
        of_runs: Whether there will be results of protocols' runs as well.

    Raises:
        UsageError: a name stands for nothing.
    """
    quantity = named_quantity(request.y, measured)
    has_y = quantity is not None and bool({*quantity.columns} & {*measured})
    if of_runs:
        has_y = has_y or request.y in OF_ANY_RUN or bool(_MEASURED.fullmatch(request.y))
    of_all_runs = (*OF_ANY_RUN, _ANY_OUTCOME) if of_runs else ()
    ys = [*dict.fromkeys([*of_all_runs, *measured])]
    _refuse_wrong(request, table, ys=ys, has_y=has_y)


def _refuse_wrong(
    request: FigureRequest, table: FigureTable, *, ys: Sequence[str], has_y: bool
) -> None:
    xs = _along_x(table)
    wrong = [] if has_y else [request.y]
    wrong += [name for name in request[1:] if name and name not in {*xs, *table.settings}]
    if wrong:
        raise UsageError(
            f"expected --figure {_choice(ys, xs)}, found {wrong[0]!r} in {request.text}"
        )


def choice_text(table: FigureTable) -> str:
    """List what can be drawn of a table."""
    return _choice(_along_y(table), _along_x(table))


def _choice(ys: Sequence[str], xs: Sequence[str]) -> str:
    return f"Y:X with Y one of {', '.join(ys)} and X one of {', '.join(xs)}"


def _along_y(table: FigureTable) -> list[str]:
    """List what can be drawn: names of quantities, then columns that none of them has."""
    distances = [f"{ERROR}-{ways}" for ways in range(1, 6)]
    names = (*OF_ANY_RUN, "frames", "ciphertexts", *distances)
    drawable = [name for name in names if _has_values(table, named_quantity(name, table.columns))]
    shown = {column for name in (*drawable, *ALONG) for column in _columns(table, name)}
    return [*drawable, *(name for name in table.measured if name not in shown)]


def _along_x(table: FigureTable) -> list[str]:
    names = [name for name in ALONG if _has_values(table, named_quantity(name, table.columns))]
    shown = {column for name in names for column in _columns(table, name)}
    return [*names, *(name for name in table.settings if name not in shown)]


def _columns(table: FigureTable, name: str) -> Sequence[str]:
    quantity = named_quantity(name, table.columns)
    return () if quantity is None else (*quantity.columns, quantity.baseline)


def _has_values(table: FigureTable, quantity: Quantity | None) -> bool:
    return quantity is not None and bool({*quantity.columns} & {*table.columns})


def default_requests(table: FigureTable) -> list[FigureRequest]:
    """Choose the usual figures: the error over epsilon, and costs over the number of parties.

    What does not vary gives way to what does. Without anything that varies, figures are bars.
    """
    costs = [name for name in COSTS if _has_values(table, named_quantity(name, table.columns))]
    errors = [ERROR] if named_quantity(ERROR, table.columns) is not None else []
    along_error = _first_varied(table, ("epsilon", "parties", "rows"))
    along_cost = _first_varied(table, ("parties", "epsilon", "rows"))
    return [
        *(FigureRequest(name, along_error) for name in errors),
        *(FigureRequest(name, along_cost) for name in costs),
    ]


def _first_varied(table: FigureTable, names: Sequence[str]) -> str:
    """Name the first quantity with several values, then any such setting of numbers."""
    for name in (*names, *table.settings):
        quantity = named_quantity(name, table.columns)
        if quantity is None or (name not in names and name in ("protocol", "mode", "data")):
            continue
        values = table.values(quantity)
        if len(values) > 1 and not any(isinstance(value, str) for value in values):
            return name
    return names[0]
