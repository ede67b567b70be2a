"""The plan of a run, which follows from public figures, so that all roles compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from ...messages import UsageError
from ...privacy import Budget, Domain
from ..secure_sum import SumBatch, Tables
from .scores import Score
from .taxonomy import Cuts, are_bins

__all__ = ["SpecialisationPlan"]


@dataclass(frozen=True)
class SpecialisationPlan:
    """What every role knows before a record is looked at."""

    domain: Domain
    target: str
    budget: Budget
    specialisations: int
    score: Score
    most_cells: int

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise UsageError(
                f"expected two or more labels of the target {self.target}, found 1: "
                "name another by target"
            )
        if not self.predictors:
            raise UsageError(
                "expected an attribute of two or more labels beside the target "
                f"{self.target}, found none"
            )
        if self.classes > self.most_cells:
            raise UsageError(
                f"expected most_cells of at least the {self.classes} labels of {self.target}, "
                f"found {self.most_cells}: --set most_cells={self.classes}, or fewer labels of "
                f"{self.target} in --schema"
            )

    @property
    def classes(self) -> int:
        return self.domain.cells([self.target])

    @cached_property
    def predictors(self) -> tuple[str, ...]:
        """The attributes that can be specialised."""
        return tuple(
            name
            for name in self.domain.attributes
            if name != self.target and self.domain.cells([name]) > 1
        )

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """The predictors with split points to choose."""
        labels = self.domain.labels
        return tuple(
            name for name in self.predictors if len(labels[name]) > 2 and are_bins(labels[name])
        )

    @property
    def epsilon_of_choice(self) -> float:
        """Epsilon of each use of the exponential mechanism.

        There are at most |numeric| + 2 h uses, and together they have half of the budget.
        """
        uses = len(self.numeric) + 2 * self.specialisations
        return self.budget.share(1 / (2 * uses)).of_choice

    @property
    def tables(self) -> Tables:
        """The tables of every predictor by class.

        A record stands in one cell of each, so a replaced record changes all tables together by
        2 (d - 1) in L1.
        """
        return Tables(
            self.domain,
            tuple((name, self.target) for name in self.predictors),
            self.budget.share(1 / 2),
            as_printed=True,
        )

    def leaf_cells(self, cuts: Cuts) -> int:
        """Count the leaves, times classes."""
        return prod(len(borders) - 1 for borders in cuts.values()) * self.classes

    def leaves(self, cuts: Cuts) -> SumBatch:
        """Describe the batch of leaves.

        A record stands in one leaf, so a replaced record changes two cells by 1 each.
        """
        return SumBatch.of(
            self.budget.share(1 / 2), cells=self.leaf_cells(cuts), sensitivity=2, squares=2
        )

    @property
    def certain_specialisations(self) -> int | None:
        """The number of specialisations of every run; `None` where it depends on the choices."""
        number = min(
            self.specialisations, sum(self.domain.cells([name]) - 1 for name in self.predictors)
        )
        # No specialisation more than doubles the number of leaves.
        return number if self.classes << number <= self.most_cells else None

    def summary(self, cuts: Cuts) -> str:
        """Give the number of specialisations, and why there are no more."""
        number = sum(len(borders) - 2 for borders in cuts.values())
        if number == self.specialisations:
            return str(number)
        single = all(
            len(borders) - 1 == self.domain.cells([name]) for name, borders in cuts.items()
        )
        reason = (
            "every range is a single label"
            if single
            else f"most_cells={self.most_cells} leaves no room for more"
        )
        return f"{number} of {self.specialisations}: {reason}"

    def read(self, borders: Sequence[Sequence[int]]) -> Cuts:
        """Read cuts that another role sent.

        Raises:
            ValueError: the cuts cannot be those of a run; the text says why.
        """
        cuts = dict(zip(self.predictors, map(tuple, borders), strict=False))
        rising = all(
            sorted(set(ranges)) == list(ranges) and len(ranges) > 1 for ranges in cuts.values()
        )
        ends = [(ranges[0], ranges[-1]) for ranges in cuts.values()] if rising else []
        sizes = self.domain.shape(self.predictors)
        if len(borders) != len(sizes) or ends != [(0, size) for size in sizes]:
            raise ValueError(
                f"expected rising borders for each of {len(sizes)} attributes, "
                "from 0 to its number of labels"
            )
        number, cells = sum(len(ranges) - 2 for ranges in borders), self.leaf_cells(cuts)
        if number > self.specialisations or cells > self.most_cells:
            raise ValueError(
                f"expected at most {self.specialisations} specialisations and "
                f"{self.most_cells} cells, found {number} and {cells}"
            )
        return cuts
