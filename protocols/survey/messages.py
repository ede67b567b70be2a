"""The messages between cohorts of users and the curator.

    cohort      Present     number of its rows (public: neighbouring datasets replace one record)
    curator     Opening     number of all users, and the public key of their order
    curator     Plan        the questions of a round, their randomizers and their numbers of users
    cohort      Reports     reports of its users, at most half a million in a message; or
                Sums        the sums of these reports, drawn from their exact distribution

Users are asked in the order of a public permutation, which the key determines.

A survey of several rounds has a plan and reports in each round.
"""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np  # noqa: TC002 - read at run time, as annotations of messages
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...messages import USER_BITS, Shape, message

__all__ = ["KEY_BYTES", "MAX_ROWS", "SurveyMessages"]

KEY_BYTES: Final = 16
MAX_ROWS: Final = 1 << 40
"""Most rows of all cohorts together."""


class SurveyMessages:
    """The messages of every survey; a protocol that asks users names this class in `uses`."""

    @message
    class Present:
        """A cohort's number of rows, and whether they are numbered through all cohorts.

        Rows are numbered where all cohorts hold parts of one table.
        """

        rows: int
        numbered: bool

    @message
    class Opening:
        """The rows of each cohort, the number of all users, and the key of their order.

        A cohort that was lost before it sent its rows has none.
        """

        rows: Annotated[NDArray[np.int64], Shape(None)]
        users: int
        key: bytes

    @message
    class Plan:
        """Questions as numbers of attributes or bits, with their randomizers and numbers of users.

        A plan without questions asks nobody in this round.
        """

        questions: tuple[tuple[int, ...], ...]
        randomizers: tuple[str, ...]
        sizes: Annotated[NDArray[np.int64], Shape(None)]

    @message
    class Reports:
        """Packed reports of some of a cohort's users, in the order of the questions.

        `last` marks the cohort's last message of the round.
        """

        users: Annotated[NDArray[np.uint32], Shape(None)]
        bits: Annotated[int, USER_BITS]
        packed: Annotated[NDArray[np.uint8], Shape(None)]
        last: bool

    @message
    class Sums:
        """The users and the support of every question; the supports follow one another."""

        users: Annotated[NDArray[np.int64], Shape(None)]
        support: Annotated[NDArray[np.int64], Shape(None)]
