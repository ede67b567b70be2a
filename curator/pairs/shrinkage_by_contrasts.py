"""Shrinkage of the pairs' tables for publication, in the space that their margins leave free.

The steps are those of `shrinkage_by_level`, from coarse to fine. The first centres, which are
smooth, are there twice: scaled group by group, and by interpolation. The residual of a pair from a
centre is written in the products of its attributes' contrasts (`contrasts`). A coefficient has the
prior variance s times the variances of both contrasts. So the prior knows that rare labels leave
little room, and that what one cell has more its neighbours have less. At a finer level the products
of contrasts between groups belong to the level before, so they are left out.

The weights of a pair's centres follow from its whole table. The spread is weighed for each block of
the table (`block_spreads`).

Plans use `shrinkage_by_level`. It sees about twice the dependence in coarse groups, so plans look
for more beneath them, and find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ..marginal import Numbers
from ..shrinkage import SPREADS, with_margins
from .block_spreads import BlockLikelihoods, learn_blocks, weights_of_blocks
from .contrasts import Contrasts, contrasts_of
from .interpolation import smoothly_scaled
from .shrinkage_by_level import MIN_CELL, MIN_SHARE, learn_prior, with_sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .evidence import Evidence, Flags
    from .groups import Groups, Level, PairBatch

__all__ = ["shrink_by_contrasts"]

KnownContrasts: TypeAlias = "dict[tuple[str, int, int], Contrasts]"
"""Contrasts by attribute, step of its groups and step before it (or -1); batches share them."""

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
    blocks: Groups
    """The block of each coefficient: pairs, contrasts, contrasts."""

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

    def of_blocks(self, centres: Groups) -> BlockLikelihoods:
        """Compute the likelihood of each spread for each block: pairs, blocks, spreads.

        The largest of a block is 1.

        Args:
            centres: the centre of each pair.
        """
        pairs = np.arange(len(self.values))
        is_new, count = self.variances > 0, int(self.blocks.max()) + 1
        squares = self.values[pairs, centres][is_new] ** 2
        variances, noise = self.variances[is_new], self.noise[is_new]
        cells = (pairs[:, None, None] * count + self.blocks)[is_new]
        logs = np.empty((len(pairs), count, len(SPREADS)))
        for index, spread in enumerate(SPREADS):
            variance = spread * variances + noise
            terms = -(squares / variance + np.log(variance)) / 2
            sums = np.bincount(cells, terms, minlength=len(pairs) * count)
            logs[:, :, index] = sums.reshape(len(pairs), count)
        return np.asarray(np.exp(logs - logs.max(axis=2, keepdims=True)), np.float32)

    def shifts(self, centres: Numbers, spreads: Numbers) -> tuple[Numbers, Numbers]:
        """Average over centres and spreads: the mean shifts of cells, and their variances.

        Args:
            centres: probabilities: pairs, centres.
            spreads: probabilities: pairs, blocks, spreads.
        """
        trust = np.zeros_like(self.noise)
        pairs = np.arange(len(trust))[:, None, None]
        for index, spread in enumerate(SPREADS):
            signal = spread * self.variances
            trust += spreads[pairs, self.blocks, index] * signal / (signal + self.noise)
        means = trust * (centres[:, :, None, None] * self.values).sum(axis=1)
        return (
            self.rows @ means @ np.swapaxes(self.columns, 1, 2),
            self.rows**2 @ (trust * self.noise) @ np.swapaxes(self.columns**2, 1, 2),
        )


@dataclass(frozen=True)
class _LevelTables:
    """A batch at one level."""

    centres: Numbers
    """Pairs, centres, rows, columns."""
    measured: Flags
    coefficients: _Coefficients | None
    """Coefficients of the pairs that were measured; `None` where none was."""


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
    contrasts: KnownContrasts = {}
    tables: list[Numbers] = [np.empty(0)] * len(evidence)
    for level in range(max(part.batch.levels for part in evidence)):
        parts = {
            place: _level_tables(
                part, level, centres[place], tables[place], singles, contrasts=contrasts
            )
            for place, part in enumerate(evidence)
            if level < part.batch.levels
        }
        weights = _weights({place: part.coefficients for place, part in parts.items()})
        for place, part in parts.items():
            batch = evidence[place].batch
            if place in weights:
                usual[place][part.measured] = weights[place][0]
            centre = (usual[place][:, :, None, None] * part.centres).sum(axis=1)
            fitted = centre.copy()
            if part.coefficients is not None:
                shifts, variance = part.coefficients.shifts(*weights[place])
                rows, columns = (side[part.measured] for side in batch.margins(singles, level))
                fitted[part.measured] = with_margins(
                    centre[part.measured] + shifts, variance, rows, columns
                )
            fitted = np.maximum(fitted, MIN_SHARE * centre)
            if level:
                fitted = with_sums(batch, fitted, tables[place], level)
            tables[place] = fitted / fitted.sum(axis=(1, 2), keepdims=True)
    return tables


def _weights(
    coefficients: Mapping[int, _Coefficients | None],
) -> dict[int, tuple[Numbers, Numbers]]:
    """Weigh the centres of each measured pair, and the spreads of its blocks, by batch."""
    present = {place: part for place, part in coefficients.items() if part is not None}
    if not present:
        return {}
    likelihoods = {place: part.likelihoods for place, part in present.items()}
    prior = learn_prior([*likelihoods.values()])
    of_centres, of_spreads, of_blocks = {}, {}, {}
    for place, part in present.items():
        weights = prior * likelihoods[place]
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        of_centres[place] = weights.sum(axis=2)
        of_spreads[place] = weights.sum(axis=1)[:, None]
        if part.blocks.max():
            of_blocks[place] = part.of_blocks(of_centres[place].argmax(axis=1))
    if of_blocks:
        prior_of_blocks = learn_blocks([*of_blocks.values()])
        for place, likelihood in of_blocks.items():
            of_spreads[place] = weights_of_blocks(likelihood, prior_of_blocks).blocks.astype(
                np.float32
            )
    return {place: (of_centres[place], of_spreads[place]) for place in present}


def _level_tables(
    evidence: Evidence,
    level: Level,
    centres: Numbers,
    coarse: Numbers,
    singles: Mapping[str, Numbers],
    *,
    contrasts: KnownContrasts,
) -> _LevelTables:
    """Scale a batch's centres to the level before, and write residuals in contrasts."""
    batch = evidence.batch
    scaled = _scaled(batch, level, centres, coarse if level else None, singles)
    scaled = np.clip(scaled / scaled.sum(axis=(2, 3), keepdims=True), MIN_CELL, 1)
    values, precision = evidence.pooled(level)
    measured = np.asarray(precision.max(axis=(1, 2)) > 0)
    if not measured.any():
        return _LevelTables(scaled, measured, None)
    coefficients = _coefficients_of(
        batch,
        level,
        batch.margins(singles, level),
        measured,
        residual=(values[:, None] - scaled)[measured],
        noise=1 / precision[measured],
        contrasts=contrasts,
    )
    return _LevelTables(scaled, measured, coefficients)


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
    contrasts: KnownContrasts,
) -> _Coefficients:
    """Write the residuals of the measured pairs in products of contrasts.

    Args:
        batch: the pairs.
        level: the level.
        margins: the distributions of the attributes at this level.
        measured: which pairs were measured.
        residual: the residuals of these from each centre: pairs, centres, rows, columns.
        noise: the variances of their cells' noise.
        contrasts: contrasts of attributes so far; new ones are added.
    """
    left, right = (
        _contrasts(batch, level, margins, side, measured, contrasts=contrasts) for side in (0, 1)
    )
    variances = left.variances[:, :, None] * right.variances[:, None, :]
    variances[:, : left.between, : right.between] = 0.0
    rows, columns = left.vectors, right.vectors
    blocks = left.groups[:, :, None] * (int(right.groups.max()) + 1) + right.groups[:, None, :]
    return _Coefficients(
        rows,
        columns,
        np.swapaxes(rows, 1, 2)[:, None] @ residual @ columns[:, None],
        variances,
        np.swapaxes(rows, 1, 2) ** 2 @ noise @ columns**2,
        blocks - blocks.min(),
    )


def _contrasts(
    batch: PairBatch,
    level: Level,
    margins: tuple[Numbers, Numbers],
    side: int,
    measured: Flags,
    *,
    contrasts: KnownContrasts,
) -> Contrasts:
    """Compute the contrasts of the first or the second attribute of each measured pair."""
    steps = batch.steps[level], batch.steps[level - 1] if level else -1
    keys = []
    for place in np.flatnonzero(measured).tolist():
        key = batch.pairs[place][side], *steps
        keys.append(key)
        if key not in contrasts:
            parents = batch.parents_of(place, level, side)
            contrasts[key] = contrasts_of(margins[side][place], parents)
    return Contrasts.stacked([contrasts[key] for key in keys])
