"""A cohort whose users report their attributes as they are and randomize their label: LabelDP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ..crypto import RandomStream, UserWords
from ..privacy.exact_value import ExactValue
from ..privacy.local import pack
from ..privacy.local.clear import ClearAttributes
from ..privacy.loss import Loss
from .cohort import Cohort, Progress, ReportWindow

__all__ = ["ClearReports"]


@dataclass(frozen=True, slots=True)
class ClearReports:
    """Every user's report. LEAK: it contains the attributes as they are."""

    cohort: Cohort
    attributes: tuple[str, ...]
    label: str
    encoding: ClearAttributes
    all_users: int
    """Number of users of all cohorts."""
    progress: Progress
    words: UserWords

    name = "clear-attributes"
    sensitivity = 1.0
    by_users = ()
    whole_record = inf

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.encoding.epsilon)

    @property
    def scale(self) -> float:
        """Standard deviation of a label's frequency that is estimated from one user's report."""
        return sqrt(self.encoding.label.variance())

    @property
    def seen(self) -> Mapping[str, Loss]:
        return {}

    @property
    def users(self) -> tuple[int, int]:
        """The places of all users who are asked."""
        return 0, self.all_users

    def draw(self, randomness: RandomStream) -> Iterator[ReportWindow]:  # noqa: ARG002 - users have their own
        records = self.cohort.records
        columns = [np.asarray(records.codes(name)) for name in self.attributes]
        labels = np.asarray(records.codes(self.label))
        done = 0
        for rows, users in self.cohort.windows():
            reports = self.encoding.report(
                [column[rows].astype(np.int64) for column in columns],
                labels[rows].astype(np.int64),
                users=users,
                words=self.words,
            )
            count = len(reports)
            done += count
            yield ReportWindow(
                users=np.array([count], np.uint32),
                packed=pack(reports, bits=self.encoding.bits),
                bits=count * self.encoding.bits,
                last=done == len(self.cohort),
            )
            self.progress(done, max(len(self.cohort), 1))

    def exact_value(self) -> ExactValue:
        return self.cohort.exact_value((*self.attributes, self.label))
