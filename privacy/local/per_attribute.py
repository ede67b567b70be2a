"""Reports of several attributes of one user, each with a part of epsilon, and their likelihoods.

A report has a number of matches for each label of an attribute. Each match makes the report more
likely from that label by a constant factor. `likelihood` computes this. `curator.expectation`
estimates the joint table from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWords
from .randomizer import BATCH_USERS, Codes, Reports
from .unary import Unary

__all__ = ["Likelihoods", "Matches", "UnaryPerAttribute", "likelihood"]

Matches = npt.NDArray[np.uint8]
"""Numbers of matches: a row for each label, and a column for each user."""
Likelihoods = npt.NDArray[np.floating]
"""A row for each label, and a column for each user."""


def likelihood(
    matches: Matches, *, ratio: float, kind: type[np.floating] = np.float32
) -> Likelihoods:
    """Compute the likelihood of each user's report from each label, relative to the largest.

    >>> matches = np.array([[0, 2], [1, 2]], np.uint8)
    >>> likelihood(matches, ratio=1.0, kind=np.float64).round(3).tolist()
    [[0.368, 1.0], [1.0, 1.0]]

    Args:
        matches: the numbers of matches.
        ratio: the logarithm of the factor for a match.
        kind: the type of the result.
    """
    behind = matches.max(axis=0) - matches
    likelihoods: Likelihoods = np.exp(-ratio * np.arange(256)).astype(kind)[behind]
    return likelihoods


class UnaryPerAttribute:
    """Unary encoding of each attribute at epsilon / |A|: RAPPOR+EM and OUE+EM (PrivIncr, 5.2.3)."""

    def __init__(self, sizes: Sequence[int], *, kind: Callable[..., Unary], epsilon: float) -> None:
        """Make a randomizer for each attribute.

        Args:
            sizes: the number of labels of each attribute.
            kind: makes a randomizer from a number of labels and `epsilon=`.
            epsilon: the privacy loss of all reports together.
        """
        self.epsilon = epsilon
        self.randomizers = tuple(kind(size, epsilon=epsilon / len(sizes)) for size in sizes)

    @property
    def bits(self) -> int:
        """Bits of all reports of a user."""
        return sum(randomizer.bits for randomizer in self.randomizers)

    def report(
        self, values: Sequence[Codes], *, users: npt.NDArray[np.int64], words: UserWords
    ) -> list[Reports]:
        """Make users' reports from their values, an array for each attribute: the users' side."""
        reports = [
            np.empty((len(users), randomizer.size), np.uint8) for randomizer in self.randomizers
        ]
        for start in range(0, len(users), BATCH_USERS):
            part = slice(start, start + BATCH_USERS)
            # The attributes draw one after another from one stream, so no two share words.
            stream = words.of(users[part])
            for randomizer, codes, rows in zip(self.randomizers, values, reports, strict=True):
                rows[part] = randomizer.randomize(codes[part], stream)
        return reports

    def likelihoods(
        self, reports: Sequence[Reports], *, kind: type[np.floating] = np.float32
    ) -> list[Likelihoods]:
        """Compute each attribute's likelihoods from its labels: the aggregator's side."""
        likelihoods = []
        for randomizer, rows in zip(self.randomizers, reports, strict=True):
            bits = np.unpackbits(rows, axis=1, count=randomizer.cells, bitorder="little")
            p, q = float(randomizer.p), float(randomizer.q)
            ratio = log(p * (1 - q) / ((1 - p) * q))
            likelihoods.append(likelihood(np.ascontiguousarray(bits.T), ratio=ratio, kind=kind))
        return likelihoods
