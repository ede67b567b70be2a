"""The parameters and the messages of DistDiffGen."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np  # noqa: TC002 - read at run time, as an annotation of a message
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...messages import message
from ..options import Epsilon
from ..secure_sum import SecureSums, SumOptions
from .scores import Score

__all__ = ["DistDiffGenParameters", "Messages"]


class DistDiffGenParameters(SumOptions):
    epsilon: Epsilon = 1.0
    specialisations: Annotated[
        int, msgspec.Meta(ge=1, le=1000, description="h: how often a node is specialised")
    ] = 10
    target: Annotated[
        str | None, msgspec.Meta(description="the class attribute; the last one, if left open")
    ] = None
    score: Annotated[
        Score | None,
        msgspec.Meta(
            description="max: most frequent classes (mode paper); gain: information gain (rigorous)"
        ),
    ] = None
    most_cells: Annotated[
        int, msgspec.Meta(ge=2, le=1 << 24, description="leaves times classes, at most")
    ] = 1 << 20


class Messages(SecureSums):
    """The messages of DistDiffGen; its classes name this class in `uses`."""

    @message
    class ClassCounts:
        """From party 2 to party 1, sealed (mode paper): exact counts of labels by class."""

        cells: NDArray[np.int64]

    @message
    class Specialised:
        """To all: the borders of the ranges into which each predictor is divided."""

        borders: tuple[tuple[int, ...], ...]
