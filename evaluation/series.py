"""Lines of results: a figure along x, averaged over seeds, with its standard error; and how figures
and places are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Measured",
    "Place",
    "Rows",
    "Series",
    "figure_shown",
    "fits",
    "level",
    "measured",
    "place_shown",
    "series",
]

Place: TypeAlias = float | str
"""A value of x: a number, or the name of a thing."""
Rows: TypeAlias = Sequence[Mapping[str, Any]]


class Measured(NamedTuple):
    """A mean over seeds."""

    mean: float
    error: float
    """The standard error of it; 0 of one seed."""
    seeds: int
    asked: int = 1
    """How many seeds the line has elsewhere: fewer are left where runs failed."""
    by_seed: Mapping[Any, float] = MappingProxyType({})

    def moved(self, *, factor: float = 1.0, plus: float = 0.0) -> Measured:
        """Multiply it, and add to it."""
        by_seed = {seed: factor * value + plus for seed, value in self.by_seed.items()}
        return self._replace(
            mean=factor * self.mean + plus, error=abs(factor) * self.error, by_seed=by_seed
        )


Series: TypeAlias = Mapping[Place, Measured]
"""A line's means along x."""


def series(
    rows: Rows, *, line: str, x: str, y: str, where: Mapping[str, Any]
) -> dict[Place, Measured]:
    """Average a line's figure over seeds, at each x; numbers in their order."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("line") == line and _is(row.get(y)) and _said(row.get(x)) and fits(row, where):
            found.setdefault(row[x], []).append(row)
    places = sorted(found, key=lambda own: own if isinstance(own, int | float) else 0.0)
    means = {place: measured(_by_seed(found[place], y)) for place in places}
    asked = max((own.seeds for own in means.values()), default=1)
    return {place: own._replace(asked=asked) for place, own in means.items()}


def level(rows: Rows, *, line: str, x: str, y: str, where: Mapping[str, Any]) -> Measured | None:
    """Average a line that has no x: the same everywhere, such as what is reached without any
    privacy.
    """
    own = [
        row for row in rows if row.get("line") == line and _is(row.get(y)) and not _said(row.get(x))
    ]
    own = [
        row
        for row in own
        if fits(row, {key: value for key, value in where.items() if _said(row.get(key))})
    ]
    return measured(_by_seed(own, y)) if own else None


def fits(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Say whether a row has these values; a list is any of them."""
    return all(
        row.get(key) in own if isinstance(own, list) else row.get(key) == own
        for key, own in where.items()
    )


def _by_seed(rows: Rows, y: str) -> dict[Any, float]:
    """Average what one seed gave several times: that is not independent."""
    found: dict[Any, list[float]] = {}
    for at, row in enumerate(rows):
        found.setdefault(row.get("seed", f"row {at}"), []).append(float(row[y]))
    return {seed: sum(values) / len(values) for seed, values in found.items()}


def measured(by_seed: Mapping[Any, float]) -> Measured:
    """Average over seeds."""
    values = [*by_seed.values()]
    count = len(values)
    mean = sum(values) / count
    spread = sum((value - mean) ** 2 for value in values) / (count - 1) if count > 1 else 0.0
    # The same at every seed, but for the sum's last digits: it has no spread.
    error = sqrt(spread / count) if len({*values}) > 1 else 0.0
    return Measured(mean if error else values[0], error, count, count, by_seed)


def _said(value: object) -> bool:
    return isinstance(value, str) or _is(value)


def _is(value: object) -> bool:
    return isinstance(value, int | float) and value == value  # noqa: PLR0124 - not a number is not itself


def place_shown(place: Place) -> str:
    """Write a value of x.

    >>> place_shown(4.0), place_shown("D(25)")
    ('4', 'D(25)')
    """
    return place if isinstance(place, str) else f"{place:g}"


def figure_shown(value: float) -> str:
    """Write a figure with three digits that count; large ones in full.

    >>> figure_shown(0.02314), figure_shown(7060990.0), figure_shown(0.0), figure_shown(-0.00001234)
    ('.0231', '7,060,990', '0', '-.0000123')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    if "e-" in text:
        text = f"{value:.{2 - floor(log10(abs(value)))}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
