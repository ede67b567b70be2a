"""Results of the judge as typed objects. Their fields are the keys of the JSON that is written.

Everything here was measured on the real table, so it is not private.
"""

from __future__ import annotations

import msgspec

from .classification import Misclassification
from .dependence import Dependence
from .distances import Distance
from .marginal_classification import MarginalMisclassification
from .network_fit import NetworkFit
from .prediction import Accuracy
from .worst import MarginalComparison

__all__ = ["Evaluation", "RowCounts", "TableComparison", "Utility"]


class RowCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Number of rows of both tables."""

    real: int
    synthetic: int


class TableComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A synthetic table compared with the real one."""

    rows: RowCounts
    tvd: dict[str, float]
    """Average total variation distance by number of attributes, "2" or "3"."""
    tvd_binary: dict[str, float]
    """The same for binarised attributes."""
    distances: tuple[Distance, ...]
    marginals: tuple[MarginalComparison, ...]
    """The worst marginals, cell by cell."""
    dependence: Dependence
    classification: tuple[Misclassification, ...]
    notes: tuple[str, ...]


class Evaluation(TableComparison, frozen=True, kw_only=True):
    """What `sottovoce evaluate --json` prints."""

    schema: str
    """Origin of the schema: "given", "inferred", or the path of a file."""


class Utility(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Utility of what a run published. A field that was not measured is None and not written."""

    tvd: dict[str, float]
    """Average total variation distance by number of attributes, "2" or "3".

    If the run published marginals, it is their distance; otherwise that of the synthetic table.
    """
    accuracy: Accuracy | None = None
    """Accuracy of a published classifier."""
    distances: tuple[Distance, ...] | None = None
    marginals: tuple[MarginalComparison, ...] | None = None
    """The worst marginals, cell by cell."""
    dependence: Dependence | None = None
    classification: tuple[Misclassification, ...] | None = None
    notes: tuple[str, ...] | None = None
    l2: dict[str, float] | None = None
    """Average Euclidean distance of marginals by number of attributes."""
    squared: dict[str, float] | None = None
    """Average sum of squared errors of published marginals by number of attributes."""
    tvd_synthetic: dict[str, float] | None = None
    """Distance of the synthetic table if the run published marginals as well."""
    marginal_classification: tuple[MarginalMisclassification, ...] | None = None
    """Errors of classifiers that learn from one published marginal each."""
    network: NetworkFit | None = None
    """Fit of the networks that the run published, whatever the noise in their tables."""

    @property
    def baselines(self) -> dict[str, float]:
        """Distances of the exact single attributes by number of attributes, "2" or "3"."""
        return {
            str(distance.ways): distance.one_way
            for distance in self.distances or ()
            if distance.attributes == "original"
        }
