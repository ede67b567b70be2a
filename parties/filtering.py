"""A cohort whose users report all attributes at once, in Bloom filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from ..crypto import RandomStream, UserWords
from ..privacy.local import pack
from ..privacy.local.bloom import BloomFilters
from .cohort import Cohort, Window

__all__ = ["FilterReports"]

WINDOW: Final = 1 << 26
"""Bytes of the reports that are made and sent at a time."""


@dataclass(frozen=True, slots=True)
class FilterReports:
    """Every user's report of some attributes, made with words of her own; of so many users in
    all.
    """

    cohort: Cohort
    attributes: tuple[str, ...]
    filters: BloomFilters
    of: int
    told: Callable[[int, int], None]
    """Is told of the progress, in users."""
    words: UserWords

    name = "bloom"
    delta = 0.0
    by_users = ()
    whole_record = None

    @property
    def epsilon(self) -> float:
        return self.filters.epsilon

    @property
    def sensitivity(self) -> float:
        """One: a user's record is another."""
        return 1.0

    @property
    def scale(self) -> float:
        """The deviation of how many users have a bit, of one user."""
        q = float(self.filters.flips)
        return sqrt(q * (1 - q)) / (1 - 2 * q)

    @property
    def seen(self) -> Mapping[str, float]:
        return {}

    @property
    def users(self) -> tuple[int, int]:
        """The places of all who are asked: a cohort's users have some of them, and nobody twice."""
        return 0, self.of

    def draw(self, randomness: RandomStream) -> Iterator[Window]:  # noqa: ARG002 - users have their own
        columns = [np.asarray(self.cohort.records.codes(name)) for name in self.attributes]
        step = max(1, WINDOW // self.filters.size)
        done, whole = 0, len(self.cohort)
        for rows, users in self.cohort.windows():
            for start in range(0, max(len(rows), 1), step):
                part = slice(start, start + step)
                values = [column[rows[part]].astype(np.int64) for column in columns]
                reports = self.filters.report(values, users=users[part], words=self.words)
                done += len(reports)
                packed, bits = (
                    pack(reports, bits=self.filters.bits),
                    len(reports) * self.filters.bits,
                )
                yield Window(np.array([len(reports)], np.uint32), packed, bits, done == whole)
                self.told(done, max(whole, 1))
