"""FLAIM's parameters, and the part of its published model from which a cost follows."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..options import MAX_SYNTHETIC_ROWS, Epsilon
from ..secure_sum import Family, SumOptions

__all__ = ["Choice", "FLAIMParameters", "Published", "Round"]


class FLAIMParameters(SumOptions):
    """What a user can set."""

    epsilon: Epsilon = 1.0
    rounds: Annotated[
        int, msgspec.Meta(ge=1, le=1000, description="rounds T; every party chooses in each")
    ] = 10
    max_cells: Annotated[
        int,
        msgspec.Meta(ge=1000, le=1 << 24, description="most cells of the model's cliques together"),
    ] = 100_000
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_SYNTHETIC_ROWS,
            description="rows to publish; 0: as many as all parties have",
        ),
    ] = 0


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a party chose in a round."""

    party: int
    attributes: Family


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round as model.json has it."""

    choices: tuple[Choice, ...]
    measured: tuple[Family, ...]
    """The chosen tables that were summed, each over the parties that chose it."""


class Published(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost of the rounds follows."""

    rounds: tuple[Round, ...]
