"""Decision trees distilled from a naive Bayes model of noisy tables.

Local reports are too noisy for tables of many attributes, but not for tables of the label with one
attribute. From these a node's distribution follows as far as attributes are independent given the
label: excluding values by a path rescales the mass of each label. So the whole tree is grown from
them at once (`distil`). Users then report at which leaf they are, which corrects errors of the
independence assumption (`label_leaves`).

Every choice has to exceed the noise. Attributes are first put into a few groups of values
(`_group`). The score of a split is what its difference exceeds the best of as many splits of pure
noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .decision_tree import Answer, Path, Split, Tree
from .marginal import Numbers
from .projections import norm_sub

__all__ = ["AttributeTable", "DistilledTree", "distil", "label_leaves"]

MAX_GROUPS: Final = 8
"""Groups of one attribute's values."""
MIN_MASS: Final = 0.005
"""Mass of a node that may be split."""
MODEL_ERROR: Final = 0.3
"""Standard deviation of the model's mass of a label, as a share of the node's mass."""
MIN_LEAD: Final = 0.7
"""Standard deviations by which a label has to lead the most frequent label of all."""
MIN_LABEL_SHARE: Final = 0.02
"""Least frequency that a label is taken to have."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Order: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """An unbiased table of the label and one attribute."""

    attribute: str
    joint: Numbers
    """A row for each label."""
    variance: float
    """Variance of each cell."""
    ordered: bool
    """Whether the attribute's values have an order."""


@dataclass(frozen=True, slots=True)
class _GroupedTable:
    """A table of the label and groups of one attribute's values."""

    attribute: str
    groups: Order
    """The group of each value."""
    joint: Numbers
    """A row for each label."""
    variance: Numbers
    ordered: bool


@dataclass(frozen=True, slots=True)
class DistilledTree:
    """A tree grown from the model."""

    tree: Tree
    masses: dict[int, Numbers]
    """Mass of each label at each node, by the model."""
    prior: Numbers
    """Frequencies of the labels."""


def distil(tables: Sequence[AttributeTable], *, depth: int) -> DistilledTree:
    """Grow a tree with at most `depth` tests on a path."""
    prior = _prior(tables)
    grouped_tables = [_group(table, prior) for table in tables]
    tests: dict[Path, Split] = {}
    masses: dict[Path, Numbers] = {}

    def grow(path: Path, mass: Numbers, remaining: Mapping[str, Mask]) -> None:
        masses[path] = mass
        if len(path) >= depth or mass.sum() < MIN_MASS:
            return
        best_score, table, yes = 0.0, None, None
        for candidate in grouped_tables:
            score, chosen = _best_split(candidate, mass, remaining[candidate.attribute])
            if score > best_score:
                best_score, table, yes = score, candidate, chosen
        if table is None or yes is None:
            return
        here = remaining[table.attribute]
        no = here & ~yes
        values = np.bincount(table.groups, minlength=len(yes))
        if not table.ordered and values[no].sum() < values[yes].sum():
            yes, no = no, yes  # the test names the side with fewer values
        test = Split(table.attribute, tuple(np.flatnonzero(yes[table.groups]).tolist()))
        tests[path] = test
        label_mass = np.maximum(table.joint[:, here].sum(axis=1), 1e-9)
        for answer, side in ((True, yes), (False, no)):
            share = np.clip(table.joint[:, side].sum(axis=1) / label_mass, 0, 1)
            child = (*path, Answer(test, yes=answer))
            grow(child, mass * share, {**remaining, table.attribute: side})

    grow((), prior, {t.attribute: np.ones(t.joint.shape[1], np.bool_) for t in grouped_tables})
    tree = Tree.of(tests, {path: int(np.argmax(mass)) for path, mass in masses.items()})
    return DistilledTree(tree, _by_number(tree, masses), prior)


def label_leaves(grown: DistilledTree, joint: Numbers | None = None, variance: float = inf) -> Tree:
    """Label the leaves by the model and by the users' reports.

    The most frequent label of all stays unless another one leads it by more than the noise. Tests
    whose leaves then have one label are removed.

    Args:
        grown: The tree.
        joint: An unbiased table of label and leaf, with a column for each leaf in order; or None.
        variance: Variance of its cells, if there is a table.
    """
    common = int(np.argmax(grown.prior))
    labels = {}
    for column, leaf in enumerate(grown.tree.leaves):
        mass = grown.masses[leaf]
        model_variance = (MODEL_ERROR * mass.sum()) ** 2 / 2 + 5e-10
        estimate, noise = mass, model_variance
        if joint is not None:
            precision = 1 / model_variance + 1 / variance
            estimate = (mass / model_variance + joint[:, column] / variance) / precision
            noise = 1 / precision
        best = int(np.argmax(estimate))
        lead = estimate[best] - estimate[common]
        labels[leaf] = best if lead > MIN_LEAD * sqrt(2 * noise) else common
    return grown.tree.relabel(labels)


def _prior(tables: Sequence[AttributeTable]) -> Numbers:
    """Estimate the frequencies of the labels from all tables."""
    weights = np.array([1 / (table.variance * table.joint.shape[1]) for table in tables])
    sums = (weight * table.joint.sum(axis=1) for weight, table in zip(weights, tables, strict=True))
    prior = np.clip(np.asarray(sum(sums) / weights.sum()), MIN_LABEL_SHARE, None)
    return np.asarray(prior / prior.sum())


def _group(single: AttributeTable, prior: Numbers) -> _GroupedTable:
    """Put values into groups that differ; the table first becomes a distribution with `prior`."""
    size = single.joint.shape[1]
    rows = zip(single.joint, prior, strict=True)
    table = np.stack([norm_sub(row, share) + 1e-6 / size for row, share in rows])
    label_mass = table.sum(axis=1)
    rate = label_mass / label_mass.sum()
    noise = np.sqrt(single.variance * _mean_variance(rate, np.ones((len(rate), 1)))[0])
    order = np.arange(size) if single.ordered else _order(table, rate, noise)
    ends = _cut(table[:, order], noise)
    count = len(ends) - 1
    groups = np.zeros(size, np.int64)
    for group, (start, end) in enumerate(pairwise(ends)):
        groups[order[start:end]] = group
    joint = np.stack(
        [np.bincount(groups, row, minlength=count).astype(np.float64) for row in table]
    )
    sizes = np.bincount(groups, minlength=count)
    # The total is known, so the sum of many cells has the variance of the few others.
    variance = single.variance * np.minimum(sizes, size - sizes + 1)
    if not single.ordered:  # these groups were chosen among many more candidates
        variance = variance * size / max(2, count)
    variances = np.tile(variance, (len(prior), 1))
    return _GroupedTable(single.attribute, groups, joint, variances, single.ordered)


def _cut(table: Numbers, noise: float) -> list[int]:
    """Cut columns into groups, the best cut first, and return where the groups end."""
    ends = [0, table.shape[1]]
    while len(ends) <= MAX_GROUPS:
        best_score, best_end = 1e-12, None
        for start, end in pairwise(ends):
            if end - start > 1:
                part = table[:, start:end]
                scores = _scores(part, noise=np.full(end - start - 1, noise), penalty=0.0)
                index = int(np.argmax(scores))
                if scores[index] > best_score:
                    best_score, best_end = float(scores[index]), start + index + 1
        if best_end is None:
            break
        ends = sorted([*ends, best_end])
    return ends


def _best_split(table: _GroupedTable, mass: Numbers, remaining: Mask) -> tuple[float, Mask]:
    """Find the best split of the remaining groups: its score, and the groups that answer yes."""
    groups = np.flatnonzero(remaining)
    yes = np.zeros(len(remaining), np.bool_)
    if len(groups) < 2:
        return 0.0, yes
    scale = mass / np.maximum(table.joint[:, groups].sum(axis=1), 1e-9)
    joint = table.joint[:, groups] * scale[:, None]
    variance = table.variance[:, groups] * (scale**2)[:, None]
    rate = mass / mass.sum()
    column_variance = _mean_variance(rate, variance)
    # Values without an order were grouped by their relation to the label, and are sorted anew by it
    # here.
    if table.ordered:
        order = np.arange(len(groups))
    else:
        order = _order(joint, rate, np.sqrt(column_variance))
    penalty = 0.0
    if len(groups) > 2:
        penalty = sqrt(2 * log(len(groups))) if table.ordered else 0.56 * sqrt(len(groups))
    sums = np.cumsum(column_variance[order])
    noise = np.sqrt(np.minimum(sums[:-1], sums[-1] - sums[:-1]))
    scores = _scores(joint[:, order], noise=noise, penalty=penalty)
    best = int(np.argmax(scores))
    yes[groups[order[: best + 1]]] = True
    return float(scores[best]), yes


def _scores(table: Numbers, *, noise: Numbers, penalty: float) -> Numbers:
    """Score each cut of the ordered columns by its reduction of Gini's index times mass.

    Let D_l be the excess of label l on one side over its share. A cut of mass M of t reduces the
    index times mass by sum of D_l^2 t / (M (t - M)). Only what D_l exceeds the noise counts.
    """
    label_mass = table.sum(axis=1)
    total = label_mass.sum()
    sums = np.cumsum(table, axis=1)[:, :-1]
    mass = sums.sum(axis=0)
    excess = np.sqrt(np.square(sums - np.outer(label_mass / total, mass)).sum(axis=0) / 2)
    beyond_noise = np.maximum(excess - penalty * noise, 0.0)
    left, right = np.maximum(mass, noise), np.maximum(total - mass, noise)
    return np.asarray(2 * beyond_noise**2 * total / (left * right))


def _mean_variance(rate: Numbers, variance: Numbers) -> Numbers:
    """Compute, for each column, half the sum over labels of the variance of D_l (see `_scores`).

    D_l = (1 - r_l) J_l - r_l sum of the other J, so its variance has (1 - r_l)^2 of its own cell
    and r_l^2 of each other.
    """
    factors = np.square(1 - rate) - np.square(rate) + np.square(rate).sum()
    return np.asarray((factors[:, None] * variance).sum(axis=0) / 2)


def _order(table: Numbers, rate: Numbers, noise: Numbers | float) -> Order:
    """Sort columns by their share of the label that differs most among them."""
    columns = table.sum(axis=0)
    excess = table - np.outer(rate, columns)
    label = int(np.argmax(np.square(excess).sum(axis=1)))
    if len(rate) == 2:
        label = 1
    return np.argsort(excess[label] / (columns + noise), kind="stable")


def _by_number(tree: Tree, masses: Mapping[Path, Numbers]) -> dict[int, Numbers]:
    """Find the masses of each node by its number."""
    numbered: dict[int, Numbers] = {}

    def visit(number: int, path: Path) -> None:
        node = tree.nodes[number]
        numbered[number] = masses[path]
        if node.test is not None:
            visit(node.yes, (*path, Answer(node.test, yes=True)))
            visit(node.no, (*path, Answer(node.test, yes=False)))

    visit(0, ())
    return numbered
