"""Values of columns that a program names: its constants, where a column can have them.

A part that treats some records apart names what they have: `country == "Laos"`, `age > 90`. Tables
in which records have all of these values at once pass through such a condition, though no other
table does. The values next to a number are tried as well, as it may be a bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from .bins import Bins
from .categories import Categories
from .counting import CodedTable
from .lacking import Rules
from .number_texts import number
from .raw import NumberColumn, RawColumn, RawTable, Value

__all__ = ["MAX_NAMED", "Constant", "named_codes", "named_values"]

Constant: TypeAlias = str | float
MAX_NAMED: Final = 24
"""Values of one column that are tried."""
SEPARATORS: Final = (";", "|", ",")
"""What stands between several values in one text."""
MIN_LENGTH: Final = 2
"""Letters of a constant that may be a part of a value."""


def named_values(
    table: RawTable, constants: Collection[Constant], rules: Rules
) -> dict[str, list[Value]]:
    """List the constants that each column of a raw table can have, and the numbers next to them.

    >>> import pandas as pd
    >>> table = RawTable.of(pd.DataFrame({"age": [20, 60], "town": ["Rome", "Oslo"]}))
    >>> named_values(table, ["Oslo", 40], {})
    {'age': [41, 40, 39], 'town': ['Oslo']}
    """
    by_name = {
        name: _of_column(column, constants, rules.get(name))
        for name, column in table.columns.items()
    }
    return {name: values[:MAX_NAMED] for name, values in by_name.items() if values}


def named_codes(table: CodedTable, constants: Collection[Constant]) -> dict[str, list[Value]]:
    """List the codes of the labels of a schema that constants name."""
    by_name: dict[str, list[Value]] = {}
    for name, labels in table.domain.labels.items():
        codes = {label: code for code, label in enumerate(labels)}
        by_name[name] = [codes[label] for label in _texts(codes, constants)]
    return {name: codes[:MAX_NAMED] for name, codes in by_name.items() if codes}


def _of_column(
    column: RawColumn, constants: Collection[Constant], rule: Categories | Bins | None
) -> list[Value]:
    if isinstance(column, NumberColumn):
        finite = column.numbers[np.isfinite(column.numbers)]
        near = _near(constants, finite.tolist(), is_whole=not column.is_float, rule=rule)
        kind = column.numbers.dtype
        return [
            value
            for value in near
            if column.is_float or np.can_cast(np.min_scalar_type(int(value)), kind)
        ]
    occurring = {column.texts[place] for place in set(column.places.tolist()) if place >= 0}
    texts = [*column.texts, *(rule.listed if isinstance(rule, Categories) else ())]
    values: list[Value] = [*_joined(sorted(occurring), constants)] if rule is None else []
    values += _texts(dict.fromkeys(texts), constants)
    numbers = [number(text) for text in occurring]
    if numbers and all(map(math.isfinite, numbers)):
        is_whole = all(text.lstrip("+-").isdecimal() for text in occurring)
        values += map(str, _near(constants, numbers, is_whole=is_whole, rule=rule))
    return [*dict.fromkeys(values)]


def _texts(texts: Mapping[str, object], constants: Collection[Constant]) -> list[str]:
    """List the texts that are a constant or hold one, in the order of the constants."""
    named: list[str] = []
    for word in constants:
        if not isinstance(word, str):
            continue
        if word in texts:
            named.append(word)
        elif len(word) >= MIN_LENGTH:
            named += [text for text in texts if word in text]
    return [*dict.fromkeys(named)]


def _joined(occurring: Sequence[str], constants: Collection[Constant]) -> list[str]:
    """Join what a column's texts hold by a separator that the program names, such as ";".

    If texts differ in their number of parts, a text may have any number of them. If all have the
    same number, two or more, as dates do, no text is joined.

    >>> _joined(["I10", "E11;I10"], [";"]), _joined(["2024-01", "2024-02"], ["-", ";"])
    (['I10;E11'], [])
    """
    joined: list[str] = []
    for mark in SEPARATORS:
        if mark not in constants:
            continue
        numbers = {text.count(mark) for text in occurring}
        parts = dict.fromkeys(part for text in occurring for part in text.split(mark))
        if (
            numbers == {0} and any(isinstance(word, str) and word in parts for word in constants)
        ) or len(numbers) > 1:
            joined.append(mark.join([*parts][:MAX_NAMED]))
    return [text for text in joined if text not in occurring]


def _near(
    constants: Collection[Constant],
    occurring: Collection[float],
    *,
    is_whole: bool,
    rule: Categories | Bins | None,
) -> list[float]:
    """List the numbers among the constants, each with one above and one below it.

    Numbers of a column without a range stay 0 or above, if all that occur are (`lacking.beyond`).
    """
    if isinstance(rule, Categories):
        return []
    numbers = [constant for constant in constants if not isinstance(constant, str)]
    near: list[float] = [value for number in numbers for value in (number + 1, number, number - 1)]
    if is_whole:
        near = [int(value) for value in near if float(value).is_integer()]
    if isinstance(rule, Bins):
        low, *_, high = rule.edges
        near = [value for value in near if low < value <= high]
    elif min(occurring, default=0) >= 0:
        near = [value for value in near if value >= 0]
    return [*dict.fromkeys(near)]
