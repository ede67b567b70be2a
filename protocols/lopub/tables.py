"""Tables from Bloom filters: single attributes by Lasso, several by expectation maximisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator import Marginal
from ...curator.expectation import most_likely, repeat_steps
from ...curator.lasso import lasso
from ...curator.marginal import Numbers
from ...messages import is_uncounted
from ...privacy.local.bloom import BloomFilters
from .filters import FilterAnswers

__all__ = ["ALPHA", "Search", "Start", "Tables"]

ALPHA: Final = 0.5
"""The price of a coefficient in Lasso, as the authors' code has it: half a user."""

Likelihoods: TypeAlias = npt.NDArray[np.floating[Any]]

MAX_KEPT: Final = 1 << 25
"""Numbers of users' likelihoods that are kept: 256 MiB."""

Start: TypeAlias = Literal["uniform", "lasso"]
Search: TypeAlias = Literal["accelerated", "plain"]

SEARCHES: Final = {"accelerated": most_likely, "plain": repeat_steps}


@dataclass
class Tables:
    """Tables that follow from the filters of all users.

    `start` is the start of the search for a table of several attributes.
    """

    attributes: tuple[str, ...]
    filters: BloomFilters
    answers: FilterAnswers
    start: Start
    search: Search
    max_steps: int
    """Most steps of the search for a table."""
    ones: dict[str, Marginal] = field(init=False)
    steps: list[int] = field(default_factory=list)
    stopped: int = 0
    """Number of tables whose search ended after the most steps."""
    _likelihoods: dict[int, Likelihoods] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = self.filters.frequencies(self.answers.ones, users=self.answers.users)
        self.ones = {
            name: Marginal((name,), self._lasso(number, counts[number]))
            for number, name in enumerate(self.attributes)
        }

    def joint(self, attributes: Sequence[str]) -> Marginal:
        """Find the table of these attributes from which all users' filters are most likely."""
        likelihoods = [self._likelihood(self.attributes.index(name)) for name in attributes]
        start = None
        if self.start == "lasso":
            start = reduce(
                lambda first, second: first * second, (self.ones[name] for name in attributes)
            ).values
        # No message follows from a table, and nobody reads those of a play that shows messages.
        steps = 1 if is_uncounted() else self.max_steps
        estimate = SEARCHES[self.search](likelihoods, start=start, iterations=steps)
        self.steps.append(estimate.iterations)
        self.stopped += not estimate.converged
        return Marginal(tuple(attributes), estimate.table)

    def _likelihood(self, number: int) -> Likelihoods:
        """Compute how likely each user's filter is with each label of an attribute, once if small.

        All pairs need those of an attribute as often as there are others.
        """
        if number in self._likelihoods:
            return self._likelihoods[number]
        likelihood = self.filters.likelihood(self.answers.matches[number])
        if sum(kept.size for kept in self._likelihoods.values()) + likelihood.size <= MAX_KEPT:
            self._likelihoods[number] = likelihood
        return likelihood

    def _lasso(self, number: int, counts: Numbers) -> Numbers:
        """Find the labels whose signatures make up the bits of an attribute's filters."""
        weights = lasso(self.filters.signatures(number), counts, alpha=ALPHA)
        total = weights.sum()
        return weights / total if total > 0 else np.full(weights.shape, 1 / weights.size)
