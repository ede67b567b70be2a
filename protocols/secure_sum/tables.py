"""Tables of attributes that are counted in one batch, and how they share the batch's noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd, prod, sqrt
from typing import Final, TypeAlias

import numpy as np

from ...curator import Estimate, Marginal
from ...messages import MisuseError
from ...parties import Records
from ...privacy import Budget, Domain
from ..cost import Cost, Public
from .batch import SumBatch
from .curator_sums import CuratorSums
from .options import NoiseKind, SumOptions
from .party_sums import PartySums
from .predict import predict_sum

__all__ = ["Family", "Tables"]

Family: TypeAlias = tuple[str, ...]
"""An attribute after its parents, or any set of attributes that is counted as one table."""

MAX_WEIGHT: Final = 8
"""The largest weight of one table against another."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that are counted in one batch. A replaced record changes each by at most 2.

    Of a table with two cells one is counted, where the noise is Laplace: the number of rows is
    public, so the other cell is the rest. A replaced record changes it by 1. So its weight may be
    doubled at the same sensitivity, and its variance is then half of what two cells would have
    after their sum was corrected. Gaussian noise gains nothing in this way, as the sensitivity of
    both cells is the root of 2 there.

    `weighted` tables have weights by the root of their sizes, or by the cube root where the noise
    is Gaussian. That minimises the sum of all cells' absolute errors: a table with n cells and
    weight w has errors of n S / w, where S is the sum of all w, or the root of the sum of squares.
    A table of which one cell is counted adds w / 2 to S, so its size counts twice. Each table is
    multiplied by a whole number before summing, and divided by it afterwards.
    """

    domain: Domain
    families: tuple[Family, ...]
    budget: Budget
    weighted: bool = False
    as_printed: bool = False
    """Whether both cells of a table with two are counted, as papers do."""
    _sizes: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Number of cells of each table. A batch may have hundreds of thousands of tables."""

    def __post_init__(self) -> None:
        names = self.domain.attributes
        size_of = dict(zip(names, self.domain.shape(names), strict=True))
        try:
            sizes = [prod([size_of[name] for name in family]) for family in self.families]
        except KeyError as error:
            self.domain.shape(error.args)  # raises the error that lists the attributes
            raise
        object.__setattr__(self, "_sizes", tuple(sizes))

    @property
    def complements(self) -> list[bool]:
        """Which tables have one cell that is counted, and another that is the rest of all rows."""
        saves = not (self.as_printed or self.budget.concentrated)
        return [saves and size == 2 for size in self._sizes]

    @property
    def counted(self) -> list[int]:
        """Number of cells of each table that are counted."""
        return [
            1 if complement else size
            for complement, size in zip(self.complements, self._sizes, strict=True)
        ]

    @property
    def weights(self) -> list[int]:
        factors = [2 if complement else 1 for complement in self.complements]
        weights = factors
        if self.weighted:
            power = 1 / 3 if self.budget.concentrated else 1 / 2
            sizes = [factor * size for factor, size in zip(factors, self._sizes, strict=True)]
            largest = max(sizes, default=1)
            weights = [max(1, round(MAX_WEIGHT * (size / largest) ** power)) for size in sizes]
        # A Gaussian loss is proved of noise that is wide beside whole numbers.
        divisor = 1 if self.budget.of_gaussian else gcd(*weights)
        return [weight // divisor for weight in weights]

    @property
    def batch(self) -> SumBatch:
        """The batch of these tables."""
        weights = self.weights
        return SumBatch.of(
            self.budget,
            cells=sum(self.counted),
            sensitivity=sum(
                weight if complement else 2 * weight
                for weight, complement in zip(weights, self.complements, strict=True)
            ),
            squares=2 * sum(weight**2 for weight in weights),
            weight=max(weights),
        )

    @property
    def error(self) -> float:
        """Sum of the standard deviations of all cells' full noise.

        It is that of tables whose sum is corrected to the number of rows.
        """
        return self.batch.deviation * self._relative_error

    def error_among(self, *, parties: int, colluding: int) -> float:
        """Sum of these deviations where the noise is that of so many parties."""
        deviation = self.batch.deviation_among(parties=parties, colluding=colluding)
        return deviation * self._relative_error

    @property
    def _relative_error(self) -> float:
        """`error` if the deviation of the batch's noise were 1."""
        total = 0.0
        for size, weight, complement in zip(
            self._sizes, self.weights, self.complements, strict=True
        ):
            total += size / weight * (1.0 if complement else sqrt(1 - 1 / size))
        return total

    def predict(
        self, options: SumOptions, public: Public, *, noise: NoiseKind, phase: str
    ) -> list[Cost]:
        """Predict the messages of the batch."""
        return predict_sum(options, public, self.batch, noise=noise, phase=phase)

    def contribute(self, records: Records, sums: PartySums) -> None:
        """Count the tables and add them to the batch. Called by a party."""
        self._require_number_of_rows(sums)
        tables = zip(self.weights, self.counted, records.marginals(self.families), strict=True)
        sums.contribute((weight * counts[:cells] for weight, cells, counts in tables), self.batch)

    def receive(self, sums: CuratorSums) -> list[Estimate]:
        """Receive the noisy sums. Called by the curator.

        The two cells of a table of which one was counted have the same noise with opposite signs.
        Their variance is given as that of independent cells that have so much noise once their sum
        is corrected to the number of rows: twice their own.
        """
        self._require_number_of_rows(sums)
        tables = np.split(sums.total(self.batch), np.cumsum(self.counted)[:-1])
        variance = sums.variance(self.batch)  # of the parties whose tables have arrived
        estimates = []
        for family, cells, weight, complement in zip(
            self.families, tables, self.weights, self.complements, strict=True
        ):
            values, factor = cells / weight, 1
            if complement:
                values, factor = np.append(values, sums.rows - values), 2
            table = Marginal.of(self.domain, family, values)
            estimates.append(Estimate(table, factor * variance / weight**2))
        return estimates

    def _require_number_of_rows(self, sums: PartySums | CuratorSums) -> None:
        """Refuse to take a cell as the rest of all rows where only a bound on them is public."""
        if any(self.complements) and not sums.counts_rows:
            raise MisuseError(
                "expected the number of all rows, of which one cell of a table with two is the "
                "rest, found a bound: say as_printed=True, or take Gaussian noise, and both cells "
                "are counted"
            )
