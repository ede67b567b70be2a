"""The parameters of adaptive pairs."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from ..protocol import Epsilon
from ..secure_sum import SumOptions

__all__ = ["AdaptivePairsParameters"]

Rounds: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=12)]


class AdaptivePairsParameters(SumOptions):
    """What a user can set."""

    epsilon: Epsilon = 1.0
    rounds: Annotated[
        Rounds | None,
        msgspec.Meta(description="secure sums; by default 3, or 2 where noise is Laplace"),
    ] = None
    first: Annotated[
        float,
        msgspec.Meta(
            gt=0, lt=1, description="share of the budget in round 1; later rounds share the rest"
        ),
    ] = 0.3
    synthetic_rows: Annotated[
        int, msgspec.Meta(ge=0, description="rows to publish; 0: as many as all parties have")
    ] = 0
