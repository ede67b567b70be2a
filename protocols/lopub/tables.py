"""Tables from filters: of single attributes by Lasso, of several by expectation and
maximisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, Literal

import numpy as np

from ...curator import Marginal
from ...curator.expectation import most_likely
from ...curator.lasso import lasso
from ...curator.marginal import Numbers
from ...privacy.local.bloom import BloomFilters
from .asking import Told

__all__ = ["ALPHA", "Start", "Tables"]

ALPHA: Final = 0.5
"""The price of a coefficient in Lasso, as the authors' code has it: half a user."""

Start = Literal["uniform", "lasso"]


@dataclass
class Tables:
    """What users' filters say. `start`: from where tables of several attributes are sought."""

    attributes: tuple[str, ...]
    filters: BloomFilters
    told: Told
    start: Start
    most: int
    """Steps for each table."""
    ones: dict[str, Marginal] = field(init=False)
    steps: list[int] = field(default_factory=list)
    stopped: int = 0
    """Tables whose steps were too few."""

    def __post_init__(self) -> None:
        counts = self.filters.frequencies(self.told.ones, users=self.told.users)
        self.ones = {
            name: Marginal((name,), self._lasso(at, counts[at]))
            for at, name in enumerate(self.attributes)
        }

    def joint(self, attributes: Sequence[str]) -> Marginal:
        """Find the table of these attributes from which all users' filters are most likely."""
        places = [self.attributes.index(name) for name in attributes]
        likelihoods = [self.filters.likelihood(self.told.matches[at]) for at in places]
        start = None
        if self.start == "lasso":
            start = reduce(
                lambda one, other: one * other, (self.ones[name] for name in attributes)
            ).values
        found = most_likely(likelihoods, start=start, iterations=self.most)
        self.steps.append(found.iterations)
        self.stopped += not found.converged
        return Marginal(tuple(attributes), found.table)

    def _lasso(self, at: int, counts: Numbers) -> Numbers:
        """Find which labels' signatures make up the bits of an attribute's filters."""
        found = lasso(self.filters.signatures(at), counts, alpha=ALPHA)
        return found / found.sum() if found.sum() > 0 else np.full(found.shape, 1 / found.size)
