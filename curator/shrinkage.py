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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final, TypeAlias

import numpy as np

from ..messages import WorkKind, count_work
from .marginal import Marginal, Numbers

__all__ = ["SPREADS", "NoisyTable", "PairPosterior", "pooled_marginals", "shrink", "with_margins"]

SPREADS: Final = (0.0, *np.geomspace(1e-6, 1.0, 25).tolist())
"""Candidates for 1 / (kappa + 1)."""
LEARNING_ROUNDS: Final = 50
FITTING_ROUNDS: Final = 30
RIDGE: Final = 1e-9
BATCH: Final = 1 << 19
"""Cells of tables and centres that are computed together."""

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
    """Tables of one shape against their centres: axes for pairs, centres and cells."""

    centre: Numbers
    residual: Numbers
    even: Numbers
    noise: Numbers
    shape: tuple[int, ...]
    """Labels of the two attributes."""


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
    groups = _groups(pairs, centres)
    likelihood_of: dict[Pair, Numbers] = {}
    for group in groups:
        likelihood_of.update(zip(group, _likelihood(_evidence(group, pairs, centres)), strict=True))
    prior = _learn_prior(np.stack([likelihood_of[pair] for pair in pairs]))
    posteriors: dict[Pair, PairPosterior] = {}
    for group in groups:
        likelihood = np.stack([likelihood_of[pair] for pair in group])
        stacks = _posterior(_evidence(group, pairs, centres), prior, likelihood)
        for pair, *parts in zip(group, *stacks, strict=True):
            posteriors[pair] = PairPosterior(*parts)
    return {pair: posteriors[pair] for pair in pairs}


def _groups(
    pairs: Mapping[Pair, NoisyTable], centres: Mapping[Pair, Sequence[Numbers]]
) -> list[list[Pair]]:
    """Divide pairs into groups of tables of one shape, which are computed together."""
    by_shape: dict[tuple[int, ...], list[Pair]] = {}
    for pair, noisy in pairs.items():
        by_shape.setdefault(noisy.table.values.shape, []).append(pair)
    groups = []
    for shape, members in by_shape.items():
        size = max(1, BATCH // (prod(shape) * len(centres[members[0]])))
        groups += [members[start : start + size] for start in range(0, len(members), size)]
    return groups


def _learn_prior(likelihoods: Numbers) -> Numbers:
    """Learn how often each centre with each spread is right, from all pairs together."""
    prior = np.full(likelihoods.shape[1:], 1 / likelihoods[0].size)
    for _ in range(LEARNING_ROUNDS):
        posterior = prior * likelihoods
        posterior /= posterior.sum(axis=(1, 2), keepdims=True)
        prior = posterior.mean(axis=0)
    return prior


def _evidence(
    group: Sequence[Pair],
    pairs: Mapping[Pair, NoisyTable],
    centres: Mapping[Pair, Sequence[Numbers]],
) -> _Evidence:
    tables = np.stack([pairs[pair].table.values for pair in group])[:, None]
    centre = np.clip(np.stack([np.stack(centres[pair]) for pair in group]), 1e-9, 1 - 1e-9)
    base, slope = (
        np.array(numbers)[:, None, None]
        for numbers in zip(*((pairs[pair].base, pairs[pair].slope) for pair in group), strict=True)
    )
    flat = (*centre.shape[:2], -1)
    even = (centre * (1 - centre)).reshape(flat)
    return _Evidence(
        centre=centre.reshape(flat),
        residual=(tables - centre).reshape(flat),
        even=even,
        noise=np.maximum(base + slope * even, 1e-18),
        shape=centre.shape[2:],
    )


def _likelihood(evidence: _Evidence) -> Numbers:
    """Compute the likelihood of each centre with each spread, up to a factor."""
    residual = evidence.residual.reshape(*evidence.residual.shape[:2], *evidence.shape)
    squares = _without_means(residual).reshape(evidence.residual.shape) ** 2
    free_share = (1 - 1 / evidence.shape[0]) * (1 - 1 / evidence.shape[1])
    logs = []
    for spread in SPREADS:
        variance = spread * evidence.even + evidence.noise
        logs.append(-0.5 * (squares / variance + free_share * np.log(variance)).sum(axis=2))
    log_likelihood = np.stack(logs, axis=2)
    return np.asarray(np.exp(log_likelihood - log_likelihood.max(axis=(1, 2), keepdims=True)))


def _posterior(evidence: _Evidence, prior: Numbers, likelihood: Numbers) -> tuple[Numbers, ...]:
    """Compute the fields of the posteriors of a group, each with an axis for the pairs."""
    joint = prior * likelihood
    weight = joint / joint.sum(axis=(1, 2), keepdims=True)
    # The weight of the measured table, averaged over spreads, for each centre.
    trust = np.zeros_like(evidence.even)
    for index, spread in enumerate(SPREADS):
        signal = spread * evidence.even
        trust = trust + weight[:, :, index, None] * (signal / (signal + evidence.noise))
    centre_weights = weight.sum(axis=2)[:, :, None]
    mean = (centre_weights * evidence.centre + trust * evidence.residual).sum(axis=1)
    variance = (trust * evidence.noise).sum(axis=1)
    shape = (-1, *evidence.shape)
    return mean.reshape(shape), variance.reshape(shape), weight, likelihood, evidence.even


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
    operations = 20 * rounds + 6 * FITTING_ROUNDS
    count_work(WorkKind.ARRAY, operations)
    count_work(WorkKind.CELL, operations * mean.size)
    add = np.add.reduce  # what `sum` calls: for small tables the call itself takes long
    table, variance = mean, variance + 1e-12 * largest + 1e-18
    free = variance
    for _ in range(rounds):
        row_shifts, column_shifts = _shifts(
            free, rows - add(table, axis=-1), columns - add(table, axis=-2)
        )
        table = np.maximum(
            table + free * (row_shifts[..., :, None] + column_shifts[..., None, :]), 0
        )
        free = variance * np.where(table > 0, 1, 1e-9)
    # A little of the product, where a row or column has lost all its cells.
    table = table + 1e-7 * (rows[..., :, None] * columns[..., None, :])
    of_rows, of_columns = _ratio_to(rows), _ratio_to(columns)
    for _ in range(FITTING_ROUNDS):
        table *= of_rows(rows, add(table, axis=-1))[..., :, None]
        table *= of_columns(columns, add(table, axis=-2))[..., None, :]
    return np.asarray(table / table.sum(axis=(-1, -2), keepdims=True))


def _shifts(free: Numbers, row_errors: Numbers, column_errors: Numbers) -> tuple[Numbers, Numbers]:
    """Solve for the shifts r and c for which free * (r + c) has these sums of rows and columns.

    Divided by the roots of the sums of `free`, the system has the identity for rows, the identity
    for columns, and a matrix G between them. The longer side is eliminated, so the system that is
    left has as many unknowns as the shorter side. The rank is one less than full, because rows and
    columns have the same sum. A little on the diagonal gives the solution of least norm.
    """
    if free.shape[-2] > free.shape[-1]:
        columns, rows = _shifts(np.swapaxes(free, -1, -2), column_errors, row_errors)
        return rows, columns
    row_scale, column_scale = np.sqrt(free.sum(axis=-1)), np.sqrt(free.sum(axis=-2))
    between = free / (row_scale[..., :, None] * column_scale[..., None, :])
    right = (column_errors / column_scale)[..., None] / (1 + RIDGE)
    system = (1 + RIDGE) * np.eye(free.shape[-2]) - (
        between @ np.swapaxes(between, -1, -2) / (1 + RIDGE)
    )
    left = np.linalg.solve(system, (row_errors / row_scale)[..., None] - between @ right)
    right -= np.swapaxes(between, -1, -2) @ left / (1 + RIDGE)
    return left[..., 0] / row_scale, right[..., 0] / column_scale


def _ratio_to(margin: Numbers) -> Callable[[Numbers, Numbers], Numbers]:
    """Give the division of a margin by sums: where nothing is 0 it takes a third of the time."""
    return np.divide if (margin > 0).all() else _ratio


def _ratio(margin: Numbers, sums: Numbers) -> Numbers:
    return np.asarray(np.divide(margin, sums, out=np.zeros_like(sums), where=margin > 0))


def _without_means(values: Numbers) -> Numbers:
    rows, columns = values.mean(axis=-1, keepdims=True), values.mean(axis=-2, keepdims=True)
    return np.asarray(values - rows - columns + values.mean(axis=(-1, -2), keepdims=True))
