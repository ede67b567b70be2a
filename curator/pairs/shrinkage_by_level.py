"""Shrinkage of the pairs' tables, level by level from coarse to fine.

At each level a pair has centres: its tables in simpler models, scaled to the sums of the level
before. The prior of a pair's table has one of the centres as its mean, and the variance s M (1 - M)
in a cell whose centre is M. `shrinkage` explains the normal approximation. How often each centre
and each spread s is right at a level is learnt from all pairs. At a finer level only the part
within the cells of the level before is new. So likelihoods and posteriors are about that part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from ..shrinkage import SPREADS, with_margins
from .evidence import Evidence, Flags
from .groups import PairBatch

__all__ = [
    "HALF",
    "MIN_CELL",
    "MIN_SHARE",
    "LevelPosterior",
    "learn_prior",
    "shrink_by_level",
    "with_sums",
]

HALF: Final = sqrt(2 / pi) / 2
"""Half the mean of |x|, for a standard normal x."""

LEARNING_ROUNDS: Final = 50
MAX_TOGETHER: Final = 1 << 14
"""Most numbers in an array of several spreads, so that it stays in a processor's cache."""
MIN_CELL: Final = 1e-9
MIN_SHARE: Final = 1e-4
"""A cell keeps this share of its centre."""


@dataclass(frozen=True)
class LevelPosterior:
    """The posterior of a batch's tables at one level."""

    tables: Numbers
    """Its mean; pairs, rows, columns."""
    measured: Flags
    """Which pairs were measured at this level or a finer one."""
    even: Numbers
    """M (1 - M) of the likeliest centre's cells: pairs, cells."""
    weights: Numbers
    """Posterior probability of each spread: pairs, spreads."""
    spread_likelihoods: Numbers
    """Likelihood of each spread from each pair alone, with the sum 1. The spread 0 is left out."""

    @property
    def distance(self) -> Numbers:
        """The expected distance of each pair's table from its centre."""
        root = np.sqrt(np.array(SPREADS))
        return np.asarray(HALF * (self.weights @ root) * np.sqrt(self.even).sum(axis=1))


@dataclass(frozen=True)
class _LevelEvidence:
    centres: Numbers
    """Pairs, centres, rows, columns."""
    values: Numbers
    precision: Numbers
    measured: Flags
    likelihoods: Numbers
    """Pairs, centres, spreads."""


def shrink_by_level(
    evidence: Sequence[Evidence], centres: Sequence[Numbers], singles: Mapping[str, Numbers]
) -> list[list[LevelPosterior]]:
    """Compute the posterior of each batch at each of its levels.

    Args:
        evidence: what was measured of each batch.
        centres: the finest tables of the centres, as many for each batch: pairs, centres, rows,
            columns.
        singles: the distributions of attributes, which the tables get.
    """
    posteriors: list[list[LevelPosterior]] = [[] for _ in evidence]
    count = centres[0].shape[1]
    usual = [np.full((len(part.batch.pairs), count), 1 / count) for part in evidence]
    """The weight of each centre at the last level that was measured."""
    for level in range(max(part.batch.levels for part in evidence)):
        present = [place for place, part in enumerate(evidence) if level < part.batch.levels]
        parts = {
            place: _level_evidence(
                evidence[place],
                centres[place],
                level,
                posteriors[place][-1].tables if level else None,
            )
            for place in present
        }
        prior = learn_prior([part.likelihoods[part.measured] for part in parts.values()])
        for place, part in parts.items():
            coarse = posteriors[place][-1].tables if level else None
            posterior, usual[place] = _posterior(
                evidence[place].batch,
                part,
                level=level,
                prior=prior,
                usual=usual[place],
                coarse=coarse,
                margins=evidence[place].batch.margins(singles, level),
            )
            posteriors[place].append(posterior)
    return posteriors


def _level_evidence(
    evidence: Evidence, centres: Numbers, level: int, coarse: Numbers | None
) -> _LevelEvidence:
    batch = evidence.batch
    merged = batch.merge(centres, start=batch.finest, level=level)
    if coarse is not None:
        merged = with_sums(batch, merged, coarse[:, None], level)
    merged = np.clip(merged / merged.sum(axis=(2, 3), keepdims=True), MIN_CELL, 1 - MIN_CELL)
    values, precision = evidence.pooled(level)
    measured = np.asarray(precision.reshape(len(precision), -1).max(axis=1) > 0)
    likelihoods = np.ones((*merged.shape[:2], len(SPREADS)))
    if measured.any():
        likelihoods[measured] = _likelihoods(
            batch.chosen(measured),
            level,
            values[measured],
            merged[measured],
            precision=precision[measured],
        )
    return _LevelEvidence(merged, values, precision, measured, likelihoods)


def with_sums(batch: PairBatch, tables: Numbers, coarse: Numbers, level: int) -> Numbers:
    """Scale tables of a level so that they have the sums of the level before."""
    sums = batch.merge(tables, start=level, level=level - 1)
    ratio = np.divide(coarse, sums, out=np.zeros_like(sums), where=sums > 0)
    return tables * batch.spread(ratio, start=level - 1, level=level)


def _likelihoods(
    batch: PairBatch, level: int, values: Numbers, centres: Numbers, *, precision: Numbers
) -> Numbers:
    """Compute the likelihood of each centre and spread, up to a factor, by the part that is new.

    At the coarsest level this is the part that the margins do not determine.
    """
    residual = values[:, None] - centres
    if level == 0:
        part = residual - residual.mean(axis=2, keepdims=True)
        part -= part.mean(axis=3, keepdims=True)
        free = (1 - 1 / residual.shape[2]) * (1 - 1 / residual.shape[3])
    else:
        sums = batch.merge(residual, start=level, level=level - 1)
        sizes = batch.merge(np.ones(batch.shape(level)), start=level, level=level - 1)
        part = residual - batch.spread(sums / sizes[:, None], start=level - 1, level=level)
        free = 1 - batch.cells(level - 1) / batch.cells(level)
    squares, even, noise = part**2, centres * (1 - centres), (1 / precision)[:, None]
    logs = np.empty((*residual.shape[:2], len(SPREADS)))
    for places, spreads in _parts_of_spreads(even.size):
        variance = spreads * even + noise
        sums = (squares / variance + free * np.log(variance)).sum(axis=(3, 4))
        logs[:, :, places] = np.moveaxis(-sums / 2, 0, 2)
    logs -= logs.max(axis=(1, 2), keepdims=True)
    return np.asarray(np.exp(logs))


def learn_prior(likelihoods: Sequence[Numbers]) -> Numbers:
    """Learn how often each centre with each spread is right (nonparametric empirical Bayes)."""
    shape = likelihoods[0].shape[1:]
    pooled = np.concatenate(likelihoods).reshape(-1, prod(shape))
    prior = np.full(pooled.shape[1], 1 / pooled.shape[1])
    for _ in range(LEARNING_ROUNDS if len(pooled) else 0):
        # The mean over pairs of prior * likelihood / (the sum of these): as matrix products, since
        # posteriors of all pairs would be written and read again in each round.
        prior *= pooled.T @ (1 / (pooled @ prior)) / len(pooled)
    return prior.reshape(shape)


def _posterior(
    batch: PairBatch,
    part: _LevelEvidence,
    *,
    level: int,
    prior: Numbers,
    usual: Numbers,
    coarse: Numbers | None,
    margins: tuple[Numbers, Numbers],
) -> tuple[LevelPosterior, Numbers]:
    """Compute the posterior of a level, and the weights of the centres.

    Args:
        batch: the pairs.
        part: their centres, and what was measured.
        level: the level.
        prior: how often each centre with each spread is right.
        usual: the weights of the centres for pairs that were not measured here.
        coarse: the tables of the level before.
        margins: the distributions of the attributes, at this level.
    """
    weights = prior * part.likelihoods
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    by_centre = np.where(part.measured[:, None], weights.sum(axis=2), usual)
    by_spread = weights.sum(axis=1)
    even = part.centres * (1 - part.centres)
    trust = np.zeros_like(even)
    variance = np.zeros_like(part.values)
    measured = part.measured
    if measured.any():
        trust[measured], variance[measured] = _trust(
            even[measured], part.precision[measured], weights[measured]
        )
    shifts = trust * (part.values[:, None] - part.centres)
    if level:
        sums = batch.merge(shifts, start=level, level=level - 1)
        whole = batch.merge(even, start=level, level=level - 1)
        ratio = np.divide(sums, whole, out=np.zeros_like(sums), where=whole > 0)
        shifts = shifts - even * batch.spread(ratio, start=level - 1, level=level)
    shifts *= part.measured[:, None, None, None]
    centre = (by_centre[:, :, None, None] * part.centres).sum(axis=1)
    tables = centre + shifts.sum(axis=1)
    rows, columns = (margin[measured] for margin in margins)
    tables[measured] = with_margins(tables[measured], variance[measured], rows, columns)
    tables = np.maximum(tables, MIN_SHARE * centre)
    if coarse is not None:
        tables = with_sums(batch, tables, coarse, level)
    tables /= tables.sum(axis=(1, 2), keepdims=True)
    likeliest = by_centre.argmax(axis=1)
    likely = even[np.arange(len(even)), likeliest].reshape(len(even), -1)
    return LevelPosterior(
        tables, part.measured, likely, by_spread, _spread_likelihoods(part.likelihoods, likely)
    ), by_centre


def _trust(even: Numbers, precision: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Average over spreads what part of a cell's residual is signal, and the cell's variance.

    Args:
        even: M (1 - M) of the centres' cells: pairs, centres, rows, columns.
        precision: pairs, rows, columns.
        weights: probabilities: pairs, centres, spreads.
    """
    count_work(WorkKind.CELL, 6 * len(SPREADS) * even.size)
    count_work(WorkKind.ARRAY, 12 * len(SPREADS))
    trust, variance = np.zeros_like(even), np.zeros_like(precision)
    for places, spreads in _parts_of_spreads(even.size):
        signal = spreads * precision[:, None] * even
        weight = np.moveaxis(weights[:, :, places], 2, 0)[..., None, None]
        whole = 1 + signal
        # The sums so far come first, so the spreads are added up one after another.
        signals = weight * np.divide(signal, whole, out=signal)
        trust = np.add.reduce(np.concatenate([trust[None], signals]))
        shares = weight * spreads * even
        variances = np.divide(shares, whole, out=shares).sum(axis=2)
        variance = np.add.reduce(np.concatenate([variance[None], variances]))
    return trust, variance


def _parts_of_spreads(size: int) -> Iterator[tuple[slice, Numbers]]:
    """Divide the spreads into parts that are computed together.

    Each spread is combined with an array of four axes and this size. A part has as many spreads as
    keep the result small. Give the places of a part, and its spreads with four axes behind them.
    """
    step = max(1, MAX_TOGETHER // max(1, size))
    for start in range(0, len(SPREADS), step):
        part = slice(start, start + step)
        yield part, np.array(SPREADS[part])[:, None, None, None, None]


def _spread_likelihoods(likelihoods: Numbers, even: Numbers) -> Numbers:
    """Compute the likelihood of each spread from a pair alone, whichever its centre is.

    The spread 0 is left out, as a single pair cannot show that it equals its centre. So are spreads
    that would mean a distance above 1.

    Args:
        likelihoods: pairs, centres, spreads.
        even: M (1 - M) of the likeliest centre's cells: pairs, cells.
    """
    sums = likelihoods.sum(axis=1)
    sums[:, 0] = 0.0
    roots = np.sqrt(np.array(SPREADS))
    sums *= HALF * roots * np.sqrt(even).sum(axis=1)[:, None] <= 1
    return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300))
