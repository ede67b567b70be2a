"""A cohort whose users report all attributes together, in Bloom filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from ..crypto import RandomStream, UserWords
from ..privacy.exact_value import ExactValue
from ..privacy.local import pack
from ..privacy.local.bloom import BloomFilters
from ..privacy.loss import Loss
from .cohort import Cohort, Progress, ReportWindow

__all__ = ["FilterReports"]

WINDOW: Final = 1 << 26
"""Bytes of the reports that are made and sent at a time."""


@dataclass(frozen=True, slots=True)
class FilterReports:
    """Every user's report of some attributes, made with her own random words."""

    cohort: Cohort
    attributes: tuple[str, ...]
    filters: BloomFilters
    all_users: int
    """Number of users of all cohorts."""
    progress: Progress
    words: UserWords

    name = "bloom"
    by_users = ()
    whole_record = None

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.filters.epsilon)

    @property
    def sensitivity(self) -> float:
        """1, because a neighbouring dataset has another record of one user."""
        return 1.0

    @property
    def scale(self) -> float:
        """Standard deviation of the number of users with a bit, for one user."""
        q = float(self.filters.flips)
        return sqrt(q * (1 - q)) / (1 - 2 * q)

    @property
    def seen(self) -> Mapping[str, Loss]:
        return {}

    @property
    def users(self) -> tuple[int, int]:
        """The places of all users who are asked. No user of a cohort has two of them."""
        return 0, self.all_users

    def draw(self, randomness: RandomStream) -> Iterator[ReportWindow]:  # noqa: ARG002 - users have their own
        columns = [np.asarray(self.cohort.records.codes(name)) for name in self.attributes]
        step = max(1, WINDOW // self.filters.size)
        done = 0
        for rows, users in self.cohort.windows():
            for start in range(0, max(len(rows), 1), step):
                part = slice(start, start + step)
                values = [column[rows[part]].astype(np.int64) for column in columns]
                reports = self.filters.report(values, users=users[part], words=self.words)
                count = len(reports)
                done += count
                yield ReportWindow(
                    users=np.array([count], np.uint32),
                    packed=pack(reports, bits=self.filters.bits),
                    bits=count * self.filters.bits,
                    last=done == len(self.cohort),
                )
                self.progress(done, max(len(self.cohort), 1))

    def exact_value(self) -> ExactValue:
        return self.cohort.exact_value(self.attributes)
