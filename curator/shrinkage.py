"""How far to believe a noisy table of two attributes: between what was measured and what simpler
knowledge says of it.

A pair's table Y has noise; a centre M is what simpler knowledge makes of the pair, such as the
product of its margins, and is nearly without noise. If P is drawn around M (Dirichlet, of precision
kappa, in its normal approximation cell by cell)

    spread of P     t = M (1 - M) / (kappa + 1)
    noise of Y      s2 = base + slope M (1 - M)
    posterior       M + t / (t + s2) (Y - M), with variance t s2 / (t + s2)

Which centre, and which kappa, is not known: the posterior is averaged over all, each weighted by
how well it explains the table, and by how often it is right for all pairs together, which is
learned from them (empirical Bayes). Infinite kappa, P = M, is among them: so a pair about which
nothing is known but noise is believed to be its centre, and one that is far beyond its noise is
believed as measured. Nothing here looks at anything but what was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from .marginal import Marginal, Numbers

__all__ = ["SPREADS", "Noisy", "Shrunk", "shrink", "views", "with_margins"]

SPREADS: Final = (0.0, *np.geomspace(1e-6, 1.0, 25).tolist())
"""1 / (kappa + 1)."""
LEARNING: Final = 50

Pair = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Noisy:
    """A table of frequencies without bias; a cell of frequency f varies by base + slope f (1 -
    f).
    """

    table: Marginal
    base: float
    slope: float


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A pair's posterior: its mean and its cells' variances, and what it is made of."""

    mean: Numbers
    variance: Numbers
    weight: Numbers
    """How likely each centre with each spread is, together 1."""
    likely: Numbers
    """The same by this pair alone, without what all pairs say of centres and spreads; not
    normalised.
    """
    even: Numbers
    """M (1 - M) of each centre's cells."""


def views(tables: Sequence[Noisy], *, ways: int) -> dict[Pair, Noisy]:
    """Say what all tables together say of each marginal of so many attributes, by inverse variance
    at even frequencies.
    """
    found: dict[Pair, list[tuple[float, Noisy]]] = {}
    for own in tables:
        for attributes in combinations(own.table.attributes, ways):
            table = own.table.project(attributes)
            summed = own.table.cells // table.cells
            view = Noisy(table, own.base * summed, own.slope)
            found.setdefault(attributes, []).append(
                (1 / (view.base + view.slope / table.cells), view)
            )
    combined = {}
    for attributes, weighted in found.items():
        whole = sum(weight for weight, _ in weighted)
        first, *rest = (view.table * (weight / whole) for weight, view in weighted)
        combined[attributes] = Noisy(
            sum(rest, start=first),
            sum((weight / whole) ** 2 * view.base for weight, view in weighted),
            sum((weight / whole) ** 2 * view.slope for weight, view in weighted),
        )
    return combined


def shrink(
    pairs: Mapping[Pair, Noisy], centres: Mapping[Pair, Sequence[Numbers]]
) -> dict[Pair, Shrunk]:
    """Compute each pair's posterior; every pair has the same number of centres.

    How well a centre explains a table is judged by what margins do not determine, the residual
    without its means over rows and columns, (c - 1)(c' - 1) numbers that count as independent.
    """
    known: dict[Pair, tuple[Numbers, Numbers, Numbers, Numbers]] = {}
    likely = []
    for pair, own in pairs.items():
        shape = own.table.values.shape
        centre = np.clip(np.stack(centres[pair]), 1e-9, 1 - 1e-9)
        residual = own.table.values - centre
        even = (centre * (1 - centre)).reshape(len(centre), -1)
        noise = np.maximum(own.base + own.slope * even, 1e-18)
        inner = _centred(residual).reshape(len(centre), -1) ** 2
        free = (1 - 1 / shape[0]) * (1 - 1 / shape[1])
        fits = [
            -0.5 * (inner / (s * even + noise) + free * np.log(s * even + noise)).sum(axis=1)
            for s in SPREADS
        ]
        fit = np.stack(fits, axis=1)
        likely.append(np.exp(fit - fit.max()))
        known[pair] = (
            centre.reshape(len(centre), -1),
            residual.reshape(len(centre), -1),
            even,
            noise,
        )
    every = np.stack(likely)
    prior = np.full(every.shape[1:], 1 / every[0].size)
    for _ in range(LEARNING):
        posterior = prior * every
        posterior /= posterior.sum(axis=(1, 2), keepdims=True)
        prior = posterior.mean(axis=0)
    found = {}
    for (pair, (centre, residual, even, noise)), alone in zip(known.items(), every, strict=True):
        weight = prior * alone / (prior * alone).sum()
        shape = pairs[pair].table.values.shape
        # How far the measured is believed, averaged over spreads, for each centre.
        belief = sum(
            (weight[:, at, None] * (s * even / (s * even + noise)) for at, s in enumerate(SPREADS)),
            start=np.zeros_like(even),
        )
        mean = (weight.sum(axis=1)[:, None] * centre + belief * residual).sum(axis=0)
        variance = (belief * noise).sum(axis=0).reshape(shape)
        found[pair] = Shrunk(mean.reshape(shape), variance, weight, alone, even)
    return found


def with_margins(
    mean: Numbers, variance: Numbers, rows: Numbers, columns: Numbers, *, rounds: int = 6
) -> Numbers:
    """Find the distribution with these margins that is likeliest for independent normal cells,
    about.

    Condition on the sums of rows and columns, a linear system in as many unknowns; clip what falls
    below 0, and again with the cells that are left. The last steps are proportional fitting, which
    brings the margins to within rounding where cells allow it.
    """
    found, variance = mean, variance + 1e-12 * variance.max() + 1e-18
    free = variance
    for _ in range(rounds):
        system = np.block([[np.diag(free.sum(axis=1)), free], [free.T, np.diag(free.sum(axis=0))]])
        wrong = np.concatenate([rows - found.sum(axis=1), columns - found.sum(axis=0)])
        scale = np.sqrt(np.diag(system))
        # Singular by one, as rows and columns have the same sum: a little on the diagonal takes the
        # solution of least norm.
        moved = (
            np.linalg.solve(
                system / np.outer(scale, scale) + 1e-9 * np.eye(len(scale)), wrong / scale
            )
            / scale
        )
        found = np.maximum(found + free * (moved[: len(rows), None] + moved[None, len(rows) :]), 0)
        free = variance * np.where(found > 0, 1, 1e-9)
    found = found + 1e-7 * np.outer(rows, columns)  # where a line has lost all its cells
    for _ in range(30):
        found = (
            found
            * np.divide(rows, found.sum(axis=1), out=np.zeros_like(rows), where=rows > 0)[:, None]
        )
        found = (
            found
            * np.divide(columns, found.sum(axis=0), out=np.zeros_like(columns), where=columns > 0)[
                None, :
            ]
        )
    return np.asarray(found / found.sum())


def _centred(values: Numbers) -> Numbers:
    rows, columns = values.mean(axis=-1, keepdims=True), values.mean(axis=-2, keepdims=True)
    return np.asarray(values - rows - columns + values.mean(axis=(-1, -2), keepdims=True))
