"""Raking: rows get weights such that their tables have given values (Deming, Stephan 1940).

The rows are a sample from some model. Each table in turn multiplies the weights of its rows by the
target over the present value, cell by cell. If one distribution has all these tables, the weights
converge to the one that is nearest to the sample. Noisy tables never quite agree; they are averaged
by steps that get shorter. This is importance sampling of a Markov random field with a potential for
every table, and nothing larger than a table is ever built. A cell that no row has stays empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ..messages import WorkKind, count_work, is_only_counted, scaled_work
from ..privacy.domain import Domain
from .balanced_sampling import balance
from .marginal import Marginal, Numbers
from .sampling import SampleCodes

__all__ = ["ReportProgress", "rake", "row_weights", "systematic_sample"]


class ReportProgress(Protocol):
    """A function that is called with the work done and the work there is."""

    def __call__(self, done: float, *, of: float) -> None: ...


SWEEPS: Final = 8
"""Half of them take whole steps, then steps of 1, 1/2, 1/3, ...; more sweeps gain nothing."""
MAX_FACTOR: Final = 20.0
"""Largest factor by which one step changes a weight, because a cell with few rows may be chance."""
MAX_SPREAD: Final = 16
"""Numbers up to so many times as large as there are of them are not sorted, but marked."""
COUNTED_ROWS: Final = 20_000
"""Rows that are raked at most where work is only counted. Nobody reads what is drawn of them."""
EMPTY_SHARE: Final = 1e-9
"""Added to shares, so that an empty cell does not divide by 0."""


def rake(
    domain: Domain,
    codes: Sequence[SampleCodes],
    tables: Mapping[tuple[str, ...], Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    progress: ReportProgress | None = None,
) -> list[SampleCodes]:
    """Draw rows from these, such that their tables come near the given distributions.

    They are a balanced sample by the weights (`balanced_sampling`), so counting adds little noise.
    Where work is only counted, few of the rows stand for all.
    """
    if is_only_counted() and len(codes[0]) > COUNTED_ROWS:
        with scaled_work(len(codes[0]) / COUNTED_ROWS):
            few = [column[:COUNTED_ROWS] for column in codes]
            return _raked(domain, few, tables, rows=rows, generator=generator, progress=progress)
    return _raked(domain, codes, tables, rows=rows, generator=generator, progress=progress)


def _raked(
    domain: Domain,
    codes: Sequence[SampleCodes],
    tables: Mapping[tuple[str, ...], Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    progress: ReportProgress | None,
) -> list[SampleCodes]:
    weights = row_weights(domain, codes, tables, generator=generator, progress=progress)
    chosen = systematic_sample(codes, weights, rows=rows, generator=generator)
    chosen = balance(domain, codes, weights, tables, chosen, generator=generator)
    return [column[chosen] for column in codes]


def row_weights(
    domain: Domain,
    codes: Sequence[SampleCodes],
    tables: Mapping[tuple[str, ...], Marginal],
    *,
    generator: np.random.Generator,
    sweeps: int = SWEEPS,
    progress: ReportProgress | None = None,
) -> Numbers:
    """Compute the weight of each row; they sum to 1. Each sweep has another order of tables."""
    columns = dict(zip(domain.attributes, codes, strict=True))
    weights = np.full(len(codes[0]), 1 / len(codes[0]))
    marginals = list(tables)
    count_work(WorkKind.RAKED, sweeps * len(weights) * sum(1 + len(names) for names in tables))
    for sweep in range(sweeps):
        step = 1.0 if sweep < sweeps // 2 else 1 / (sweep - sweeps // 2 + 1)
        for index in generator.permutation(len(marginals)).tolist():
            target = tables[marginals[index]].values.reshape(-1)
            first, *others = marginals[index]
            cells = columns[first].astype(np.intp)
            for name in others:
                cells *= len(domain.labels[name])
                cells += columns[name]
            present = np.bincount(cells, weights, minlength=target.size)
            ratio = (target + EMPTY_SHARE) / (present + EMPTY_SHARE)
            factors = np.clip(ratio, 1 / MAX_FACTOR, MAX_FACTOR)
            weights *= (factors**step).take(cells)
        weights /= weights.sum()
        if progress is not None:
            progress(sweep + 1, of=sweeps)
    return weights


def systematic_sample(
    codes: Sequence[SampleCodes], weights: Numbers, *, rows: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Choose rows by their weights, in a random order.

    The choice runs along rows sorted in a nested order, so each is chosen as often as expected, to
    within one, and so are all rows alike in the first attributes.
    """
    order = _nested_order(codes, generator=generator)
    ends = np.cumsum(weights[order])
    positions = np.arange(rows) + generator.random()
    places = np.searchsorted(ends * (rows / ends[-1]), positions, side="right")
    return np.asarray(generator.permutation(order[np.minimum(places, len(order) - 1)]))


def _nested_order(
    codes: Sequence[SampleCodes], *, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Sort rows by their attributes, each in an order of labels drawn anew for each cell before it.

    With one order of labels for all cells, few rows chosen at equal steps would meet each cell at
    about the same place, and so have the same labels of later attributes.
    """
    ranks = np.zeros(len(codes[0]), np.int64)
    for column in codes:
        count_work(WorkKind.SORTED, len(ranks))
        size = int(column.max(initial=0)) + 1
        cells, places = _numbered(ranks * size + column)
        # Cells come sorted, so each stays within those of the cell before it.
        order = np.argsort(cells // size + generator.random(len(cells)), kind="stable")
        rank_of = np.empty(len(cells), np.int64)
        rank_of[order] = np.arange(len(cells))
        ranks = rank_of.take(places)
        if len(cells) == len(ranks):
            break
    return np.argsort(ranks, kind="stable")


def _numbered(
    numbers: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """List the numbers that occur, sorted, and the place of each in that list."""
    largest = int(numbers.max(initial=0))
    if largest > MAX_SPREAD * len(numbers):
        cells, places = np.unique(numbers, return_inverse=True)
        return cells, places
    # Arrays of so many numbers would be the largest ones of a small run, so they are narrow ones.
    occurs = np.zeros(largest + 1, bool)
    occurs[numbers] = True
    cells = np.flatnonzero(occurs)
    place_of = np.empty(largest + 1, np.min_scalar_type(len(cells)))
    place_of[cells] = np.arange(len(cells))
    return cells, place_of.take(numbers).astype(np.int64)
