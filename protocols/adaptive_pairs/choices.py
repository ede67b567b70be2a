"""Which pairs parties name because their estimated tables are far from the parties' records.

    T   -> P_k  with a round's plan: the estimated tables of pairs of which groups may hide much
    P_k -> T    before the round's sum: the pairs whose tables are farthest, and how far they are

Sums in groups of labels do not show what groups hide. A holder of records sees it at once. So a
part of the budget pays for choices, each by a party on its own records:

    choice      exponential mechanism. The score of a pair is the distance of its table from the
                estimate, in records: half the sum of |c - n q| over its cells, with the party's
                counts c, its n records and the estimate q. What chance alone makes of n records is
                subtracted, half the sum of sqrt(2 / pi) sqrt(n q (1 - q)).
    distances   of the chosen pairs, with Gaussian noise

A replaced record changes two counts by 1, so a distance changes by at most 1. This holds for any
estimate that the curator sends. Each record belongs to one party. So every party may spend the
whole of this part of the budget.

Choices say little where a party has few records. So there are none if their noise would be large
(`MAX_NOISE`). Nor are there any if groups hide little, because tables are small or soon measured
label by label (`MIN_TABLE_NOISE`). Both follow from public figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import ceil, log, pi, sqrt
from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...curator.pairs import MIN_CELLS, Pair
from ...messages import CURATOR, MessageError, Private, Where
from ...parties import Party, Records
from ...privacy import Budget, Domain, GaussianNumbers, gaussian
from ...privacy.exponential import choose
from ...privacy.mechanism import AnyMechanism
from ..cost import Cost
from .choice_messages import Choices, read_estimates, write_estimates

__all__ = [
    "MAX_ESTIMATED_CELLS",
    "SHARE",
    "ChoicePlan",
    "Release",
    "Table",
    "ask",
    "collect_distances",
    "farthest_pairs",
    "mean_distances",
    "name_pairs",
    "predict_choices",
    "read_named",
]

T = TypeVar("T")
Table: TypeAlias = npt.NDArray[np.float64]
"""The estimated shares of a pair's cells."""

SHARE: Final = 0.05
"""Share of the budget for choices."""
QUESTIONS: Final = 2
"""Most rounds of a run in which parties name pairs: the last ones before the last round."""
FIRST_ROUND: Final = 3
"""The first round that may have choices: its plan is the first to follow from pairs."""
NAMED: Final = (4, 1)
"""Numbers of pairs that a party names at once: the first one if noise allows it."""
MAX_NOISE: Final = 0.75
"""Most noise of a choice, as a distance, so that strong dependence is chosen for what it is.

The noise is the scale of the choice times the logarithm of the number of pairs, as the largest of
so many draws is added to a score.
"""
MIN_TABLE_NOISE: Final = 0.15
"""Least noise of a pair's table that is worth a choice, as a distance, if it is measured at once.

With less noise the first plan of pairs measures most tables label by label, and hides nothing.
"""
STEPS: Final = 16
"""Steps of a record in which distances are released."""
MAX_ESTIMATED_CELLS: Final = 1 << 17
"""Most cells of the tables that parties are sent in a round: 512 KiB."""


class Release(Protocol):
    """Draws the answer of a mechanism, once its cost is recorded."""

    def __call__(self, mechanism: AnyMechanism[T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class ChoicePlan:
    """Who names pairs, in which rounds, and what that costs. It follows from public figures."""

    rounds: tuple[int, ...]
    """Rounds before whose sums parties name pairs."""
    budget: Budget
    """The budget of one round's choices and distances, which a party spends."""
    named: int
    """Number of pairs that a party names at once."""
    min_rows: int
    """Fewest records of a party that is asked."""

    @classmethod
    def of(
        cls,
        domain: Domain,
        whole: Budget,
        *,
        rounds: int,
        rows: int,
        parties: int,
        deviation: float,
    ) -> ChoicePlan | None:
        """Plan the choices; `None` where none are worth their budget.

        Args:
            domain: attributes of two labels or more.
            whole: the budget of the run.
            rounds: the number of measurements.
            rows: the number of all parties' records.
            parties: the number of parties.
            deviation: the noise of a cell, as a share of all records, if the first measurement of
                pairs had all of them label by label and alike.
        """
        question_rounds = tuple(range(FIRST_ROUND, rounds))[-QUESTIONS:]
        cells = [domain.cells(pair) for pair in combinations(domain.attributes, 2)]
        noisy_cells = MIN_TABLE_NOISE / (sqrt(2 / pi) * deviation / 2)
        candidates = sum(size >= max(MIN_CELLS, noisy_cells) for size in cells)
        if not question_rounds or not whole.concentrated or candidates < 2 * NAMED[0]:
            return None
        budget = whole.share(SHARE / len(question_rounds))
        for named in NAMED:
            epsilon = budget.share(1 / (2 * named)).of_choice
            min_rows = ceil(2 / epsilon * log(candidates) / MAX_NOISE)
            if min_rows * parties <= rows:
                return cls(question_rounds, budget, named, min_rows)
        return None

    def parties_in(self, number: int, rows_by_party: Sequence[int]) -> list[int]:
        """List the parties that name pairs in a round."""
        if number not in self.rounds:
            return []
        return [party for party, rows in enumerate(rows_by_party, 1) if rows >= self.min_rows]


def ask(desk: Curator, tables: Mapping[Pair, Table], *, to: Sequence[int]) -> None:
    """Send the estimated tables to the parties that are to name pairs. Called by the curator."""
    message = write_estimates(desk.domain, tables)
    for party in to:
        desk.send(message, to=party)


def name_pairs(me: Party, plan: ChoicePlan) -> None:
    """Receive estimates, and name the pairs that are farthest from the party's records.

    Raises:
        MessageError: the estimates are malformed.
    """
    tables = read_estimates(me, max_cells=MAX_ESTIMATED_CELLS)
    release = partial(me.release, to=CURATOR)
    me.send(farthest_pairs(me.records, tables, plan, release=release), to=CURATOR)


def farthest_pairs(
    records: Records,
    tables: Mapping[Pair, Table],
    plan: ChoicePlan,
    *,
    release: Release,
) -> Choices.Named:
    """Choose the pairs whose estimates are farthest from the records, and say how far they are.

    Args:
        records: the records of one party.
        tables: the estimates.
        plan: how many pairs are chosen, and what it costs.
        release: draws a mechanism's answer, once its cost is recorded.
    """
    if not tables:
        return Choices.Named(np.zeros(0, np.uint32), np.zeros(0, np.int64))
    distances, n = _distances(records, tables), len(records)
    chance = np.array([sqrt(n / (2 * pi)) * _deviation(table) for table in tables.values()])
    scores, chosen = distances - chance, list[int]()
    each = plan.budget.share(1 / (2 * plan.named))
    for _ in range(min(plan.named, len(scores))):
        places = np.setdiff1d(np.arange(len(scores)), chosen)
        choice = choose(scores[places], sensitivity=1, budget=each)
        chosen.append(int(places[release(choice)]))
    steps = np.rint(distances[chosen] * STEPS).astype(np.int64)
    return Choices.Named(np.array(chosen, np.uint32), release(_noisy(steps, plan)))


def collect_distances(
    desk: Curator,
    plan: ChoicePlan,
    tables: Mapping[Pair, Table],
    *,
    of: Sequence[int],
    rows_by_party: Sequence[int],
) -> dict[Pair, float]:
    """Receive the pairs that parties name, with the mean of the distances that they released.

    A distance counts by the records of its party. A party that is lost names none. Called by the
    curator.

    Raises:
        MessageError: a party's answer is malformed.
    """
    named = list[tuple[int, Mapping[Pair, float]]]()
    for party in of:
        answer = desk.receive_in_turn(Choices.Named, source=party)
        if answer is not None:
            rows = rows_by_party[party - 1]
            squares = read_named(answer, plan, tables, rows=rows, where=desk.where)
            named.append((rows, squares))
    return mean_distances(named)


def mean_distances(named: Iterable[tuple[int, Mapping[Pair, float]]]) -> dict[Pair, float]:
    """Average each pair's squared distances over the parties that named it, by their records.

    Args:
        named: for each party the number of its records, and squares as `read_named` gives them.
    """
    sums, records = defaultdict[Pair, float](float), defaultdict[Pair, int](int)
    for rows, squares in named:
        for pair, square in squares.items():
            sums[pair] += rows * square
            records[pair] += rows
    return {pair: sqrt(max(total / records[pair], 0.0)) for pair, total in sums.items()}


def read_named(
    answer: Choices.Named,
    plan: ChoicePlan,
    tables: Mapping[Pair, Table],
    *,
    rows: int,
    where: Where | None = None,
) -> dict[Pair, float]:
    """Read the pairs that a party named, with the squares of their distances.

    Chance and noise make a distance larger than that of the law which records are drawn from. The
    squares add up, so those of chance and noise are subtracted. The rest may be below 0.

    Args:
        answer: the party's answer.
        plan: how many pairs it was to name.
        tables: the estimates that it was sent.
        rows: the number of its records.
        where: where the answer was received.

    Raises:
        MessageError: the party named a pair twice, none of those it was sent, or too few or many.
    """
    pairs, places, distances = [*tables], answer.pairs.tolist(), answer.distances.tolist()
    count = min(plan.named, len(pairs))
    if not len({*places}) == len(places) == len(distances) == count or max(
        places, default=-1
    ) >= len(pairs):
        raise MessageError(
            "expected different pairs of those that were asked about, as many as a party is to "
            "name, and a distance of each, found ",
            Private([places, len(distances)]),
            where=where,
        )
    named: dict[Pair, float] = {}
    if not count:
        return named
    noise = _noisy(np.zeros(count, np.int64), plan).scale / (STEPS * rows)
    for place, steps in zip(places, distances, strict=True):
        table = tables[pairs[place]]
        chance = _deviation(table) / sqrt(2 * pi * rows)
        distance = max(steps, 0) / (STEPS * rows)
        named[pairs[place]] = distance**2 - chance**2 - noise**2
    return named


def predict_choices(
    plan: ChoicePlan, pairs: int, cells: int, *, phase: str, parties: int
) -> list[Cost]:
    """Predict the messages of a round's choices.

    Args:
        plan: how many pairs a party names.
        pairs: the number of pairs whose estimates are sent.
        cells: the number of their cells.
        phase: the phase of the round.
        parties: the number of parties that are asked.
    """
    estimates = Choices.Estimates(np.zeros(2 * pairs, np.uint16), np.zeros(cells, np.float32))
    count = min(plan.named, pairs)
    answer = Choices.Named(np.zeros(count, np.uint32), np.zeros(count, np.int64))
    return [Cost.of(message, phase=phase, messages=parties) for message in (estimates, answer)]


def _distances(records: Records, tables: Mapping[Pair, Table]) -> npt.NDArray[np.float64]:
    """Compute how far the records' tables are from estimates, in records."""
    counted = records.marginals([*tables])
    return np.array(
        [
            float(np.abs(counts - len(records) * table.reshape(-1)).sum()) / 2
            for counts, table in zip(counted, tables.values(), strict=True)
        ]
    )


def _noisy(
    steps: npt.NDArray[np.int64], plan: ChoicePlan
) -> GaussianNumbers[npt.NDArray[np.int64]]:
    """Prepare distances for release: half of the budget pays for all of them together.

    Each of them changes by at most a record, and rounding adds half a step before and after.
    """
    change = (STEPS + 1) * ceil(sqrt(len(steps)))
    return gaussian(steps, sensitivity=change, budget=plan.budget.share(1 / 2))


def _deviation(table: Table) -> float:
    """Add up the standard deviations of the cells of a table that one record is drawn from."""
    return float(np.sqrt(np.clip(table * (1 - table), 0, None)).sum())
