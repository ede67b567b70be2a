"""Results by which a claim is judged: ours, and the numbers that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from .series import (
    Condition,
    Place,
    Row,
    SeedMean,
    constant,
    format_place,
    matches,
    series,
)

__all__ = ["PrintedValues", "Results"]


class PrintedValues(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers that a paper prints for a line."""

    line: str
    y: str
    x: list[Place]
    values: list[float]
    where: dict[str, Condition] = {}

    def __post_init__(self) -> None:
        if len(self.x) != len(self.values):
            raise ValueError(
                f"expected as many values as x of {self.line}, "
                f"found {len(self.values)} and {len(self.x)}"
            )


class Results(NamedTuple):
    """The results by which a claim is judged."""

    rows: Sequence[Row]
    x: str
    y: str
    where: Mapping[str, Condition]
    printed: Sequence[PrintedValues]
    x_title: str
    places: Sequence[Place] = ()
    """Values of x for which it is claimed; empty if for all."""

    def series(self, line: str) -> dict[Place, SeedMean]:
        """Average a line over seeds at each value of x."""
        return series(self.rows, line=line, x=self.x, y=self.y, where=self.where)

    def constant(self, line: str) -> SeedMean | None:
        """Average a line that has no x."""
        return constant(self.rows, line=line, x=self.x, y=self.y, where=self.where)

    def is_expected(self, place: Place) -> bool:
        """Whether something is claimed of a place, and any line has a result there."""
        is_claimed = place in self.places or not self.places
        return is_claimed and any(
            row.get(self.x) == place and matches(row, self.where) for row in self.rows
        )

    def name(self, place: Place) -> str:
        return f"{self.x_title} {format_place(place)}"

    @property
    def everywhere(self) -> str:
        return f"all {self.x_title}"
