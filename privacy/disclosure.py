"""Exact numbers that leave a party: a release whose epsilon is infinity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exact_value import ExactValue

__all__ = ["Disclosure"]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Exact tables for the curator, and so for all views."""

    counts: npt.NDArray[np.int64] = field(repr=False)
    sensitivity: float

    name = "exact-counts"
    scale = 0.0
    epsilon = inf
    delta = 0.0
    by_users = ()
    whole_record = None

    @property
    def seen(self) -> Mapping[str, float]:
        """No view differs from epsilon, which is infinity."""
        return {}

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.int64]:  # noqa: ARG002 - nothing is drawn
        """Return the counts. Called by `Accountant.release` alone."""
        return np.asarray(self.counts)

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.counts, norm="L1")
