"""The messages of DP-SUBN, beside those of secure sums and of noise replacement."""

from __future__ import annotations

import numpy as np  # noqa: TC002 - read at run time, as an annotation of a message
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...messages import message, personal
from ..secure_sum import SecureSums

__all__ = ["Messages"]


class Messages(SecureSums):
    """The messages of DP-SUBN; its classes name this class in `uses`."""

    @message
    class Margins:
        """Phase 1, to the parties: the curator's estimates of all labels' counts, in a row."""

        cells: NDArray[np.int64]

    @message
    class Chosen:
        """Phase 2: the families chosen so far, in the order of choice.

        A family is an attribute after its parents, or the two ends of an edge.
        """

        families: tuple[tuple[str, ...], ...]

    @personal
    @message
    class ChosenBefore:
        """Phase 2, where a party may be lost: all choices so far, to the parties of the next turn.

        They come from the curator, which has each choice first.
        """

        families: tuple[tuple[str, ...], ...]

    @message
    class Candidates:
        """Phase 3: the families of the search frontier, whose tables are counted."""

        families: tuple[tuple[str, ...], ...]

    @personal
    @message
    class CandidatesInTurn:
        """Phase 3, sequential updates: the frontier of one party's turn, to that party alone."""

        families: tuple[tuple[str, ...], ...]

    @message
    class Noisy:
        """Phase 3: a party's own tables with its own full noise, one table after another."""

        cells: NDArray[np.int64]

    @message
    class Network:
        """Phase 4: the families whose tables are counted for the network's parameters."""

        families: tuple[tuple[str, ...], ...]
