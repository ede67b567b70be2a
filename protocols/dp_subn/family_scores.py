"""Scores of all families that may be added to a network: of any attributes, and of bits alone.

A family is an attribute after its parents. The candidates of a pick are all attributes that are not
placed yet, each after every one of its largest parent sets. Of 52 bits with three parents there are
a million in all picks.

`FamilyScores` lists families and scores them one by one, each once. `BitScores` has the same
candidates in the same order, and the same scores, without listing them. The information that bits x
and P share is H(x) + H(P) - H(P and x). A set of bits has one entropy, in whatever families it
occurs, so a million families need 300,000 entropies. A table of bits follows, by inclusion and
exclusion, from the numbers of rows in which all bits of its subsets are 1. Each number is counted
once, too. Both are kept in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Final, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from ...parties import Records
from ..secure_sum import Family
from .options import Score
from .scores import score_families, sensitivity_of
from .usefulness import Sizes

__all__ = ["BitFamilies", "BitScores", "FamilyScores", "ScoredFamilies", "scores_of_families"]

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

BLOCK: Final = 1 << 16
"""Number of sets of bits whose figures are computed at a time."""


class ScoredFamilies(NamedTuple):
    """The candidates of a pick."""

    families: Sequence[Family]
    scores: Numbers
    sensitivity: float
    """The sensitivity of a choice among them."""


class ScoreSearch(Protocol):
    """Scores the candidates of one pick after another, on records that stay the same."""

    def candidates(self, placed: Sequence[str]) -> ScoredFamilies:
        """Score every attribute that is not placed, after each of its largest parent sets."""
        ...


def scores_of_families(records: Records, *, sizes: Sizes, degree: int, score: Score) -> ScoreSearch:
    """Take the scores of bits where all parent sets fit, otherwise those of any families."""
    domain = records.domain
    is_binary = set(domain.shape(domain.attributes)) == {2}
    if is_binary and score == "I" and degree >= 1 and 2 << degree <= sizes.max_cells:
        return BitScores(records, degree)
    return FamilyScores(records, sizes, degree, score)


@dataclass
class FamilyScores:
    """Scores of families of any attributes."""

    records: Records
    sizes: Sizes
    degree: int
    score: Score
    score_of: dict[Family, float] = field(default_factory=dict)
    """Scores of earlier picks, which stay valid as the records stay the same."""

    def candidates(self, placed: Sequence[str]) -> ScoredFamilies:
        """List and score the candidates."""
        families = self.sizes.extensions(placed, degree=self.degree)
        new = [family for family in families if family not in self.score_of]
        scores = score_families(self.records, new, score=self.score).tolist()
        self.score_of.update(zip(new, scores, strict=True))
        return ScoredFamilies(
            families,
            np.array([self.score_of[family] for family in families]),
            sensitivity_of(self.records, families, score=self.score),
        )


@dataclass
class BitScores:
    """Mutual information of families of bits, in bits."""

    records: Records
    degree: int
    entropies: dict[int, Numbers] = field(default_factory=dict)
    """By the size of a set, the entropy of each set in the order of its rank; NaN if unknown."""
    ones: dict[int, Numbers] = field(default_factory=dict)
    """In the same order, the number of rows in which all bits of the set are 1."""

    def candidates(self, placed: Sequence[str]) -> ScoredFamilies:
        """Score the candidates."""
        names = self.records.domain.attributes
        places = sorted(names.index(name) for name in placed)
        children = np.array([place for place in range(len(names)) if place not in places], np.int64)
        size = min(self.degree, len(places))
        parents = np.array([*combinations(places, size)], np.int64).reshape(-1, size)
        families = BitFamilies(names, children, parents)
        joint = np.empty((len(children), len(parents), size + 1), np.int64)
        joint[..., :size] = parents
        joint[..., size] = children[:, np.newaxis]
        joint.sort(axis=-1)
        alone = self.entropy(children[:, np.newaxis])[:, np.newaxis]
        together = self.entropy(joint.reshape(-1, size + 1)).reshape(joint.shape[:2])
        scores = alone + self.entropy(parents) - together
        # All families of bits have one bound, so two stand for all.
        sample = [families[number] for number in range(min(2, len(families)))]
        return ScoredFamilies(
            families, scores.reshape(-1), sensitivity_of(self.records, sample, score="I")
        )

    def entropy(self, sets: Places) -> Numbers:
        """Compute the entropy of each set of bits, in bits; places rise along a row."""
        return self._looked_up(self.entropies, sets, self._compute_entropy)

    def _compute_entropy(self, sets: Places) -> Numbers:
        size = sets.shape[1]
        cells = np.empty((len(sets), *(2,) * size))
        for cell in np.ndindex(*(2,) * size):
            cells[(slice(None), *cell)] = self._count_ones(sets[:, np.flatnonzero(cell)])
        for axis in range(1, size + 1):
            all_rows, ones_only = (np.take(cells, side, axis=axis) for side in (0, 1))
            cells[(slice(None),) * axis + (0,)] = all_rows - ones_only
        shares = cells.reshape(len(sets), -1) / max(len(self.records), 1)
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        entropies: Numbers = -(shares * logs).sum(axis=1)
        return entropies

    def _count_ones(self, sets: Places) -> Numbers:
        if not sets.shape[1]:
            return np.full(len(sets), float(len(self.records)))

        def count(unknown: Places) -> Numbers:
            return np.asarray(self.records.count_ones(unknown)).astype(np.float64)

        return self._looked_up(self.ones, sets, count)

    def _looked_up(
        self, kept: dict[int, Numbers], sets: Places, compute: Callable[[Places], Numbers]
    ) -> Numbers:
        """Look up a figure of each set, and compute those that are not kept yet."""
        size = sets.shape[1]
        if size not in kept:
            number = comb(len(self.records.domain.attributes), size)
            kept[size] = np.full(number, np.nan)
        figures, ranks = kept[size], rank_of(sets)
        unknown = np.flatnonzero(np.isnan(figures[ranks]))
        new, first = np.unique(ranks[unknown], return_index=True)
        for start in range(0, len(new), BLOCK):
            block = slice(start, start + BLOCK)
            figures[new[block]] = compute(sets[unknown[first[block]]])
        return figures[ranks]


@dataclass(frozen=True, slots=True)
class BitFamilies(Sequence[Family]):
    """Every child after each of the parent sets, by number."""

    names: Sequence[str]
    children: Places
    parents: Places

    def __len__(self) -> int:
        return len(self.children) * len(self.parents)

    @overload
    def __getitem__(self, number: int) -> Family: ...
    @overload
    def __getitem__(self, number: slice) -> list[Family]: ...
    def __getitem__(self, number: int | slice) -> Family | list[Family]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        child, parents = divmod(number, len(self.parents))
        places = [*self.parents[parents].tolist(), int(self.children[child])]
        return tuple(self.names[place] for place in places)


def rank_of(sets: Places) -> Places:
    """Number the sets of one size from 0, each of places that rise along a row.

    >>> rank_of(np.array([[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]])).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    largest = int(sets.max(initial=0)) + 1
    ranks = np.zeros(len(sets), np.int64)
    for column in range(sets.shape[1]):
        ranks += np.array([comb(place, column + 1) for place in range(largest)])[sets[:, column]]
    return ranks
