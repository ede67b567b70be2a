"""Shrinkage of the pairs' tables for publication, in the space that their margins leave free.

The steps are those of `shrinkage_by_level`, from coarse to fine. The first centres, which are
smooth, are there twice: scaled group by group, and by interpolation. The residual of a pair from a
centre is written in the products of its attributes' contrasts (`contrasts`). A coefficient has the
prior variance s times the variances of both contrasts. So the prior knows that rare labels leave
little room, and that what one cell has more its neighbours have less. At a finer level the products
of contrasts between groups belong to the level before, so they are left out.

Plans use `shrinkage_by_level`. It sees about twice the dependence in coarse groups, so plans look
for more beneath them, and find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..marginal import Numbers
from ..shrinkage import SPREADS, with_margins
from .contrasts import Contrasts, contrasts_of
from .interpolation import smoothly_scaled
from .shrinkage_by_level import MIN_CELL, MIN_SHARE, learn_prior, with_sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .evidence import Evidence, Flags
    from .groups import Level, PairBatch

__all__ = ["shrink_by_contrasts"]

SMOOTH_CENTRES: Final = 2
"""The product of the margins and the copula, which are the first centres of each pair."""


@dataclass(frozen=True)
class _Coefficients:
    """The pairs that were measured at a level, in products of contrasts."""

    rows: Numbers
    """Contrasts of the first attributes: pairs, labels, contrasts."""
    columns: Numbers
    values: Numbers
    """Coefficients of the residual from each centre: pairs, centres, contrasts, contrasts."""
    variances: Numbers
    """Prior variances for a spread of 1; 0 where a coefficient belongs to the level before."""
    noise: Numbers
    """Variances of the coefficients' noise."""

    @property
    def likelihoods(self) -> Numbers:
        """The likelihood of each centre and spread, up to a factor: pairs, centres, spreads."""
        is_new = self.variances[0] > 0
        squares = self.values[:, :, is_new] ** 2
        variances, noise = self.variances[:, is_new], self.noise[:, is_new]
        logs = np.empty((*squares.shape[:2], len(SPREADS)))
        for index, spread in enumerate(SPREADS):
            variance = (spread * variances + noise)[:, None]
            logs[:, :, index] = -(squares / variance + np.log(variance)).sum(axis=2) / 2
        return np.asarray(np.exp(logs - logs.max(axis=(1, 2), keepdims=True)))

    def shifts(self, weights: Numbers) -> tuple[Numbers, Numbers]:
        """Average over centres and spreads: the mean shifts of cells, and their variances.

        Args:
            weights: probabilities: pairs, centres, spreads.
        """
        trusts, variances = np.zeros_like(self.values), np.zeros_like(self.noise)
        for index, spread in enumerate(SPREADS):
            signal = spread * self.variances
            trust = signal / (signal + self.noise)
            trusts += weights[:, :, index, None, None] * trust[:, None]
            variances += weights[:, :, index].sum(axis=1)[:, None, None] * trust * self.noise
        means = (trusts * self.values).sum(axis=1)
        return (
            self.rows @ means @ np.swapaxes(self.columns, 1, 2),
            self.rows**2 @ variances @ np.swapaxes(self.columns**2, 1, 2),
        )


def shrink_by_contrasts(
    evidence: Sequence[Evidence], centres: Sequence[Numbers], singles: Mapping[str, Numbers]
) -> list[Numbers]:
    """Compute the mean of the posterior of each batch's finest tables.

    Args:
        evidence: what was measured of each batch.
        centres: the finest tables of the centres, as many for each batch: pairs, centres, rows,
            columns.
        singles: the distributions of attributes, which the tables get.
    """
    count = centres[0].shape[1]
    count += min(count, SMOOTH_CENTRES)
    usual = [np.full((len(part.batch.pairs), count), 1 / count) for part in evidence]
    """The weight of each centre at the last level that was measured."""
    tables: list[Numbers] = [np.empty(0)] * len(evidence)
    for level in range(max(part.batch.levels for part in evidence)):
        merged, flags, coefficients, likelihoods = {}, {}, {}, {}
        for place, part in enumerate(evidence):
            if level >= part.batch.levels:
                continue
            coarse = tables[place] if level else None
            scaled = _scaled(part.batch, level, centres[place], coarse, singles)
            scaled = np.clip(scaled / scaled.sum(axis=(2, 3), keepdims=True), MIN_CELL, 1)
            margins = part.batch.margins(singles, level)
            values, precision = part.pooled(level)
            measured = np.asarray(precision.max(axis=(1, 2)) > 0)
            merged[place], flags[place] = scaled, measured
            if measured.any():
                coefficients[place] = _coefficients_of(
                    part.batch,
                    level,
                    margins,
                    measured,
                    residual=(values[:, None] - scaled)[measured],
                    noise=1 / precision[measured],
                )
                likelihoods[place] = coefficients[place].likelihoods
        prior = learn_prior([*likelihoods.values()]) if likelihoods else np.empty(0)
        for place, scaled in merged.items():
            batch, measured = evidence[place].batch, flags[place]
            weights = np.empty(0)
            if place in coefficients:
                weights = prior * likelihoods[place]
                weights /= weights.sum(axis=(1, 2), keepdims=True)
                usual[place][measured] = weights.sum(axis=2)
            centre = (usual[place][:, :, None, None] * scaled).sum(axis=1)
            fitted = centre.copy()
            if place in coefficients:
                shifts, variance = coefficients[place].shifts(weights)
                rows, columns = (side[measured] for side in batch.margins(singles, level))
                fitted[measured] = with_margins(centre[measured] + shifts, variance, rows, columns)
            fitted = np.maximum(fitted, MIN_SHARE * centre)
            if level:
                fitted = with_sums(batch, fitted, tables[place], level)
            tables[place] = fitted / fitted.sum(axis=(1, 2), keepdims=True)
    return tables


def _scaled(
    batch: PairBatch,
    level: Level,
    centres: Numbers,
    coarse: Numbers | None,
    singles: Mapping[str, Numbers],
) -> Numbers:
    """Merge the finest centres for a level, scale them to the level before, and add smooth ones."""
    merged = batch.merge(centres, start=batch.finest, level=level)
    smooth = merged[:, :SMOOTH_CENTRES]
    if coarse is None:
        return np.concatenate([merged, smooth], axis=1)
    smooth = smoothly_scaled(batch, smooth, coarse, level, margins=batch.margins(singles, level))
    return np.concatenate([with_sums(batch, merged, coarse[:, None], level), smooth], axis=1)


def _coefficients_of(
    batch: PairBatch,
    level: Level,
    margins: tuple[Numbers, Numbers],
    measured: Flags,
    *,
    residual: Numbers,
    noise: Numbers,
) -> _Coefficients:
    """Write the residuals of the measured pairs in products of contrasts.

    Args:
        batch: the pairs.
        level: the level.
        margins: the distributions of the attributes at this level.
        measured: which pairs were measured.
        residual: the residuals of these from each centre: pairs, centres, rows, columns.
        noise: the variances of their cells' noise.
    """
    left, right = (_contrasts(batch, level, margins, side, measured) for side in (0, 1))
    variances = left.variances[:, :, None] * right.variances[:, None, :]
    variances[:, : left.between, : right.between] = 0.0
    rows, columns = left.vectors, right.vectors
    return _Coefficients(
        rows,
        columns,
        np.swapaxes(rows, 1, 2)[:, None] @ residual @ columns[:, None],
        variances,
        np.swapaxes(rows, 1, 2) ** 2 @ noise @ columns**2,
    )


def _contrasts(
    batch: PairBatch, level: Level, margins: tuple[Numbers, Numbers], side: int, measured: Flags
) -> Contrasts:
    """Compute the contrasts of the first or the second attribute of each measured pair."""
    contrasts: dict[str, Contrasts] = {}
    names = []
    for place in np.flatnonzero(measured).tolist():
        name = batch.pairs[place][side]
        names.append(name)
        if name not in contrasts:
            parents = batch.parents_of(place, level, side)
            contrasts[name] = contrasts_of(margins[side][place], parents)
    return Contrasts.stacked([contrasts[name] for name in names])
