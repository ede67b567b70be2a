"""The results that figures are drawn from: rows of settings and of measured figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan
from typing import Any, TypeAlias

from .quantities import Quantity

__all__ = ["FigureTable", "Row", "place_of", "value_of"]

Row: TypeAlias = Mapping[str, Any]

NOT_SETTINGS = frozenset(["run", "seed", "status", "error", "note", "exact"])
"""Columns by which runs never part into lines."""


@dataclass(frozen=True)
class FigureTable:
    """Rows of results, each of one run or forecast."""

    rows: Sequence[Row]
    setting_names: Sequence[str]
    """Columns of what was asked; the others were measured."""

    @cached_property
    def columns(self) -> list[str]:
        """The columns that have a value in some row."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in names if any(_is_value(row.get(name)) for row in self.rows)]

    @cached_property
    def settings(self) -> list[str]:
        """The settings by which runs part into lines and panels."""
        names = {*self.setting_names} - NOT_SETTINGS
        return [name for name in self.columns if name in names]

    @cached_property
    def measured(self) -> list[str]:
        """The measured columns that hold numbers."""
        others = {*self.setting_names} | NOT_SETTINGS
        return [
            name
            for name in self.columns
            if name not in others and any(_is_number(row.get(name)) for row in self.rows)
        ]

    def values(self, quantity: Quantity) -> list[float | str]:
        """List the different values of a quantity, numbers in order and then names."""
        places = {place for row in self.rows if (place := place_of(row, quantity)) is not None}
        numbers = sorted(place for place in places if not isinstance(place, str))
        names = dict.fromkeys(
            place for row in self.rows if isinstance(place := place_of(row, quantity), str)
        )
        return [*numbers, *names]


def value_of(row: Row, quantity: Quantity) -> float | None:
    """Read a finite number."""
    for column in quantity.columns:
        value = row.get(column)
        if isinstance(value, int | float) and _is_number(value) and isfinite(value):
            return 1 - float(value) if quantity.has_complement else float(value)
    return None


def place_of(row: Row, quantity: Quantity) -> float | str | None:
    """Read a place along x: a finite number, or a name."""
    if (number := value_of(row, quantity)) is not None:
        return number
    for column in quantity.columns:
        value = row.get(column)
        if _is_value(value) and not _is_number(value):
            return str(value)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_value(value: Any) -> bool:
    return value is not None and value != "" and not (_is_number(value) and isnan(value))
