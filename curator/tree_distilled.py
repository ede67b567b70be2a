"""Growing a decision tree from noisy tables of a label with one attribute each: from the naive
Bayes model that they make.

Tables of many attributes together have too many cells for the noise of local reports. Tables of
single attributes do not, and with them a node's distribution is known as far as attributes are
independent given the label: cutting the values that a path excludes rescales each label's mass. So
a whole tree is grown from them at once (`distilled`); what independence gets wrong is put right at
its ends, by users who say at which one they are (`settle`).

All that is chosen looks beyond the noise: attributes are first put into a few groups of values
(`_grouped`), and a split counts by how far the difference that it makes is above what the best of
that many splits would be by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from .decision_tree import Path, Split, Step, Tree
from .marginal import Numbers
from .projections import norm_sub

__all__ = ["Single", "distilled", "settle"]

GROUPS: Final = 8
"""Of an attribute's values, at most."""
LEAST_MASS: Final = 0.005
"""Of a node that is split."""
TRUSTED: Final = 0.3
"""The deviation of a label's mass by the model, of the node's: what independence may get wrong."""
BEYOND: Final = 0.7
"""Deviations by which another label has to be ahead of the most frequent one of all."""
RAREST: Final = 0.02
"""A label is taken to be at least so frequent."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Single:
    """An unbiased table of a label, a line each, and one attribute; the variance of each cell;
    whether values have an order.
    """

    attribute: str
    joint: Numbers
    variance: float
    ordered: bool


@dataclass(frozen=True, slots=True)
class _Grouped:
    """An attribute in groups: which group each value is in, the labels' masses by group, and their
    variances.
    """

    attribute: str
    groups: npt.NDArray[np.int64]
    joint: Numbers
    variance: Numbers
    ordered: bool


@dataclass(frozen=True, slots=True)
class Distilled:
    """A tree, the masses of labels at each node by the model, and how frequent labels are."""

    tree: Tree
    masses: dict[int, Numbers]
    prior: Numbers


def distilled(tables: Sequence[Single], *, depth: int) -> Distilled:
    """Grow a tree of at most so many tests on a path."""
    weights = np.array([1 / (own.variance * own.joint.shape[1]) for own in tables])
    prior = np.asarray(
        sum(w * own.joint.sum(axis=1) for w, own in zip(weights, tables, strict=True))
        / weights.sum()
    )
    prior = np.clip(prior, RAREST, None)
    prior = prior / prior.sum()
    grouped = [_grouped(own, prior) for own in tables]
    tests: dict[Path, Split] = {}
    masses: dict[Path, Numbers] = {}

    def grow(path: Path, mass: Numbers, left: Mapping[str, Mask]) -> None:
        masses[path] = mass
        if len(path) >= depth or mass.sum() < LEAST_MASS:
            return
        best: tuple[float, _Grouped, Mask] | None = None
        for own in grouped:
            score, chosen = _split(own, mass, left[own.attribute])
            if score > (best[0] if best else 0.0):
                best = score, own, chosen
        if best is None:
            return
        _, own, chosen = best
        values = np.bincount(own.groups, minlength=len(chosen))
        rest = left[own.attribute] & ~chosen
        if (
            not own.ordered and values[rest].sum() < values[chosen].sum()
        ):  # the shorter side is the one to be named
            chosen, rest = rest, chosen
        test = Split(own.attribute, tuple(np.flatnonzero(chosen[own.groups]).tolist()))
        tests[path] = test
        whole = np.maximum(own.joint[:, left[own.attribute]].sum(axis=1), 1e-9)
        for answer, side in ((True, chosen), (False, rest)):
            share = np.clip(own.joint[:, side].sum(axis=1) / whole, 0, 1)
            grow((*path, Step(test, yes=answer)), mass * share, {**left, own.attribute: side})

    grow((), prior, {own.attribute: np.ones(own.joint.shape[1], np.bool_) for own in grouped})
    labels = {path: int(np.argmax(mass)) for path, mass in masses.items()}
    tree = Tree.of(tests, labels)
    return Distilled(tree, _by_number(tree, masses), prior)


def settle(grown: Distilled, joint: Numbers | None, variance: float) -> Tree:
    """Give the ends their labels, by the model and by what users said of them: a column of `joint`
    an end, in order.

    The most frequent label of all stays where no other is ahead of it beyond the noise. Tests whose
    answers end alike fall away.
    """
    common = int(np.argmax(grown.prior))
    labels = {}
    for at, end in enumerate(grown.tree.ends):
        mass = grown.masses[end]
        off = (TRUSTED * mass.sum()) ** 2 / 2 + 5e-10
        known, noise = mass, off
        if joint is not None:
            known = (mass / off + joint[:, at] / variance) / (1 / off + 1 / variance)
            noise = 1 / (1 / off + 1 / variance)
        best = int(np.argmax(known))
        labels[end] = best if known[best] - known[common] > BEYOND * sqrt(2 * noise) else common
    return grown.tree.labelled(labels)


def _grouped(own: Single, prior: Numbers) -> _Grouped:
    """Put values into groups that differ, the table made one of distributions with the labels'
    frequencies.
    """
    size = own.joint.shape[1]
    table = np.stack(
        [norm_sub(line, total) + 1e-6 / size for line, total in zip(own.joint, prior, strict=True)]
    )
    total = table.sum(axis=1)
    rate = total / total.sum()
    noise = np.sqrt(own.variance * _spread(rate, np.ones((len(rate), 1)))[0])
    order = np.arange(size) if own.ordered else _order(table, rate, noise)
    ends = [0, size]
    while len(ends) <= GROUPS:
        best: tuple[float, int] | None = None
        for start, end in pairwise(ends):
            if end - start > 1:
                part = table[:, order[start:end]]
                score = _scores(part, noise=np.full(end - start - 1, noise), penalty=0.0)
                at = int(np.argmax(score))
                if score[at] > (best[0] if best else 1e-12):
                    best = float(score[at]), start + at + 1
        if best is None:
            break
        ends = sorted([*ends, best[1]])
    groups = np.zeros(size, np.int64)
    for at, (start, end) in enumerate(pairwise(ends)):
        groups[order[start:end]] = at
    number = len(ends) - 1
    joint = np.stack(
        [np.bincount(groups, line, minlength=number).astype(np.float64) for line in table]
    )
    counts = np.bincount(groups, minlength=number)
    # A sum of many cells varies less than each alone: their total is known.
    variance = own.variance * np.minimum(counts, size - counts + 1)
    if not own.ordered:  # groups that were chosen among many more ways
        variance = variance * size / max(2, number)
    return _Grouped(own.attribute, groups, joint, np.tile(variance, (len(prior), 1)), own.ordered)


def _split(own: _Grouped, mass: Numbers, left: Mask) -> tuple[float, Mask]:
    """Find the best split of the groups that are left: its score, and the groups whose answer is
    yes.
    """
    at = np.flatnonzero(left)
    chosen = np.zeros(len(left), np.bool_)
    if len(at) < 2:
        return 0.0, chosen
    scale = mass / np.maximum(own.joint[:, at].sum(axis=1), 1e-9)
    table, variance = own.joint[:, at] * scale[:, None], own.variance[:, at] * (scale**2)[:, None]
    rate = mass / mass.sum()
    spread = _spread(rate, variance)
    # Groups of values without an order were put in one by how they go with the label, and are
    # sorted anew by it here.
    order = np.arange(len(at)) if own.ordered else _order(table, rate, np.sqrt(spread))
    penalty = 0.0
    if len(at) > 2:
        penalty = sqrt(2 * log(len(at))) if own.ordered else 0.56 * sqrt(len(at))
    sums = np.cumsum(spread[order])
    noise = np.sqrt(np.minimum(sums[:-1], sums[-1] - sums[:-1]))
    scores = _scores(table[:, order], noise=noise, penalty=penalty)
    best = int(np.argmax(scores))
    chosen[at[order[: best + 1]]] = True
    return float(scores[best]), chosen


def _scores(table: Numbers, *, noise: Numbers, penalty: float) -> Numbers:
    """Score each cut of columns in their order: what it takes off Gini's index times mass, of what
    is beyond the noise.

    With D_l what a label has more of on one side than its share, a cut takes off sum of D_l^2 t /
    (M (t - M)).
    """
    whole = table.sum(axis=1)
    total = whole.sum()
    sums = np.cumsum(table, axis=1)[:, :-1]
    mass = sums.sum(axis=0)
    apart = np.sqrt(np.square(sums - np.outer(whole / total, mass)).sum(axis=0) / 2)
    sure = np.maximum(apart - penalty * noise, 0.0)
    return np.asarray(
        2 * sure**2 * total / (np.maximum(mass, noise) * np.maximum(total - mass, noise))
    )


def _spread(rate: Numbers, variance: Numbers) -> Numbers:
    """Compute, of each column, the mean variance of D_l of two labels: half the sum over all of
    them.
    """
    # D_l = (1 - r_l) J_l - r_l sum of the other J: its variance has (1 - r_l)^2 of its own and
    # r_l^2 of each other.
    own = np.square(1 - rate) - np.square(rate) + np.square(rate).sum()
    return np.asarray((own[:, None] * variance).sum(axis=0) / 2)


def _order(table: Numbers, rate: Numbers, noise: Numbers) -> npt.NDArray[np.int64]:
    """Sort columns by how they go with the label that differs most among them."""
    column = table.sum(axis=0)
    apart = table - np.outer(rate, column)
    label = int(np.argmax(np.square(apart).sum(axis=1)))
    if len(rate) == 2:
        label = 1
    return np.argsort(apart[label] / (column + noise), kind="stable")


def _by_number(tree: Tree, masses: Mapping[Path, Numbers]) -> dict[int, Numbers]:
    """Find the masses of the nodes as they are numbered."""
    found: dict[int, Numbers] = {}

    def visit(at: int, path: Path) -> None:
        own = tree.nodes[at]
        found[at] = masses[path]
        if own.test is not None:
            visit(own.yes, (*path, Step(own.test, yes=True)))
            visit(own.no, (*path, Step(own.test, yes=False)))

    visit(0, ())
    return found
