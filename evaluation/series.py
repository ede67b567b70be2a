"""Series of results: a figure along x as a mean over seeds with its standard error.

It also has the formats of figures and of values of x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, inf, isnan, log10, sqrt
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

__all__ = [
    "Condition",
    "Place",
    "Row",
    "Scalar",
    "SeedMean",
    "Series",
    "constant",
    "format_figure",
    "format_place",
    "matches",
    "mean_over_seeds",
    "ratio_of",
    "series",
]

Scalar: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Scalar]
"""A row of a table of results."""
Condition: TypeAlias = Scalar | list[Scalar]
"""A value that a column must have; a list allows any of its values."""
Place: TypeAlias = float | str
"""A value of x: a number or a name."""


class SeedMean(NamedTuple):
    """A mean over seeds."""

    mean: float
    error: float
    """Its standard error, which is 0 for one seed."""
    seeds: int
    """Number of seeds it comes from."""
    expected_seeds: int = 1
    """Largest number of seeds of the same line at any x. Failed runs leave fewer."""
    by_seed: Mapping[Scalar, float] = MappingProxyType({})

    @property
    def is_incomplete(self) -> bool:
        """Whether some seeds are missing."""
        return self.seeds < self.expected_seeds

    def moved(self, *, factor: float = 1.0, plus: float = 0.0) -> SeedMean:
        """Multiply the mean by `factor`, and add `plus`."""
        by_seed = {seed: factor * value + plus for seed, value in self.by_seed.items()}
        return self._replace(
            mean=factor * self.mean + plus, error=abs(factor) * self.error, by_seed=by_seed
        )


Series: TypeAlias = Mapping[Place, SeedMean]
"""The means of a line along x."""


def series(
    rows: Sequence[Row], *, line: str, x: str, y: str, where: Mapping[str, Condition]
) -> dict[Place, SeedMean]:
    """Average the figure `y` of a line over seeds, at each value of `x`; numbers are sorted."""
    values: dict[Place, list[tuple[Scalar, float]]] = {}
    for index, row in enumerate(rows):
        place, figure = _place(row.get(x)), _number(row.get(y))
        if row.get("line") != line or place is None or figure is None or not matches(row, where):
            continue
        values.setdefault(place, []).append((row.get("seed", f"row {index}"), float(figure)))
    places = sorted(values, key=lambda place: 0.0 if isinstance(place, str) else place)
    means = {place: mean_over_seeds(_by_seed(values[place])) for place in places}
    expected = max((mean.seeds for mean in means.values()), default=1)
    return {place: mean._replace(expected_seeds=expected) for place, mean in means.items()}


def constant(
    rows: Sequence[Row], *, line: str, x: str, y: str, where: Mapping[str, Condition]
) -> SeedMean | None:
    """Average a line without x, such as a baseline without privacy. It is the same everywhere.

    Conditions on columns that a row does not have are ignored.
    """
    values = []
    for index, row in enumerate(rows):
        figure = _number(row.get(y))
        if row.get("line") != line or figure is None or _place(row.get(x)) is not None:
            continue
        present = {key: value for key, value in where.items() if _place(row.get(key)) is not None}
        if matches(row, present):
            values.append((row.get("seed", f"row {index}"), float(figure)))
    return mean_over_seeds(_by_seed(values)) if values else None


def matches(row: Row, where: Mapping[str, Condition]) -> bool:
    """Tell whether a row satisfies all conditions."""
    return all(
        row.get(key) in wanted if isinstance(wanted, list) else row.get(key) == wanted
        for key, wanted in where.items()
    )


def mean_over_seeds(by_seed: Mapping[Scalar, float]) -> SeedMean:
    """Average over seeds."""
    values = [*by_seed.values()]
    count = len(values)
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1) if count > 1 else 0.0
    # Equal values have no spread, although the last digits of the sum may differ.
    error = sqrt(variance / count) if len({*values}) > 1 else 0.0
    return SeedMean(mean if error else values[0], error, count, count, by_seed)


def ratio_of(mean: SeedMean, other: SeedMean) -> SeedMean:
    """Divide two means, seed by seed if they have the same seeds."""
    if mean.by_seed and mean.by_seed.keys() == other.by_seed.keys() and all(other.by_seed.values()):
        ratios = {seed: value / other.by_seed[seed] for seed, value in mean.by_seed.items()}
        return mean_over_seeds(ratios)
    ratio = mean.mean / (other.mean or inf)
    error = sqrt(mean.error**2 + (ratio * other.error) ** 2) / (abs(other.mean) or inf)
    seeds = min(mean.seeds, other.seeds)
    return SeedMean(ratio, error, seeds, seeds)


def format_place(place: Place) -> str:
    """Format a value of x.

    >>> format_place(4.0), format_place("D(25)")
    ('4', 'D(25)')
    """
    return place if isinstance(place, str) else f"{place:g}"


def format_figure(value: float) -> str:
    """Format a figure with three significant digits, and large ones in full.

    >>> [format_figure(value) for value in (0.02314, 7060990.0, 0.0, -0.00001234)]
    ['.0231', '7,060,990', '0', '-.0000123']
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    if "e-" in text:
        text = f"{value:.{2 - floor(log10(abs(value)))}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _by_seed(values: Sequence[tuple[Scalar, float]]) -> dict[Scalar, float]:
    """Average the values of each seed, because they are not independent."""
    lists: dict[Scalar, list[float]] = {}
    for seed, value in values:
        lists.setdefault(seed, []).append(value)
    return {seed: sum(numbers) / len(numbers) for seed, numbers in lists.items()}


def _place(value: Scalar) -> Place | None:
    return value if isinstance(value, str) else _number(value)


def _number(value: Scalar) -> float | None:
    """Return a number, or None for anything else and for NaN."""
    return value if isinstance(value, int | float) and not isnan(value) else None
