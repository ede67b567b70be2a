"""Reports of all attributes in Bloom filters: both sides of the second half of LoPub's survey.

    curator     Filters     the attributes that users report, and the parameters of their filters
    cohort      Reports     the filters of its users, some users at a time

A cohort computes from its own parameters which filters it allows, and answers no others. The
curator keeps every report, because tables are estimated from all reports, user by user. Sums of
reports would not be enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as annotations of messages

from ...curator import Curator
from ...messages import USER_BITS, Shape, message
from ...parties import Party
from ...parties.filtering import FilterReports
from ...privacy import Domain
from ...privacy.local import packed_size, unpack
from ...privacy.local.bloom import BloomFilters
from ...privacy.local.per_attribute import Matches
from ...privacy.local.randomizer import Counts, Reports
from ..survey import CuratorSurvey, PartySurvey, ReportBatch, attribute_numbers

__all__ = ["FilterAnswers", "FilterMessages", "collect", "report", "request"]


class FilterMessages:
    """The messages of LoPub beside those of every survey."""

    @message
    class Filters:
        """Attributes by number, hashes, bits for each label, and how likely a bit is turned.

        The probability is `turned` / 2^`digits`.
        """

        attributes: tuple[int, ...]
        hashes: int
        bits_per_value: int
        turned: int
        digits: int

    @message
    class Reports:
        """Packed reports of some of a cohort's users; `last` marks the cohort's last message."""

        users: int
        bits: Annotated[int, USER_BITS]
        packed: Annotated[NDArray[np.uint8], Shape(None)]
        last: bool


@dataclass(frozen=True, slots=True)
class FilterAnswers:
    """The filters of all users."""

    users: int
    ones: list[Counts]
    """For each attribute the number of filters with each bit."""
    matches: list[Matches]
    """For each attribute the matches of each user's filter with the labels."""


def request(
    filters: BloomFilters, domain: Domain, attributes: Sequence[str]
) -> FilterMessages.Filters:
    """Write down what users are asked."""
    return FilterMessages.Filters(
        attribute_numbers(domain, attributes),
        filters.hashes,
        filters.bits_per_value,
        int(filters.flips * (1 << filters.digits)),
        filters.digits,
    )


def report(
    me: Party, survey: PartySurvey, filters: BloomFilters, attributes: Sequence[str]
) -> None:
    """Receive what is asked, and let the cohort's users report if they expect it."""
    expected = request(filters, me.records.domain, attributes)

    def check(asked: FilterMessages.Filters) -> None:
        if asked != expected:
            raise ValueError(f"expected {_describe(expected)}, found {_describe(asked)}")

    survey.receive(FilterMessages.Filters, check)
    survey.send(
        FilterReports(
            survey.cohort,
            tuple(attributes),
            filters,
            survey.users,
            survey.progress,
            survey.words(),
        ),
        lambda window: FilterMessages.Reports(
            int(window.users[0]), window.bits, window.packed, window.last
        ),
    )


def collect(
    desk: Curator, survey: CuratorSurvey, filters: BloomFilters, attributes: Sequence[str]
) -> FilterAnswers:
    """Ask all users, and collect their reports.

    Reports are sorted. So no result depends on which users came in one cohort.
    """
    desk.broadcast(request(filters, desk.domain, attributes))

    def read(message: FilterMessages.Reports) -> ReportBatch[Reports]:
        return _read(message, filters)

    reports = np.concatenate(
        [*survey.receive(FilterMessages.Reports, read, sizes=np.array([survey.users]))]
    )
    reports = reports[reports.view(f"V{filters.size}").reshape(-1).argsort()]
    return FilterAnswers(len(reports), filters.ones(reports), filters.matches(reports))


def _read(message: FilterMessages.Reports, filters: BloomFilters) -> ReportBatch[Reports]:
    users, size = message.users, len(message.packed)
    if message.bits != users * filters.bits or not (users or message.last):
        raise ValueError(
            f"expected {filters.bits} bits of each of some users, found {message.bits} of {users}"
        )
    if size != (expected := packed_size(users, bits=filters.bits)):
        raise ValueError(f"expected {expected} bytes of reports, found {size}")
    reports = unpack(message.packed, bits=filters.bits, reports=users)
    return ReportBatch(np.array([users]), reports, message.last)


def _describe(asked: FilterMessages.Filters) -> str:
    return (
        f"attributes {', '.join(map(str, asked.attributes))}, {asked.hashes} hashes, "
        f"{asked.bits_per_value} bits a label, f/2 = {asked.turned} / 2^{asked.digits}"
    )
