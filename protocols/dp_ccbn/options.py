"""The parameters of DP-CCBN, and its messages."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from ...messages import message
from ..dp_subn.options import Attributes
from ..options import Epsilon
from ..secure_sum import SecureSums, SumOptions

__all__ = ["Candidates", "DPCCBNParameters"]

Search: TypeAlias = Literal["iterative", "oneshot"]


class DPCCBNParameters(SumOptions):
    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Attributes | None, msgspec.Meta(description="as they are, or as bits (mode paper)")
    ] = None
    search: Annotated[
        Search,
        msgspec.Meta(
            description="count candidates in every iteration, as printed, or all sets once"
        ),
    ] = "iterative"
    theta: Annotated[
        float, msgspec.Meta(gt=0, le=1e6, description="usefulness that the tables must have")
    ] = 6.0
    most_parents: Annotated[
        int, msgspec.Meta(ge=1, le=4, description="that an attribute may have")
    ] = 2


class Candidates(SecureSums):
    """The messages of DP-CCBN; its classes name this class in `uses`."""

    @message
    class Chosen:
        """To all: families that were added to the network, each an attribute after its parents."""

        families: tuple[tuple[str, ...], ...]
