"""What a user can set: the parameters that every protocol has, and types for those of one.

Values of `--set NAME=VALUE` are converted to these types, and refused outside their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec

from ..privacy import Members

__all__ = [
    "MAX_SYNTHETIC_ROWS",
    "Confidence",
    "Delta",
    "Epsilon",
    "Mode",
    "Options",
    "ParametersT",
]

Mode: TypeAlias = Literal["rigorous", "paper"]
Epsilon: TypeAlias = Annotated[
    float, msgspec.Meta(ge=1e-12, le=1000, description="privacy budget of each record")
]
Confidence: TypeAlias = Annotated[
    float,
    msgspec.Meta(gt=0, lt=1, description="of the interval from low to high around each count"),
]
MAX_SYNTHETIC_ROWS: Final = 100_000_000
"""Rows that a protocol publishes at most; whether they fit in memory is checked before a run."""
Delta: TypeAlias = Annotated[
    float,
    msgspec.Meta(ge=0, lt=1, description="chance that epsilon may fail; 0 allows pure noise only"),
]


class Options(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A protocol's parameters: `--set NAME=VALUE`, checked against types and bounds."""

    delta: Delta = 1e-9

    def covering(
        self,
        adversaries: Sequence[Members],  # noqa: ARG002 - for subclasses
        *,
        parties: int,  # noqa: ARG002 - for subclasses
    ) -> str:
        """Say which options make the claim cover these adversaries, and at which price.

        The text is empty where no option does.
        """
        return ""


ParametersT = TypeVar("ParametersT", bound=Options)
"""The type of a protocol's parameters."""
