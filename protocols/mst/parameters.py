"""MST's parameters, and the part of its published model from which a cost follows."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..adaptive_pairs.tables import Grouping
from ..options import MAX_SYNTHETIC_ROWS, Epsilon
from ..secure_sum import Family, SumOptions

__all__ = ["MSTParameters", "Published", "Turn"]


class MSTParameters(SumOptions):
    """What a user can set."""

    epsilon: Epsilon = 1.0
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_SYNTHETIC_ROWS,
            description="rows to publish; 0: as many as all parties have",
        ),
    ] = 0


class Turn(msgspec.Struct, frozen=True):
    """A party's turn as model.json has it."""

    party: int
    edges: tuple[Family, ...]
    """The edges that the party chose."""


class Published(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost follows."""

    groups: dict[str, Grouping]
    """The group of each label of the attributes with merged labels."""
    turns: tuple[Turn, ...]
