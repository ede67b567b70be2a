"""Several attributes of one user: each reported by itself, with a part of epsilon, and what such
reports say together.

What a report says of an attribute is a whole number for each label, its matches, each of which
makes the report so many times as likely from that label. `likelihood` writes that out; the joint
table is `curator.expectation`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWords
from .randomizer import AT_A_TIME, Codes, Reports
from .unary import Unary

__all__ = ["Matches", "UnaryPerAttribute", "likelihood"]

Matches = npt.NDArray[np.uint8]
"""A line a label, a column a user."""


def likelihood(
    matches: Matches, *, ratio: float, kind: type[np.floating] = np.float32
) -> npt.NDArray[np.floating]:
    """Write out how likely each user's report is from each label, the likeliest as 1; `ratio`: the
    logarithm for a match.

    >>> likelihood(np.array([[0, 2], [1, 2]], np.uint8), ratio=1.0, kind=np.float64).round(3).tolist()
    [[0.368, 1.0], [1.0, 1.0]]
    """
    behind = matches.max(axis=0) - matches
    found: npt.NDArray[np.floating] = np.exp(-ratio * np.arange(256)).astype(kind)[behind]
    return found


class UnaryPerAttribute:
    """Unary encoding of each of several attributes at epsilon / |A|: RAPPOR+EM and OUE+EM
    (PrivIncr, 5.2.3).
    """

    def __init__(self, sizes: Sequence[int], *, kind: Callable[..., Unary], epsilon: float) -> None:
        """`kind`: called with a number of labels and `epsilon=`."""
        self.epsilon = epsilon
        self.randomizers = tuple(kind(size, epsilon=epsilon / len(sizes)) for size in sizes)

    @property
    def bits(self) -> int:
        """Of all reports of a user."""
        return sum(own.bits for own in self.randomizers)

    def report(
        self, values: Sequence[Codes], *, users: npt.NDArray[np.int64], words: UserWords
    ) -> list[Reports]:
        """Make the reports of users with these values, an array an attribute: the users' side."""
        out = [np.empty((len(users), own.size), np.uint8) for own in self.randomizers]
        for start in range(0, len(users), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            drawn = words.of(
                users[part]
            )  # one attribute after another takes what is next: no two share words
            for own, codes, said in zip(self.randomizers, values, out, strict=True):
                said[part] = own.randomize(codes[part], drawn)
        return out

    def likelihoods(
        self, reports: Sequence[Reports], *, kind: type[np.floating] = np.float32
    ) -> list[npt.NDArray[np.floating]]:
        """Say how likely the reports of each attribute are from its labels: the aggregator's
        side.
        """
        found = []
        for own, said in zip(self.randomizers, reports, strict=True):
            matches = np.ascontiguousarray(
                np.unpackbits(said, axis=1, count=own.cells, bitorder="little").T
            )
            p, q = float(own.p), float(own.q)
            found.append(likelihood(matches, ratio=log(p * (1 - q) / ((1 - p) * q)), kind=kind))
        return found
