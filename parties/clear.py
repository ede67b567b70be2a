"""A cohort whose users tell their attributes as they are, and randomize their label: LabelDP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ..crypto import RandomStream, UserWords
from ..privacy.local import pack
from ..privacy.local.clear import ClearAttributes
from .cohort import Cohort, Window

__all__ = ["ClearReports"]


@dataclass(frozen=True, slots=True)
class ClearReports:
    """Every user's report, of so many users in all. LEAK: attributes are told as they are."""

    cohort: Cohort
    attributes: tuple[str, ...]
    label: str
    how: ClearAttributes
    of: int
    told: Callable[[int, int], None]
    """Is told of the progress, in users."""
    words: UserWords

    name = "clear-attributes"
    sensitivity = 1.0
    delta = 0.0
    by_users = ()
    whole_record = inf

    @property
    def epsilon(self) -> float:
        return self.how.epsilon

    @property
    def scale(self) -> float:
        """The deviation of a label's frequency that one user's report estimates."""
        return sqrt(self.how.label.variance())

    @property
    def seen(self) -> Mapping[str, float]:
        return {}

    @property
    def users(self) -> tuple[int, int]:
        """The places of all who are asked."""
        return 0, self.of

    def draw(self, randomness: RandomStream) -> Iterator[Window]:  # noqa: ARG002 - users have their own
        records = self.cohort.records
        columns = [np.asarray(records.codes(name)) for name in self.attributes]
        labels = np.asarray(records.codes(self.label))
        done, whole = 0, len(self.cohort)
        for rows, users in self.cohort.windows():
            own = [column[rows].astype(np.int64) for column in columns]
            reports = self.how.report(
                own, labels[rows].astype(np.int64), users=users, words=self.words
            )
            done += len(reports)
            packed, bits = pack(reports, bits=self.how.bits), len(reports) * self.how.bits
            yield Window(np.array([len(reports)], np.uint32), packed, bits, done == whole)
            self.told(done, max(whole, 1))
