"""Reading what cohorts send: the reports of users, or their sums, checked against the plan."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ...privacy.local import Assignment
from .messages import SurveyMessages

__all__ = ["ReportBatch", "read_reports", "read_sums"]

Counts = npt.NDArray[np.int64]
ContentT = TypeVar("ContentT")


class ReportBatch(NamedTuple, Generic[ContentT]):
    """One message of a cohort: the users of each question, the content, whether it is the last."""

    users: Counts
    content: ContentT
    last: bool


def read_reports(assignment: Assignment, message: SurveyMessages.Reports) -> ReportBatch[Counts]:
    """Count the support of each question in packed reports; they follow one another."""
    users = message.users.astype(np.int64)
    supports = assignment.unpack(message.packed, users)
    bits = assignment.bits_of(users)
    if message.bits != bits or not (users.any() or message.last):
        raise ValueError(f"expected {bits} bits of {users.sum()} users, found {message.bits}")
    return ReportBatch(users, np.concatenate(supports), message.last)


def read_sums(assignment: Assignment, message: SurveyMessages.Sums) -> ReportBatch[Counts]:
    """Read the sums of a cohort's reports, question by question."""
    users, support = message.users, message.support
    starts, questions = assignment.cell_starts, len(assignment.sizes)
    if len(support) != starts[-1] or len(users) != questions or users.min() < 0:
        raise ValueError(
            f"expected {starts[-1]} counts of users for {questions} questions, found {len(support)}"
        )
    most = np.repeat(users, np.diff(starts))
    if (support < 0).any() or (support > most).any():
        raise ValueError(
            "expected at most as many users to support a value as there are, found more"
        )
    return ReportBatch(users, support, last=True)
