"""Likelihoods of users' reports, for the audit.

Only users whose values differ between the two datasets matter. A report's log-ratio comes from the
law of the randomizer where it can be listed. For more values the randomizers of this project have
one ratio r: a report that supports the first value and not the second is r times as likely from
the first. Tests compare both by enumeration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf, log
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ..privacy.likelihood import log_ratio
from ..privacy.local import Assignment, packed_size, unpack
from ..privacy.local.hashing import LocalHashing
from ..privacy.local.heads import HeadsResponse
from ..privacy.local.randomizer import Randomizer
from .clear import ClearReports
from .cohort import CohortReports, ReportWindow
from .filtering import FilterReports

__all__ = ["changed_reports", "label_log_ratio", "report_log_ratio"]

MAX_LISTED: Final = 8
"""Largest number of cells of a randomizer whose reports are listed."""


def report_log_ratio(randomizer: Randomizer, report: bytes, *, first: int, second: int) -> float:
    """Compute the log-ratio of one report's likelihoods from two values."""
    if randomizer.cells <= MAX_LISTED and not isinstance(randomizer, LocalHashing):
        key = (type(randomizer), randomizer.cells, randomizer.epsilon, randomizer.p, randomizer.q)
        laws = [_LAWS.law(key, randomizer, value) for value in (first, second)]
        return _log_quotient(laws[0].get(report, Fraction(0)), laws[1].get(report, Fraction(0)))
    support = randomizer.support(np.frombuffer(report, np.uint8).reshape(1, -1))
    return log(randomizer.ratio) * float(support[first] - support[second])


class _Laws:
    """Laws that were listed before, as audits ask for the same ones thousands of times."""

    def __init__(self) -> None:
        self._laws: dict[tuple[object, ...], Mapping[bytes, Fraction]] = {}

    def law(
        self, key: tuple[object, ...], randomizer: Randomizer, value: int
    ) -> Mapping[bytes, Fraction]:
        if (*key, value) not in self._laws:
            self._laws[(*key, value)] = randomizer.law(value)
        return self._laws[(*key, value)]


_LAWS: Final = _Laws()


@lru_cache(maxsize=4096)
def _log_quotient(first: Fraction, second: Fraction) -> float:
    if not second:
        return inf
    return log(first / second) if first else -inf


class ChangedReport(NamedTuple):
    """A report of a user whose value differs between the two datasets."""

    randomizer: Randomizer
    report: bytes
    first: int
    second: int


@log_ratio.register
def _(mechanism: CohortReports, neighbour: CohortReports, answer: Sequence[ReportWindow]) -> float:
    return sum(
        report_log_ratio(
            changed.randomizer, changed.report, first=changed.first, second=changed.second
        )
        for changed in _changed(mechanism, neighbour, answer)
    )


def changed_reports(mechanism: object, neighbour: object, answer: object) -> list[bytes] | None:
    """List the reports of users whose values differ; `None` for other mechanisms."""
    if isinstance(mechanism, CohortReports) and isinstance(neighbour, CohortReports):
        windows = cast("Sequence[ReportWindow]", answer)
        return [changed.report for changed in _changed(mechanism, neighbour, windows)]
    return None


def label_log_ratio(mechanism: object, neighbour: object, answer: object) -> float | None:
    """Compute the log-ratio of two labels for an adversary that does not know the attributes.

    It knows how attributes go with labels: a share omega of one label's people has the k likeliest
    values, evenly, and a share omega of the other label's people has k others. No distribution that
    agrees with omega gives it more (Theorem 2). The labels follow one another in the domain. The
    result is `None` where this law is not known.
    """
    if not isinstance(mechanism, CohortReports) or not isinstance(neighbour, CohortReports):
        return None
    total = 0.0
    for changed in _changed(mechanism, neighbour, cast("Sequence[ReportWindow]", answer)):
        randomizer = changed.randomizer
        if not isinstance(randomizer, HeadsResponse):
            return None
        report = np.frombuffer(changed.report, np.uint8).reshape(1, -1)
        factor = np.where(randomizer.support(report) > 0, float(randomizer.ratio), 1.0)
        # Cells are (label, value) in row-major order, and both cells have the same value.
        values = abs(changed.first - changed.second)
        shares = _belief_shares(values, heads=randomizer.chosen, belief=randomizer.belief)
        chances = [
            float(factor[label * values : (label + 1) * values] @ share)
            for label, share in (
                (changed.first // values, shares),
                (changed.second // values, shares[::-1]),
            )
        ]
        total += log(chances[0] / chances[1])
    return total


def _belief_shares(values: int, *, heads: int, belief: float) -> npt.NDArray[np.float64]:
    """Share a label's people out over values: omega of them evenly over the first k."""
    heads = min(heads, values)
    shares = np.full(values, belief / heads)
    if heads < values:
        shares[heads:] = (1 - belief) / (values - heads)
    return np.asarray(shares / shares.sum())


def _changed(
    mechanism: CohortReports, neighbour: CohortReports, answer: Sequence[ReportWindow]
) -> Iterator[ChangedReport]:
    """List the reports of users whose values differ."""
    windows = zip(mechanism.answers(), neighbour.answers(), answer, strict=True)
    for first, second, window in windows:
        changed = np.flatnonzero(first.values != second.values)
        if not len(changed):
            continue
        reports = list(_unpacked(mechanism.assignment, window))
        for index in changed.tolist():
            randomizer, report = reports[index]
            yield ChangedReport(
                randomizer, report, int(first.values[index]), int(second.values[index])
            )


def _unpacked(assignment: Assignment, window: ReportWindow) -> Iterator[tuple[Randomizer, bytes]]:
    """List the reports of a window with their randomizers, in the order of questions."""
    offset = 0
    for start, stop, randomizer in assignment.alike:
        number = int(window.users[start:stop].sum())
        size = packed_size(number, bits=randomizer.bits)
        packed = window.packed[offset : offset + size]
        for row in unpack(packed, bits=randomizer.bits, reports=number):
            yield randomizer, row.tobytes()
        offset += size


@log_ratio.register
def _(mechanism: ClearReports, neighbour: ClearReports, answer: Sequence[ReportWindow]) -> float:
    """Compare labels; a changed attribute is seen as it is."""
    first, second = (_codes(reports) for reports in (mechanism, neighbour))
    if not np.array_equal(first[:, :-1], second[:, :-1]):
        return inf
    randomizer, total = mechanism.encoding.label, 0.0
    width = randomizer.bits
    for (rows, _), window in zip(mechanism.cohort.windows(), answer, strict=True):
        bits = mechanism.encoding.bits
        reports = unpack(window.packed, bits=bits, reports=len(rows))
        labels = np.unpackbits(reports, axis=1, count=bits, bitorder="little")[:, bits - width :]
        for index in np.flatnonzero(first[rows, -1] != second[rows, -1]).tolist():
            report = np.packbits(labels[index], bitorder="little").tobytes()
            total += report_log_ratio(
                randomizer,
                report,
                first=int(first[rows[index], -1]),
                second=int(second[rows[index], -1]),
            )
    return total


def _codes(reports: ClearReports) -> npt.NDArray[np.int64]:
    records = reports.cohort.records
    names = (*reports.attributes, reports.label)
    return np.column_stack([np.asarray(records.codes(name), np.int64) for name in names])


@log_ratio.register
def _(mechanism: FilterReports, neighbour: FilterReports, answer: Sequence[ReportWindow]) -> float:
    """Compare by matches: each makes a report likelier by the same factor."""
    columns = [
        [np.asarray(reports.cohort.records.codes(name), np.int64) for name in reports.attributes]
        for reports in (mechanism, neighbour)
    ]
    filters, total, done = mechanism.filters, 0.0, 0
    for window in answer:
        users = int(window.users[0])
        reports = unpack(window.packed, bits=filters.bits, reports=users)
        rows = slice(done, done + users)
        for matches, first, second in zip(filters.matches(reports), *columns, strict=True):
            users_of = np.arange(users)
            gained = matches[first[rows], users_of].astype(np.int64)
            total += filters.ratio * float((gained - matches[second[rows], users_of]).sum())
        done += users
    return total
