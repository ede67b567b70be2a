"""Noisy marginals: k-way tables of all parties' records, with noise of all parties.

    trust       No one sees a record. The curator sees sums of all parties with full noise; parties
                see nothing of each other.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with
                the curator.
    who learns  The curator and the public learn the noisy tables.
    messages    keys: K(K+1) introductions up to K = 33, K numbers of rows and K lists of them, K
                keys; count: 2 K digests, K for each page
    rounds      paillier and masks: 4; clear: 3; one more with ML-KEM
    privacy     epsilon for each record, except with probability delta where noise is Gaussian;
                neighbours replace a record. That changes two cells of each marginal by 1, so M
                marginals have the sensitivity 2 M in L1 and sqrt(2 M) in L2.
    error       Counts are unbiased. Each cell's noise has the variance
                K / (K - c) * 2 a / (1 - a)^2 with a = exp(-epsilon / 2M), or
                K / (K - c) * M / rho. `noise=auto` takes the smaller one. `low` and `high` are
                the ends of an interval that covers the exact count of a cell with `confidence`;
                it follows from the law of the noise, which is public.

Sources: Pathak, Rane and Raj (2010), whose noise by selection is mode paper, and Su et al. (2016,
section III-A).
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Annotated, Final

import msgspec
import numpy as np

from ..curator import Curator
from ..messages import UsageError
from ..parties import Party
from ..privacy.budget import Unit
from ..privacy.domain import Domain
from ..privacy.many_labels import too_many_labels
from ..privacy.marginal_table import marginal_table
from .cost import Cost, Public
from .options import Confidence, Epsilon
from .outcome import Outcome
from .secure_sum import (
    CuratorSums,
    Family,
    PartySums,
    SumBatch,
    SummingProtocol,
    SumOptions,
    colluding,
    predict_keys,
    predict_sum,
)

__all__ = ["NoisyMarginals", "requested"]

MAX_CELLS: Final = 1 << 27
"""Bound on the cells of all marginals: a curator must hold them, and a reader open the file."""


class NoisyMarginalsParameters(SumOptions):
    epsilon: Epsilon = 1.0
    ways: Annotated[
        str | int | list[int],
        msgspec.Meta(description="all marginals of so many attributes, such as 1,2"),
    ] = "1,2"
    marginals: Annotated[
        str, msgspec.Meta(description="these marginals instead, such as age*sex, race")
    ] = ""
    confidence: Confidence = 0.95

    def __post_init__(self) -> None:
        ways_of(self.ways)


class NoisyMarginals(SummingProtocol[NoisyMarginalsParameters]):
    """Count marginals of the union of all parties' tables."""

    name = "noisy-marginals"
    summary = "1-way, 2-way, ... or named marginals of all parties' tables together, with noise"
    paper = "Pathak, Rane, Raj 2010; Su et al. 2016"
    goes_on = True
    all_gaussian = True

    def party(self, me: Party) -> None:
        marginals = self.requested(me.records.domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("count"):
            batch = self.batch(me.records.domain, parties=len(me.parties))
            sums.contribute(me.records.marginals(marginals), batch)

    def curator(self, desk: Curator) -> Outcome:
        domain, batch = desk.domain, self.batch(desk.domain, parties=len(desk.parties))
        marginals = self.requested(domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            cells = sums.total(batch)
        ends = np.cumsum([domain.cells(attributes) for attributes in marginals])[:-1]
        table = marginal_table(domain, marginals, np.split(cells, ends))
        half_width = sums.half_width(batch, confidence=self.parameters.confidence)
        # No count is below 0, so that the part of an interval below 0 can be left out.
        low, high = np.maximum(cells - half_width, 0), np.maximum(cells + half_width, 0)
        return Outcome(
            marginals=table.with_interval(low, high),
            summary={
                "marginals": len(marginals),
                "cells": batch.cells,
                "noise": f"standard deviation {sqrt(sums.variance(batch)):.4g} in each cell",
                "interval": f"count ± {half_width}, confidence {self.parameters.confidence:.4g}",
            },
        )

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        batch = self.batch(public.domain, parties=public.parties)
        return [
            *predict_keys(self.parameters, public, noise=self.noise, phase="keys"),
            *predict_sum(self.parameters, public, batch, noise=self.noise, phase="count"),
        ]

    def requested(self, domain: Domain) -> list[Family]:
        """List the marginals to count, in the same order for all roles."""
        return requested(domain, ways=self.parameters.ways, named=self.parameters.marginals)

    def batch(self, domain: Domain, *, parties: int) -> SumBatch:
        """Describe the batch of all marginals of so many parties."""
        marginals = self.requested(domain)
        batches = [
            SumBatch.of(
                budget,
                cells=sum(domain.cells(attributes) for attributes in marginals),
                sensitivity=2 * len(marginals),
                squares=2 * len(marginals),
            )
            for budget in self.budgets
        ]
        threshold = colluding(self.parameters, parties=parties)
        return min(
            batches, key=lambda batch: batch.deviation_among(parties=parties, colluding=threshold)
        )

    def unit_of_budget(self, public: Public) -> Unit | None:
        if public.domain is None:
            return None
        return self.batch(public.domain, parties=public.parties).unit


def ways_of(ways: str | int | list[int]) -> list[int]:
    """Read numbers of attributes, such as `1,2`."""
    try:
        numbers = (
            [int(part) for part in ways.split(",")]
            if isinstance(ways, str)
            else [ways]
            if isinstance(ways, int)
            else ways
        )
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise UsageError(f"expected ways such as 1,2, found {ways!r}")
    return sorted(set(numbers))


def requested(domain: Domain, *, ways: str | int | list[int], named: str) -> list[Family]:
    """List the marginals to count: those named, or all of so many attributes.

    Raises:
        UsageError: a marginal or an attribute is named twice, or the marginals are too large.
    """
    if named:
        marginals = [tuple(part.strip() for part in text.split("*")) for text in named.split(",")]
        for attributes in marginals:
            if len(set(attributes)) < len(attributes):
                raise UsageError(
                    f"expected different attributes in a marginal, found {'*'.join(attributes)}"
                )
        if len(set(marginals)) < len(marginals):
            raise UsageError(f"expected different marginals, found one twice in {named!r}")
    else:
        largest = max(ways_of(ways))
        if largest > len(domain.attributes):
            raise UsageError(
                f"expected ways up to the {len(domain.attributes)} attributes of the data, "
                f"found {largest}"
            )
        marginals = [
            attributes
            for way in ways_of(ways)
            for attributes in combinations(domain.attributes, way)
        ]
    if sum(domain.cells(attributes) for attributes in marginals) > MAX_CELLS:
        names = list(dict.fromkeys(name for attributes in marginals for name in attributes))
        most = max(map(len, marginals))
        smaller = f"--set ways={most - 1}" if most > 1 else ""
        fewer = "fewer marginals" if named else smaller
        raise UsageError(too_many_labels("marginals", domain, names, otherwise=fewer))
    return marginals
