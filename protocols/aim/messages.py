"""The messages of AIM, beside those of secure sums."""

from __future__ import annotations

import numpy as np  # noqa: TC002 - read at run time, as an annotation of a message
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...messages import message, personal
from ..secure_sum import SecureSums

__all__ = ["Messages"]


class Messages(SecureSums):
    """The messages of AIM; its class names this class in `uses`."""

    @message
    class Turn:
        """To all parties: whose turn it is to choose, and what the next table costs.

        The party is 0 when the rounds have ended.
        """

        party: int
        rho: float

    @personal
    @message
    class Candidates:
        """To the party on turn: the model so far, the candidates, and what the choice costs.

        `parameters` are those of the model, a table for each of `sets` in a row. A set lists places
        of attributes in the domain. `noise_share` is the standard deviation of the noise that a
        cell of the next table has, as a share of the table's rows.
        """

        rho: float
        noise_share: float
        sets: tuple[tuple[int, ...], ...]
        parameters: NDArray[np.float64]
        candidates: tuple[tuple[int, ...], ...]

    @message
    class Chosen:
        """From the party on turn: the place of the chosen candidate in their list."""

        index: int

    @message
    class Measured:
        """To all parties: the attributes whose table is summed next.

        There are none if the party on turn was lost before it chose. Another turn follows then.
        """

        attributes: tuple[int, ...]
