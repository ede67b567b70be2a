"""Correlations of functions of labels, as far as they were measured.

A function of a label has the mean 0 and the variance 1 over an attribute's labels. An attribute of
n labels has n - 1 such functions without correlation; together they say all about a label. So a
pair's table follows from the correlations of their functions:

    P(x, y) = p(x) q(y) (1 + sum over functions f, g of r(f, g) f(x) g(y))

The first functions are those between groups of the coarsest level, then come those within each of
these groups. A correlation is known where both functions are constant in groups that were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..marginal import Numbers
from .evidence import Evidence, Flags
from .groups import Groups, PairBatch

__all__ = ["MAX_FUNCTIONS", "Correlations", "Functions", "Steps", "functions_of"]

Steps: TypeAlias = npt.NDArray[np.int64]
"""For each function the step of the nested groups from which it is constant."""

MAX_FUNCTIONS: Final = 800
"""Most functions of all attributes; with more only those of coarser groups are used."""
MIN_SIGNAL: Final = 1e-4
"""Least variance of correlations beneath their noise."""
MIN_MASS: Final = 1e-9
"""Least share of a label."""


@dataclass(frozen=True)
class Functions:
    """Functions of one attribute's labels, from coarse to fine."""

    values: Numbers
    """Labels, functions."""
    steps: Steps


def functions_of(shares: Numbers, groups: Sequence[Groups]) -> Functions:
    """Compute functions without correlation, with the mean 0 and the variance 1.

    Args:
        shares: the distribution of the labels.
        groups: nested groups of the labels, from coarse to fine.
    """
    mass = np.maximum(shares, MIN_MASS)
    mass = mass / mass.sum()
    values, steps = [np.zeros((len(mass), 0))], list[int]()
    parents = np.zeros(len(mass), np.int64)
    for step, fine in enumerate(groups):
        sums = np.bincount(fine, mass)
        parent_of = np.zeros(len(sums), np.int64)
        parent_of[fine] = parents
        for parent in range(int(parents.max()) + 1):
            places = np.flatnonzero(parent_of == parent)
            if len(places) == 1:
                continue
            # The basis mirrors its first axis. A rare label there would make all functions noisy.
            places = places[np.argsort(-sums[places], kind="stable")]
            roots = np.sqrt(sums[places])
            basis = np.linalg.qr(roots[:, None], mode="complete")[0][:, 1:]
            of_groups = np.zeros((len(sums), len(places) - 1))
            of_groups[places] = basis / roots[:, None]
            values.append(of_groups[fine])
            steps += [step] * (len(places) - 1)
        parents = fine
    return Functions(np.concatenate(values, axis=1), np.array(steps, np.int64))


@dataclass(frozen=True)
class Correlations:
    """Noisy correlations of all functions, and the variances of their noise."""

    functions: Mapping[str, Functions]
    places: Mapping[str, slice]
    """The places of each attribute's functions among all of them."""
    steps: Steps
    values: Numbers
    """The correlation of each two functions, as it was measured; 0 where none was."""
    variances: Numbers
    """The variances of their noise."""
    is_known: Flags
    """Whether a correlation was measured; those of one attribute's functions never are."""

    @classmethod
    def of(cls, evidence: Sequence[Evidence], singles: Mapping[str, Numbers]) -> Correlations:
        """Take each correlation from the coarsest level at which both functions are constant.

        Args:
            evidence: what was measured of each batch.
            singles: the distributions of attributes.
        """
        functions = _bounded(
            {name: functions_of(singles[name], each) for name, each in _groups(evidence).items()}
        )
        ends = np.cumsum([0, *(len(each.steps) for each in functions.values())]).tolist()
        places = {
            name: slice(*bounds) for name, bounds in zip(functions, pairwise(ends), strict=True)
        }
        steps = np.concatenate([each.steps for each in functions.values()])
        size = len(steps)
        values, variances = np.zeros((size, size)), np.ones((size, size))
        is_known = np.zeros((size, size), np.bool_)
        for part in evidence:
            for level in range(part.batch.levels):
                tables, precisions = part.pooled(level)
                measured = precisions.max(axis=(1, 2)) > 0
                if not measured.any():
                    continue
                chosen = part.batch.chosen(measured)
                rows, columns = (_on_groups(chosen, level, side, functions) for side in (0, 1))
                correlations = np.swapaxes(rows, 1, 2) @ tables[measured] @ columns
                noise = np.swapaxes(rows, 1, 2) ** 2 @ (1 / precisions[measured]) @ columns**2
                is_new = np.ones(correlations.shape[1:], np.bool_)
                before = _before(chosen, level)
                is_new[: before[0], : before[1]] = False
                first, second = np.nonzero(is_new)
                starts = np.array([[places[name].start for name in pair] for pair in chosen.pairs])
                block = starts[:, :1] + first, starts[:, 1:] + second
                for matrix, numbers in ((values, correlations), (variances, noise)):
                    matrix[block] = matrix[block[::-1]] = numbers[:, first, second]
                is_known[block] = is_known[block[::-1]] = True
        return cls(functions, places, steps, values, variances, is_known)

    @property
    def later_steps(self) -> Steps:
        """For each correlation the step at which both functions are constant."""
        return np.maximum(self.steps[:, None], self.steps)

    @property
    def signal(self) -> float:
        """Estimate the variance of correlations beneath their noise."""
        weights = self.is_known / (self.variances + 0.01) ** 2
        signal = ((self.values**2 - self.variances) * weights).sum() / max(weights.sum(), 1e-300)
        return min(max(float(signal), MIN_SIGNAL), 1.0)


def _on_groups(
    batch: PairBatch, level: int, side: int, functions: Mapping[str, Functions]
) -> Numbers:
    """Give the functions that are constant in the groups of a level: pairs, groups, functions."""
    count = batch.shape(level)[1 + side]
    of_names: dict[str, Numbers] = {}
    for place, pair in enumerate(batch.pairs):
        if pair[side] not in of_names:
            each = functions[pair[side]]
            is_constant = each.steps <= batch.steps[level]
            of_groups = np.zeros((count, int(is_constant.sum())))
            of_groups[batch.groups[level][side][place]] = each.values[:, is_constant]
            of_names[pair[side]] = of_groups
    return np.stack([of_names[pair[side]] for pair in batch.pairs])


def _before(batch: PairBatch, level: int) -> tuple[int, int]:
    """Count the functions of rows and columns that are constant at the level before."""
    if not level:
        return 0, 0
    _, rows, columns = batch.shape(level - 1)
    return rows - 1, columns - 1


def _groups(evidence: Sequence[Evidence]) -> dict[str, list[Groups]]:
    """Collect the nested groups of each attribute; those of a step may equal those before."""
    by_step: dict[str, dict[int, Groups]] = {}
    for part in evidence:
        for step, sides in zip(part.batch.steps, part.batch.groups, strict=True):
            for place, pair in enumerate(part.batch.pairs):
                for name, groups in zip(pair, sides, strict=True):
                    by_step.setdefault(name, {}).setdefault(step, groups[place])
    last = max(step for steps in by_step.values() for step in steps)
    return {
        # A step that no batch has is the same as the next one.
        name: [steps[min(other for other in steps if other >= step)] for step in range(last + 1)]
        for name, steps in by_step.items()
    }


def _bounded(functions: Mapping[str, Functions]) -> dict[str, Functions]:
    """Leave out the functions of the finest groups, until there are not too many.

    If those between the coarsest groups are too many, each attribute keeps as many.
    """
    steps = np.concatenate([each.steps for each in functions.values()])
    totals = np.cumsum(np.bincount(steps))
    last = max(0, int(np.searchsorted(totals, MAX_FUNCTIONS, side="right")) - 1)
    most = MAX_FUNCTIONS if totals[last] <= MAX_FUNCTIONS else MAX_FUNCTIONS // len(functions)
    bounded = {}
    for name, each in functions.items():
        count = min(int((each.steps <= last).sum()), max(1, most))
        bounded[name] = Functions(each.values[:, :count], each.steps[:count])
    return bounded
