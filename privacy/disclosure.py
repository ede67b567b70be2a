"""Exact numbers that leave a party: a release whose epsilon is infinity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exact_value import ExactValue
from .loss import UNBOUNDED, Loss

__all__ = ["Disclosure"]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Exact tables for the curator, and so for all views."""

    counts: npt.NDArray[np.int64] = field(repr=False)
    sensitivity: float

    name = "exact-counts"
    scale = 0.0
    loss = UNBOUNDED
    by_users = ()
    whole_record = None

    @property
    def seen(self) -> Mapping[str, Loss]:
        """No view differs from the loss, which has no bound."""
        return {}

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.int64]:  # noqa: ARG002 - nothing is drawn
        """Return the counts. Called by `Accountant.release` alone."""
        return np.asarray(self.counts)

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.counts, norm="L1")
