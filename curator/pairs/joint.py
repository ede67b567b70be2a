"""One joint distribution of all attributes that explains the estimates of all pairs.

Each pair is estimated nearly by itself, so each estimate keeps some noise of its own. A classifier
adds up many pairs, and such noise with them. The pairs of one distribution agree with each other.
So a mixture of many latent classes is fitted to the estimates. It does not follow all of their
noise.

The fit begins with classes that explain the pairs roughly. It ends when two conditions hold: the
noise of what was measured would hide the distance of the fit from the estimates, and most of their
dependence is explained. With much noise the first condition holds early, when strong pairs are
still blurred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ...privacy.domain import Domain
from ..latent_classes import LatentClasses, latent_classes
from ..marginal import Marginal, Numbers
from .evidence import Evidence
from .groups import Pair, PairBatch
from .models import record_counts, tables_of

__all__ = ["count_joint_fit", "joint_tables", "misfit"]

CLASSES: Final = 256
MANY_LABELS: Final = 1000
"""With more labels than this there are `FEWER_CLASSES`."""
FEWER_CLASSES: Final = 64
ROUNDS: Final = 1000
"""Most rounds of the fit."""
USUAL_ROUNDS: Final = 300
"""Rounds that are counted as work; how many there are depends on the noise."""
MIN_ROUNDS: Final = 50
"""No fit is begun that could not have so many rounds."""
MAX_PRODUCTS: Final = 1e11
"""The largest product of rounds, classes and the squared number of labels: some 20 seconds."""
STEP: Final = 1.9
"""A step of the fit is so much longer than one of expectation and maximisation."""
NEAR: Final = 0.01
"""The fit may end at this misfit."""
MAX_UNEXPLAINED: Final = 1 / 3
"""It ends when no larger share of the estimates' dependence is unexplained."""
MAX_MISFIT: Final = 0.03
"""The largest misfit of a pair. A pair with a larger one is drawn back to its estimate."""
MIN_SQUARES: Final = 1e-300
"""Avoids a division by 0."""


def joint_tables(
    domain: Domain,
    evidence: Sequence[Evidence],
    estimates: Mapping[Pair, Marginal],
    singles: Mapping[str, Numbers],
    *,
    start: Sequence[LatentClasses],
    generator: np.random.Generator,
) -> list[Numbers] | None:
    """Fit a joint distribution to estimates of all pairs, and compute its tables of each batch.

    `None` is returned where the fit would take too long.

    Args:
        domain: the attributes.
        evidence: what was measured of each batch.
        estimates: the estimates of all pairs.
        singles: the distributions of attributes.
        start: latent classes that explain the pairs roughly.
        generator: for the first classes.
    """
    classes, rounds = count_joint_fit(domain)
    if not rounds:
        return None
    tables = [np.stack([estimates[pair].values for pair in part.batch.pairs]) for part in evidence]
    products = [_products(part.batch, singles) for part in evidence]
    dependence = _distance(tables, products)

    def fitted_by(model: LatentClasses) -> list[Numbers]:
        return [tables_of(part.batch, model) for part in evidence]

    def is_near(model: LatentClasses) -> bool:
        fitted = fitted_by(model)
        is_hidden = misfit(evidence, fitted, tables) <= NEAR
        return is_hidden and _distance(fitted, tables) <= MAX_UNEXPLAINED * dependence

    model = latent_classes(
        domain,
        estimates,
        generator=generator,
        classes=classes,
        rounds=rounds,
        counts=record_counts(evidence),
        start=start,
        step=STEP,
        is_near=is_near,
    )
    return [
        _drawn_back(part, fitted, estimated)
        for part, fitted, estimated in zip(evidence, fitted_by(model), tables, strict=True)
    ]


def _drawn_back(part: Evidence, fitted: Numbers, estimated: Numbers) -> Numbers:
    """Mix fitted tables with their estimates, so that no pair has more than the largest misfit.

    A pair that was not measured has no misfit. It gets the fitted table.
    """
    squares, numbers = _squares(part, fitted, estimated)
    shares = np.sqrt(MAX_MISFIT * numbers / np.maximum(squares, MIN_SQUARES))
    shares = np.where(numbers > 0, np.minimum(shares, 1), 1.0)
    return np.asarray(estimated + shares[:, None, None] * (fitted - estimated))


def _products(batch: PairBatch, singles: Mapping[str, Numbers]) -> Numbers:
    rows, columns = batch.margins(singles, batch.finest)
    return np.asarray(rows[:, :, None] * columns[:, None, :])


def _distance(left: Sequence[Numbers], right: Sequence[Numbers]) -> float:
    """Add up the distances of all pairs."""
    return sum(
        float(np.abs(first - second).sum()) / 2 for first, second in zip(left, right, strict=True)
    )


def count_joint_fit(domain: Domain) -> tuple[int, int]:
    """Give the number of classes and the most rounds, and count the work of the fit.

    There are 0 rounds where the fit would take too long. The work of a round for each two labels
    was measured with 8 to 256 classes.
    """
    labels = sum(domain.shape(domain.attributes))
    classes = CLASSES if labels <= MANY_LABELS else FEWER_CLASSES
    rounds = min(ROUNDS, int(MAX_PRODUCTS / (classes * labels**2)))
    if rounds < MIN_ROUNDS:
        return classes, 0
    usual = min(rounds, USUAL_ROUNDS)
    count_work(WorkKind.ARRAY, 10 * usual)
    count_work(WorkKind.CELL, (1 + classes / 14) * usual * labels**2)
    return classes, rounds


def misfit(
    evidence: Sequence[Evidence], tables: Sequence[Numbers], estimates: Sequence[Numbers]
) -> float:
    """Compute how far tables are from estimates: the mean square over the variance of noise.

    Args:
        evidence: what was measured of each batch.
        tables: finest tables of each batch.
        estimates: the estimates of these.
    """
    parts = [
        _squares(part, fitted, estimated)
        for part, fitted, estimated in zip(evidence, tables, estimates, strict=True)
    ]
    total = sum(float(squares.sum()) for squares, _ in parts)
    return total / max(sum(float(numbers.sum()) for _, numbers in parts), 1.0)


def _squares(part: Evidence, tables: Numbers, estimates: Numbers) -> tuple[Numbers, Numbers]:
    """Add up the squared shifts of each pair over the variance of noise, and count their numbers.

    A table of r rows and c columns that was measured counts as (r - 1)(c - 1) numbers, because the
    margins determine the others.
    """
    squares, numbers = np.zeros(len(tables)), np.zeros(len(tables))
    for level, precisions in enumerate(part.precisions):
        if precisions.any():
            shift = part.batch.merge(tables - estimates, start=part.batch.finest, level=level)
            squares += precisions * (shift**2).sum(axis=(1, 2))
            _, rows, columns = shift.shape
            numbers += (precisions > 0) * (rows - 1) * (columns - 1)
    return squares, numbers
