"""What a run of a protocol publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..messages import ArgumentError
from ..parties import Schema
from ..privacy.domain import LabelledRows
from ..privacy.marginal_table import MarginalTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outcome", "UserTraffic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTraffic:
    """What users would send in a deployment, where each of them sends her own reports.

    In a run a cohort stands for its users: its messages carry their reports, or sums of reports.
    """

    users: int
    """Number of users."""
    reports: int
    """Number of reports of all users."""
    bits: int
    """Size of all reports together."""
    least: int
    """Bits of the smallest report."""
    most: int
    """Bits of the largest report."""
    simulate: str
    """Whether every report was made (`reports`) or sums of reports were drawn."""
    smallest_group: int | None = None
    """Least number of users who answer one question in one round; `None` if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the curator publishes; anyone may see all of it."""

    synthetic: pd.DataFrame | LabelledRows | None = None
    """A synthetic table with the original labels, written to synthetic.csv."""
    marginals: pd.DataFrame | MarginalTable | Sequence[Mapping[str, object]] | None = None
    """Rows of attribute_1, value_1, ..., count, written to marginals.csv."""
    model: Mapping[str, object] | None = None
    """A model that JSON can hold, written to model.json."""
    schema: Schema | None = None
    """A schema that was learnt, written to schema.json."""
    summary: Mapping[str, object] = field(default_factory=dict)
    """Some figures for the terminal and for report.json."""
    user_traffic: UserTraffic | None = None
    """What users send, where a protocol simulates users."""

    def __post_init__(self) -> None:
        for name in ("summary", "model"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise ArgumentError(
                    f"expected {name}={{NAME: VALUE}} in Outcome, found a {type(value).__name__}"
                )
        for name in ("synthetic", "marginals"):
            value = getattr(self, name)
            is_rows = name == "marginals" and isinstance(value, Sequence)
            are_mappings = is_rows and all(isinstance(row, Mapping) for row in value)
            if not (value is None or hasattr(value, "columns") or are_mappings):
                raise ArgumentError(
                    f"expected a DataFrame for {name} in Outcome, found a {type(value).__name__}"
                )
