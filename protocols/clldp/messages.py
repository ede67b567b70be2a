"""The messages of CLLDP beside those of every survey.

    curator     Terms       in each round: users and attributes of each group, k, omega and epsilon
    curator     Grown       once: a tree, the users who go down it, and k
    cohort      Counts      LEAK: exact tables, with belief=oracle

An oracle is for experiments.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np  # noqa: TC002 - read at run time, as annotations of messages
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...messages import Shape, message

__all__ = ["LabelMessages"]


class LabelMessages:
    """The messages; a protocol that asks for a label names this class in `uses`."""

    @message
    class Terms:
        """For each group its attributes without the label, places, k, omega and epsilon."""

        questions: tuple[tuple[int, ...], ...]
        starts: Annotated[NDArray[np.int64], Shape(None)]
        sizes: Annotated[NDArray[np.int64], Shape(None)]
        heads: Annotated[NDArray[np.int64], Shape(None)]
        beliefs: Annotated[NDArray[np.float64], Shape(None)]
        epsilons: Annotated[NDArray[np.float64], Shape(None)]

    @message
    class Grown:
        """A tree, the place of the first user who is asked, the number of users, and k.

        A node is its attribute, the nodes of its answers yes and no, and the values of yes. A leaf
        is empty. omega is 1, because the tree may be any tree.
        """

        nodes: tuple[tuple[int, ...], ...]
        start: int
        size: int
        heads: int

    @message
    class Counts:
        """LEAK: exact tables of the label and attributes, one after another."""

        cells: NDArray[np.int64]
