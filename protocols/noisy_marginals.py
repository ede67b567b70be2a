"""Noisy marginals: the 1-way, 2-way ... tables of all parties' records together, by the multi-party
Laplace mechanism.

    trust       nobody with a record: the curator sees sums of all parties with full noise; parties see nothing of each other
    collusion   up to `colluding` parties may pool what they know of their own noise. aggregator=paillier assumes that the
                curator colludes with no party, aggregator=masks does not
    who learns  the curator and everybody: the noisy tables
    messages    keys: K^2 numbers of rows, K(K-1) introductions, K keys; count: K for each page of the batch
    rounds      paillier: 2 + K; masks and clear: 3 and 2
    privacy     epsilon for each record, neighbours by replacing one, which changes each marginal by at most 2 in L1:
                M marginals have sensitivity 2 M
    error       unbiased; each cell's noise has variance K / (K - c) * 2 a / (1 - a)^2 with a = exp(-epsilon / 2M)

After Pathak, Rane and Raj (2010), whose noise by selection is mode paper, and Su et al. (2016,
section III-A).
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from ..curator import Curator
from ..messages import UsageError
from ..parties import Party
from ..privacy.domain import Domain, marginal_table
from .protocol import Cost, Epsilon, Outcome, Public
from .secure_sum import (
    CuratorSums,
    PartySums,
    SummingProtocol,
    SumOptions,
    predict_keys,
    predict_sum,
)

__all__ = ["NoisyMarginals", "requested"]

MOST_CELLS: Final = 1 << 27
"""Of all marginals together: what a curator can hold, and a file that somebody may open."""


class NoisyMarginalsParameters(SumOptions):
    epsilon: Epsilon = 1.0
    ways: Annotated[
        str | int | list[int],
        msgspec.Meta(description="all marginals of so many attributes, such as 1,2"),
    ] = "1,2"
    marginals: Annotated[
        str, msgspec.Meta(description="these marginals instead, such as age*sex, race")
    ] = ""

    def __post_init__(self) -> None:
        ways_of(self.ways)


class NoisyMarginals(SummingProtocol[NoisyMarginalsParameters]):
    """Count marginals of the union of all parties' tables."""

    name = "noisy-marginals"
    summary = "1-way, 2-way, ... or named marginals of all parties' tables together, with noise"
    paper = "Pathak, Rane, Raj 2010; Su et al. 2016"

    def batch(self, domain: Domain) -> dict[str, Any]:
        """What everybody knows of the one batch: its size, its sensitivity and its budget."""
        marginals = requested(domain, ways=self.parameters.ways, named=self.parameters.marginals)
        return {
            "cells": sum(domain.cells(attributes) for attributes in marginals),
            "sensitivity": 2 * len(marginals),
            "epsilon": self.parameters.epsilon,
        }

    def party(self, me: Party) -> None:
        domain = me.records.domain
        marginals = requested(domain, ways=self.parameters.ways, named=self.parameters.marginals)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("count"):
            sums.contribute(me.records.marginals(marginals), **self.batch(domain))

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        marginals = requested(domain, ways=self.parameters.ways, named=self.parameters.marginals)
        batch = self.batch(domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            cells = sums.total(**batch)
        ends = np.cumsum([domain.cells(attributes) for attributes in marginals])[:-1]
        return Outcome(
            marginals=marginal_table(domain, marginals, np.split(cells, ends)),
            summary={
                "marginals": len(marginals),
                "cells": batch["cells"],
                "noise": f"standard deviation {sqrt(sums.variance(**batch)):.4g} in each cell",
            },
        )

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        return [
            *predict_keys(self.parameters, public, phase="keys"),
            *predict_sum(
                self.parameters,
                public,
                noise=self.noise,
                phase="count",
                **self.batch(public.domain),
            ),
        ]


def ways_of(ways: str | int | list[int]) -> list[int]:
    """Read `1,2`."""
    try:
        read = (
            [int(part) for part in ways.split(",")]
            if isinstance(ways, str)
            else [ways]
            if isinstance(ways, int)
            else ways
        )
    except ValueError:
        read = []
    if not read or min(read) < 1:
        raise UsageError(f"expected ways such as 1,2, found {ways!r}")
    return sorted(set(read))


def requested(domain: Domain, *, ways: str | int | list[int], named: str) -> list[tuple[str, ...]]:
    """List the marginals to count, in an order that everybody computes."""
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
        if (most := max(ways_of(ways))) > len(domain.attributes):
            raise UsageError(
                f"expected ways up to the {len(domain.attributes)} attributes of the data, found {most}"
            )
        marginals = [
            attributes
            for way in ways_of(ways)
            for attributes in combinations(domain.attributes, way)
        ]
    if (cells := sum(domain.cells(attributes) for attributes in marginals)) > MOST_CELLS:
        raise UsageError(
            f"expected at most {MOST_CELLS:,} cells in all marginals, found {cells:,}: ask for fewer"
        )
    return marginals
