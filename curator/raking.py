"""Raking: rows weighed so that their tables of some attributes are what they should be (Deming,
Stephan 1940), and drawn anew.

Each table in turn multiplies the weights of its rows by wanted over present, cell by cell. Tables
that can be had together are had together in the end, by the distribution that is nearest to the
first one; tables that cannot, as noisy ones never quite, are averaged by steps that get shorter.
What is weighed are rows of some model: an importance sample of a Markov random field with a
potential for every table, of which nothing larger than a table is ever built. A cell that no row
has stays empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers
from .sampling import Codes

__all__ = ["Told", "raked", "systematic", "weights_of"]


class Told(Protocol):
    """Is told how much is done, of how much."""

    def __call__(self, done: float, *, of: float) -> None: ...


SWEEPS: Final = 8
"""Half of them with whole steps, then 1, 1/2, 1/3 ... of one; twice as many gain nothing."""
MOST: Final = 20.0
"""That a weight may be multiplied by at once, or divided: a cell of few rows is no reason for
more.
"""
LEAST: Final = 1e-9


def raked(
    domain: Domain,
    codes: Sequence[Codes],
    tables: Mapping[tuple[str, ...], Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    told: Told | None = None,
) -> list[Codes]:
    """Draw so many of these rows that their tables come near those wanted, which are
    distributions.
    """
    weights = weights_of(domain, codes, tables, generator=generator, told=told)
    chosen = systematic(codes, weights, rows=rows, generator=generator)
    return [own[chosen] for own in codes]


def weights_of(
    domain: Domain,
    codes: Sequence[Codes],
    tables: Mapping[tuple[str, ...], Marginal],
    *,
    generator: np.random.Generator,
    sweeps: int = SWEEPS,
    told: Told | None = None,
) -> Numbers:
    """Weigh the rows; together 1. Tables are gone through in another order each time."""
    columns = dict(zip(domain.attributes, codes, strict=True))
    weights = np.full(len(codes[0]), 1 / len(codes[0]))
    order = list(tables)
    for sweep in range(sweeps):
        step = 1.0 if sweep < sweeps // 2 else 1 / (sweep - sweeps // 2 + 1)
        for at in generator.permutation(len(order)).tolist():
            wanted = tables[order[at]].values.reshape(-1)
            cells = np.zeros(len(weights), np.int64)
            for name in order[at]:
                cells *= len(domain.labels[name])
                cells += columns[name]
            present = np.bincount(cells, weights, minlength=wanted.size)
            change = np.clip((wanted + LEAST) / (present + LEAST), 1 / MOST, MOST)
            weights *= (change**step)[cells]
        weights /= weights.sum()
        if told is not None:
            told(sweep + 1, of=sweeps)
    return weights


def systematic(
    codes: Sequence[Codes], weights: Numbers, *, rows: int, generator: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Choose rows by their weights, each as often as expected but for one, along their sorted
    order; then shuffle.
    """
    order = np.lexsort([np.asarray(own) for own in codes[::-1]])
    ends = np.cumsum(weights[order])
    at = np.searchsorted(
        ends * (rows / ends[-1]), np.arange(rows) + generator.random(), side="right"
    )
    return np.asarray(generator.permutation(order[np.minimum(at, len(order) - 1)]))
