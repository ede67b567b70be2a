"""Latent classes: a mixture of independent attributes that explains all tables of two attributes.

P(x) = sum over classes r of w_r product over attributes i of B_i(x_i, r). The table of every pair
is then B_i diag(w) B_j^T. Pairs share these parameters, so the model says something about a table
that is all noise. It is fitted by expectation and maximisation on the sum of the log-likelihoods of
all pairs (a composite likelihood; Hofmann's PLSA on the matrix of all pairs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["LatentClasses", "latent_classes"]

WIDE: Final = 256
"""An attribute with more labels is by itself in the matrix of all pairs, without its own square."""
CHECKED_ROUNDS: Final = 25
"""After so many rounds, again and again, a fit is asked whether it is near enough."""
MIN_SHARE: Final = 1e-300
"""Avoids a division by 0."""
MIN_STEPPED: Final = 1e-15
"""The least share after a long step. A share of 0 would stay 0."""


@dataclass(frozen=True, slots=True)
class LatentClasses:
    """Weights of the classes, and the distribution of each attribute in each class."""

    weights: Numbers
    tables: dict[str, Numbers]
    """A matrix for each attribute: labels by classes."""

    def pair(self, first: str, second: str) -> Numbers:
        """Compute the table of two attributes."""
        return np.asarray((self.tables[first] * self.weights) @ self.tables[second].T)


def latent_classes(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    *,
    generator: np.random.Generator,
    classes: int = 16,
    rounds: int = 300,
    counts: Mapping[tuple[str, ...], float] | None = None,
    start: Sequence[LatentClasses] = (),
    step: float = 1.0,
    is_near: Callable[[LatentClasses], bool] | None = None,
) -> LatentClasses:
    """Fit tables of pairs. They must be distributions that agree on single attributes.

    Args:
        domain: the attributes.
        pairs: the tables.
        generator: for the first distributions of the classes. They are those of the attributes, or
            of the classes in `start`, times random numbers.
        classes: the number of classes. With `start` each of its classes is there equally often.
        rounds: the largest number of steps.
        counts: how many records each table counts as; without it all count alike.
        start: models of the same attributes, with which the fit begins.
        step: the power of each change. Near the optimum it converges below 2, nearly twice as fast
            (Salakhutdinov and Roweis, Adaptive overrelaxed bound optimization methods, 2003).
        is_near: called every 25 rounds; the fit ends where it says so.
    """
    paired = [name for name in domain.attributes if any(name in pair for pair in pairs)]
    wide = [name for name in paired if domain.cells((name,)) > WIDE]
    names = [name for name in paired if name not in wide] + wide
    sizes = domain.shape(names)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    slices = {
        name: slice(start, end)
        for name, (start, end) in zip(names, pairwise(ends.tolist()), strict=True)
    }
    weighted = {
        pair: marginal.values * (1.0 if counts is None else counts[pair])
        for pair, marginal in pairs.items()
    }
    blocks = _blocks(weighted, slices, wide=wide)
    singles = np.zeros(ends[-1])
    for (first, second), marginal in pairs.items():
        singles[slices[first]] = marginal.values.sum(axis=1)
        singles[slices[second]] = marginal.values.sum(axis=0)
    weights, means = np.full(classes, 1 / classes), singles[:, None]
    if start:
        several = max(1, classes // sum(len(model.weights) for model in start))
        parts = [np.concatenate([model.tables[name] for name in names]) for model in start]
        means = np.repeat(np.concatenate(parts, axis=1), several, axis=1)
        weights = np.repeat(np.concatenate([model.weights for model in start]), several)
        weights /= weights.sum()
    conditional = means * generator.gamma(2.0, 0.5, (len(singles), len(weights))) + 1e-9
    conditional /= np.repeat(np.add.reduceat(conditional, ends[:-1]), sizes, axis=0)
    for number in range(1, rounds + 1):
        weighted = conditional * weights
        gained = np.zeros_like(conditional)
        for left, right, table in blocks:
            ratio = weighted[left] @ conditional[right].T
            ratio += 1e-15
            np.divide(table, ratio, out=ratio)
            gained[left] += ratio @ weighted[right]
            if left != right:
                gained[right] += ratio.T @ weighted[left]
        explained = conditional * gained
        sums = np.add.reduceat(explained, ends[:-1])
        length = 1.0 if number == rounds else step
        weights = _further(weights, sums.sum(axis=0) / sums.sum(), length)
        improved = explained / np.maximum(np.repeat(sums, sizes, axis=0), MIN_SHARE)
        conditional = _further(conditional, improved, length)
        if step != 1:
            weights /= weights.sum()
            conditional /= np.repeat(np.add.reduceat(conditional, ends[:-1]), sizes, axis=0)
        if is_near is not None and number % CHECKED_ROUNDS == 0:
            model = LatentClasses(weights, {name: conditional[slices[name]] for name in names})
            if is_near(model):
                return model
    return LatentClasses(weights, {name: conditional[slices[name]] for name in names})


def _further(before: Numbers, after: Numbers, step: float) -> Numbers:
    """Change shares by this power of their change from `before` to `after`.

    They do not add up to 1 then, unless the step is 1.
    """
    if step == 1:
        return after
    ratio = np.maximum(after, MIN_SHARE) / np.maximum(before, MIN_SHARE)
    return np.asarray(np.maximum(before * ratio**step, MIN_STEPPED))


def _blocks(
    pairs: Mapping[tuple[str, ...], Numbers], slices: Mapping[str, slice], *, wide: Sequence[str]
) -> list[tuple[slice, slice, Numbers]]:
    """Cut the symmetric matrix of all pairs into blocks: its rows, its columns, and its numbers.

    All attributes that are not wide share one square block. Every other block stands for its
    transpose as well. Thus memory grows with the cells of pairs, and not with a wide attribute's
    square.
    """
    narrow = [place for name, place in slices.items() if name not in wide]
    parts = [slice(0, narrow[-1].stop)] if narrow else []
    squares = [(part, part) for part in parts]
    parts += [slices[name] for name in wide]
    blocks = []
    for rows, columns in [*squares, *combinations(parts, 2)]:
        numbers = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for (first, second), table in pairs.items():
            for values, left, right in (
                (table, slices[first], slices[second]),
                (table.T, slices[second], slices[first]),
            ):
                if _within(left, rows) and _within(right, columns):
                    numbers[_shifted(left, -rows.start), _shifted(right, -columns.start)] = values
        blocks.append((rows, columns, numbers))
    return blocks


def _within(inner: slice, outer: slice) -> bool:
    return bool(outer.start <= inner.start and inner.stop <= outer.stop)


def _shifted(place: slice, by: int) -> slice:
    return slice(place.start + by, place.stop + by)
