"""The parameters of adaptive pairs."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from ..options import MAX_SYNTHETIC_ROWS, Epsilon
from ..secure_sum import SumOptions

__all__ = ["AdaptivePairsParameters"]

Rounds: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=12)]


class AdaptivePairsParameters(SumOptions):
    """What a user can set."""

    epsilon: Epsilon = 1.0
    rounds: Annotated[
        Rounds | None,
        msgspec.Meta(
            description=(
                "measurements, each a secure sum; the first is of single attributes; by default "
                "5, or 2 where noise is Laplace"
            )
        ),
    ] = None
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_SYNTHETIC_ROWS,
            description="rows to publish; 0: as many as all parties have",
        ),
    ] = 0
