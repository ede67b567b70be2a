"""Shrinkage of noisy tables of two attributes towards simpler estimates.

A pair's table Y has noise. A centre M is a simpler estimate of the pair, such as the product of its
margins, and has nearly no noise. If P is drawn around M (a Dirichlet distribution of precision
kappa, in its normal approximation cell by cell)

    spread of P     t = M (1 - M) / (kappa + 1)
    noise of Y      s2 = base + slope M (1 - M)
    posterior       M + t / (t + s2) (Y - M), with variance t s2 / (t + s2)

The best centre and kappa are not known, so the posterior is averaged over all of them. Each has two
weights: how well it explains this table, and how often it is right for all pairs together, which is
learnt from them (empirical Bayes). Infinite kappa, P = M, is among them. So a pair of which only
noise is known shrinks to its centre, and one far beyond its noise stays as measured. All this uses
nothing but what was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from .marginal import Marginal, Numbers

__all__ = ["SPREADS", "NoisyTable", "PairPosterior", "pooled_marginals", "shrink", "with_margins"]

SPREADS: Final = (0.0, *np.geomspace(1e-6, 1.0, 25).tolist())
"""Candidates for 1 / (kappa + 1)."""
LEARNING_ROUNDS: Final = 50
FITTING_ROUNDS: Final = 30

Pair: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """An unbiased table of frequencies. A cell f has variance base + slope f (1 - f)."""

    table: Marginal
    base: float
    slope: float


@dataclass(frozen=True, slots=True)
class PairPosterior:
    """The posterior of a pair's table."""

    mean: Numbers
    variance: Numbers
    """Variance of each cell."""
    weight: Numbers
    """Posterior probability of each centre with each spread."""
    likelihood: Numbers
    """Likelihood of each centre with each spread from this pair alone, up to a factor."""
    even: Numbers
    """M (1 - M) of each centre's cells."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A pair's table against its centres, with a row for each centre."""

    centre: Numbers
    residual: Numbers
    even: Numbers
    noise: Numbers


def pooled_marginals(tables: Sequence[NoisyTable], *, ways: int) -> dict[Pair, NoisyTable]:
    """Estimate each covered marginal of `ways` attributes from all tables together.

    Tables are weighted by the inverse of their variance at equal frequencies.
    """
    weighted: dict[Pair, list[tuple[float, NoisyTable]]] = {}
    for noisy in tables:
        for attributes in combinations(noisy.table.attributes, ways):
            table = noisy.table.project(attributes)
            cells = noisy.table.cells // table.cells
            projected = NoisyTable(table, noisy.base * cells, noisy.slope)
            weight = 1 / (projected.base + projected.slope / table.cells)
            weighted.setdefault(attributes, []).append((weight, projected))
    pooled = {}
    for attributes, parts in weighted.items():
        total = sum(weight for weight, _ in parts)
        first, *rest = (part.table * (weight / total) for weight, part in parts)
        pooled[attributes] = NoisyTable(
            sum(rest, start=first),
            sum((weight / total) ** 2 * part.base for weight, part in parts),
            sum((weight / total) ** 2 * part.slope for weight, part in parts),
        )
    return pooled


def shrink(
    pairs: Mapping[Pair, NoisyTable], centres: Mapping[Pair, Sequence[Numbers]]
) -> dict[Pair, PairPosterior]:
    """Compute the posterior of each pair. Every pair has the same number of centres.

    How well a centre explains a table is judged by the part that the margins do not determine: the
    residual without its means over rows and columns. These are (c - 1)(c' - 1) numbers, which count
    as independent.
    """
    evidence = {pair: _evidence(noisy, centres[pair]) for pair, noisy in pairs.items()}
    likelihoods = np.stack(
        [_likelihood(evidence[pair], noisy.table.values.shape) for pair, noisy in pairs.items()]
    )
    prior = np.full(likelihoods.shape[1:], 1 / likelihoods[0].size)
    for _ in range(LEARNING_ROUNDS):
        posterior = prior * likelihoods
        posterior /= posterior.sum(axis=(1, 2), keepdims=True)
        prior = posterior.mean(axis=0)
    return {
        pair: _posterior(evidence[pair], prior, likelihood, pairs[pair].table.values.shape)
        for pair, likelihood in zip(pairs, likelihoods, strict=True)
    }


def _evidence(noisy: NoisyTable, centres: Sequence[Numbers]) -> _Evidence:
    centre = np.clip(np.stack(centres), 1e-9, 1 - 1e-9)
    count = len(centre)
    even = (centre * (1 - centre)).reshape(count, -1)
    return _Evidence(
        centre=centre.reshape(count, -1),
        residual=(noisy.table.values - centre).reshape(count, -1),
        even=even,
        noise=np.maximum(noisy.base + noisy.slope * even, 1e-18),
    )


def _likelihood(evidence: _Evidence, shape: tuple[int, ...]) -> Numbers:
    """Compute the likelihood of each centre with each spread, up to a factor."""
    count = len(evidence.centre)
    residual = evidence.residual.reshape(count, *shape)
    squares = _without_means(residual).reshape(count, -1) ** 2
    free_share = (1 - 1 / shape[0]) * (1 - 1 / shape[1])
    logs = []
    for spread in SPREADS:
        variance = spread * evidence.even + evidence.noise
        logs.append(-0.5 * (squares / variance + free_share * np.log(variance)).sum(axis=1))
    log_likelihood = np.stack(logs, axis=1)
    return np.asarray(np.exp(log_likelihood - log_likelihood.max()))


def _posterior(
    evidence: _Evidence, prior: Numbers, likelihood: Numbers, shape: tuple[int, ...]
) -> PairPosterior:
    weight = prior * likelihood / (prior * likelihood).sum()
    # The weight of the measured table, averaged over spreads, for each centre.
    trust = np.zeros_like(evidence.even)
    for index, spread in enumerate(SPREADS):
        signal = spread * evidence.even
        trust = trust + weight[:, index, None] * (signal / (signal + evidence.noise))
    centre_weights = weight.sum(axis=1)[:, None]
    mean = (centre_weights * evidence.centre + trust * evidence.residual).sum(axis=0)
    variance = (trust * evidence.noise).sum(axis=0)
    return PairPosterior(
        mean.reshape(shape), variance.reshape(shape), weight, likelihood, evidence.even
    )


def with_margins(
    mean: Numbers, variance: Numbers, rows: Numbers, columns: Numbers, *, rounds: int = 6
) -> Numbers:
    """Find about the most likely distribution with these margins, for independent normal cells.

    Each round conditions on the sums of rows and columns, a linear system with as many unknowns. It
    then cuts what falls below 0, and goes on with the cells that are left. At the end proportional
    fitting brings the margins to within rounding, as far as the cells allow.

    All arguments may have further axes in front: then there is a table for each index.
    """
    largest = variance.max(axis=(-1, -2), keepdims=True)
    table, variance = mean, variance + 1e-12 * largest + 1e-18
    free = variance
    height = rows.shape[-1]
    for _ in range(rounds):
        system = _system(free)
        errors = np.concatenate([rows - table.sum(axis=-1), columns - table.sum(axis=-2)], axis=-1)
        scale = np.sqrt(np.diagonal(system, axis1=-2, axis2=-1))
        # The rank is one less than full, because rows and columns have the same sum. A little on
        # the diagonal gives the solution of least norm.
        scales = scale[..., :, None] * scale[..., None, :]
        regular = system / scales + 1e-9 * np.eye(scale.shape[-1])
        shifts = np.linalg.solve(regular, (errors / scale)[..., None])[..., 0] / scale
        row_shifts, column_shifts = shifts[..., :height, None], shifts[..., None, height:]
        table = np.maximum(table + free * (row_shifts + column_shifts), 0)
        free = variance * np.where(table > 0, 1, 1e-9)
    # A little of the product, where a row or column has lost all its cells.
    table = table + 1e-7 * (rows[..., :, None] * columns[..., None, :])
    for _ in range(FITTING_ROUNDS):
        table = table * _ratio(rows, table.sum(axis=-1))[..., :, None]
        table = table * _ratio(columns, table.sum(axis=-2))[..., None, :]
    return np.asarray(table / table.sum(axis=(-1, -2), keepdims=True))


def _system(free: Numbers) -> Numbers:
    """Make the systems by which shifts of rows and columns change the sums of both."""
    height, width = free.shape[-2:]
    system = np.zeros((*free.shape[:-2], height + width, height + width))
    places = np.arange(height + width)
    system[..., places[:height], places[:height]] = free.sum(axis=-1)
    system[..., places[height:], places[height:]] = free.sum(axis=-2)
    system[..., :height, height:] = free
    system[..., height:, :height] = np.swapaxes(free, -1, -2)
    return system


def _ratio(margin: Numbers, sums: Numbers) -> Numbers:
    return np.asarray(np.divide(margin, sums, out=np.zeros_like(sums), where=margin > 0))


def _without_means(values: Numbers) -> Numbers:
    rows, columns = values.mean(axis=-1, keepdims=True), values.mean(axis=-2, keepdims=True)
    return np.asarray(values - rows - columns + values.mean(axis=(-1, -2), keepdims=True))
