"""Values that a column lacks, though a neighbouring table may have them.

A neighbouring table has one record that is anybody's. So its values may be labels of the schema
that occur in no record, or an edge of the bins. A number or a date without bounds may lie beyond
all others, and a value may be absent where others are. Some values are unlikely: none where all
records have something, and a number below 0 where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .bins import Bins
from .categories import Categories
from .date_texts import day_number, day_text
from .number_texts import PLAIN, number
from .raw import NumberColumn, RawColumn, RawTable, TextColumn, Value

__all__ = ["MAX_LACKING", "Rules", "lacking_values", "opposite_ends", "unlikely_values"]

Rules: TypeAlias = Mapping[str, Categories | Bins]
"""What is declared of raw columns, by name."""

MAX_LACKING: Final = 1000
"""Values of one column that are tried."""
DAYS_OF_A_YEAR: Final = 365
FIRST_DAY, LAST_DAY = day_number("0001-01-01"), day_number("9999-12-31")


def lacking_values(table: RawTable, rules: Rules) -> dict[str, list[Value]]:
    """List the values that each column lacks, those first that differ most from its own."""
    by_name = {
        name: _of_numbers(column, rules.get(name))
        if isinstance(column, NumberColumn)
        else _of_texts(column, rules.get(name))
        for name, column in table.columns.items()
    }
    return {name: values[:MAX_LACKING] for name, values in by_name.items() if values}


def unlikely_values(table: RawTable) -> dict[str, list[Value]]:
    """List the values that most parts do not expect: a null, and a number below 0.

    A part may refuse them with an error. But it may also send how many there are.
    """
    by_name: dict[str, list[Value]] = {}
    for name, column in table.columns.items():
        below: list[Value] = [-1 if isinstance(column, NumberColumn) else "-1"]
        by_name[name] = [None, *(below if _is_positive(column) else [])]
    return by_name


def opposite_ends(
    table: RawTable, rules: Rules
) -> tuple[dict[str, list[Value]], dict[str, list[Value]]]:
    """Give each column without a negative number one far above all others, and one far below 0.

    Columns whose range is declared have none.
    """
    high: dict[str, list[Value]] = {}
    low: dict[str, list[Value]] = {}
    for name, column in table.columns.items():
        if name in rules or not _is_positive(column):
            continue
        if isinstance(column, NumberColumn):
            numbers = _ends(column.numbers)
        else:
            numbers = [number(column.texts[place]) for place in set(column.places.tolist())]
        end = math.ceil(beyond(numbers)[0])
        ends: list[Value] = (
            [end, -end] if isinstance(column, NumberColumn) else [f"{end}", f"-{end}"]
        )
        high[name], low[name] = ends[:1], ends[1:]
    return high, low


def _is_positive(column: RawColumn) -> bool:
    """Tell whether a column has numbers, of which none is negative, but negative ones fit in."""
    if isinstance(column, NumberColumn):
        numbers = column.numbers
        return len(numbers) > 0 and bool((numbers >= 0).all()) and numbers.dtype.kind != "u"
    places = {*column.places.tolist()}
    return bool(places) and all(number(column.texts[place]) >= 0 for place in places)


def _of_numbers(column: NumberColumn, rule: Categories | Bins | None) -> list[Value]:
    numbers = column.numbers
    if rule is None:
        values = beyond(_ends(numbers))
        if not column.is_float:
            values = [
                value
                for value in values
                if np.can_cast(np.min_scalar_type(int(value)), numbers.dtype)
            ]
    else:
        texts = [value for value in _declared(rule) if isinstance(value, str)]
        values = [value for text in texts if math.isfinite(value := number(text))]
    values = [value for value in values if not (numbers == value).any()]
    return [*values, *_null(column, rule)]


def _of_texts(column: TextColumn, rule: Categories | Bins | None) -> list[Value]:
    occurring = {column.texts[place] for place in set(column.places.tolist()) if place >= 0}
    values: list[Value] = []
    numbers = [number(text) for text in occurring]
    if rule is not None:
        values += _declared(rule)
    elif numbers and all(map(math.isfinite, numbers)):
        is_whole = all(text.lstrip("+-").isdecimal() for text in occurring)
        values += [str(int(value) if is_whole else value) for value in beyond(numbers)]
    elif days := [day for day in map(day_number, occurring) if math.isfinite(day)]:
        values += _days_beyond(days) if len(days) == len(occurring) else []
    values += sorted(column.texts)  # categories of its type, or texts of other parties' rows
    lacking = [value for value in dict.fromkeys(values) if value not in occurring]
    return [*lacking, *_null(column, rule)]


def beyond(numbers: Collection[float]) -> list[float]:
    """Give a number far above all others, one far below, and 0.

    Numbers that are not negative stay so, as ages and amounts do.

    >>> beyond([20, 60]), beyond([-1.5, 0.5]), beyond([0, 0])
    ([100, 0], [2.5, -3.5, 0], [1])
    """
    low, high = min(numbers, default=0), max(numbers, default=0)
    span = max(high - low, 1)
    candidates = (high + span, low - span if low < 0 else 0, 0)
    return [value for value in dict.fromkeys(candidates) if value not in numbers]


def _days_beyond(days: Collection[float]) -> list[Value]:
    """Give a day a year or more after all others, and one before them.

    >>> _days_beyond([day_number("2024-01-31"), day_number("2024-02-29")])
    ['2025-02-28', '2023-01-31']
    """
    span = max(max(days) - min(days), DAYS_OF_A_YEAR)
    beyond_all = (max(days) + span, min(days) - span)
    return [day_text(day) for day in beyond_all if FIRST_DAY <= day <= LAST_DAY]


def _declared(rule: Categories | Bins) -> list[Value]:
    """List what a rule allows: its labels, or the ends of its bins and what counts as them."""
    absent = rule.missing_as[:1] if rule.missing != "refuse" else ()
    if isinstance(rule, Categories):
        return [*rule.listed, *absent]
    if rule.kind == "dates":
        if rule.formats:
            return [*absent]
        return [day_text(rule.edges[-1]), day_text(np.ceil(rule.edges[0])), *absent]
    if rule.form != PLAIN:
        return [*absent]
    low, *inner, high = rule.edges
    edges = [high, low, *inner]
    if rule.clip:
        edges = [2 * high - low, 2 * low - high, *edges]
    if rule.kind == "integers":
        edges = [math.ceil(edge) if edge == low else math.floor(edge) for edge in edges]
    return [*map(str, edges), *absent]


def _null(column: RawColumn, rule: Categories | Bins | None) -> list[Value]:
    """Give a null where there are some, which other tables replace, or where the rule allows it."""
    if isinstance(column, NumberColumn):
        has_nulls = column.is_float and bool(np.isnan(column.numbers).any())
    else:
        has_nulls = bool((column.places < 0).any())
    return [None] if has_nulls or (rule is not None and rule.missing != "refuse") else []


def _ends(numbers: npt.NDArray[np.integer[Any] | np.floating[Any]]) -> list[float]:
    finite = numbers[np.isfinite(numbers)]
    return [float(finite.min()), float(finite.max())] if len(finite) else []
