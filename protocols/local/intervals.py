"""Intervals around the numbers of users in published marginals, from the known law of reports.

The curator has unbiased estimates of some tables, with a variance in closed form. What is published
was made consistent afterwards and has no such law. So an interval follows from the estimate alone,
and is widened where the published number lies outside.

Every interval is for a cell by itself, by the normal law, which the mean of many reports has. The
variance counts the noise of the reports and the choice of users. Groups of users are disjoint, so
sums over them have at most the sum of their variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...curator import Marginal
from ...curator.shrinkage import NoisyTable, pooled_marginals
from ...privacy import Domain
from ...privacy.noise_interval import score_interval
from ..survey import Answer

__all__ = ["SUMMABLE", "Interval", "intervals_of_answers"]


SUMMABLE: Final = frozenset({"grr", "oue", "sue", "olh", "subset", "hadamard-bit"})
"""Randomizers whose supports of two values are never positively correlated, given a user's value.

Then the variances of cells add up to a bound for their sum.
"""


class Interval(NamedTuple):
    """Shares of users, for each cell of a marginal in order."""

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]

    @classmethod
    def unknown(cls, cells: int) -> Interval:
        """Say nothing of a marginal that no table covers: none to all users."""
        return cls(np.zeros(cells), np.ones(cells))

    @classmethod
    def around(cls, table: NoisyTable, *, confidence: float) -> Interval:
        """Find the intervals around the cells of an unbiased table."""
        ends = score_interval(
            table.table.values, base=table.base, slope=table.slope, confidence=confidence
        )
        return cls(*(end.reshape(-1) for end in ends))


def intervals_of_answers(
    domain: Domain,
    answers: Sequence[Answer],
    marginals: Sequence[tuple[str, ...]],
    *,
    confidence: float,
) -> list[Interval]:
    """Find the intervals of marginals from all tables that cover them.

    Cells of a projected table are sums of cells. With randomizers that are not `SUMMABLE` a table
    counts for its own marginal alone.
    """
    several = {name for name in domain.attributes if domain.cells((name,)) > 1}
    pooled: dict[int, dict[frozenset[str], NoisyTable]] = {}
    for ways in {len(several.intersection(attributes)) for attributes in marginals} - {0}:
        tables = [
            answer.noisy(domain)
            for answer in answers
            if answer.question.randomizer.name in SUMMABLE
            or len(answer.question.attributes) == ways
        ]
        pooled[ways] = {
            frozenset(names): table for names, table in pooled_marginals(tables, ways=ways).items()
        }
    intervals = []
    for attributes in marginals:
        names = tuple(name for name in attributes if name in several)
        table = pooled[len(names)].get(frozenset(names)) if names else None
        if table is None:
            intervals.append(Interval.unknown(domain.cells(attributes)))
            continue
        # Attributes with one label add no cells, so the order of the cells is the same.
        ordered: Marginal = table.table.project(names)
        noisy = NoisyTable(ordered, table.base, table.slope)
        intervals.append(Interval.around(noisy, confidence=confidence))
    return intervals
