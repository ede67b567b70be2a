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
from typing import Final

import numpy as np
import numpy.typing as npt

from ..privacy.likelihood import log_ratio
from ..privacy.local import Assignment, packed_size, unpack
from ..privacy.local.hashing import LocalHashing
from ..privacy.local.randomizer import Randomizer
from .clear import ClearReports
from .cohort import CohortReports, ReportWindow

__all__ = ["report_log_ratio"]

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


@log_ratio.register
def _(mechanism: CohortReports, neighbour: CohortReports, answer: Sequence[ReportWindow]) -> float:
    total = 0.0
    windows = zip(mechanism.answers(), neighbour.answers(), answer, strict=True)
    for first, second, window in windows:
        changed = np.flatnonzero(first.values != second.values)
        if not len(changed):
            continue
        reports = list(_unpacked(mechanism.assignment, window))
        for index in changed.tolist():
            total += report_log_ratio(
                *reports[index], first=int(first.values[index]), second=int(second.values[index])
            )
    return total


def _unpacked(assignment: Assignment, window: ReportWindow) -> Iterator[tuple[Randomizer, bytes]]:
    """List the reports of a window with their randomizers, in the order of questions."""
    offset = 0
    for start, stop, randomizer in assignment.alike():
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
